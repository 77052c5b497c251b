//! Arrivals at collectives, and how these end for their members.

use super::collectives::{Arrival, Cell, Comm, Instance, Waiting};
use super::path::{Paths, START};
use super::requests::{End, OWN, Target};
use super::{Engine, Flow};
use crate::costs;
use crate::error::Error;
use crate::op::{Kind, Needs, Request, Step};
use crate::outcome::{Cause, Visitor, WaitState};
use crate::program::Program;

/// A communicator's number is below this limit.
const COMMS: u32 = 1 << 24;

impl<P: Program, V: Visitor> Engine<P, V> {
    /// A communicator's place in the table; asks the program for one that is new.
    fn comm(&mut self, rank: u32, comm: u32) -> Result<usize, Error> {
        let at = comm as usize;
        if matches!(self.comms.get(at), Some(Some(_))) {
            return Ok(at);
        }
        let members = self.program.members(comm).filter(|_| comm < COMMS);
        let members = members.ok_or(Error::NoCommunicator { rank, comm })?;
        if at >= self.comms.len() {
            self.comms.resize_with(at + 1, || None);
        }
        self.comms[at] = Some(Comm::new(&members, self.ranks));
        Ok(at)
    }

    /// Arrives at a collective.
    pub(super) fn arrives(
        &mut self,
        s: u32,
        step: &Step,
        (comm, kind, root): (u32, Kind, u32),
        bytes: u64,
        request: Option<Request>,
        waits: bool,
    ) -> Result<Flow, Error> {
        let net = self.net;
        let rank = self.streams[s as usize].rank;
        let at = self.comm(rank, comm)?;
        let request = self.opens(rank, request)?;
        let target = Target { stream: s, request };
        let stream = &self.streams[s as usize];
        let now = stream.now;
        let cause = Cause {
            stream: s,
            rank,
            call: stream.spent.calls,
            place: step.place,
            state: WaitState::of(kind),
        };
        let Some(c) = &mut self.comms[at] else {
            return Err(Error::NoCommunicator { rank, comm });
        };
        let count = c.count;
        let other = |other: u32| Error::NoMember { rank, other, comm };
        let index = c.index(rank).ok_or(other(rank))?;
        let needs = kind.needs();
        let root = match needs {
            Needs::Root | Needs::RootNeedsAll => c.index(root).ok_or(other(root))?,
            Needs::All | Needs::Lower => 0,
        };
        let number = c.calls(index);
        let instance = c.instance(&mut self.instances, number);
        let (expected, same_root) = *instance.what.get_or_insert((kind, root));
        if expected != kind {
            return Err(Error::OtherCollective {
                rank,
                comm,
                number,
                expected,
                found: kind,
            });
        }
        if same_root != root {
            return Err(Error::OtherRoot { rank, comm, number });
        }
        instance.arrived += 1;
        let complete = instance.arrived == count;
        let distance = match index.checked_sub(root) {
            Some(distance) => distance,
            None => index + (count - root),
        };
        let arrival = Arrival {
            since: now,
            ready: now,
            index,
            cause,
            path: START,
        };
        // Who goes on without waiting, and what its processor does before.
        let mut goes_on = None;
        let waiting = Waiting {
            target,
            index: distance,
            bytes,
        };
        match needs {
            Needs::All => {
                instance.bytes = instance.bytes.max(bytes);
                decide(instance, arrival, &mut self.paths, stream.path);
                if waits {
                    instance.waiting.push(waiting);
                } else {
                    goes_on = Some(costs::all(&net, kind, count, bytes));
                }
                if complete {
                    let cost = costs::all(&net, kind, count, instance.bytes);
                    self.all_end(at, number, |_| cost);
                }
            }
            Needs::Root if distance == 0 => {
                instance.bytes = bytes;
                decide(instance, arrival, &mut self.paths, stream.path);
                instance.ahead.push(s);
                self.streams[s as usize].ahead += 1;
                goes_on = Some(costs::own(&net, count, 0));
                self.all_end(at, number, |w| {
                    costs::to_or_from_root(&net, kind, count, w.index, bytes)
                });
            }
            Needs::Root => {
                let cost = |bytes| costs::to_or_from_root(&net, kind, count, distance, bytes);
                match instance.last {
                    _ if !waits => goes_on = Some(cost(bytes)),
                    Some(last) => {
                        let end = end_of(&last, cost(instance.bytes), &mut self.paths);
                        self.completes(target, end);
                    }
                    None => instance.waiting.push(waiting),
                }
            }
            Needs::RootNeedsAll => {
                let arrival = Arrival {
                    ready: now + costs::to_or_from_root(&net, kind, count, distance, bytes),
                    ..arrival
                };
                decide(instance, arrival, &mut self.paths, stream.path);
                if distance > 0 {
                    instance.ahead.push(s);
                    self.streams[s as usize].ahead += 1;
                    goes_on = Some(costs::own(&net, count, distance));
                } else if waits {
                    instance.waiting.push(waiting);
                } else {
                    goes_on = Some(costs::own(&net, count, 0));
                }
                if complete {
                    self.all_end(at, number, |_| 0.0);
                }
            }
            Needs::Lower => {
                let arrival = Arrival {
                    path: self.paths.share(stream.path),
                    ..arrival
                };
                if instance.cells.is_empty() {
                    instance.cells.resize(count as usize, Cell::default());
                }
                instance.cells[index as usize] = Cell {
                    arrival: Some(arrival),
                    waiting: waits.then_some(Waiting { index, ..waiting }),
                };
                if !waits {
                    goes_on = Some(costs::scan(&net, index, bytes));
                }
                self.scans(at, number);
            }
        }
        if let Some(cost) = goes_on {
            let end = self.nothing(s, step.place, cost);
            self.completes_at_once(s, step, request, end);
        }
        if complete {
            self.retires(at, number);
        }
        if request != OWN || goes_on.is_some() {
            return Ok(Flow::On);
        }
        // It may have ended just now.
        match self.streams[s as usize].own.take() {
            Some(end) => {
                self.ends(s, step, &end);
                Ok(Flow::On)
            }
            None => Ok(Flow::Waits(OWN)),
        }
    }

