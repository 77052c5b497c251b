//! Which calls of a simulated run send and receive the same message.
//!
//! The messages of a pair of ranks with one communicator and one tag are received in the order in which they are sent. So
//! both sides number them alike while their steps pass.

use crate::MessageEnd;
use headwater_simulate::{Members, Op, Program, Step};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::VecDeque;

/// Sender, receiver, communicator and tag.
type Between = (u32, u32, u32, i32);

/// The messages of the calls that are being simulated.
#[derive(Debug, Default)]
pub struct Messages {
    /// How many there were.
    count: u64,
    /// Messages of which only one end was seen so far, in order, and whether that is the receive.
    open: FxHashMap<Between, (bool, VecDeque<u64>)>,
    /// By rank and request: the message that it receives.
    posted: FxHashMap<(u32, u32), u64>,
    /// By stream: those of its call.
    now: Vec<Vec<MessageEnd>>,
}

impl Messages {
    /// The messages of the call of a stream that has just ended.
    pub fn take(&mut self, stream: u32) -> Vec<MessageEnd> {
        let now = self.now.get_mut(stream as usize);
        now.map(std::mem::take).unwrap_or_default()
    }

    /// The number of the next message between these.
    fn number(&mut self, between: Between, receives: bool) -> u64 {
        let (side, open) = self.open.entry(between).or_default();
        if *side != receives
            && let Some(number) = open.pop_front()
        {
            return number;
        }
        self.count += 1;
        *side = receives;
        open.push_back(self.count);
        self.count
    }

    fn see(&mut self, stream: u32, rank: u32, op: Op) {
        let end = match op {
            Op::Send { to, tag, comm, .. } => MessageEnd {
                message: self.number((rank, to, comm, tag), false),
                receives: false,
            },
            Op::Recv {
                from,
                tag,
                comm,
                request,
            } => {
                let message = self.number((from, rank, comm, tag), true);
                if let Some(request) = request {
                    self.posted.insert((rank, request.number()), message);
                    return;
                }
                MessageEnd {
                    message,
                    receives: true,
                }
            }
            Op::Wait { request } => match self.posted.remove(&(rank, request.number())) {
                Some(message) => MessageEnd {
                    message,
                    receives: true,
                },
                None => return,
            },
            Op::Free { request } => {
                self.posted.remove(&(rank, request.number()));
                return;
            }
            _ => return,
        };
        if let Some(now) = self.now.get_mut(stream as usize) {
            now.push(end);
        }
    }
}

/// A program whose messages are seen.
#[derive(Debug)]
pub struct Seen<'a, P> {
    program: P,
    ranks: Vec<u32>,
    messages: &'a RefCell<Messages>,
}

impl<'a, P: Program> Seen<'a, P> {
    /// `program`, whose messages are put into `messages`.
    pub fn new(program: P, messages: &'a RefCell<Messages>) -> Self {
        let ranks = program.ranks();
        messages.borrow_mut().now = vec![Vec::new(); ranks.len()];
        Self {
            program,
            ranks,
            messages,
        }
    }
}

impl<P: Program> Program for Seen<'_, P> {
    fn ranks(&self) -> Vec<u32> {
        self.ranks.clone()
    }

    fn next(&mut self, stream: u32) -> Option<Step> {
        let step = self.program.next(stream)?;
        if let Some(rank) = self.ranks.get(stream as usize) {
            self.messages.borrow_mut().see(stream, *rank, step.op);
        }
        Some(step)
    }

    fn members(&self, comm: u32) -> Option<Members> {
        self.program.members(comm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_message_have_its_number() {
        let mut all = Messages {
            now: vec![Vec::new(); 2],
            ..Messages::default()
        };
        let (tag, comm) = (7, 0);
        let request = Some(headwater_simulate::Request::new(3));
        let send = Op::Send {
            to: 1,
            tag,
            comm,
            bytes: 1,
            mode: headwater_simulate::Mode::Standard,
            request: None,
        };
        let recv = |request| Op::Recv {
            from: 0,
            tag,
            comm,
            request,
        };
        // The first is received by a request, which is completed after the second was received.
        all.see(1, 1, recv(request));
        all.see(0, 0, send);
        all.see(0, 0, send);
        all.see(1, 1, recv(None));
        let sent: Vec<u64> = all.take(0).iter().map(|e| e.message).collect();
        let second = all.take(1);
        all.see(
            1,
            1,
            Op::Wait {
                request: headwater_simulate::Request::new(3),
            },
        );
        let first = all.take(1);
        assert_eq!(sent, [first[0].message, second[0].message]);
        assert!(first[0].receives && second[0].receives && sent[0] != sent[1]);
    }
}
