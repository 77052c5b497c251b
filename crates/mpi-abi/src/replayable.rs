//! Which functions a replay cannot call again, and why.

use crate::functions::{Class, FUNCTIONS};

const FUNCTION_OF_THE_PROGRAM: &str =
    "it passes a function of the program, which a trace does not have";
const ATTRIBUTE: &str = "it is about attributes, whose values are addresses of the program";
const PROCESSES: &str = "it starts or meets other processes";
const ADDRESS: &str = "it is about addresses of the program's memory, which a trace does not have";

/// By how names begin, why.
const NOT: [(&str, &str); 28] = [
    ("MPI_Abort", "it ends the program"),
    ("MPI_Attr_", ATTRIBUTE),
    ("MPI_Close_port", PROCESSES),
    ("MPI_Comm_accept", PROCESSES),
    ("MPI_Comm_call_errhandler", FUNCTION_OF_THE_PROGRAM),
    ("MPI_Comm_connect", PROCESSES),
    ("MPI_Comm_create_keyval", ATTRIBUTE),
    ("MPI_Comm_delete_attr", ATTRIBUTE),
    ("MPI_Comm_free_keyval", ATTRIBUTE),
    ("MPI_Comm_get_attr", ATTRIBUTE),
    ("MPI_Comm_join", PROCESSES),
    ("MPI_Comm_set_attr", ATTRIBUTE),
    ("MPI_File_call_errhandler", FUNCTION_OF_THE_PROGRAM),
    ("MPI_Keyval_", ATTRIBUTE),
    ("MPI_Lookup_name", PROCESSES),
    ("MPI_Open_port", PROCESSES),
    ("MPI_Publish_name", PROCESSES),
    ("MPI_Register_datarep", FUNCTION_OF_THE_PROGRAM),
    ("MPI_Session_call_errhandler", FUNCTION_OF_THE_PROGRAM),
    ("MPI_Type_create_keyval", ATTRIBUTE),
    ("MPI_Type_delete_attr", ATTRIBUTE),
    ("MPI_Type_free_keyval", ATTRIBUTE),
    ("MPI_Type_get_attr", ATTRIBUTE),
    ("MPI_Type_set_attr", ATTRIBUTE),
    ("MPI_Unpublish_name", PROCESSES),
    ("MPI_Win_attach", ADDRESS),
    ("MPI_Win_create_dynamic", ADDRESS),
    ("MPI_Win_detach", ADDRESS),
];

/// The same for functions on windows.
const WINDOWS: [(&str, &str); 6] = [
    ("MPI_Win_call_errhandler", FUNCTION_OF_THE_PROGRAM),
    ("MPI_Win_create_keyval", ATTRIBUTE),
    ("MPI_Win_delete_attr", ATTRIBUTE),
    ("MPI_Win_free_keyval", ATTRIBUTE),
    ("MPI_Win_get_attr", ATTRIBUTE),
    ("MPI_Win_set_attr", ATTRIBUTE),
];

/// Whether a replay can call a function again, with the fields that a trace has of it.
///
/// # Errors
/// Why it cannot, as the end of a sentence.
pub fn replayable(function: u16) -> Result<(), &'static str> {
    let Some(function) = FUNCTIONS.get(usize::from(function)) else {
        return Err("it is no function of MPI");
    };
    if function.class == Class::Spawn {
        return Err(PROCESSES);
    }
    let mut all = NOT.iter().chain(&WINDOWS);
    let reason = all.find(|(begins, _)| function.name.starts_with(begins));
    reason.map_or(Ok(()), |(_, why)| Err(*why))
}

/// Whether a replay may leave out a function that it cannot call again: it communicates with nobody, and no other call
/// depends on it. Attributes and calls of error handlers are so.
pub fn may_be_left_out(function: u16) -> bool {
    let name = FUNCTIONS.get(usize::from(function)).map_or("", |f| f.name);
    let attribute = replayable(function) == Err(ATTRIBUTE);
    attribute || name.ends_with("call_errhandler")
}

/// Whether an argument is a function of the program in place of which any other one serves that returns 0: operations,
/// error handlers, and what generalized requests call.
pub fn is_callback(function: u16, argument: usize) -> bool {
    let name = FUNCTIONS.get(usize::from(function)).map_or("", |f| f.name);
    match argument {
        0 if name.starts_with("MPI_Op_create") => true,
        0 if name.ends_with("create_errhandler") || name == "MPI_Errhandler_create" => true,
        // The fourth one is passed to the other three.
        0..=2 => name == "MPI_Grequest_start",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::id_of;

    #[test]
    fn every_reason_is_that_of_a_function() {
        for (begins, _) in NOT.iter().chain(&WINDOWS) {
            assert!(
                FUNCTIONS.iter().any(|f| f.name.starts_with(begins)),
                "{begins}"
            );
        }
    }

    #[test]
    fn what_cannot_be_replayed_has_a_reason() {
        let of = |name| id_of(name).expect("a function of MPI").0;
        for name in [
            "MPI_Comm_spawn",
            "MPI_Register_datarep",
            "MPI_Comm_accept",
            "MPI_Win_create_dynamic",
        ] {
            assert!(replayable(of(name)).is_err(), "{name}");
            assert!(!may_be_left_out(of(name)), "{name}");
        }
        for name in [
            "MPI_Isend",
            "MPI_Win_create",
            "MPI_File_open",
            "MPI_Session_init",
            "MPI_Type_create_struct",
            "MPI_Op_create_c",
            "MPI_Win_create_errhandler",
            "MPI_Win_set_errhandler",
            "MPI_Grequest_start",
        ] {
            assert_eq!(replayable(of(name)), Ok(()), "{name}");
        }
        assert!(may_be_left_out(of("MPI_Comm_get_attr")));
        assert!(may_be_left_out(of("MPI_Session_call_errhandler")));
        assert!(!may_be_left_out(of("MPI_Session_set_errhandler")));
        assert!(is_callback(of("MPI_Op_create"), 0) && !is_callback(of("MPI_Op_free"), 0));
        assert!(is_callback(of("MPI_Grequest_start"), 2));
        assert!(!is_callback(of("MPI_Grequest_start"), 3));
        assert!(replayable(u16::MAX).is_err());
    }
}
