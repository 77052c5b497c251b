//! The module `mpi_f08` for a compiler that cannot read that of an Open MPI library.
//!
//! Its types hold one integer, or are the status's integers, and so are passed as `mpif.h`'s integers are (MPI 4.1, section
//! 19.3.5). Its procedures are thus declared as those of `mpif.h`, whose error code is left out by giving no address. Open MPI
//! allows that; MPICH would write to it.

use headwater_mpi_abi::{Kind, PREDEFINED};
use std::fmt::Write;

const PROCEDURES: &str = include_str!("f08.txt");

/// The one procedure that is not that of `mpif.h`, which does not return the buffer's address.
const DETACH: &str = "    subroutine MPI_Buffer_detach(buffer_addr, size, ierror) bind(C, name=\"mpi_buffer_detach_f08_\")
      import
      type(c_ptr), intent(out) :: buffer_addr
      integer, intent(out) :: size
      integer, optional, intent(out) :: ierror
    end subroutine
";

/// Kinds of handles, and their types in Fortran. A list of them is `comms` and so on.
const HANDLES: [(&str, &str, Kind); 11] = [
    ("comm", "MPI_Comm", Kind::Comm),
    ("datatype", "MPI_Datatype", Kind::Datatype),
    ("errhandler", "MPI_Errhandler", Kind::Errhandler),
    ("file", "MPI_File", Kind::File),
    ("group", "MPI_Group", Kind::Group),
    ("info", "MPI_Info", Kind::Info),
    ("message", "MPI_Message", Kind::Message),
    ("op", "MPI_Op", Kind::Op),
    ("request", "MPI_Request", Kind::Request),
    ("session", "MPI_Session", Kind::Session),
    ("win", "MPI_Win", Kind::Window),
];

/// Handles that MPI defines and that the table of MPI does not have, as nothing is recorded of them or they have a second
/// name.
const OTHERS: [(&str, Kind); 6] = [
    ("MPI_2COMPLEX", Kind::Datatype),
    ("MPI_2DOUBLE_COMPLEX", Kind::Datatype),
    ("MPI_CXX_COMPLEX", Kind::Datatype),
    ("MPI_C_COMPLEX", Kind::Datatype),
    ("MPI_LONG_LONG_INT", Kind::Datatype),
    ("MPI_SESSION_NULL", Kind::Session),
];

/// Other kinds of arguments, and how they are declared.
const KINDS: [(&str, &str); 15] = [
    ("address", "integer(MPI_ADDRESS_KIND)"),
    ("addresses", "integer(MPI_ADDRESS_KIND), dimension(*)"),
    ("buffer", "type(*), dimension(*)"),
    ("count", "integer(MPI_COUNT_KIND)"),
    ("integer", "integer"),
    ("integers", "integer, dimension(*)"),
    ("logical", "logical"),
    ("logicals", "logical, dimension(*)"),
    ("offset", "integer(MPI_OFFSET_KIND)"),
    ("pointer", "type(c_ptr)"),
    ("procedure", "external"),
    ("status", "type(MPI_Status)"),
    ("statuses", "type(MPI_Status), dimension(*)"),
    ("text", "character(len=*)"),
    ("texts", "character(len=*), dimension(*)"),
];

/// The source of the module. `mpi` is the file of the module `mpi` that flang wrote, which is text. `None` if the library is
/// not Open MPI.
pub fn module(mpi: &str) -> Option<String> {
    mpi.contains("ompi_major_version").then_some(())?;
    let all = PREDEFINED.iter().map(|p| (p.name, p.kind)).chain(OTHERS);
    let constants: Vec<(&str, &str)> = all
        .filter_map(|(name, kind)| Some((name, HANDLES.iter().find(|h| h.2 == kind)?.1)))
        .filter(|(name, _)| mpi.contains(&format!("::{}=", name.to_ascii_lowercase())))
        .collect();
    let mut text = String::from("module mpi_f08\n  use iso_c_binding, only: c_ptr\n  use mpi");
    // What has another type here.
    let statuses = ["MPI_STATUS_IGNORE", "MPI_STATUSES_IGNORE"].iter();
    let others: Vec<&str> = statuses
        .copied()
        .chain(constants.iter().map(|c| c.0))
        .collect();
    for name in &others {
        let _ = write!(text, ", &\n    hw_{name} => {name}");
    }
    text += "\n  implicit none\n  private :: c_ptr\n";
    for name in &others {
        let _ = writeln!(text, "  private :: hw_{name}");
    }
    types(&mut text);
    for (name, kind) in &constants {
        let _ = writeln!(
            text,
            "  type({kind}), parameter :: {name} = {kind}(hw_{name})"
        );
    }
    comparisons(&mut text);
    text += "  interface\n";
    for line in PROCEDURES.lines().filter(|l| !l.starts_with('#')) {
        procedure(&mut text, line);
    }
    text += DETACH;
    text += "  end interface\nend module mpi_f08\n";
    Some(text)
}

fn types(text: &mut String) {
    for (_, name, _) in HANDLES {
        *text += &format!("  type, bind(C) :: {name}\n    integer :: MPI_VAL\n  end type\n");
    }
    // As in Open MPI, whose `mpif.h` has these three first.
    *text += "  type, bind(C) :: MPI_Status\n    integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR\n";
    *text += "    integer, private :: hw_rest(MPI_STATUS_SIZE - 3)\n  end type\n";
    for (name, shape) in [("STATUS", ""), ("STATUSES", "(1)")] {
        let block = format!("mpi_fortran_{}_ignore", name.to_ascii_lowercase());
        let _ = writeln!(
            text,
            "  type(MPI_Status) :: MPI_{name}_IGNORE{shape}\n  common /{block}/ MPI_{name}_IGNORE"
        );
    }
}

