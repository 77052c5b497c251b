//! What a call does: the operations of one event.

mod collectives;
mod epochs;

use crate::comms::WORLD;
use crate::notes::{Note, Notes};
use crate::ranks::Rank;
use crate::recorded::Recorded;
use crate::shape::{Shape, value};
use crate::survey::{completed, request_key};
use headwater_mpi_abi::constants::{ANY_SOURCE, ANY_TAG, NULL, PROC_NULL};
use headwater_mpi_abi::{Class, Kind, Mode};
use headwater_simulate::{self as simulate, Op, Request};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// Tags of the messages of an epoch on a window are beyond those of programs.
const EPOCH: i32 = i32::MAX - 16;

/// Tag of the messages of a collective between two groups.
const BETWEEN: i32 = EPOCH - 1;

/// What a call posts: mostly one message, so that no memory is allocated.
type Acts = SmallVec<[Act; 2]>;

/// What is waited for when a request of the program is completed.
type Waits = SmallVec<[Request; 2]>;

/// The requests of a rank.
#[derive(Debug, Default)]
pub struct Requests {
    /// By key: what is outstanding.
    active: FxHashMap<i64, Waits>,
    /// By key: what a start does.
    persistent: FxHashMap<i64, Posted>,
    free: Vec<u32>,
    next: u32,
    done: Vec<(i64, usize)>,
    /// Groups to which a window is open, and whose windows are accessed.
    posted: FxHashMap<i64, Vec<u32>>,
    started: FxHashMap<i64, Vec<u32>>,
    /// Bytes that were put since, by window and target.
    put: FxHashMap<(i64, u32), u64>,
}

/// What a persistent request does.
#[derive(Clone, Debug)]
struct Posted {
    acts: Acts,
    /// Parts of a message that is sent in parts, and those that are still missing.
    parts: Option<(i64, i64)>,
}

/// Part of a call, without its request.
#[derive(Clone, Copy, Debug)]
enum Act {
    Send {
        to: u32,
        tag: i32,
        comm: u32,
        bytes: u64,
        mode: simulate::Mode,
    },
    Recv {
        from: u32,
        tag: i32,
        comm: u32,
    },
    /// From whoever sends.
    Wild {
        comm: u32,
    },
    Collective {
        comm: u32,
        kind: simulate::Kind,
        root: u32,
        bytes: u64,
    },
}

impl Act {
    fn op(self, request: Option<Request>) -> Op {
        match self {
            Self::Send {
                to,
                tag,
                comm,
                bytes,
                mode,
            } => Op::Send {
                to,
                tag,
                comm,
                bytes,
                mode,
                request,
            },
            Self::Recv { from, tag, comm } => Op::Recv {
                from,
                tag,
                comm,
                request,
            },
            Self::Wild { .. } => Op::Nothing,
            Self::Collective {
                comm,
                kind,
                root,
                bytes,
            } => Op::Collective {
                comm,
                kind,
                root,
                bytes,
                request,
                waits: true,
            },
        }
    }
}

impl Requests {
    fn make(&mut self) -> Request {
        Request::new(self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        }))
    }
}

/// A call that is being made.
pub struct Caller<'a> {
    pub recorded: &'a Recorded<'a>,
    pub shape: &'a Shape,
    pub values: &'a [i64],
    pub stream: u32,
    pub thread: u32,
    pub posts: &'a mut u64,
    pub rank: &'a mut Rank,
    pub requests: &'a mut Requests,
    pub notes: &'a mut Notes,
    pub ops: &'a mut Vec<Op>,
}

