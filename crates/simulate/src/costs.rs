//! How long collectives take on a LogGP network after those have arrived that are needed.
//!
//! The algorithms are those that MPI libraries choose from (Thakur, Rabenseifner, Gropp: *Optimization of collective
//! communication operations in MPICH*, IJHPCA 19(1), 2005), and of two for one purpose the faster counts: dissemination
//! for barriers (Hensgen, Finkel, Manber 1988); recursive doubling, and recursive halving with doubling
//! (Rabenseifner), for reductions to all; Bruck and pairwise exchange for all-to-all; binomial trees, and scatter with
//! all-gather (van de Geijn), with a root. As in Dimemas (Girona, Labarta, Badia 2000), a cost is that of members that
//! arrive together, and it counts from the last needed arrival on. With zero parameters every cost is zero.

use crate::network::LogGp;
use crate::op::Kind;

/// The number of doublings from 1 to at least `n`.
fn doublings(n: u32) -> u32 {
    n.max(1).next_power_of_two().trailing_zeros()
}

/// `bytes` times `n`.
fn times(bytes: u64, n: u32) -> u64 {
    bytes.saturating_mul(u64::from(n))
}

/// How long a collective takes in which each needs all, seconds.
pub(crate) fn all(net: &LogGp, kind: Kind, members: u32, bytes: u64) -> f64 {
    if members < 2 {
        return 0.0;
    }
    let rounds = f64::from(doublings(members));
    let others = members - 1;
    let round = net.message(0);
    // The part of the others in what all have together.
    let part = bytes as f64 * f64::from(others) / f64::from(members) * net.per_byte;
    match kind {
        Kind::AllReduce => {
            let doubling = rounds * net.message(bytes);
            doubling.min(2.0 * rounds * round + 2.0 * part)
        }
        Kind::AllGather => rounds * round + net.flow(times(bytes, others)),
        Kind::AllToAll => {
            let bruck = rounds * net.message(times(bytes, members) / 2);
            let pairwise = f64::from(others) * net.message(bytes);
            bruck.min(pairwise)
        }
        Kind::ReduceScatter => rounds * round + part,
        _ => rounds * round,
    }
}

/// The time between the root and the member that is `distance` after it in the communicator, seconds: until the data
/// reach it, or until its data reach the root.
pub(crate) fn to_or_from_root(
    net: &LogGp,
    kind: Kind,
    members: u32,
    distance: u32,
    bytes: u64,
) -> f64 {
    if members < 2 || distance == 0 {
        return 0.0;
    }
    let levels = doublings(members);
    // In a binomial tree, a message goes over the bits of the distance, highest first; a bit that is not set is a
    // message to another subtree that goes first.
    let used = levels - distance.trailing_zeros();
    let hops = distance.count_ones();
    let (hops, before) = (f64::from(hops), f64::from(used.saturating_sub(hops)));
    let next = net.overhead.max(net.gap);
    match kind {
        Kind::Scatter | Kind::Gather => {
            let subtrees = members.saturating_sub(1 << distance.trailing_zeros());
            hops * net.message(0) + before * next + net.flow(times(bytes, subtrees.max(1)))
        }
        _ => {
            let tree = hops * net.message(bytes) + before * (next + net.flow(bytes));
            let whole_tree = f64::from(levels) * net.message(bytes);
            let part = bytes as f64 * f64::from(members - 1) / f64::from(members);
            let in_parts = match kind {
                // Scatter with all-gather.
                Kind::Broadcast => f64::from(levels) + f64::from(members - 1),
                // Reduce-scatter with gather.
                _ => 2.0 * f64::from(levels),
            } * net.message(0)
                + 2.0 * part * net.per_byte;
            if in_parts < whole_tree {
                in_parts
            } else {
                tree
            }
        }
    }
}

/// How long a member's processor is busy for the others below it in the tree, seconds: the root of a broadcast, or a
/// member that is not the root of a reduction.
pub(crate) fn own(net: &LogGp, members: u32, distance: u32) -> f64 {
    if members < 2 {
        return 0.0;
    }
    let levels = doublings(members);
    let below = match distance {
        0 => levels,
        d => doublings(members - d).min(d.trailing_zeros()) + 1,
    };
    f64::from(below) * net.overhead
}

/// How long a scan takes for the member with this index, seconds.
pub(crate) fn scan(net: &LogGp, index: u32, bytes: u64) -> f64 {
    f64::from(doublings(index + 1)) * net.message(bytes)
}
