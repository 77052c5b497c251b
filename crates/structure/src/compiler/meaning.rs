//! What functions that the compiler did not see do to dependences: MPI's by the table of `mpi-abi`, and a few of the
//! system's libraries. Any other function may have written anything.

use headwater_model::dependence::Origin;
use headwater_mpi_abi::{Class, FUNCTIONS, Field, Function, Kind, Role, fields, id_of};
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
const ANSWERS: [(&str, usize, Origin); 21] = [
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
    // A program has wrappers with names in small letters: those of Fortran end so.
    let is_wrapper = symbol.starts_with(|c: char| c.is_ascii_lowercase()) && !symbol.ends_with('_');
    if is_wrapper || !crate::names::is_mpi_name(symbol) {
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
    use Role::{Flag, Index, Indices, Newcomm, Outcount, Req, Reqs, Status, Statuses};
    let mut answers = ANSWERS.iter().filter(|a| a.0 == function.name);
    if let Some((_, _, origin)) = answers.find(|a| a.1 == argument) {
        return Meaning::New(*origin);
    }
    let reduces =
        function.name.contains("educe") || function.name.to_ascii_lowercase().contains("scan");
    if function.name == DIMENSIONS && argument == 2 {
        return Meaning::OfArguments;
    }
    let role = function.roles.get(argument).copied();
    let kind = fields_of(function, argument).next().map(|f| f.kind);
    // Fortran's error code and lengths of texts come behind the arguments of C.
    let Some(role) = role else {
        return Meaning::Untouched;
    };
    let reads = function.name.contains("ead");
    match (function.class, role, kind) {
        (Recv | SendRecv | Scan | NToN | OneToAll | AllToOne | Neighbour, _, _)
            if received(function) == Some(argument) =>
        {
            let origin = match reduces {
                true => Origin::Reduction,
                false => Origin::Message,
            };
            // Only the root is written by some, and nobody sends a message from MPI_PROC_NULL.
            match function.class {
                AllToOne | Recv | SendRecv | Neighbour => Meaning::Partly(origin),
                _ => Meaning::New(origin),
            }
        }
        (Init, _, _) if argument < 2 => Meaning::Untouched,
        (
            Recv | SendRecv | Probe | Wait | Test,
            Status | Statuses | Flag | Index | Indices | Outcount,
            _,
        ) => Meaning::Partly(Origin::Message),
        (File | FileAll, _, Some(Kind::Buffer)) if reads => Meaning::Partly(Origin::Input),
        (File | FileAll, Role::X, None) => Meaning::Partly(Origin::Input),
        // Which ranks these have, the arguments do not say.
        (CommCreate, Newcomm, _)
            if ["split_type", "Cart_sub"]
                .iter()
                .any(|n| function.name.contains(n)) =>
        {
            Meaning::Partly(Origin::Unknown)
        }
        (CommCreate, Newcomm, _) => Meaning::OfArguments,
        (_, _, Some(Kind::NewGroup)) => Meaning::OfArguments,
        // Other handles are no numbers.
        (_, _, Some(kind)) if is_made(kind) && kind != Kind::NewComm => Meaning::Untouched,
        (_, Req | Reqs, _) => Meaning::Untouched,
        _ if is_read_only(function, argument) => Meaning::Untouched,
        _ => Meaning::Partly(Origin::Unknown),
    }
}

fn fields_of(function: &Function, argument: usize) -> impl Iterator<Item = &'static Field> {
    let all = id_of(function.name).map_or(&[][..], |id| fields(id.0));
    all.iter().filter(move |f| usize::from(f.at) == argument)
}

/// Whether a field is a handle that the call makes or gives up.
fn is_made(kind: Kind) -> bool {
    kind.is_new() || kind.is_freed()
}

/// Whether the table says that a function only reads an argument.
fn is_read_only(function: &Function, argument: usize) -> bool {
    use Class::*;
    use Role::{Flag, Index, Indices, Outcount, Status, Statuses};
    let role = function.roles.get(argument);
    let written =
        role.is_some_and(|r| matches!(r, Status | Statuses | Flag | Index | Indices | Outcount));
    let mut all = fields_of(function, argument).peekable();
    let sends = matches!(
        function.class,
        Send | SendRecv | Scan | NToN | OneToAll | AllToOne | Neighbour
    ) || matches!(function.class, File | FileAll) && function.name.contains("rite");
    !written
        && all.peek().is_some()
        && all.all(|f| !is_made(f.kind) && (f.kind != Kind::Buffer || sends))
}

