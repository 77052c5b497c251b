//! Which parameters of a trace may be known by their histograms alone (ScalaTrace II, section 3.1): who sends to whom, how
//! much, and with which tag. A replay draws them. All else decides what a call means or which calls belong together.

use crate::fields::{Kind, fields};
use crate::functions::{Class, FUNCTIONS, Mode, id_of};

/// A bit for each field of a function that may be a histogram: partner, tag and count of a message, and what the status of
/// a receive says about it. Persistent and partitioned requests have none, as they are made once for many messages.
pub fn may_be_histograms(function: &str) -> u64 {
    let Some(id) = id_of(function) else { return 0 };
    let Some(function) = FUNCTIONS.get(usize::from(id.0)) else {
        return 0;
    };
    if function.mode == Mode::Persistent {
        return 0;
    }
    let is_message = matches!(
        function.class,
        Class::Send | Class::Recv | Class::SendRecv | Class::Probe
    );
    let completes = matches!(function.class, Class::Wait | Class::Test);
    let may = |kind: Kind| match kind {
        Kind::Peer | Kind::Tag | Kind::Count => is_message,
        Kind::StatusSource | Kind::StatusTag | Kind::Received => is_message || completes,
        _ => false,
    };
    let all = fields(id.0).iter().take(64).enumerate();
    all.filter(|(_, field)| may(field.kind))
        .fold(0, |bits, (at, _)| bits | 1 << at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the fields that may be histograms.
    fn of(function: &str) -> Vec<&'static str> {
        let bits = may_be_histograms(function);
        let id = id_of(function).expect("a function of MPI").0;
        let all = fields(id).iter().enumerate();
        all.filter(|(at, _)| bits >> at & 1 == 1)
            .map(|(_, field)| field.name)
            .collect()
    }

    #[test]
    fn messages_may_and_nothing_else() {
        assert_eq!(of("MPI_Isend"), ["count", "dest", "tag"]);
        assert_eq!(of("MPI_Irecv_c"), ["count", "source", "tag"]);
        for not in [
            "MPI_Send_init",
            "MPI_Precv_init",
            "MPI_Start",
            "MPI_Bcast",
            "MPI_Alltoallv",
            "MPI_Comm_split",
            "MPI_Put",
            "MPI_File_write",
            "MPI_Cart_shift",
        ] {
            assert_eq!(may_be_histograms(not), 0, "{not}");
        }
        assert_eq!(may_be_histograms("no_function"), 0);
    }

    #[test]
    fn handles_and_requests_never() {
        for (id, function) in (0..).zip(FUNCTIONS.iter()) {
            let bits = may_be_histograms(function.name);
            for (at, field) in fields(id).iter().enumerate() {
                let number = matches!(
                    field.kind,
                    Kind::Peer
                        | Kind::Tag
                        | Kind::Count
                        | Kind::StatusSource
                        | Kind::StatusTag
                        | Kind::Received
                );
                assert!(
                    bits >> at & 1 == 0 || number,
                    "{} {}",
                    function.name,
                    field.name
                );
            }
        }
    }
}
