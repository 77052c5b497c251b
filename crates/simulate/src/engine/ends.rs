//! Requests, and how a stream ends an operation.

use super::Engine;
use super::path::START;
use super::requests::{End, NOBODY, OWN, Slot, Target};
use crate::error::Error;
use crate::op::{Request, Step};
use crate::outcome::{Cause, Visitor, WaitState};
use crate::program::Program;

impl<P: Program, V: Visitor> Engine<P, V> {
    /// Takes a request for an operation; without one the operation blocks.
    pub(super) fn opens(&mut self, rank: u32, request: Option<Request>) -> Result<u32, Error> {
        let Some(request) = request.map(Request::number) else {
            return Ok(OWN);
        };
        let slots = &mut self.requests[rank as usize];
        let at = request as usize;
        if at >= slots.len() && request < Request::LIMIT {
            slots.resize(at + 1, Slot::Free);
        }
        match slots.get_mut(at) {
            Some(slot @ Slot::Free) => *slot = Slot::Active(None),
            _ => return Err(Error::RequestInUse { rank, request }),
        }
        Ok(request)
    }

    /// The end of a complete request, which is free from now on.
    pub(super) fn take_done(&mut self, rank: u32, request: u32) -> Option<End> {
        let slot = self.requests[rank as usize].get_mut(request as usize)?;
        let Slot::Done(end) = *slot else { return None };
        *slot = Slot::Free;
        Some(end)
    }

    /// A stream ends an operation.
    pub(super) fn ends(&mut self, s: u32, step: &Step, end: &End) {
        let stream = &mut self.streams[s as usize];
        let now = stream.now;
        let late = end.ready > now;
        let leave = end.ready.max(now) + end.overhead;
        let wait = (end.since - now).max(0.0);
        let from = if late && end.theirs {
            self.paths.release(stream.path);
            stream.path = end.path;
            end.since
        } else {
            self.paths.release(end.path);
            now
        };
        stream.path = self
            .paths
            .goes_on(stream.path, step.place, true, leave - from);
        if (late && end.theirs || wait > 0.0) && end.cause.stream != s {
            stream.cause = Some(end.cause);
        }
        stream.now = leave;
        stream.wait += wait;
        stream.spent.wait += wait;
        stream.spent.transfer += leave - now - wait;
    }

    /// An operation is complete: its request has an end, and who waits for it runs again.
    pub(super) fn completes(&mut self, target: Target, end: End) {
        let stream = &mut self.streams[target.stream as usize];
        match target.request {
            OWN => {
                stream.own = Some(end);
                if target.stream != self.current {
                    self.ready.push_back(target.stream);
                }
            }
            NOBODY => self.paths.release(end.path),
            request => {
                let slots = &mut self.requests[stream.rank as usize];
                match slots.get_mut(request as usize) {
                    Some(slot @ Slot::Active(_)) => {
                        let Slot::Active(waiting) = std::mem::replace(slot, Slot::Done(end)) else {
                            return;
                        };
                        self.ready.extend(waiting);
                    }
                    Some(slot) => {
                        *slot = Slot::Free;
                        self.paths.release(end.path);
                    }
                    None => {}
                }
            }
        }
    }

    /// The operation of the step that a stream is in is complete at once.
    pub(super) fn completes_at_once(&mut self, s: u32, step: &Step, request: u32, end: End) {
        if request == OWN {
            self.ends(s, step, &end);
        } else {
            let stream = s;
            self.completes(Target { stream, request }, end);
        }
    }

    /// What a stream does now, as the cause of others' waits.
    pub(super) fn cause(&self, s: u32, place: u32) -> Cause {
        let stream = &self.streams[s as usize];
        Cause {
            stream: s,
            rank: stream.rank,
            call: stream.spent.calls,
            place,
            // Nobody waits for what a stream does itself.
            state: WaitState::LateSender,
        }
    }

    /// How it is to wait for nobody.
    pub(super) fn nothing(&self, s: u32, place: u32, overhead: f64) -> End {
        let now = self.streams[s as usize].now;
        End {
            since: now,
            ready: now,
            overhead,
            cause: self.cause(s, place),
            path: START,
            theirs: false,
        }
    }

    /// The processor is busy with the network.
    pub(super) fn is_busy(&mut self, s: u32, place: u32, seconds: f64) {
        let stream = &mut self.streams[s as usize];
        stream.now += seconds;
        stream.spent.transfer += seconds;
        stream.path = self.paths.goes_on(stream.path, place, true, seconds);
    }
}
