//! What functions that the compiler did not see do to dependences: MPI's by the table of `mpi-abi`, and a few of the
//! system's libraries. Any other function may have written anything.

use headwater_model::dependence::Origin;
use headwater_mpi_abi::{Class, FUNCTIONS, Function, Role};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// What a call leaves behind an argument, or returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It leaves what was there.
    Untouched,
    /// All of it is new, of this origin.
    New(Origin),
    /// A part may be.
    Partly(Origin),
    /// Made of what the call is given.
    OfArguments,
}

/// Arguments, counted from 0, that a function answers in.
const ANSWERS: [(&str, usize, Origin); 22] = [
    ("MPI_Comm_rank", 1, Origin::Rank),
    ("MPI_Comm_size", 1, Origin::Size),
    ("MPI_Comm_remote_size", 1, Origin::Size),
    ("MPI_Group_rank", 1, Origin::Rank),
    ("MPI_Group_size", 1, Origin::Size),
    ("MPI_Cart_coords", 3, Origin::Rank),
    ("MPI_Cart_get", 2, Origin::Size),
    ("MPI_Cart_get", 4, Origin::Rank),
    ("MPI_Cart_shift", 3, Origin::Rank),
    ("MPI_Cart_shift", 4, Origin::Rank),
    ("MPI_Dims_create", 2, Origin::Size),
    ("MPI_Get_count", 2, Origin::Message),
    ("MPI_Get_elements", 2, Origin::Message),
    ("MPI_Probe", 3, Origin::Message),
    ("MPI_Iprobe", 3, Origin::Message),
    ("MPI_Iprobe", 4, Origin::Message),
    ("MPI_Waitany", 2, Origin::Message),
    ("MPI_Waitsome", 2, Origin::Message),
    ("MPI_Waitsome", 3, Origin::Message),
    ("MPI_Test", 1, Origin::Message),
    ("MPI_Testall", 2, Origin::Message),
    ("MPI_Get_processor_name", 0, Origin::Unknown),
];

/// The MPI function of a symbol in C or Fortran.
pub fn mpi(symbol: &str) -> Option<&'static Function> {
    static KNOWN: OnceLock<FxHashMap<String, &'static Function>> = OnceLock::new();
    if !crate::names::is_mpi_name(symbol) {
        return None;
    }
    let known = KNOWN.get_or_init(|| {
        let all = FUNCTIONS.iter();
        all.map(|f| (f.name.to_ascii_lowercase(), f)).collect()
    });
    let lower = symbol.to_ascii_lowercase();
    let name = lower.strip_prefix('p').unwrap_or(&lower);
    let name = name.trim_end_matches('_');
    let name = name.strip_suffix("_f08ts").unwrap_or(name);
    let name = name.strip_suffix("_f08").unwrap_or(name);
    known.get(name).copied()
}

/// The position of the buffer that a call receives into: it stands before the count of what is received.
fn received(function: &Function) -> Option<usize> {
    let counts = [Role::Rcount, Role::Rcounts, Role::Count, Role::Counts];
    let count = counts.iter().find_map(|r| function.position(*r))?;
    count.checked_sub(1)
}

/// What a call of MPI leaves behind an argument.
fn of_mpi(function: &Function, argument: usize) -> Meaning {
    use Class::*;
    let answers = ANSWERS.iter().filter(|a| a.0 == function.name);
    if let Some((_, _, origin)) = answers.clone().find(|a| a.1 == argument) {
        return Meaning::New(*origin);
    }
    let is_buffer = received(function) == Some(argument);
    let reduces =
        function.name.contains("educe") || function.name.to_ascii_lowercase().contains("scan");
    match function.class {
        Send | Barrier | Start | RequestFree | Init | Finalize | CommFree | TypeFree | Ready => {
            Meaning::Untouched
        }
        Wait | Test | CommCreate | Probe => Meaning::Untouched,
        Recv | SendRecv | Scan | NToN | OneToAll | AllToOne | Neighbour if is_buffer => {
            let origin = match reduces {
                true => Origin::Reduction,
                false => Origin::Message,
            };
            // Only the root, or no more than was sent, is written by some of them.
            match function.class {
                AllToOne => Meaning::Partly(origin),
                _ => Meaning::New(origin),
            }
        }
        Recv if function.position(Role::Status) == Some(argument) => Meaning::New(Origin::Message),
        Recv | SendRecv | Scan | NToN | OneToAll | AllToOne | Neighbour => Meaning::Untouched,
        File | FileAll if function.name.contains("ead") => Meaning::Partly(Origin::Input),
        FileOpen | FileClose | File | FileAll => Meaning::Untouched,
        _ if answers.count() > 0 => Meaning::Untouched,
        _ if is_about_types(function.name) => Meaning::Untouched,
        _ => Meaning::Partly(Origin::Unknown),
    }
}

/// Functions that only make or change handles.
fn is_about_types(name: &str) -> bool {
    [
        "MPI_Type_",
        "MPI_Op_",
        "MPI_Info_",
        "MPI_Errhandler_",
        "MPI_Comm_set_",
    ]
    .iter()
    .any(|p| name.starts_with(p))
        && !["_size", "_extent", "_get"]
            .iter()
            .any(|p| name.contains(p))
}

