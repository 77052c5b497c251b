//! The body of a file, from the first number to the last: one description for writers and readers.

use super::Error;
use super::codec::{Coder, Field};
use super::columns::{Known, Runs};
use super::order::in_order_of_use;
use super::signatures::Paths;
use super::tables::Tables;
use crate::elastic::{Elastic, Form};
use crate::ranks::{Block, Ranks};
use crate::trace::{Body as What, Communicator, Event, Kind, Loss, Node, OpenCall, Trace};
use crate::vector::{Term, Vector};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};

/// How deep loops may be nested, in rows and in vectors.
pub(super) const DEEPEST: u32 = 200;

/// What may be repeated without being written again, for each number that was written.
const REPEATED_PER_NUMBER: u64 = 16;
const REPEATED_AT_FIRST: u64 = 4096;

/// Steps that comparing the blocks of sets may take, for each number that was read.
const COMPARED_PER_NUMBER: u64 = 256;
const COMPARED_AT_FIRST: u64 = 1 << 30;

/// Writes or reads one trace.
pub(super) struct Body<'c, C> {
    pub(super) coder: &'c mut C,
    pub(super) size: u32,
    repeated: u64,
    /// Steps that comparing sets of ranks took.
    compared: u64,
    /// Sets of ranks, in the order of their first use; number 0 has all ranks of the trace.
    pub(super) sets: Vec<Ranks>,
    pub(super) set_numbers: FxHashMap<Ranks, usize>,
    /// The set after the one that was used last.
    pub(super) next_set: usize,
    pub(super) last_start: u32,
    /// Values of several parts or terms that were written last.
    pub(super) known: VecDeque<Known>,
    pub(super) tables: Tables,
    /// Whether histograms are written as round ones; a writer may do so if all are.
    pub(super) has_round_times: bool,
    /// The unit of durations is 2 to this power, nanoseconds.
    pub(super) tick: u32,
    /// Whether columns may be written as tables.
    pub(super) has_tables: bool,
    pub(super) latest: FxHashMap<(u32, u32), (Form, i64)>,
    pub(super) communicators: Identities,
    pub(super) lists: Identities,
    pub(super) texts: Identities,
    pub(super) modules: Identities,
    pub(super) signatures: super::signatures::Table,
    pub(super) paths: Paths,
    /// How often each event whose times follow ran behind which one, if that is counted.
    pub(super) runs: Option<std::vec::IntoIter<super::runs::Before>>,
    /// The function of the event whose times follow.
    pub(super) function: u32,
    pub(super) last: [super::durations::Last; 3],
    /// The functions of the last two signatures, plus 1; 0 before.
    pub(super) last_functions: [u32; 2],
}

/// Identities by their number in the file.
#[derive(Default)]
pub(super) struct Identities {
    pub all: Vec<i64>,
    pub numbers: FxHashMap<i64, usize>,
    /// The first one that no value has had yet.
    pub unused: usize,
}

impl Identities {
    pub(super) fn push(&mut self, identity: i64) {
        self.numbers.entry(identity).or_insert(self.all.len());
        self.all.push(identity);
    }
}

impl<'c, C: Coder> Body<'c, C> {
    pub(super) fn new(coder: &'c mut C) -> Self {
        let has_tables = coder.is_packed();
        Self {
            coder,
            size: 0,
            repeated: 0,
            compared: 0,
            sets: Vec::new(),
            set_numbers: FxHashMap::default(),
            next_set: 1,
            last_start: 0,
            known: VecDeque::new(),
            tables: Tables::default(),
            has_round_times: true,
            tick: 0,
            has_tables,
            latest: FxHashMap::default(),
            communicators: Identities::default(),
            lists: Identities::default(),
            texts: Identities::default(),
            modules: Identities::default(),
            signatures: super::signatures::Table::default(),
            paths: Paths::default(),
            runs: None,
            function: 0,
            last: Default::default(),
            last_functions: [0; 2],
        }
    }

    /// Whether something of this size may be repeated by a number that refers to it. Writers and readers come to the
    /// same answer, and memory stays proportional to the length of the file.
    pub(super) fn may_repeat(&self, size: u64) -> bool {
        let most = self.coder.numbers() * REPEATED_PER_NUMBER + REPEATED_AT_FIRST;
        self.repeated.saturating_add(size) <= most
    }