/// Divides ranks, its first argument, over dimensions.
const DIMENSIONS: &str = "MPI_Dims_create";

/// Whether a function reads an argument: what it leaves behind others is made of these.
pub fn is_input(symbol: &str, argument: usize) -> bool {
    match mpi(symbol) {
        Some(function) if function.name == DIMENSIONS => argument < 2,
        Some(function) => is_read_only(function, argument),
        None => argument == 0 && (of_text(symbol) || of_handle(symbol)),
    }
}

/// Whether a function of C reads a text that it is given.
fn of_text(symbol: &str) -> bool {
    ["sscanf", "__isoc99_sscanf", "__isoc23_sscanf"].contains(&symbol)
}

/// Whether a function that answers by [`Meaning::OfArguments`] may leave what was there: all of it or, if `behind`, what is
/// behind the first byte.
pub fn may_leave(symbol: &str, behind: bool) -> bool {
    let divides = mpi(symbol).is_some_and(|f| f.name == DIMENSIONS);
    divides || behind && (of_text(symbol) || of_handle(symbol))
}

/// Whether a function of Fortran's runtime reads a value of what its handle was made for: a file, or a text.
fn of_handle(symbol: &str) -> bool {
    symbol.starts_with("_FortranAioInput") && !symbol.contains("Namelist")
}

/// Whether an argument is a handle of a communicator or group: in C it may be a pointer, but what it points to is nobody's.
pub fn is_handle_position(symbol: &str, argument: usize) -> bool {
    let is = |f: &Field| {
        matches!(
            f.kind,
            Kind::Comm | Kind::Group | Kind::Info | Kind::Errhandler
        )
    };
    mpi(symbol).is_some_and(|f| fields_of(f, argument).any(is))
        || argument == 0 && of_handle(symbol)
}

/// Whether a global variable is a handle of the MPI library, as `MPI_COMM_WORLD` is in Open MPI.
pub fn is_handle(symbol: &str) -> bool {
    [
        "ompi_mpi_",
        "ompi_f08_mpi_",
        "ompi_request_",
        "mpi_fortran_",
    ]
    .iter()
    .any(|p| symbol.starts_with(p))
}

/// Whether a global variable has what the program was started with.
pub fn is_of_arguments(symbol: &str) -> bool {
    ["optarg", "optind", "optopt"].contains(&symbol)
}

/// Arguments that an answer depends on, too: on the communicator, if its ranks have it together; and on the place in a
/// file.
pub fn also(symbol: &str, origin: Origin) -> Vec<usize> {
    let Some(function) = mpi(symbol) else {
        return Vec::new();
    };
    let together = match origin {
        Origin::Size => true,
        Origin::Message | Origin::Reduction => function.is_collective(),
        _ => false,
    };
    let kinds: &[Kind] = match (together, function.is_about_files()) {
        (true, _) => &[Kind::Comm, Kind::Group],
        (_, true) => &[Kind::Offset, Kind::Count],
        _ => &[],
    };
    let all = 0..function.roles.len();
    all.filter(|i| fields_of(function, *i).any(|f| kinds.contains(&f.kind)))
        .collect()
}

/// Functions that read input into arguments from a position on.
const READS: [(&str, usize); 13] = [
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
];

/// Functions whose result is made of their arguments and what these point to: of texts, and of mathematics.
const CONVERTS: [&str; 42] = [
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
    "cbrt",
    "ceil",
    "ceilf",
    "exp",
    "exp2",
    "fabs",
    "floor",
    "floorf",
    "fmax",
    "fmin",
    "fmod",
    "hypot",
    "log",
    "log10",
    "log2",
    "log2f",
    "logf",
    "lrint",
    "lround",
    "pow",
    "powf",
    "rint",
    "round",
    "sqrt",
    "sqrtf",
    "trunc",
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
    if of_text(symbol) && argument >= 2 || of_handle(symbol) && argument >= 1 {
        return Meaning::OfArguments;
    }
    if READS
        .iter()
        .any(|(n, from)| *n == symbol && argument >= *from)
    {
        return Meaning::New(Origin::Input);
    }
    let harmless = HARMLESS.contains(&symbol)
        || CONVERTS.contains(&symbol)
        || READS.iter().any(|(n, _)| *n == symbol)
        || symbol.starts_with("_FortranAio") && !symbol.contains("InputNamelist");
    match harmless {
        true => Meaning::Untouched,
        false => Meaning::Partly(Origin::Unknown),
    }
}

