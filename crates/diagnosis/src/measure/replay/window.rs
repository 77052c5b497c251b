//! A window as a program of `simulate`: each call is what it posts, and then what it waits for.
//!
//! A link is a message or an instance of a collective, so a message has its link as tag, and each instance is a
//! communicator of its own. A rank that completes what it posted before the window posts it when the window begins.

use super::{Ends, comes_to_collective};
use headwater_model::run::{Event, EventKind, Run};
use headwater_mpi_abi::{self as abi, Class};
use headwater_simulate::{Kind, Members, Mode, Op, Program, Request, Step};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A call with its rows.
pub(super) struct Call<'a> {
    pub rows: &'a [Event],
    /// Index of the first row in the window.
    first: u32,
}

impl Call<'_> {
    /// The computation before the call with this number in its rank, seconds.
    pub fn busy(&self, number: usize, ends: Ends) -> f64 {
        self.busy_ns(number, ends) as f64 * 1e-9
    }

    fn busy_ns(&self, number: usize, ends: Ends) -> u64 {
        let row = &self.rows[0];
        if number == 0 && !ends.together {
            // The rest of this computation was before the window.
            return row.busy_ns.min(row.enter_ns);
        }
        row.busy_ns
    }

    fn numbered(&self) -> impl Iterator<Item = (u32, &Event)> {
        (self.first..).zip(self.rows).filter(|(_, e)| e.link != 0)
    }
}

/// An instance of a collective.
pub(super) struct Instance {
    /// The function by which members arrive; that of the first of them.
    func: u16,
    root: u32,
    /// Its number as a communicator.
    number: u32,
    /// Ranks that arrive at it within the window, each with its row, by rank.
    pub members: Vec<(u32, u32)>,
    /// Ranks that arrived before the window and complete it within.
    earlier: Vec<u32>,
}

impl Instance {
    fn row_of(&self, rank: u32) -> Option<u32> {
        let at = self.members.binary_search_by_key(&rank, |m| m.0).ok()?;
        Some(self.members[at].1)
    }
}

/// A window with what its links are.
pub(super) struct Window<'a> {
    /// By rank.
    pub calls: Vec<Vec<Call<'a>>>,
    /// By function of the run.
    pub classes: Vec<Option<&'static abi::Function>>,
    /// Collectives by link.
    pub instances: FxHashMap<u32, Instance>,
    /// Links of collectives, by number.
    numbers: Vec<u32>,
    /// Messages that are sent in the window, by link.
    messages: FxHashMap<u32, Message>,
    /// Ranks that receive a message after its first receiver, as (link, rank).
    more_receivers: Vec<(u32, u32)>,
}

/// A message that is sent in the window.
struct Message {
    from: u32,
    /// The row of its send.
    row: u32,
    /// The first rank that receives it.
    to: Option<u32>,
}

impl<'a> Window<'a> {
    pub fn of(run: &Run, events: &'a [Event]) -> Self {
        let mut window = Self {
            calls: (0..run.header.ranks).map(|_| Vec::new()).collect(),
            classes: run.functions.iter().map(|f| abi::by_name(f)).collect(),
            instances: FxHashMap::default(),
            numbers: Vec::new(),
            messages: FxHashMap::default(),
            more_receivers: Vec::new(),
        };
        window.add_calls(events);
        window.add_links(events);
        window
    }

    /// The analysis follows the first thread of each rank; the order of others relative to it is unknown here.
    fn add_calls(&mut self, events: &'a [Event]) {
        let mut at = 0;
        for rank in events.chunk_by(|a, b| a.rank == b.rank) {
            let mut rest = rank;
            while let Some(first) = rest.first() {
                let len = 1 + rest[1..].iter().take_while(|e| !e.first_of_call).count();
                let list = self.calls.get_mut(first.rank as usize);
                if let Some(list) = list.filter(|_| first.thread == 0) {
                    list.push(Call {
                        rows: &rest[..len],
                        first: at,
                    });
                }
                at += len as u32;
                rest = &rest[len..];
            }
        }
    }