/// Comparisons of handles are the only code that the module needs. The library has it, under gfortran's names.
fn comparisons(text: &mut String) {
    for (operator, ending) in [("==", "eq"), ("/=", "ne")] {
        let _ = writeln!(text, "  interface operator({operator})");
        for (kind, name, _) in HANDLES.iter().filter(|h| h.0 != "session") {
            let _ = write!(
                text,
                "    function hw_{kind}_{ending}(a, b) result(is) &
      bind(C, name=\"__mpi_f08_types_MOD_ompi_{kind}_op_{ending}\")
      import :: {name}
      type({name}), intent(in) :: a, b
      logical :: is
    end function\n"
            );
        }
        *text += "  end interface\n";
    }
}

fn procedure(text: &mut String, line: &str) {
    let mut words = line.split_whitespace();
    let Some(name) = words.next() else { return };
    let arguments: Vec<(&str, String)> = words.map(argument).collect();
    let _ = write!(text, "    subroutine MPI_{name}(");
    for (argument, _) in &arguments {
        let _ = write!(text, " &\n      {argument},");
    }
    *text += " &\n      ierror)\n      import\n";
    for (argument, declared) in &arguments {
        let _ = writeln!(text, "      {declared} :: {argument}");
        if declared.starts_with("type(*)") {
            let _ = writeln!(text, "      !dir$ ignore_tkr {argument}");
        }
    }
    *text += "      integer, optional :: ierror\n    end subroutine\n";
}

/// Name and declaration of an argument.
fn argument(word: &str) -> (&str, String) {
    let (name, kind) = word.split_once(':').unwrap_or((word, word));
    // A plain `count` is an integer, as most are.
    let is_named = word.contains(':') || kind == "status";
    if let Some((_, declared)) = KINDS.iter().find(|k| is_named && k.0 == kind) {
        return (name, (*declared).to_owned());
    }
    let handle = |kind: &str| HANDLES.iter().find(|h| h.0 == kind).map(|h| h.1);
    let one = handle(kind).map(|of| format!("type({of})"));
    let many = || {
        Some(format!(
            "type({}), dimension(*)",
            handle(kind.strip_suffix('s')?)?
        ))
    };
    let declared = one.or_else(many).unwrap_or_else(|| "integer".to_owned());
    (name, declared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_mpi_abi::{Role, by_name};

    /// How an argument of a role is declared.
    fn expected(role: Role) -> Option<&'static str> {
        Some(match role {
            Role::Comm | Role::Newcomm => "type(MPI_Comm)",
            Role::Req | Role::Given => "type(MPI_Request)",
            Role::Reqs => "type(MPI_Request), dimension(*)",
            Role::Status => "type(MPI_Status)",
            Role::Statuses => "type(MPI_Status), dimension(*)",
            Role::Flag => "logical",
            Role::N | Role::Outcount | Role::Rcount | Role::Dest => "integer",
            Role::Source | Role::Tag | Role::Rtag | Role::Root => "integer",
            Role::Counts | Role::Rcounts | Role::Indices => "integer, dimension(*)",
            Role::Type | Role::Rtype => "type(MPI_Datatype)",
            Role::Types => "type(MPI_Datatype), dimension(*)",
            Role::Win | Role::Newwin => "type(MPI_Win)",
            Role::Group => "type(MPI_Group)",
            Role::Message => "type(MPI_Message)",
            Role::Newsession => "type(MPI_Session)",
            _ => return None,
        })
    }

    #[test]
    fn procedures_are_those_of_the_table_of_mpi() {
        for line in PROCEDURES.lines().filter(|l| !l.starts_with('#')) {
            let mut words = line.split_whitespace();
            let name = format!("MPI_{}", words.next().expect("a name"));
            let Some(function) = by_name(&name) else {
                continue;
            };
            // C gives the program's arguments, and Fortran does not.
            let main = match &*name {
                "MPI_Init" | "MPI_Init_thread" | "MPI_Info_create_env" => 2,
                _ => 0,
            };
            assert_eq!(words.clone().count() + main, function.roles.len(), "{name}");
            let roles = function.roles.iter().skip(main);
            for (word, role) in words.clone().zip(roles) {
                let (of, declared) = (expected(*role), argument(word).1);
                assert!(of.is_none_or(|of| declared == of), "{name} {word} {of:?}");
            }
            for word in words.filter(|w| w.contains(':')) {
                let (_, kind) = word.split_once(':').expect("a kind");
                assert!(
                    argument(word).1 != "integer" || kind == "integer",
                    "{name} {word}"
                );
            }
        }
    }

    #[test]
    fn a_name_alone_is_a_handle_a_status_or_an_integer() {
        let declared = |word| argument(word).1;
        assert_eq!(declared("comm"), "type(MPI_Comm)");
        assert_eq!(declared("status"), "type(MPI_Status)");
        assert_eq!(declared("count"), "integer");
        assert_eq!(declared("count:count"), "integer(MPI_COUNT_KIND)");
        assert_eq!(declared("r:requests"), "type(MPI_Request), dimension(*)");
    }

    #[test]
    fn there_is_a_module_of_open_mpi_alone() {
        assert!(module("integer(4),parameter::mpi_comm_world=1140850688_4").is_none());
        let of = "integer(4),parameter::ompi_major_version=4_4\ninteger(4),parameter::mpi_comm_world=0_4\n";
        let made = module(of).expect("a module");
        assert!(
            made.contains(
                "type(MPI_Comm), parameter :: MPI_COMM_WORLD = MPI_Comm(hw_MPI_COMM_WORLD)"
            )
        );
        assert!(!made.contains("MPI_COMM_SELF"));
    }
}