    pub(super) fn repeat(&mut self, size: u64) -> Result<(), Error> {
        if !self.may_repeat(size) {
            return Err(Error::Malformed);
        }
        self.repeated += size;
        Ok(())
    }

    /// Blocks that were read, as a set with no rank twice. Comparing them takes time in proportion to the length of the
    /// file.
    pub(super) fn checked_ranks(&mut self, blocks: Vec<Block>) -> Result<Ranks, Error> {
        let most = self.may_compare();
        let mut left = most;
        let ranks = Ranks::from_blocks_within(blocks, self.size, &mut left);
        self.compared += most - left;
        ranks.ok_or(Error::Malformed)
    }

    fn may_compare(&self) -> u64 {
        let most = self.coder.numbers() * COMPARED_PER_NUMBER + COMPARED_AT_FIRST;
        most.saturating_sub(self.compared)
    }

    pub(super) fn u32(&mut self, field: Field, context: u32, value: u32) -> Result<u32, Error> {
        let number = self.coder.number(field, context, u64::from(value))?;
        u32::try_from(number).map_err(|_| Error::Malformed)
    }

    pub(super) fn count(&mut self, field: Field, context: u32, value: usize) -> Result<u64, Error> {
        self.coder.number(field, context, value as u64)
    }

    pub(super) fn bytes(&mut self, context: u32, given: Option<&[u8]>) -> Result<Vec<u8>, Error> {
        let count = self.count(Field::Count, context, given.map_or(0, <[u8]>::len))?;
        let mut bytes = Vec::new();
        for i in 0..count {
            let byte = given.and_then(|b| b.get(i as usize)).copied().unwrap_or(0);
            let before = bytes.last().copied().unwrap_or(0);
            bytes.push(self.coder.byte(Field::Text, before, byte)?);
        }
        Ok(bytes)
    }

    /// An identity that can be computed from what it stands for, or 64 bits.
    pub(super) fn identity(&mut self, derived: u64, given: Option<u64>) -> Result<u64, Error> {
        let is_derived = given == Some(derived);
        if self.coder.flag(Field::Derived, 0, is_derived)? {
            return Ok(derived);
        }
        self.coder.number(Field::Raw, 0, given.unwrap_or(0))
    }

    /// The trace, with the parts that `parts` says.
    pub(super) fn trace(&mut self, given: Option<&Trace>, parts: Parts) -> Result<Trace, Error> {
        if let Some(given) = given {
            self.give_signatures(given);
        }
        let size = self.u32(Field::Size, 0, given.map_or(0, |t| t.size))?;
        self.size = size;
        let ranks = self.ranks(given.map(|t| &t.ranks))?;
        if given.is_some() {
            self.set_numbers.insert(ranks.clone(), 0);
        }
        self.sets.push(ranks.clone());
        self.coder.part("modules");
        let modules = self.modules(given)?;
        self.coder.part("communicators");
        let communicators = self.communicators(given)?;
        self.coder.part("lists");
        let lists = self.lists(given)?;
        self.coder.part("texts");
        let texts = self.texts(given)?;
        self.coder.part("nodes");
        let mut streams = self.streams(given)?;
        self.coder.part("signatures");
        self.unused_signatures(given)?;
        self.coder.part("times");
        // The plain form, which ranks send to each other, has exact ones.
        if !self.coder.is_packed() {
            self.has_round_times = false;
        } else {
            let are_round = self.has_round_times && given.is_some_and(are_round);
            self.has_round_times = self.coder.flag(Field::Half, 255, are_round)?;
            let tick = self.u32(Field::Grain, 1, given.map_or(0, super::durations::tick_of))?;
            self.tick = (tick < u64::BITS).then_some(tick).ok_or(Error::Malformed)?;
            self.count_runs(given, &streams, &ranks)?;
        }
        for (thread, row) in &mut streams {
            let given = given.and_then(|t| t.streams.get(thread));
            self.row_times(row, given.map(Vec::as_slice), &[crate::trace::BEGIN], 0)?;
        }
        self.coder.part("losses");
        let losses = self.losses(given)?;
        self.coder.part("work");
        let work = self.work(given.map(|t| &t.work), &streams)?;
        let histograms = match parts.histograms {
            true => self.histograms(given.map(|t| &t.histograms))?,
            false => Default::default(),
        };
        let open = match parts.open {
            true => self.open_calls(given)?,
            false => Vec::new(),
        };
        let outliers = match parts.outliers {
            true => self.outliers(given.map(|t| &t.outliers))?,
            false => Default::default(),
        };
        let trace = Trace {
            size,
            ranks,
            signatures: self.signatures.known(),
            modules,
            lists,
            texts,
            communicators,
            streams,
            losses,
            open,
            work,
            outliers,
            histograms,
        };
        let is_open_known = |call: &OpenCall| {
            let signature = trace.signatures.get(&call.signature);
            signature.is_some_and(|s| s.kinds.len() == call.values.len())
                && trace.ranks.contains(call.rank)
        };
        let is_whole = given.is_some()
            || trace.open.iter().all(is_open_known)
                && super::check::is_whole(&trace, self.may_compare());
        is_whole.then_some(trace).ok_or(Error::Malformed)
    }

