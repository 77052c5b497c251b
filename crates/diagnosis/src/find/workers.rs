//! Where the threads work that a rank's own thread sleeps for.
//!
//! A rank whose threads call no MPI waits for them where it joins them. If it does so for longer than other
//! ranks, or as long however many ranks there are, the place is where they compute, not where it waits.

use crate::find::candidate::Candidate;
use crate::measure::inclusive::Inclusive;
use crate::measure::scale::Scale;
use crate::measure::useful;
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, TopDown, sum_rows};
use headwater_model::words;

/// Share of a cause's seconds that waiting for threads, beyond that of other ranks, must be.
const MOST: f64 = 0.5;

/// Brings causes in which ranks mostly wait for their threads to where those compute.
pub fn bring_there(pag: &Pag, scale: &Scale, mut found: Vec<Candidate>) -> Vec<Candidate> {
    let waits = useful::waits(scale);
    if waits.is_empty() {
        return found;
    }
    let data = &scale.view().computation;
    for c in found
        .iter_mut()
        .filter(|c| c.class.is_computation() && !c.class.is_of_threads())
    {
        let inside = scale.keys_inside(pag, c.vertex);
        let waiting = inside.iter().copied().filter(|k| {
            data.keys
                .get(*k as usize)
                .is_some_and(|k| waits.contains(&k.vertex))
        });
        let waiting: Vec<u32> = waiting.collect();
        let others: Vec<u32> = (0..scale.p).filter(|r| !c.ranks.contains(r)).collect();
        let beyond = |row: &[f64]| stats::mean_of(row, &c.ranks) - stats::mean_of(row, &others);
        let slept = beyond(&sum_rows(&data.blocked, &waiting, scale.p));
        if slept <= MOST * c.cost {
            continue;
        }
        let threads = &scale.view().threads;
        let of_worker = threads
            .times
            .iter()
            .filter(|t| !threads.calls_mpi(t.rank, t.thread));
        let entries = of_worker.map(|t| (t.vertex, t.rank as usize, t.cpu));
        let times = Inclusive::of_columns(pag, scale.p as usize, entries);
        let vertex = times.descend(pag, TopDown::ROOT, beyond);
        if vertex != TopDown::ROOT {
            c.evidence.push(format!(
                "the threads that compute here are waited for in {}, {}{}",
                words::location(&pag.place(c.vertex)),
                words::seconds(slept),
                if scale.subject().is_process() {
                    ""
                } else {
                    " on each of these ranks"
                },
            ));
            c.vertex = vertex;
            let own = |row: &[f64]| stats::mean_of(row, &c.ranks);
            let same = times.same_place(pag, vertex, own);
            c.twins = same.into_iter().filter(|v| *v != vertex).collect();
        }
    }
    found
}