    fn add_links(&mut self, events: &[Event]) {
        let ranks = self.calls.len();
        let of_ranks = |e: &Event| e.thread == 0 && e.link != 0 && (e.rank as usize) < ranks;
        let rows = || (0u32..).zip(events).filter(move |(_, e)| of_ranks(e));
        for (row, e) in rows() {
            if e.kind == EventKind::Send {
                let message = Message {
                    from: e.rank,
                    row,
                    to: None,
                };
                self.messages.entry(e.link).or_insert(message);
            } else if self.comes(e) {
                let number = self.numbers.len() as u32;
                let instance = self.instances.entry(e.link).or_insert_with(|| {
                    self.numbers.push(e.link);
                    Instance {
                        func: e.func,
                        root: e.peer,
                        number,
                        members: Vec::new(),
                        earlier: Vec::new(),
                    }
                });
                instance.members.push((e.rank, row));
            }
        }
        for (_, e) in rows().filter(|(_, e)| e.kind == EventKind::Recv) {
            match self.messages.get_mut(&e.link) {
                Some(Message { to: to @ None, .. }) => *to = Some(e.rank),
                Some(_) => self.more_receivers.push((e.link, e.rank)),
                None => {}
            }
        }
        self.more_receivers.sort_unstable();
        for instance in self.instances.values_mut() {
            instance.members.sort_unstable();
            instance.members.dedup_by_key(|m| m.0);
        }
        for (_, e) in rows().filter(|(_, e)| e.kind == EventKind::Collective) {
            if let Some(instance) = self.instances.get_mut(&e.link)
                && instance.row_of(e.rank).is_none()
                && !instance.earlier.contains(&e.rank)
            {
                instance.earlier.push(e.rank);
            }
        }
    }

    /// Whether a rank arrives at a collective by this row.
    fn comes(&self, e: &Event) -> bool {
        let function = self.classes.get(e.func as usize).copied().flatten();
        comes_to_collective(e, function)
    }

    /// The steps of the window. `ends` is asked at each call whether to end early.
    pub fn program<F: FnMut() -> bool>(&self, ends: Ends, interrupted: F) -> Steps<'_, F> {
        let ranks = self.calls.iter().map(|_| Rank::default()).collect();
        let mut steps = Steps {
            window: self,
            ends,
            interrupted,
            ranks,
        };
        for link in &self.numbers {
            for rank in &self.instances[link].earlier {
                steps.arrives(*rank, *link, false);
            }
        }
        steps
    }
}

/// How far a rank's steps have been made.
#[derive(Default)]
struct Rank {
    call: usize,
    steps: VecDeque<Step>,
    /// The requests of collectives, by link.
    open: FxHashMap<u32, Request>,
    /// Requests that can be used again.
    free: Vec<Request>,
    requests: u32,
}

/// The steps of a window.
pub(super) struct Steps<'a, F> {
    window: &'a Window<'a>,
    ends: Ends,
    interrupted: F,
    ranks: Vec<Rank>,
}

