//! The messages and collectives of a rank's calls, as events at their begin and at their end.

use super::events::{Collective, Event, Message, operation, volume};
use crate::whole::lengths::{Messages, Position};
use headwater_simulate::{Kind, Op, Request};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What a request completes.
#[derive(Clone, Copy, Debug)]
enum Open {
    /// Nothing that is an event of its own: a send of the same call.
    Nothing,
    Send(u64),
    /// Of the same call if it has no number.
    Receive(Message, Option<u64>),
    Collective(Collective, u64),
}

/// The requests of a rank.
#[derive(Debug, Default)]
pub struct Requests {
    open: FxHashMap<u32, Open>,
    next: u64,
    received: Position<(u32, u32, u32, i32)>,
}

/// A call.
pub struct Call<'c> {
    /// Its rank.
    pub rank: u32,
    /// The name of its function.
    pub function: &'c str,
    /// What it does.
    pub ops: &'c [Op],
    /// Lengths of messages.
    pub messages: &'c Messages,
    /// The number of a communicator in the archive, and its ranks.
    pub members: &'c mut dyn FnMut(u32) -> (u32, Arc<[u32]>),
}

impl Call<'_> {
    /// Whether the call itself waits for a request.
    fn waits_for(&self, request: Option<Request>) -> bool {
        let wait = |op: &Op| matches!(op, Op::Wait { request: r } if Some(*r) == request);
        self.ops.iter().any(wait)
    }

    /// The number of a communicator, and a rank's number in it.
    fn member(&mut self, comm: u32, rank: u32) -> (u32, u32) {
        let (number, members) = (self.members)(comm);
        // Most are the world.
        if members.get(rank as usize) == Some(&rank) {
            return (number, rank);
        }
        let at = members.iter().position(|m| *m == rank);
        (number, at.map_or(u32::MAX, |at| at as u32))
    }

    /// A message with a partner.
    fn message(&mut self, comm: u32, partner: u32, tag: i32, bytes: u64) -> Message {
        let (comm, partner) = self.member(comm, partner);
        Message {
            partner,
            comm,
            tag,
            bytes,
        }
    }

    fn collective(&mut self, comm: u32, kind: Kind, root: u32, bytes: u64) -> Collective {
        let (number, members) = (self.members)(comm);
        let members = members.len() as u64;
        let rooted = matches!(
            kind,
            Kind::Broadcast | Kind::Scatter | Kind::Reduce | Kind::Gather
        );
        let (sent, received) = volume(kind, bytes, members, root == self.rank);
        Collective {
            operation: operation(self.function, kind),
            comm: number,
            root: rooted.then(|| self.member(comm, root).1),
            sent,
            received,
        }
    }
}

impl Requests {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Adds the events at the begin and at the end of a call.
    pub fn call(&mut self, mut call: Call<'_>, begun: &mut Vec<Event>, done: &mut Vec<Event>) {
        // All ranks come to them, but programs do not know them as collectives.
        let ends = matches!(
            call.function,
            "MPI_Init" | "MPI_Init_thread" | "MPI_Finalize"
        );
        for op in call.ops {
            match *op {
                Op::Send {
                    to,
                    tag,
                    comm,
                    bytes,
                    request,
                    ..
                } => {
                    let message = call.message(comm, to, tag, bytes);
                    let number = match request {
                        Some(_) if !call.waits_for(request) => Some(self.number()),
                        _ => None,
                    };
                    begun.push(Event::Send(message, number));
                    if let Some(request) = request {
                        let open = number.map_or(Open::Nothing, Open::Send);
                        self.open.insert(request.number(), open);
                    }
                }
                Op::Recv {
                    from,
                    tag,
                    comm,
                    request,
                } => {
                    let channel = (from, call.rank, comm, tag);
                    let bytes = call.messages.next(&mut self.received, channel);
                    let message = call.message(comm, from, tag, bytes);
                    let Some(own) = request else {
                        done.push(Event::Receive(message, None));
                        continue;
                    };
                    let number = (!call.waits_for(request)).then(|| self.number());
                    begun.extend(number.map(Event::Post));
                    let open = Open::Receive(message, number);
                    self.open.insert(own.number(), open);
                }
                Op::Collective {
                    comm,
                    kind,
                    root,
                    bytes,
                    request,
                    ..
                } if !ends => {
                    let collective = call.collective(comm, kind, root, bytes);
                    match request {
                        None => {
                            begun.push(Event::CollectiveBegin);
                            done.push(Event::CollectiveEnd(collective, None));
                        }
                        Some(request) => {
                            let number = self.number();
                            begun.push(Event::CollectivePost(number));
                            let open = Open::Collective(collective, number);
                            self.open.insert(request.number(), open);
                        }
                    }
                }
                Op::Wait { request } => match self.open.remove(&request.number()) {
                    Some(Open::Send(number)) => done.push(Event::SendDone(number)),
                    Some(Open::Receive(message, number)) => {
                        done.push(Event::Receive(message, number));
                    }
                    Some(Open::Collective(collective, number)) => {
                        done.push(Event::CollectiveEnd(collective, Some(number)));
                    }
                    Some(Open::Nothing) | None => {}
                },
                Op::Free { request } => {
                    self.open.remove(&request.number());
                }
                _ => {}
            }
        }
    }
}
