//! Messages and receives that have no partner yet: a queue for each sender, receiver, communicator and tag.
//!
//! A queue has either sends or receives. Queues that are empty stay for the next message until there are too many of
//! them, so a loop allocates nothing, and a program with ever new tags needs memory only for what is outstanding.

use rustc_hash::FxHashMap;

pub(super) const NONE: u32 = u32::MAX;

/// Whose messages, to whom, with what tag in which communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    ranks: u64,
    label: u64,
}

impl Key {
    pub fn new(from: u32, to: u32, comm: u32, tag: i32) -> Self {
        Self {
            ranks: u64::from(from) << 32 | u64::from(to),
            label: u64::from(comm) << 32 | u64::from(tag as u32),
        }
    }

    /// Sender, receiver, communicator, tag.
    pub fn parts(self) -> (u32, u32, u32, i32) {
        let (from, to) = ((self.ranks >> 32) as u32, self.ranks as u32);
        (
            from,
            to,
            (self.label >> 32) as u32,
            self.label as u32 as i32,
        )
    }
}

/// What was posted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What {
    /// A message that is at the receiver at this time.
    Eager {
        ready: f64,
    },
    /// A message that waits for its receive; its data can enter the network from this time on.
    Rendezvous {
        begin: f64,
        bytes: u64,
    },
    Receive,
    Probe,
}

/// A message or a receive without partner.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    pub what: What,
    /// When it was posted.
    pub when: f64,
    pub stream: u32,
    /// The request to complete; see [`super::requests`].
    pub request: u32,
    pub call: u64,
    pub place: u32,
    /// The way to the moment when it was posted.
    pub path: u32,
    /// The rest of the network's part of its end: what the processor does then.
    pub overhead: f64,
}

impl Posted {
    pub fn is_send(&self) -> bool {
        matches!(self.what, What::Eager { .. } | What::Rendezvous { .. })
    }
}

#[derive(Clone, Copy, Debug)]
struct Link {
    posted: Posted,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
}

/// Queues that stay though they are empty.
const IDLE: usize = 1 << 12;

#[derive(Debug)]
pub(super) struct Channels {
    queues: FxHashMap<Key, Queue>,
    links: Vec<Link>,
    free: u32,
    limit: usize,
}

impl Channels {
    pub fn new() -> Self {
        Self {
            queues: FxHashMap::default(),
            links: Vec::new(),
            free: NONE,
            limit: IDLE,
        }
    }

    /// The first partner of what is posted, which leaves its queue unless a probe meets a message; otherwise what is
    /// posted is queued.
    #[inline]
    pub fn meet(&mut self, key: Key, posted: Posted) -> Option<Posted> {
        let queue = self.queues.entry(key).or_insert(Queue {
            first: NONE,
            last: NONE,
        });
        if let Some(link) = self.links.get(queue.first as usize).copied()
            && link.posted.is_send() != posted.is_send()
        {
            if posted.what != What::Probe {
                let at = queue.first;
                queue.first = link.next;
                self.links[at as usize].next = self.free;
                self.free = at;
            }
            return Some(link.posted);
        }
        let link = Link { posted, next: NONE };
        let at = match self.links.get_mut(self.free as usize) {
            Some(free) => {
                let at = self.free;
                self.free = free.next;
                *free = link;
                at
            }
            None => {
                self.links.push(link);
                (self.links.len() - 1) as u32
            }
        };
        match self.links.get_mut(queue.last as usize) {
            Some(last) if queue.first != NONE => last.next = at,
            _ => queue.first = at,
        }
        queue.last = at;
        if self.queues.len() > self.limit {
            self.forget_idle();
        }
        None
    }

    #[cold]
    fn forget_idle(&mut self) {
        self.queues.retain(|_, q| q.first != NONE);
        self.limit = IDLE.max(2 * self.queues.len());
    }

    /// All that is without partner, in no order.
    pub fn rest(&self) -> impl Iterator<Item = (Key, &Posted)> {
        self.queues.iter().flat_map(move |(key, queue)| {
            let mut at = queue.first;
            std::iter::from_fn(move || {
                let link = self.links.get(at as usize)?;
                at = link.next;
                Some((*key, &link.posted))
            })
        })
    }
}
