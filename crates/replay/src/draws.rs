//! Coordinated random choice: the values of an event, the same on all ranks.

use crate::mixed::mixed;
use headwater_mpi_abi::constants::PROC_NULL;
use headwater_trace::lossy::LOST;
use headwater_trace::trace::{Kind, Signature, Trace};

/// Draws values from the histograms of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Draws<'a> {
    trace: &'a Trace,
    seed: u64,
}

impl<'a> Draws<'a> {
    /// The same seed gives the same values.
    pub fn new(trace: &'a Trace, seed: u64) -> Self {
        Self { trace, seed }
    }

    /// Replaces values that are in histograms. The event is the `number`-th one of `rank`, and has this signature.
    pub fn fill(&self, rank: u32, number: u64, signature: u64, values: &mut [i64]) {
        if !values.contains(&LOST) {
            return;
        }
        let Some(known) = self.trace.signatures.get(&signature) else {
            return;
        };
        let comm = known.communicator().and_then(|at| values.get(at)).copied();
        for (at, value) in (0..).zip(values) {
            if *value == LOST {
                *value = self.draw((rank, number), (signature, known), at, comm);
            }
        }
    }

    fn draw(
        &self,
        (rank, number): (u32, u64),
        (identity, signature): (u64, &Signature),
        at: u32,
        comm: Option<i64>,
    ) -> i64 {
        let key = mixed(self.seed) ^ u64::from(rank) << 32 ^ u64::from(at);
        let first = mixed(mixed(key) ^ number);
        let (second, third) = (mixed(first), mixed(!first));
        let [relative, absolute] = self.trace.histograms_of(identity, at);
        let counts = [relative, absolute].map(|h| h.map_or(0, |h| h.count));
        let all = counts.iter().fold(0_u64, |all, n| all.saturating_add(*n));
        // Ranks that do not know their place have absolute partners.
        let is_relative = third.checked_rem(all).is_some_and(|n| n < counts[0]);
        let drawn = match is_relative {
            true => relative.map_or(0, |h| h.draw(first, second)),
            false => absolute.map_or(0, |h| h.draw(first, second)),
        };
        if signature.kinds.get(at as usize) != Some(&Kind::Peer) {
            return drawn.max(0);
        }
        let place = comm.and_then(|comm| self.trace.place(comm, rank));
        match place {
            _ if drawn < 0 => PROC_NULL,
            Some(place) if is_relative => {
                drawn.wrapping_add(place.me).rem_euclid(place.size.max(1))
            }
            Some(place) => drawn.rem_euclid(place.size.max(1)),
            None => PROC_NULL,
        }
    }
}
