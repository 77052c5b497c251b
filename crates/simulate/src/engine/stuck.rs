//! Who waits for what when nobody can go on.

use super::Engine;
use super::requests::OWN;
use crate::error::{Blocked, WaitsFor};
use crate::op::Op;
use crate::outcome::Visitor;
use crate::program::Program;
use rustc_hash::{FxHashMap, FxHashSet};

impl<P: Program, V: Visitor> Engine<P, V> {
    /// All streams that wait, with what they wait for.
    pub(super) fn blocked(&self) -> Vec<Blocked> {
        // What a blocking operation of a stream, or a request of a rank, waits for.
        let owner = |stream: u32, request: u32| match request {
            OWN => (stream, request),
            _ => (self.streams[stream as usize].rank, request),
        };
        let running = self.streams.iter().filter(|s| !s.ended);
        let running: FxHashSet<u32> = running.map(|s| s.rank).collect();
        let mut all: FxHashMap<(u32, u32), WaitsFor> = FxHashMap::default();
        for (key, posted) in self.channels.rest() {
            let (from, to, comm, tag) = key.parts();
            let waits_for = match posted.is_send() {
                true => WaitsFor::Receive {
                    by: to,
                    tag,
                    comm,
                    ended: !running.contains(&to),
                },
                false => WaitsFor::Message {
                    from,
                    tag,
                    comm,
                    ended: !running.contains(&from),
                },
            };
            all.insert(owner(posted.stream, posted.request), waits_for);
        }
        for (comm, c) in (0..).zip(&self.comms) {
            let Some(c) = c else { continue };
            let mut known: FxHashMap<u64, WaitsFor> = FxHashMap::default();
            for (number, target) in c.waits(&self.instances) {
                let waits_for = known.entry(number).or_insert_with(|| {
                    let mut missing: Vec<u32> =
                        (0..self.ranks).filter(|r| c.lacks(*r, number)).collect();
                    let count = missing.len() as u32;
                    missing.truncate(WaitsFor::MISSING);
                    WaitsFor::Members {
                        comm,
                        number,
                        missing,
                        count,
                    }
                });
                all.insert(owner(target.stream, target.request), waits_for.clone());
            }
        }
        let waiting = (0..).zip(&self.streams).filter_map(|(number, s)| {
            let step = s.step.filter(|_| !s.ended)?;
            let waits_for = match step.op {
                Op::Wait { request } => all.get(&(s.rank, request.number())),
                _ => all.get(&(number, OWN)),
            };
            Some(Blocked {
                rank: s.rank,
                stream: number,
                call: s.spent.calls,
                place: step.place,
                waits_for: waits_for?.clone(),
            })
        });
        waiting.collect()
    }
}