    fn modules(&mut self, given: Option<&Trace>) -> Result<BTreeMap<u64, String>, Error> {
        let given: Vec<_> = given.iter().flat_map(|t| &t.modules).collect();
        let count = self.count(Field::Number, 0, given.len())?;
        let mut modules = BTreeMap::new();
        for i in 0..count {
            let one = given.get(i as usize);
            let name = self.bytes(1, one.map(|(_, name)| name.as_bytes()))?;
            let derived = crate::identity::text_identity(&name) as u64;
            let identity = self.identity(derived, one.map(|(identity, _)| **identity))?;
            let name = String::from_utf8(name).map_err(|_| Error::Malformed)?;
            self.modules.push(identity as i64);
            modules.insert(identity, name);
        }
        Ok(modules)
    }

    fn communicators(
        &mut self,
        given: Option<&Trace>,
    ) -> Result<BTreeMap<i64, Communicator>, Error> {
        let given: Vec<_> = given.iter().flat_map(|t| &t.communicators).collect();
        let count = self.count(Field::Number, 1, given.len())?;
        let mut communicators = BTreeMap::new();
        let runs: &Runs = &[(1, 0)];
        let mut next = 0_i64;
        for i in 0..count {
            let one = given.get(i as usize);
            let number = one.map_or(0, |(number, _)| number.wrapping_sub(next));
            let number = next.wrapping_add(self.coder.signed(Field::Number, 2, number)?);
            next = number.wrapping_add(1);
            let mut column = |given: Option<&Elastic>, key| {
                let column = self.elastic(given, runs, 0, Kind::Plain, (u32::MAX, key), None);
                column.map(|(elastic, _)| elastic)
            };
            let me = column(one.map(|(_, c)| &c.me), 2)?;
            let size = column(one.map(|(_, c)| &c.size), 3)?;
            self.communicators.push(number);
            communicators.insert(number, Communicator { me, size });
        }
        Ok(communicators)
    }

    fn texts(&mut self, given: Option<&Trace>) -> Result<BTreeMap<i64, Vec<u8>>, Error> {
        let order = given.map_or_else(Vec::new, |t| {
            in_order_of_use(t, Kind::Text, |identity| t.texts.contains_key(&identity))
        });
        let count = self.count(Field::Number, 3, order.len())?;
        let mut texts = BTreeMap::new();
        for i in 0..count {
            let identity = order.get(i as usize);
            let one = given.zip(identity).and_then(|(t, id)| t.texts.get(id));
            let text = self.bytes(2, one.map(Vec::as_slice))?;
            let derived = crate::identity::text_identity(&text) as u64;
            let identity = self.identity(derived, identity.map(|id| *id as u64))? as i64;
            self.texts.push(identity);
            texts.insert(identity, text);
        }
        Ok(texts)
    }

    fn lists(&mut self, given: Option<&Trace>) -> Result<BTreeMap<i64, Vector>, Error> {
        let order = given.map_or_else(Vec::new, |t| {
            in_order_of_use(t, Kind::List, |identity| t.lists.contains_key(&identity))
        });
        let vectors: Vec<&Vector> = given.map_or_else(Vec::new, |t| {
            order.iter().filter_map(|id| t.lists.get(id)).collect()
        });
        let written = self.list_values(given.is_some().then_some(&vectors))?;
        let mut lists = BTreeMap::new();
        for (i, list) in written.into_iter().enumerate() {
            let derived = super::lists::list_identity(&list).unwrap_or(0);
            let identity = self.identity(derived as u64, order.get(i).map(|id| *id as u64))?;
            self.lists.push(identity as i64);
            lists.insert(identity as i64, list);
        }
        Ok(lists)
    }