    /// All who wait in an instance have its last arrival behind them.
    fn all_end(&mut self, comm: usize, number: u64, cost: impl Fn(&Waiting) -> f64) {
        let Some(c) = &mut self.comms[comm] else {
            return;
        };
        let instance = c.instance(&mut self.instances, number);
        let Some(last) = instance.last else { return };
        let mut waiting = std::mem::take(&mut instance.waiting);
        for w in waiting.drain(..) {
            let end = end_of(&last, cost(&w), &mut self.paths);
            self.completes(w.target, end);
        }
        // The list is used again.
        if let Some(c) = &mut self.comms[comm] {
            c.instance(&mut self.instances, number).waiting = waiting;
        }
    }

    /// Members of a scan before whom all have arrived are done.
    fn scans(&mut self, comm: usize, number: u64) {
        while let Some(c) = &mut self.comms[comm] {
            let i = c.instance(&mut self.instances, number);
            let Some(cell) = i.cells.get_mut(i.prefix as usize) else {
                return;
            };
            let Some(arrival) = cell.arrival else { return };
            let waiting = cell.waiting.take();
            let last = match i.last {
                Some(last) if !arrival.is_after(&last) => last,
                _ => arrival,
            };
            i.last = Some(last);
            i.prefix += 1;
            if let Some(w) = waiting {
                let cost = costs::scan(&self.net, w.index, w.bytes);
                let end = end_of(&last, cost, &mut self.paths);
                self.completes(w.target, end);
            }
        }
    }

    /// All members have arrived at a collective.
    fn retires(&mut self, comm: usize, number: u64) {
        let Some(c) = &mut self.comms[comm] else {
            return;
        };
        let instance = c.instance(&mut self.instances, number);
        for s in instance.ahead.drain(..) {
            let stream = &mut self.streams[s as usize];
            stream.ahead = stream.ahead.saturating_sub(1);
        }
        if instance.cells.is_empty() {
            self.paths.release(instance.last.map_or(START, |l| l.path));
        }
        for cell in &instance.cells {
            self.paths.release(cell.arrival.map_or(START, |a| a.path));
        }
        c.forget_complete(&mut self.instances);
    }
}

/// An arrival decides when a collective ends, if it is after those so far.
#[inline]
fn decide(instance: &mut Instance, arrival: Arrival, paths: &mut Paths, path: u32) {
    if let Some(last) = instance.last {
        if !arrival.is_after(&last) {
            return;
        }
        paths.release(last.path);
    }
    let path = paths.share(path);
    instance.last = Some(Arrival { path, ..arrival });
}

/// How a collective ends for a member that waited for this arrival.
#[inline]
fn end_of(last: &Arrival, cost: f64, paths: &mut Paths) -> End {
    End {
        since: last.since,
        ready: last.ready + cost,
        overhead: 0.0,
        cause: last.cause,
        path: paths.share(last.path),
        theirs: true,
    }
}
