//! Messages: who sends, receives or probes, and how both ends of a message end.

use super::Engine;
use super::Flow;
use super::channels::{Key, Posted, What};
use super::requests::{End, NOBODY, OWN, Target};
use crate::error::Error;
use crate::op::{Mode, Request, Step};
use crate::outcome::{Cause, Visitor, WaitState};
use crate::program::Program;

impl<P: Program, V: Visitor> Engine<P, V> {
    /// Sends a message.
    pub(super) fn sends(
        &mut self,
        s: u32,
        step: &Step,
        key: Key,
        bytes: u64,
        mode: Mode,
        request: Option<Request>,
    ) -> Result<Flow, Error> {
        let net = self.net;
        let stream = &mut self.streams[s as usize];
        let (rank, when) = (stream.rank, stream.now);
        let rendezvous = match mode {
            Mode::Standard => bytes > net.rendezvous_above,
            Mode::Synchronous => true,
            Mode::Eager | Mode::Local => false,
        };
        let path = self.paths.share(stream.path);
        let place = step.place;
        let (what, overhead) = match mode {
            Mode::Local => (What::Eager { ready: when }, 0.0),
            _ => {
                let begin = (when + net.overhead).max(stream.network);
                let flown = begin + net.flow(bytes);
                stream.network = flown + net.gap;
                let ready = flown + net.latency;
                let what = match rendezvous {
                    true => What::Rendezvous { begin, bytes },
                    false => What::Eager { ready },
                };
                (what, net.overhead)
            }
        };
        let request = self.opens(rank, request)?;
        let message = Posted {
            what,
            when,
            stream: s,
            request: if rendezvous { request } else { NOBODY },
            call: self.streams[s as usize].spent.calls,
            place,
            path,
            overhead,
        };
        if overhead > 0.0 {
            self.is_busy(s, place, overhead);
        }
        if !rendezvous && request != OWN {
            let end = self.nothing(s, place, 0.0);
            self.completes(Target { stream: s, request }, end);
        }
        loop {
            let Some(partner) = self.channels.meet(key, message) else {
                self.streams[s as usize].ahead += 1;
                return Ok(match rendezvous && request == OWN {
                    true => Flow::Waits(OWN),
                    false => Flow::On,
                });
            };
            let target = Target {
                stream: partner.stream,
                request: partner.request,
            };
            if partner.what == What::Probe {
                self.paths.share(message.path);
                self.paths.release(partner.path);
                let end = self.probed(&message);
                self.completes(target, end);
                continue;
            }
            let (received, sent) = self.exchange(&message, &partner);
            self.completes(target, received);
            if let Some(sent) = sent {
                self.completes_at_once(s, step, request, sent);
            }
            return Ok(Flow::On);
        }
    }

    /// Receives a message, or looks for one.
    pub(super) fn receives(
        &mut self,
        s: u32,
        step: &Step,
        key: Key,
        request: Option<Request>,
        what: What,
    ) -> Result<Flow, Error> {
        let rank = self.streams[s as usize].rank;
        let request = self.opens(rank, request)?;
        let stream = &self.streams[s as usize];
        let receive = Posted {
            what,
            when: stream.now,
            stream: s,
            request,
            call: stream.spent.calls,
            place: step.place,
            path: self.paths.share(stream.path),
            overhead: 0.0,
        };
        let Some(message) = self.channels.meet(key, receive) else {
            return Ok(match request {
                OWN => Flow::Waits(OWN),
                _ => Flow::On,
            });
        };
        if what == What::Probe {
            self.paths.share(message.path);
            self.paths.release(receive.path);
            let end = self.probed(&message);
            self.ends(s, step, &end);
            return Ok(Flow::On);
        }
        let sender = &mut self.streams[message.stream as usize];
        sender.ahead = sender.ahead.saturating_sub(1);
        let (received, sent) = self.exchange(&message, &receive);
        if let Some(sent) = sent {
            let target = Target {
                stream: message.stream,
                request: message.request,
            };
            self.completes(target, sent);
        }
        self.completes_at_once(s, step, request, received);
        Ok(Flow::On)
    }

    /// Who posted something.
    fn poster(&self, p: &Posted) -> Cause {
        Cause {
            stream: p.stream,
            rank: self.streams[p.stream as usize].rank,
            call: p.call,
            place: p.place,
            state: match p.what {
                What::Receive | What::Probe => WaitState::LateReceiver,
                What::Eager { .. } | What::Rendezvous { .. } => WaitState::LateSender,
            },
        }
    }

    /// How a probe ends that sees this message.
    fn probed(&self, message: &Posted) -> End {
        let ready = match message.what {
            What::Eager { ready } => ready,
            _ => message.when + self.net.overhead + self.net.latency,
        };
        End {
            since: message.when,
            ready,
            overhead: 0.0,
            cause: self.poster(message),
            path: message.path,
            theirs: true,
        }
    }

    /// How the receive and, if it still waits, the send of a message end.
    fn exchange(&mut self, message: &Posted, receive: &Posted) -> (End, Option<End>) {
        let received = End {
            since: message.when,
            ready: 0.0,
            overhead: message.overhead,
            cause: self.poster(message),
            path: message.path,
            theirs: true,
        };
        match message.what {
            What::Rendezvous { begin, bytes } => {
                let done = self
                    .net
                    .rendezvous(message.when, receive.when, begin, bytes);
                let sent = End {
                    since: receive.when,
                    ready: done.sent,
                    overhead: 0.0,
                    cause: self.poster(receive),
                    path: receive.path,
                    theirs: done.late_receiver,
                };
                let received = End {
                    ready: done.there,
                    theirs: !done.late_receiver,
                    ..received
                };
                (received, Some(sent))
            }
            What::Eager { ready } => {
                self.paths.release(receive.path);
                (End { ready, ..received }, None)
            }
            What::Receive | What::Probe => (received, None),
        }
    }
}