/// Functions that read input into arguments from a position on.
const READS: [(&str, usize); 14] = [
    ("sscanf", 2),
    ("scanf", 1),
    ("fscanf", 2),
    ("__isoc99_sscanf", 2),
    ("__isoc99_scanf", 1),
    ("__isoc99_fscanf", 2),
    ("__isoc23_sscanf", 2),
    ("__isoc23_scanf", 1),
    ("__isoc23_fscanf", 2),
    ("fgets", 0),
    ("fread", 0),
    ("read", 1),
    ("gets", 0),
    ("_FortranAioInputDescriptor", 1),
];

/// Functions whose result is made of their arguments and what these point to.
const CONVERTS: [&str; 16] = [
    "atoi",
    "atol",
    "atoll",
    "atof",
    "strtol",
    "strtoll",
    "strtoul",
    "strtoull",
    "strtod",
    "strtof",
    "__isoc23_strtol",
    "__isoc23_strtoll",
    "__isoc23_strtoul",
    "strlen",
    "strcmp",
    "strncmp",
];

/// Functions that write nothing that a bound may come from.
const HARMLESS: [&str; 19] = [
    "printf",
    "fprintf",
    "puts",
    "putchar",
    "fputs",
    "fputc",
    "fwrite",
    "fflush",
    "free",
    "fclose",
    "exit",
    "abort",
    "perror",
    "usleep",
    "nanosleep",
    "srand",
    "_ZdlPv",
    "_ZdaPv",
    "_ZdlPvm",
];

/// What a call of a function outside of the program leaves behind an argument.
pub fn argument(symbol: &str, argument: usize) -> Meaning {
    if let Some(function) = mpi(symbol) {
        return of_mpi(function, argument);
    }
    if READS
        .iter()
        .any(|(n, from)| *n == symbol && argument >= *from)
        || symbol.starts_with("_FortranAioInput") && argument >= 1
    {
        return Meaning::New(Origin::Input);
    }
    let harmless = HARMLESS.contains(&symbol)
        || CONVERTS.contains(&symbol)
        || READS.iter().any(|(n, _)| *n == symbol)
        || symbol.starts_with("_FortranAio");
    match harmless {
        true => Meaning::Untouched,
        false => Meaning::Partly(Origin::Unknown),
    }
}

/// What a call of a function outside of the program returns.
pub fn result(symbol: &str) -> Meaning {
    if crate::names::is_mpi_name(symbol) {
        // An error code, but for the clocks.
        return match symbol.to_ascii_lowercase().contains("wti") {
            true => Meaning::New(Origin::Unknown),
            false => Meaning::New(Origin::Constant),
        };
    }
    match symbol {
        "getenv" | "getchar" | "fgetc" | "getc" => Meaning::New(Origin::Input),
        "malloc" | "calloc" | "_Znwm" | "_Znam" => Meaning::New(Origin::Constant),
        _ if READS.iter().any(|(n, _)| *n == symbol) => Meaning::New(Origin::Input),
        _ if CONVERTS.contains(&symbol) => Meaning::OfArguments,
        _ if symbol.starts_with("_FortranAio") => Meaning::New(Origin::Constant),
        "_FortranACommandArgumentCount" => Meaning::New(Origin::Input),
        _ => Meaning::New(Origin::Unknown),
    }
}

/// Whether what a function answers is one number.
pub fn is_number(symbol: &str) -> bool {
    let of_group = [
        "MPI_Comm_",
        "MPI_Group_",
        "MPI_Get_count",
        "MPI_Get_elements",
    ];
    mpi(symbol).is_some_and(|f| of_group.iter().any(|p| f.name.starts_with(p)))
}

/// Whether an argument says with whom, or how much: what differs between ranks for a reason.
pub fn says_how_much(role: Role) -> bool {
    use Role::*;
    matches!(
        role,
        Count | Counts | Rcount | Rcounts | Dest | Source | Tag | Rtag | Root
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mpi_arguments_mean_what_the_standard_says() {
        use Meaning::*;
        let all = [
            ("MPI_Comm_rank", 1, New(Origin::Rank)),
            ("mpi_comm_size_", 1, New(Origin::Size)),
            ("mpi_comm_rank_f08_", 1, New(Origin::Rank)),
            ("mpi_comm_rank_", 2, Untouched),
            ("MPI_Recv", 0, New(Origin::Message)),
            ("MPI_Bcast", 0, New(Origin::Message)),
            ("MPI_Scatter", 0, Untouched),
            ("MPI_Scatter", 3, New(Origin::Message)),
            ("MPI_Scatterv", 4, New(Origin::Message)),
            ("MPI_Alltoallv", 4, New(Origin::Message)),
            ("MPI_Sendrecv", 5, New(Origin::Message)),
            ("PMPI_Allreduce", 1, New(Origin::Reduction)),
            ("MPI_Allreduce", 0, Untouched),
            ("MPI_Reduce", 1, Partly(Origin::Reduction)),
            ("MPI_Exscan", 1, New(Origin::Reduction)),
            ("MPI_Send", 0, Untouched),
            ("MPI_Get", 0, Partly(Origin::Unknown)),
            ("somebody", 0, Partly(Origin::Unknown)),
            ("sscanf", 2, New(Origin::Input)),
            ("printf", 1, Untouched),
        ];
        for (name, at, meaning) in all {
            assert_eq!(argument(name, at), meaning, "{name} {at}");
        }
    }
}