/// What a call of a function outside of the program returns.
pub fn result(symbol: &str) -> Meaning {
    if crate::names::is_mpi_name(symbol) {
        // An error code; clocks and conversions of handles are not in the table.
        return match mpi(symbol) {
            Some(_) => Meaning::New(Origin::Constant),
            None => Meaning::New(Origin::Unknown),
        };
    }
    match symbol {
        "getenv" | "getchar" | "fgetc" | "getc" => Meaning::New(Origin::Input),
        "malloc" | "calloc" | "_Znwm" | "_Znam" => Meaning::New(Origin::Constant),
        _ if of_text(symbol) => Meaning::New(Origin::Unknown),
        _ if READS.iter().any(|(n, _)| *n == symbol) => Meaning::New(Origin::Input),
        _ if CONVERTS.contains(&symbol) => Meaning::OfArguments,
        // What is read of a text is what the program wrote into it.
        _ if symbol.starts_with("_FortranAioBeginInternal") => Meaning::New(Origin::Unknown),
        _ if symbol.starts_with("_FortranAioBegin") && symbol.ends_with("Input") => {
            Meaning::New(Origin::Input)
        }
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
    fn the_plugin_knows_the_functions_that_keep_no_pointer() {
        let (_, names) = crate::PASS_SOURCE
            .split_once("*harmless[] = {")
            .expect("a list");
        let (names, _) = names.split_once("};").expect("its end");
        let names: Vec<&str> = names
            .split(',')
            .map(|n| n.trim().trim_matches('"'))
            .collect();
        let reads = READS.iter().map(|(name, _)| name);
        let mut all = reads.chain(&CONVERTS).chain(&HARMLESS);
        let of_fortran = |name: &str| name.starts_with("_Fortran");
        let missing = all.find(|name| !of_fortran(name) && !names.contains(name));
        assert_eq!(missing, None);
    }

    #[test]
    fn mpi_arguments_mean_what_the_standard_says() {
        use Meaning::*;
        let all = [
            ("MPI_Comm_rank", 1, New(Origin::Rank)),
            ("mpi_comm_size_", 1, New(Origin::Size)),
            ("mpi_comm_rank_f08_", 1, New(Origin::Rank)),
            ("mpi_comm_rank_", 2, Untouched),
            ("MPI_Recv", 0, Partly(Origin::Message)),
            ("MPI_Bcast", 0, New(Origin::Message)),
            ("MPI_Scatter", 0, Untouched),
            ("MPI_Scatter", 3, New(Origin::Message)),
            ("MPI_Scatterv", 4, New(Origin::Message)),
            ("MPI_Alltoallv", 4, New(Origin::Message)),
            ("MPI_Sendrecv", 5, Partly(Origin::Message)),
            ("PMPI_Allreduce", 1, New(Origin::Reduction)),
            ("MPI_Allreduce", 0, Untouched),
            ("MPI_Reduce", 1, Partly(Origin::Reduction)),
            ("MPI_Exscan", 1, New(Origin::Reduction)),
            ("MPI_Send", 0, Untouched),
            ("MPI_Get", 0, Partly(Origin::Unknown)),
            ("somebody", 0, Partly(Origin::Unknown)),
            ("scanf", 2, New(Origin::Input)),
            ("sscanf", 2, OfArguments),
            ("MPI_Dims_create", 2, OfArguments),
            ("MPI_Cart_create", 5, OfArguments),
            ("MPI_Cart_sub", 2, Partly(Origin::Unknown)),
            ("printf", 1, Untouched),
        ];
        for (name, at, meaning) in all {
            assert_eq!(argument(name, at), meaning, "{name} {at}");
        }
    }

    #[test]
    fn only_what_the_table_calls_an_input_stays_as_it_was() {
        let mut answers = 0;
        for function in &FUNCTIONS {
            for at in 0..function.roles.len() {
                let meaning = argument(function.name, at);
                let made = fields_of(function, at).any(|f| is_made(f.kind));
                let request = matches!(function.roles[at], Role::Req | Role::Reqs);
                let start = function.class == Class::Init;
                let kept = is_read_only(function, at) || made || request || start;
                let untouched = meaning == Meaning::Untouched;
                assert!(kept || !untouched, "{} {at}", function.name);
                answers += usize::from(!untouched);
            }
        }
        assert!(answers > 300, "{answers}");
        for (name, at) in ANSWERS.iter().map(|a| (a.0, a.1)) {
            assert!(mpi(name).is_some_and(|f| at < f.roles.len()), "{name}");
        }
    }
}