    fn streams(&mut self, given: Option<&Trace>) -> Result<BTreeMap<u32, Vec<Node>>, Error> {
        let given: Vec<_> = given.iter().flat_map(|t| &t.streams).collect();
        let count = self.count(Field::Number, 4, given.len())?;
        let mut streams = BTreeMap::new();
        for i in 0..count {
            let one = given.get(i as usize);
            let thread = self.u32(Field::Thread, 0, one.map_or(0, |(thread, _)| **thread))?;
            let row = self.row(one.map(|(_, row)| row.as_slice()), &[(1, 0)], 0, 0)?;
            streams.insert(thread, row);
        }
        Ok(streams)
    }

    fn row(
        &mut self,
        given: Option<&[Node]>,
        runs: &Runs,
        set: usize,
        depth: u32,
    ) -> Result<Vec<Node>, Error> {
        if depth > DEEPEST {
            return Err(Error::Malformed);
        }
        let count = self.count(Field::Row, depth.min(3), given.map_or(0, <[Node]>::len))?;
        let mut row = Vec::new();
        for i in 0..count {
            let one = given.and_then(|row| row.get(i as usize));
            row.push(self.node(one, runs, set, depth)?);
        }
        Ok(row)
    }

    fn node(
        &mut self,
        given: Option<&Node>,
        runs: &Runs,
        set: usize,
        depth: u32,
    ) -> Result<Node, Error> {
        let is_loop = given.is_some_and(|node| matches!(node.body, What::Loop(_)));
        let is_loop = self.coder.flag(Field::IsLoop, depth.min(3), is_loop)?;
        let key = (u32::MAX, u32::from(is_loop));
        let trips = given.map(|node| &node.trips);
        let part = self.coder.part("trips");
        let (trips, sets) = self.elastic(trips, runs, set, Kind::Plain, key, None)?;
        self.coder.part(part);
        if given.is_none()
            && trips
                .parts
                .iter()
                .any(|part| has_negative(part.values.terms()))
        {
            return Err(Error::Malformed);
        }
        let inner: Vec<(u64, usize)> = trips
            .parts
            .iter()
            .zip(&sets)
            .map(|(part, set)| (part.values.sum().max(0) as u64, *set))
            .collect();
        let set = match *sets {
            [one] => one,
            _ => set,
        };
        let body = if is_loop {
            let row = match given.map(|node| &node.body) {
                Some(What::Loop(row)) => Some(row.as_slice()),
                _ => None,
            };
            What::Loop(self.row(row, &inner, set, depth + 1)?)
        } else {
            let event = match given.map(|node| &node.body) {
                Some(What::Event(event)) => Some(&**event),
                _ => None,
            };
            What::Event(Box::new(self.event(event, &inner, set)?))
        };
        Ok(Node { trips, body })
    }

    fn event(
        &mut self,
        given: Option<&Event>,
        runs: &Runs,
        mut set: usize,
    ) -> Result<Event, Error> {
        let part = self.coder.part("signatures");
        let (signature, entry) = self.signature(given.map(|event| event.signature))?;
        let (function, kinds) = self.signatures.kinds(entry);
        let usual = given.is_some_and(|event| event.values.len() == kinds.len());
        let columns = if self.coder.flag(Field::Columns, 0, usual)? {
            kinds.len() as u64
        } else {
            self.count(Field::Columns, 1, given.map_or(0, |e| e.values.len()))?
        };
        // Each event of a file has the columns of its function.
        if given.is_none() && columns != kinds.len() as u64 {
            return Err(Error::Malformed);
        }
        let kind_of = |i: &u64| kinds.get(*i as usize).copied().unwrap_or(Kind::Plain);
        let is_peer = |i: &u64| kind_of(i) == Kind::Peer;
        // Peers come first: other values are often what the partner has.
        let order = (0..columns).filter(is_peer);
        let order = order.chain((0..columns).filter(|i| !is_peer(i)));
        let count = order.clone().take_while(is_peer).count();
        let mut values: Vec<(u64, Elastic)> = Vec::new();
        for i in order {
            let one = given.and_then(|event| event.values.get(i as usize));
            let kind = kind_of(&i);
            let peers = match kind {
                Kind::Peer => None,
                _ => nearest(values.get(..count).unwrap_or(&[]), i),
            };
            self.coder.part(match kind {
                Kind::Plain => "values: plain",
                Kind::Peer => "values: peers",
                Kind::Comm => "values: communicators",
                Kind::List => "values: lists",
                Kind::Text => "values: texts",
            });
            let key = (function, i as u32);
            let (column, sets) = self.elastic(one, runs, set, kind, key, peers)?;
            if let [one] = *sets {
                set = one;
            }
            values.push((i, column));
        }
        self.coder.part(part);
        values.sort_by_key(|(i, _)| *i);
        Ok(Event {
            signature,
            values: values.into_iter().map(|(_, column)| column).collect(),
            times: BTreeMap::new(),
        })
    }

