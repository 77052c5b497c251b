//! How many bytes a collective counts: what the collector counts of the same call (`mpi-call/src/volume.rs`), from what
//! the trace says was sent and received.
//!
//! The collector counts what a rank sends, or where it sends nothing of its own, what it receives; where each partner
//! gets a part of its own, all parts. Score-P counts what would go to and come from each rank if all sent to each other
//! (its `scorep_mpi_coll`): an `MPI_Allreduce` of 8 bytes on 16 ranks has 128 sent and 128 received.

use crate::comms::Comm;
use headwater_mpi_abi::{Class, Function};

/// By whose rule a trace counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Score-P's.
    ScoreP,
    /// Extrae's: as the arguments say, but of an exchange between all the part for one partner.
    Extrae,
    /// What the call's arguments say.
    Plain,
}

impl Rule {
    /// The rule of who wrote an archive, by what it calls itself.
    pub fn of(creator: &str) -> Self {
        match creator.starts_with("Score-P") {
            true => Self::ScoreP,
            false => Self::Plain,
        }
    }
}

/// Collectives in which a rank sends the same to all, which Score-P counts once for each; with the bytes that an
/// element has at the least.
const SAME_TO_ALL: [(&str, u64); 2] = [("allreduce", 4), ("allgather", 1)];