impl<F> Steps<'_, F> {
    /// A rank arrives at a collective; it waits there if it `blocks`.
    fn arrives(&mut self, rank: u32, link: u32, blocks: bool) {
        let Some(instance) = self.window.instances.get(&link) else {
            return;
        };
        let function = self.window.classes.get(instance.func as usize);
        let kind = match function.copied().flatten().map(|f| f.class) {
            Some(Class::OneToAll) => Kind::Broadcast,
            Some(Class::AllToOne) => Kind::Reduce,
            Some(Class::Scan) => Kind::Scan,
            _ => Kind::Barrier,
        };
        let has_root = matches!(kind, Kind::Broadcast | Kind::Reduce);
        let is_there = has_root
            && (instance.row_of(instance.root).is_some()
                || instance.earlier.contains(&instance.root));
        let first = instance.members.first().map_or(rank, |m| m.0);
        let ranks = &mut self.ranks[rank as usize];
        let request = (!blocks).then(|| {
            let request = ranks.free.pop().unwrap_or_else(|| {
                ranks.requests += 1;
                Request::new(ranks.requests - 1)
            });
            ranks.open.insert(link, request);
            request
        });
        let op = Op::Collective {
            comm: instance.number,
            kind,
            root: if is_there { instance.root } else { first },
            bytes: 0,
            request,
            // Nobody waits for a root whose calls are not in the window.
            waits: !has_root || is_there,
        };
        ranks.steps.push_back(Step::part(0, op));
    }

    fn push(&mut self, rank: u32, op: Op) {
        let steps = &mut self.ranks[rank as usize].steps;
        steps.push_back(Step::part(0, op));
    }

    /// What a call posts by a row; it waits for a collective in the same step if it `blocks`.
    fn add_post(&mut self, rank: u32, row: u32, e: &Event, blocks: bool) {
        let window = self.window;
        if window.comes(e) {
            let arrives = window.instances.get(&e.link).and_then(|i| i.row_of(rank));
            if arrives == Some(row) {
                self.arrives(rank, e.link, blocks);
            }
            return;
        }
        if e.kind != EventKind::Send {
            return;
        }
        let Some(message) = window.messages.get(&e.link).filter(|m| m.row == row) else {
            return;
        };
        let more = &window.more_receivers;
        let from = more.partition_point(|r| r.0 < e.link);
        let more = more[from..].iter().take_while(|r| r.0 == e.link);
        for to in message.to.into_iter().chain(more.map(|r| r.1)) {
            let send = Op::Send {
                to,
                tag: e.link as i32,
                comm: 0,
                bytes: 0,
                mode: Mode::Eager,
                request: None,
            };
            self.push(rank, send);
        }
    }

    /// What a call waits for by a row.
    fn add_wait(&mut self, rank: u32, e: &Event) {
        match e.kind {
            // In a window, there is no wait for a message whose send is outside of it.
            EventKind::Recv => {
                if let Some(message) = self.window.messages.get(&e.link) {
                    let receive = Op::Recv {
                        from: message.from,
                        tag: e.link as i32,
                        comm: 0,
                        request: None,
                    };
                    self.push(rank, receive);
                }
            }
            EventKind::Collective => {
                let ranks = &mut self.ranks[rank as usize];
                if let Some(request) = ranks.open.remove(&e.link) {
                    ranks.free.push(request);
                    self.push(rank, Op::Wait { request });
                }
            }
            _ => {}
        }
    }

    /// Makes the steps of a call.
    fn add(&mut self, rank: u32, call: &Call<'_>, number: usize) {
        let steps = &mut self.ranks[rank as usize].steps;
        let compute = |ns: u64| {
            let seconds = ns as f64 * 1e-9;
            Step::new(0, Op::Compute { seconds })
        };
        let busy = call.busy_ns(number, self.ends);
        if number == 0 && self.ends.apart {
            steps.push_back(compute(call.rows[0].enter_ns.saturating_sub(busy)));
        }
        steps.push_back(compute(busy));
        let before = steps.len();
        // A call with one row needs no request.
        let alone = call.rows.len() == 1;
        for (row, e) in call.numbered() {
            let blocks = alone && e.kind == EventKind::Collective;
            self.add_post(rank, row, e, blocks);
        }
        for (_, e) in call.numbered() {
            self.add_wait(rank, e);
        }
        let steps = &mut self.ranks[rank as usize].steps;
        let nothing = steps.len() == before;
        match steps.back_mut().filter(|_| !nothing) {
            Some(last) => last.more = false,
            None => steps.push_back(Step::new(0, Op::Nothing)),
        }
    }
}

impl<F: FnMut() -> bool> Program for Steps<'_, F> {
    fn ranks(&self) -> Vec<u32> {
        (0..).zip(&self.ranks).map(|(rank, _)| rank).collect()
    }

    fn next(&mut self, stream: u32) -> Option<Step> {
        let rank = self.ranks.get_mut(stream as usize)?;
        if let Some(step) = rank.steps.pop_front() {
            return Some(step);
        }
        let number = rank.call;
        let call = self.window.calls[stream as usize].get(number)?;
        if (self.interrupted)() {
            return None;
        }
        rank.call += 1;
        self.add(stream, call, number);
        self.ranks[stream as usize].steps.pop_front()
    }

    fn members(&self, comm: u32) -> Option<Members> {
        let link = self.window.numbers.get(comm as usize)?;
        let instance = self.window.instances.get(link)?;
        let ranks = instance.members.iter().map(|m| m.0);
        let mut ranks: Vec<u32> = ranks.chain(instance.earlier.iter().copied()).collect();
        if ranks.len() == self.ranks.len() {
            return Some(Members::All);
        }
        ranks.sort_unstable();
        Some(Members::List(ranks.into()))
    }
}
