//! The messages of one thread: which call sends, posts and receives each is known by its times.

use super::records::Message;
use super::thread::{Known, TaskThread};
use crate::calls::{Link, Params, Post};
use crate::links::mix2;
use crate::thread::Shared;
use headwater_model::run::{EventKind, peer, tag};
use headwater_mpi_abi::Class;

/// Messages of one thread, by number, in the order of the times that matter.
#[derive(Default)]
pub struct Mail {
    /// By when they are sent.
    pub sent: Vec<u32>,
    /// By when they are posted.
    pub posted: Vec<u32>,
    /// By when they are received.
    pub received: Vec<u32>,
}

/// How much of it has been used.
#[derive(Clone, Copy, Default)]
pub(super) struct Used {
    sent: usize,
    posted: usize,
    received: usize,
}

/// Whether a call that begins at `from` and ends at `to` holds what begins at `at`: what begins as it ends is the next one's.
fn begins_in(at: u64, from: u64, to: u64) -> bool {
    at == from || (from..to).contains(&at)
}

/// Whether it holds what ends at `at`.
fn ends_in(at: u64, from: u64, to: u64) -> bool {
    at == to || (from < at && at < to)
}

impl TaskThread {
    /// The call that it is in, of a class, ends: it began at `from` and ends at `to`.
    pub(super) fn messages(
        &mut self,
        known: Known<'_>,
        shared: &mut Shared<'_>,
        class: Option<Class>,
        (from, to): (u64, u64),
    ) {
        let sends = matches!(class, Some(Class::Send | Class::SendRecv | Class::Start));
        let posts = matches!(class, Some(Class::Recv | Class::SendRecv | Class::Start));
        let receives = posts || matches!(class, Some(Class::Wait | Class::Test | Class::Probe));
        let message = |n: &u32| known.messages.get(*n as usize).copied();
        while let Some(n) = self.mail.sent.get(self.used.sent).copied() {
            let Some(m) = message(&n).filter(|m| m.sent < to || m.sent == from) else {
                break;
            };
            self.used.sent += 1;
            if sends && begins_in(m.sent, from, to) {
                self.link(shared, EventKind::Send, (n, m.dest), &m, None);
            }
        }
        while let Some(n) = self.mail.posted.get(self.used.posted).copied() {
            let Some(m) = message(&n).filter(|m| m.posted < to || m.posted == from) else {
                break;
            };
            self.used.posted += 1;
            let here = ends_in(m.received, from, to) && receives;
            if posts && begins_in(m.posted, from, to) && !here {
                self.link(shared, EventKind::RecvPost, (n, m.source), &m, None);
                if let Some(call) = self.thread.call() {
                    self.posts.insert(n, call.post());
                }
            }
        }
        while let Some(n) = self.mail.received.get(self.used.received).copied() {
            let Some(m) = message(&n).filter(|m| m.received <= to) else {
                break;
            };
            self.used.received += 1;
            let post = self.posts.remove(&n);
            if receives && ends_in(m.received, from, to) {
                self.link(shared, EventKind::Recv, (n, m.source), &m, post);
            }
        }
    }

    fn link(
        &mut self,
        shared: &mut Shared<'_>,
        kind: EventKind,
        (n, partner): (u32, u32),
        m: &Message,
        post: Option<Post>,
    ) {
        let id = mix2(0x7061_7261_7665_7200, u64::from(n));
        let ix = shared.links.known(id);
        let me = self.me;
        let Some(call) = self.thread.call() else {
            return;
        };
        let completes = kind == EventKind::Recv && post.is_some();
        if !completes && call.params == Params::default() {
            let offset = i32::try_from(i64::from(partner) - i64::from(me));
            // A call that sends and receives names whom it sends to, which here is nobody.
            let sends_to_nobody = call.class() == Some(Class::SendRecv) && kind != EventKind::Send;
            call.params = Params {
                peer: if sends_to_nobody {
                    peer::PROC_NULL
                } else {
                    offset.unwrap_or(peer::UNKNOWN)
                },
                tag: i32::try_from(m.tag).unwrap_or(tag::NONE),
                bytes: m.bytes,
                ..Params::default()
            };
        }
        call.links.push(Link {
            kind,
            ix,
            peer: partner,
            bytes: m.bytes,
            post,
            comm: u16::MAX,
        });
    }
}