impl Caller<'_> {
    fn value(&self, at: Option<usize>) -> i64 {
        value(self.values, at)
    }

    /// Makes its operations.
    pub fn call(&mut self) {
        let recorded = self.recorded;
        let (trace, lists) = (recorded.trace, &recorded.lists);
        let mut comms = &recorded.survey.comms;
        self.rank
            .observe(trace, lists, &mut comms, self.shape, self.values);
        match self.shape.class {
            Class::Send | Class::Recv | Class::SendRecv => self.messages(),
            Class::Probe => self.probe(),
            Class::Wait | Class::Test => self.complete(),
            Class::Start => self.start(),
            Class::RequestFree => self.free(),
            Class::Channel => self.channel(),
            Class::Ready => self.ready(),
            Class::Barrier
            | Class::NToN
            | Class::OneToAll
            | Class::AllToOne
            | Class::Scan
            | Class::Neighbour
            | Class::CommCreate
            | Class::WinCreate
            | Class::WinFree
            | Class::FileOpen
            | Class::FileAll
            | Class::FileClose => self.collective(),
            Class::Init if recorded.survey.init as usize == recorded.ranks() => self.barrier(WORLD),
            Class::Finalize if recorded.survey.finalize as usize == recorded.ranks() => {
                self.barrier(WORLD);
            }
            Class::WinPost | Class::WinStart | Class::WinComplete | Class::WinWait => self.epoch(),
            Class::WinLock | Class::WinFlush | Class::WinUnlock => self.notes.add(Note::OneSided),
            Class::Spawn => self.notes.add(Note::Processes),
            _ => self.other(),
        }
        if comms.has_groups() {
            self.both_groups();
        }
    }

    /// Groups of an intercommunicator have a number each. Operations have one that is the same for both.
    fn both_groups(&mut self) {
        for op in self.ops.iter_mut() {
            if let Op::Send { comm, .. }
            | Op::Recv { comm, .. }
            | Op::Probe { comm, .. }
            | Op::Collective { comm, .. } = op
            {
                *comm = self.recorded.survey.comms.whole(*comm);
            }
        }
    }

    fn barrier(&mut self, comm: u32) {
        self.ops.push(Op::Collective {
            comm,
            kind: simulate::Kind::Barrier,
            root: 0,
            bytes: 0,
            request: None,
            waits: true,
        });
    }

    /// The communicator of the call, if its members are known.
    fn comm(&mut self) -> Option<u32> {
        let known = self.rank.comm(self.value(self.shape.comm));
        let known = known.filter(|id| self.recorded.survey.comms.is_known(*id));
        if known.is_none() {
            self.notes.add(Note::UnknownCommunicator);
        }
        known
    }

    /// The other rank of a message; `None` if there is none.
    fn peer(&mut self, comm: u32, member: i64) -> Option<u32> {
        if member == PROC_NULL {
            return None;
        }
        let rank = self.recorded.survey.comms.rank(comm, member);
        if rank.is_none() {
            self.notes.add(Note::MissingRank);
        }
        rank
    }

    /// Bytes of so many elements, or of the sum of a list.
    fn bytes(&mut self, which: usize) -> u64 {
        let (count, datatype) = (self.shape.counts[which], self.shape.types[which]);
        let datatype = datatype.or(self.shape.types[0]);
        let raw = self.value(count);
        let is_list = |at: Option<usize>, kind| at.is_some() && self.shape.at(kind) == at;
        let lists = &self.recorded.lists;
        let counts = match is_list(count, Kind::Counts) {
            true => lists.get(raw).unwrap_or(&[]),
            false => &[raw],
        };
        let each_type = self.value(datatype);
        let types = match is_list(datatype, Kind::Datatypes) {
            true => lists.get(each_type).unwrap_or(&[]),
            false => &[each_type],
        };
        let mut sum = 0_u64;
        let mut unknown = false;
        for (i, n) in counts.iter().enumerate() {
            let Ok(n) = u64::try_from(*n) else { continue };
            let datatype = types.get(i).or(types.first()).copied().unwrap_or(NULL);
            let size = self.rank.handles.size(datatype).unwrap_or_else(|| {
                unknown = true;
                1
            });
            sum = sum.saturating_add(n.saturating_mul(size));
        }
        if unknown {
            self.notes.add(Note::UnknownDatatype);
        }
        sum
    }

    /// The same as [`Self::bytes`], of the first that the call has: a buffer in place has none.
    fn own_bytes(&mut self) -> u64 {
        match self.value(self.shape.counts[0]) {
            n if n < 0 && self.shape.counts[1].is_some() => self.bytes(1),
            _ => self.bytes(0),
        }
    }

    fn messages(&mut self) {
        if self.shape.comm.is_none() {
            // The receive of a matched message: the probe has received it.
            return self.posted(Acts::new());
        }
        let Some(comm) = self.comm() else {
            return self.posted(Acts::new());
        };
        let mut acts = Acts::new();
        let (peers, tags) = (self.shape.peers, self.shape.tags);
        if self.shape.class != Class::Send {
            let at = usize::from(self.shape.class == Class::SendRecv);
            acts.extend(self.receive(comm, peers[at], tags[at]));
        }
        if self.shape.class != Class::Recv {
            let mode = self.shape.sends;
            let bytes = self.bytes(0);
            let (to, tag) = (self.value(peers[0]), self.value(tags[0]));
            acts.extend(self.peer(comm, to).map(|to| Act::Send {
                to,
                tag: tag as i32,
                comm,
                bytes,
                mode,
            }));
        }
        self.posted(acts);
    }

    fn receive(&mut self, comm: u32, source: Option<usize>, tag: Option<usize>) -> Option<Act> {
        let (mut source, mut tag) = (self.value(source), self.value(tag));
        if source == ANY_SOURCE || tag == ANY_TAG {
            if self.shape.mode != Mode::Blocking {
                return Some(Act::Wild { comm });
            }
            source = self.value(self.shape.status_source);
            tag = self.value(self.shape.status_tag);
            if source < 0 && source != PROC_NULL {
                self.notes.add(Note::UnknownSource);
                return None;
            }
        }
        self.peer(comm, source).map(|from| Act::Recv {
            from,
            tag: tag as i32,
            comm,
        })
    }

    /// Does what the call posts, now or when it is started.
    fn posted(&mut self, acts: Acts) {
        match self.shape.mode {
            Mode::Blocking => match acts[..] {
                [one] => self.ops.push(one.op(None)),
                _ => {
                    let mut all = Waits::new();
                    for act in acts {
                        let request = self.requests.make();
                        self.ops.push(act.op(Some(request)));
                        all.push(request);
                    }
                    self.wait(all);
                }
            },
            Mode::Persistent => {
                if let Some(key) = request_key(self.thread, self.value(self.shape.request)) {
                    self.requests
                        .persistent
                        .insert(key, Posted { acts, parts: None });
                }
            }
            Mode::Nonblocking => {
                if let Some(key) = request_key(self.thread, self.value(self.shape.request)) {
                    self.begin(
                        key,
                        &acts,
                        matches!(self.shape.class, Class::Recv | Class::SendRecv),
                    );
                }
            }
        }
    }

    /// Begins operations of a request. `counts` says whether it is a receive that the survey has counted.
    fn begin(&mut self, key: i64, acts: &[Act], counts: bool) {
        let post = *self.posts;
        *self.posts += u64::from(counts);
        let mut all = Waits::new();
        for act in acts {
            let mut act = *act;
            let resolved = &self.recorded.survey.resolved;
            let found = counts.then(|| resolved.get(&(self.stream, post)));
            match (&act, found.flatten()) {
                (Act::Wild { comm }, Some(Some((source, tag)))) => {
                    let comm = *comm;
                    let Some(from) = self.peer(comm, *source) else {
                        continue;
                    };
                    let tag = *tag as i32;
                    act = Act::Recv { from, tag, comm };
                }
                // It has received nothing.
                (Act::Wild { .. } | Act::Recv { .. }, Some(None)) => continue,
                (Act::Wild { .. }, None) => {
                    self.notes.add(Note::UnknownSource);
                    continue;
                }
                _ => {}
            }
            let request = self.requests.make();
            self.ops.push(act.op(Some(request)));
            all.push(request);
        }
        self.requests.active.insert(key, all);
    }

    fn wait(&mut self, all: Waits) {
        for request in all {
            self.ops.push(Op::Wait { request });
            self.requests.free.push(request.number());
        }
    }

    fn complete(&mut self) {
        let mut done = std::mem::take(&mut self.requests.done);
        completed(&self.recorded.lists, self.shape, self.values, &mut done);
        for (request, _) in &done {
            let Some(key) = request_key(self.thread, *request) else {
                if *request != NULL {
                    self.notes.add(Note::UnknownRequest);
                }
                continue;
            };
            match self.requests.active.remove(&key) {
                Some(all) => self.wait(all),
                None if self.requests.persistent.contains_key(&key) => {}
                None => self.notes.add(Note::UnknownRequest),
            }
        }
        self.requests.done = done;
    }

    fn start(&mut self) {
        let one = [self.value(self.shape.request)];
        let list = self.shape.requests.map(|at| self.value(Some(at)));
        let list = list.and_then(|l| self.recorded.lists.get(l));
        for request in list.unwrap_or(&one) {
            let Some(key) = request_key(self.thread, *request) else {
                continue;
            };
            let Some(posted) = self.requests.persistent.get_mut(&key) else {
                self.notes.add(Note::UnknownRequest);
                continue;
            };
            if let Some((parts, missing)) = &mut posted.parts {
                *missing = *parts;
                self.requests.active.insert(key, Waits::new());
                continue;
            }
            let acts = posted.acts.clone();
            let receives = |a: &Act| matches!(a, Act::Recv { .. } | Act::Wild { .. });
            self.begin(key, &acts, acts.iter().any(receives));
        }
    }

    fn free(&mut self) {
        if let Some(key) = request_key(self.thread, self.value(self.shape.request)) {
            self.requests.persistent.remove(&key);
            for request in self.requests.active.remove(&key).unwrap_or_default() {
                self.ops.push(Op::Free { request });
            }
        }
    }

    /// A message that is sent or received in parts.
    fn channel(&mut self) {
        let Some(key) = request_key(self.thread, self.value(self.shape.request)) else {
            return;
        };
        let Some(comm) = self.comm() else { return };
        let parts = self.value(self.shape.counts[0]);
        let size = self.value(self.shape.types[0]);
        let size = self.rank.handles.size(size).unwrap_or(1);
        let count = self.value(self.shape.counts[1]);
        let elements = parts.max(0) as u64 * count.max(0) as u64;
        let bytes = elements.saturating_mul(size);
        let other = self.value(self.shape.peers[0]);
        let tag = self.value(self.shape.tags[0]) as i32;
        let Some(other) = self.peer(comm, other) else {
            return;
        };
        let sends = self.shape.name.starts_with("MPI_Psend");
        let act = match sends {
            true => Act::Send {
                to: other,
                tag,
                comm,
                bytes,
                mode: simulate::Mode::Standard,
            },
            false => Act::Recv {
                from: other,
                tag,
                comm,
            },
        };
        let posted = Posted {
            acts: smallvec![act],
            parts: sends.then_some((parts, parts)),
        };
        self.requests.persistent.insert(key, posted);
    }

    /// Parts of a message may go. It is sent with the last.
    fn ready(&mut self) {
        let Some(key) = request_key(self.thread, self.value(self.shape.request)) else {
            return;
        };
        let named = |name| self.value(self.shape.named(name));
        let parts = match self.shape.name {
            "MPI_Pready_list" => named("length"),
            "MPI_Pready_range" => named("partition_high") - named("partition_low") + 1,
            _ => 1,
        };
        let Some(posted) = self.requests.persistent.get_mut(&key) else {
            return;
        };
        let Some((_, missing)) = &mut posted.parts else {
            return;
        };
        *missing -= parts;
        if *missing == 0 {
            let acts = posted.acts.clone();
            self.begin(key, &acts, false);
        }
    }

    fn probe(&mut self) {
        if self.shape.flag.is_some() && self.value(self.shape.flag) != 1 {
            return;
        }
        let Some(comm) = self.comm() else { return };
        let pick = |at: Option<usize>, status, any| match value(self.values, at) {
            known if known != any => known,
            _ => value(self.values, status),
        };
        let source = pick(self.shape.peers[0], self.shape.status_source, ANY_SOURCE);
        let tag = pick(self.shape.tags[0], self.shape.status_tag, ANY_TAG) as i32;
        let Some(from) = self.peer(comm, source) else {
            return;
        };
        let matched = self.shape.at(Kind::NewMessage).is_some();
        self.ops.push(match matched {
            true => Act::Recv { from, tag, comm }.op(None),
            false => Op::Probe { from, tag, comm },
        });
    }

    /// Calls that need nobody. What is put in an epoch is sent with its end.
    fn other(&mut self) {
        if let Some(at) = self.shape.at(Kind::NewRequest)
            && let Some(key) = request_key(self.thread, self.value(Some(at)))
        {
            self.requests.active.insert(key, Waits::new());
        }
        let window = self.shape.at(Kind::Window);
        let (Some(_), Some(_), Some(_)) = (window, self.shape.counts[0], self.shape.peers[0])
        else {
            return;
        };
        let window = self.value(window);
        let comm = self.rank.handles.windows.get(&window).copied();
        let target = comm.and_then(|comm| {
            let member = self.value(self.shape.peers[0]);
            self.recorded.survey.comms.rank(comm, member)
        });
        let in_epoch = self.requests.started.contains_key(&window);
        match target {
            Some(target) if in_epoch => {
                let bytes = self.bytes(0);
                let all = self.requests.put.entry((window, target)).or_default();
                *all = all.saturating_add(bytes);
            }
            _ => self.notes.add(Note::OneSided),
        }
    }
}