    fn losses(&mut self, given: Option<&Trace>) -> Result<Vec<Loss>, Error> {
        let given = given.map(|t| &t.losses);
        let count = self.count(Field::Number, 5, given.map_or(0, Vec::len))?;
        let mut losses = Vec::new();
        for i in 0..count {
            let one = given.and_then(|losses| losses.get(i as usize));
            losses.push(Loss {
                rank: self.u32(Field::Loss, 0, one.map_or(0, |l| l.rank))?,
                thread: self.u32(Field::Loss, 1, one.map_or(0, |l| l.thread))?,
                kept: self
                    .coder
                    .number(Field::Loss, 2, one.map_or(0, |l| l.kept))?,
                lost: self
                    .coder
                    .number(Field::Loss, 3, one.map_or(0, |l| l.lost))?,
            });
        }
        Ok(losses)
    }

    /// Calls that did not end.
    fn open_calls(&mut self, given: Option<&Trace>) -> Result<Vec<OpenCall>, Error> {
        let given = given.map(|t| &t.open);
        let count = self.count(Field::Number, 8, given.map_or(0, Vec::len))?;
        let mut calls = Vec::new();
        for i in 0..count {
            let one = given.and_then(|calls| calls.get(i as usize));
            let rank = self.u32(Field::Loss, 4, one.map_or(0, |c| c.rank))?;
            let thread = self.u32(Field::Loss, 5, one.map_or(0, |c| c.thread))?;
            let (signature, _) = self.signature(one.map(|c| c.signature))?;
            let values = one.map_or(&[][..], |c| &c.values);
            let mut read = Vec::new();
            for i in 0..self.count(Field::Loss, 6, values.len())? {
                let value = values.get(i as usize).copied().unwrap_or(0);
                read.push(self.coder.signed(Field::Loss, 7, value)?);
            }
            // One more than their number; 0 if it is not known.
            let before = one.and_then(|c| c.before);
            let before = before.map_or(0, |n| u64::from(n) + 1);
            let before = self.coder.number(Field::Loss, 8, before)?;
            let before = before.checked_sub(1).map(u32::try_from).transpose();
            calls.push(OpenCall {
                rank,
                thread,
                signature,
                values: read,
                before: before.map_err(|_| Error::Malformed)?,
            });
        }
        Ok(calls)
    }
}

/// Parts that not each trace has.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    pub histograms: bool,
    pub open: bool,
    pub outliers: bool,
}

/// Whether rounding its times changes nothing.
fn are_round(trace: &Trace) -> bool {
    let nodes = trace.streams.values().flatten();
    let mut times = nodes.flat_map(Node::times);
    times.all(|times| times.wall.is_round() && times.cpu.is_round() && times.call.is_round())
}

/// Whether a value is below 0 or beyond all numbers.
fn has_negative(terms: &[Term]) -> bool {
    terms.iter().any(|term| match term {
        Term::Loop { body, .. } => has_negative(body),
        Term::Run {
            first,
            stride,
            count,
        } => {
            let last = i128::from(*first) + i128::from(*stride) * (i128::from(*count) - 1);
            *first < 0 || last < 0 || last > i128::from(i64::MAX)
        }
    })
}

/// The column that is nearest to another one; behind it rather than before it, as where something is received. They are in
/// order.
fn nearest(peers: &[(u64, Elastic)], to: u64) -> Option<&Elastic> {
    let behind = peers.partition_point(|(at, _)| *at < to);
    let both = [
        peers.get(behind),
        behind.checked_sub(1).and_then(|at| peers.get(at)),
    ];
    let nearest = both
        .into_iter()
        .flatten()
        .min_by_key(|(at, _)| at.abs_diff(to));
    nearest.map(|(_, column)| column)
}