/// Bytes of rank `me`'s part in a collective of `function` on `comm`.
pub fn counted(
    rule: Rule,
    function: &Function,
    (comm, me): (&Comm, u32),
    (sent, received): (u64, u64),
) -> u64 {
    let or = |first: u64, second: u64| if first > 0 { first } else { second };
    let class = function.class;
    if class == Class::OneToAll {
        // In place, the root of a scatter takes nothing.
        return match rule {
            Rule::ScoreP => received,
            Rule::Extrae | Rule::Plain => or(received, sent),
        };
    }
    let ranks = comm.partners(me);
    let others = ranks.saturating_sub(1);
    let share = |sum: u64, of: u64| sum.checked_div(of).unwrap_or(0);
    let name = function.name.to_lowercase();
    match rule {
        Rule::Extrae if name.ends_with("alltoall") => return sent.saturating_mul(ranks),
        Rule::Extrae | Rule::Plain => return or(sent, received),
        Rule::ScoreP => {}
    }
    match class {
        // A root whose part is in place sends nothing.
        Class::AllToOne if sent > 0 || name.contains("gatherv") => or(sent, received),
        Class::AllToOne => share(received, others),
        Class::Scan => {
            // To oneself and all behind; an exclusive one, and one in place, to those alone.
            let before = u64::from(comm.rank(me).unwrap_or(0));
            let behind = ranks.saturating_sub(before);
            match share(sent, behind) {
                all if all > 0
                    && all.checked_mul(behind) == Some(sent)
                    && all.checked_mul(before + 1) == Some(received) =>
                {
                    all
                }
                _ => or(
                    share(received, before),
                    share(sent, behind.saturating_sub(1)),
                ),
            }
        }
        Class::NToN => match SAME_TO_ALL.iter().find(|s| name.contains(s.0)) {
            Some((_, element)) => {
                // In place nothing is sent to oneself, which the trace does not tell but by what does not divide.
                let whole = |of: u64| of > 0 && sent.is_multiple_of(of.saturating_mul(*element));
                match !whole(ranks) && whole(others) {
                    true => share(sent, others),
                    false => share(sent, ranks),
                }
            }
            None => sent,
        },
        _ => or(sent, received),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comms::{Comms, Members};
    use headwater_mpi_abi as abi;

    /// What Score-P says of a call of `n` bytes on four ranks, of which rank 1 is the root, and what a recorded run says.
    const CALLS: &[(&str, u32, (u64, u64), u64)] = &[
        ("MPI_Barrier", 0, (0, 0), 0),
        ("MPI_Bcast", 1, (400, 100), 100),
        ("MPI_Bcast", 2, (0, 100), 100),
        ("MPI_Scatter", 1, (400, 100), 100),
        ("MPI_Scatter", 1, (300, 0), 0),
        ("MPI_Scatterv", 0, (0, 70), 70),
        ("MPI_Gather", 1, (100, 400), 100),
        ("MPI_Gather", 1, (0, 300), 100),
        ("MPI_Igather", 0, (100, 0), 100),
        ("MPI_Gatherv", 1, (30, 400), 30),
        ("MPI_Reduce", 1, (100, 400), 100),
        ("MPI_Reduce", 1, (0, 300), 100),
        ("MPI_Allreduce", 0, (400, 400), 100),
        ("MPI_Allreduce", 0, (24, 24), 8),
        ("MPI_Iallreduce", 0, (32, 32), 8),
        ("MPI_Allgather", 0, (40, 40), 10),
        ("MPI_Allgather", 0, (30, 30), 10),
        ("MPI_Allgatherv", 3, (40, 90), 10),
        ("MPI_Alltoall", 3, (400, 400), 400),
        ("MPI_Alltoallv", 3, (90, 70), 90),
        ("MPI_Alltoallw", 3, (90, 70), 90),
        ("MPI_Reduce_scatter", 2, (90, 40), 90),
        ("MPI_Reduce_scatter_block", 2, (400, 400), 400),
        ("MPI_Scan", 0, (400, 100), 100),
        ("MPI_Scan", 3, (100, 400), 100),
        ("MPI_Scan", 1, (200, 100), 100),
        ("MPI_Exscan", 0, (300, 0), 100),
        ("MPI_Exscan", 3, (0, 300), 100),
    ];

    #[test]
    fn score_ps_sums_become_what_a_recorded_run_has() {
        let comms = Comms::new(4);
        let world = comms.get(0).unwrap();
        for (name, me, volumes, wanted) in CALLS {
            let function = &abi::FUNCTIONS[usize::from(abi::id_of(name).unwrap().0)];
            let bytes = counted(Rule::ScoreP, function, (world, *me), *volumes);
            assert_eq!(bytes, *wanted, "{name} {me} {volumes:?}");
        }
    }

    #[test]
    fn who_counts_plainly_is_believed_and_no_sum_is_a_panic() {
        let mut comms = Comms::new(4);
        let own = comms.add(5, Members::Own);
        let two = comms.add(6, Members::Two(vec![0], vec![1, 2, 3]));
        let of = |name| &abi::FUNCTIONS[usize::from(abi::id_of(name).unwrap().0)];
        let world = comms.get(0).unwrap();
        let plain = |name, volumes| counted(Rule::Plain, of(name), (world, 0), volumes);
        assert_eq!(plain("MPI_Allreduce", (8, 8)), 8);
        assert_eq!(plain("MPI_Reduce", (0, 8)), 8);
        assert_eq!(plain("MPI_Bcast", (8, 0)), 8);
        assert_eq!(plain("MPI_Scatter", (32, 8)), 8);
        let extrae = |name| counted(Rule::Extrae, of(name), (world, 0), (8, 32));
        assert_eq!((extrae("MPI_Ialltoall"), extrae("MPI_Alltoallv")), (32, 8));
        assert_eq!(Rule::of("Score-P 8.4"), Rule::ScoreP);
        assert_eq!(Rule::of("TAU"), Rule::Plain);
        for function in abi::FUNCTIONS.iter() {
            for comm in [own, two] {
                for volumes in [(0, 0), (7, 0), (0, 7), (u64::MAX, u64::MAX)] {
                    let comm = comms.get(comm).unwrap();
                    for rule in [Rule::ScoreP, Rule::Extrae] {
                        let _ = counted(rule, function, (comm, 0), volumes);
                    }
                }
            }
        }
        let between = comms.get(two).unwrap();
        let bytes = counted(Rule::ScoreP, of("MPI_Allreduce"), (between, 0), (24, 24));
        assert_eq!(bytes, 8, "three ranks on the other side");
    }
}
