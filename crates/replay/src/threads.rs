//! Threads of a rank that call MPI: what they share, and in which order they use it.
//!
//! A trace has the events of each thread in order, but not the order between threads. A handle that only its maker uses has
//! a name of the thread's own. For one that several threads use, a call waits until it is made, and its end waits until the
//! other threads have used it as often as they did. What needs more order than that is refused.
//!
//! Libraries may return the same handle for all sends that are done at once, so a trace may attribute a request to a thread
//! that did not make it. So requests of sends are their makers', and null for other threads. The same applies to other
//! requests that are not completed as often as they are made.

use crate::computation::Pace;
use crate::error::Error;
use crate::resolve::{Ahead, Step, Steps, Value};
use headwater_mpi_abi::constants::NULL;
use headwater_mpi_abi::{
    Class, FIRST_MADE, FIRST_MADE_COMM, FUNCTIONS, Field, Kind, fields, predefined, replayable,
};
use headwater_trace::trace::Trace;
use rustc_hash::{FxHashMap, FxHashSet};

/// The threads of a rank that call MPI: those that have events, or the first one.
pub fn of_rank(trace: &Trace, rank: u32) -> Vec<u32> {
    let all = trace.streams.keys().copied();
    let found: Vec<u32> = all
        .filter(|thread| trace.events(rank, *thread).next().is_some())
        .collect();
    if found.is_empty() { vec![0] } else { found }
}

/// What a call does with a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Uses it.
    Use,
    /// Makes it.
    Make,
    /// Gives it up.
    Free,
}

/// A handle of a rank.
type Key = (Kind, i64);

/// The handles that several threads of a rank use.
#[derive(Debug, Default)]
pub struct Sharing {
    /// The rank's threads, if there are several.
    threads: Vec<u32>,
    numbers: FxHashMap<Key, usize>,
    /// By number and thread: how often it uses the handle.
    pub uses: Vec<Vec<u64>>,
    /// By number: the thread that commits it, if it is a datatype that has to be committed before others use it.
    pub commits: Vec<Option<usize>>,
}

/// So much is between the names that two threads give to their own handles.
const NAMES: i64 = 1 << 40;

impl Sharing {
    /// Whether one thread alone calls MPI.
    pub fn is_of_one(&self) -> bool {
        self.threads.is_empty()
    }

    /// Whether no handle is shared.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The number of a handle; `None` if one thread alone uses it.
    pub fn number(&self, kind: Kind, handle: i64) -> Option<usize> {
        self.numbers.get(&(kind, handle)).copied()
    }

    /// Gives the handles of a thread, the `at`-th one, names of its own.
    pub fn rename(&self, at: usize, function: u16, values: &mut [Value]) {
        let by = NAMES.saturating_mul(at as i64);
        let thread = self.threads.get(at).copied().unwrap_or(0);
        let name = |kind: Kind, handle: i64| match kind {
            _ if !is_made(kind, handle) || self.numbers.contains_key(&(kind, handle)) => handle,
            Kind::Request if handle >> 32 == i64::from(thread) => handle,
            Kind::Request => NULL,
            _ => handle.saturating_add(by),
        };
        for (field, value) in fields(function).iter().zip(values) {
            let kind = field.kind.element().unwrap_or(field.kind.handle());
            match value {
                _ if !is_handle(kind) => {}
                Value::Number(n) => *n = name(kind, *n),
                Value::List(list) => *list = list.iter().map(|n| name(kind, *n)).collect(),
                Value::Text(_) => {}
            }
        }
    }
}

fn is_handle(kind: Kind) -> bool {
    use Kind::*;
    matches!(
        kind,
        Comm | Datatype
            | Op
            | Group
            | Window
            | File
            | Info
            | Errhandler
            | Request
            | Message
            | Session
    )
}

/// Whether a call has made this handle.
fn is_made(kind: Kind, handle: i64) -> bool {
    match kind {
        Kind::Comm => handle >= FIRST_MADE_COMM,
        _ => handle >= 0 && !(handle < FIRST_MADE && predefined(kind, handle).is_some()),
    }
}

/// Shows the handles of a call that calls have made.
pub fn handles(all: &[Field], values: &[Value], see: &mut dyn FnMut(Kind, i64, What)) {
    for (field, value) in all.iter().zip(values) {
        let kind = field.kind.element().unwrap_or(field.kind.handle());
        if !is_handle(kind) {
            continue;
        }
        let what = match field.kind {
            kind if kind.is_new() => What::Make,
            kind if kind.is_freed() => What::Free,
            _ => What::Use,
        };
        let one = [value.number()];
        let list = value.list().unwrap_or(&one);
        let made = list.iter().filter(|n| is_made(kind, **n));
        made.for_each(|n| see(kind, *n, what));
    }
}

/// What is found out about the threads of a rank.
#[derive(Default)]
struct Survey {
    /// By handle: how often it is made, by which threads it is used, and whether one used it that had not made it.
    known: FxHashMap<Key, Known>,
    /// By communicator, window or file: the first thread that calls collectives, and whether others do.
    collectives: FxHashMap<Key, (usize, bool)>,
    /// By direction, communicator, peer and tag of messages: the thread, the count and the datatype.
    messages: FxHashMap<(bool, [i64; 3]), (usize, [i64; 2])>,
}

#[derive(Default)]
struct Known {
    made: u64,
    uses: Vec<u64>,
    is_foreign: bool,
    is_send: bool,
    commits: Option<usize>,
}

/// Finds out what the threads of a rank share. `aheads` has what is known before the first step of each.
///
/// # Errors
/// They need an order that a trace does not have.
pub fn sharing(
    trace: &Trace,
    rank: u32,
    threads: &[u32],
    aheads: &[Ahead],
) -> Result<Sharing, Error> {
    if threads.len() < 2 {
        return Ok(Sharing::default());
    }
    let mut survey = Survey::default();
    for (at, (thread, ahead)) in threads.iter().zip(aheads).enumerate() {
        let mut steps = Steps::new(trace, (rank, *thread), ahead.clone(), Pace::Mean);
        let mut own = FxHashSet::default();
        while let Some(step) = steps.next() {
            if replayable(step.function).is_ok() {
                survey
                    .step(at, threads, step, &mut own)
                    .map_err(|what| Error::Order { rank, what })?;
            }
        }
    }
    let mut sharing = Sharing {
        threads: threads.to_vec(),
        ..Sharing::default()
    };
    // Communicators that several threads call alike, and each has made its own, are none that they share.
    let is_own = |key| survey.known.get(key).is_some_and(|k| !k.is_foreign);
    let mut collectives = survey.collectives.iter();
    if collectives.any(|(key, (_, several))| *several && !is_own(key)) {
        return Err(Error::Order {
            rank,
            what: COLLECTIVES,
        });
    }
    for (key, known) in survey.known {
        // Sessions that nothing makes are made when they are first used.
        if !known.is_foreign || known.made == 0 {
            continue;
        }
        let is_request = key.0 == Kind::Request;
        let completed: u64 = known.uses.iter().sum();
        if is_request && (known.is_send || completed != known.made) {
            continue;
        }
        if known.made > 1 && !is_request {
            return Err(Error::Order { rank, what: AGAIN });
        }
        sharing.numbers.insert(key, sharing.uses.len());
        sharing.uses.push(known.uses);
        sharing.commits.push(known.commits);
    }
    Ok(sharing)
}

const AGAIN: &str = "use each other's handles, and some of these are made, freed and made again";
/// The function that datatypes wait for.
pub const COMMIT: &str = "MPI_Type_commit";

const STARTS: &str = "start each other's persistent requests";
const COLLECTIVES: &str = "call collectives on the same communicator, window or file";
const LENGTHS: &str =
    "exchange messages of different lengths with the same rank, tag and communicator";

impl Survey {
    fn step(
        &mut self,
        at: usize,
        threads: &[u32],
        step: &Step,
        own: &mut FxHashSet<Key>,
    ) -> Result<(), &'static str> {
        let Some(function) = FUNCTIONS.get(usize::from(step.function)) else {
            return Ok(());
        };
        let all = fields(step.function);
        let thread = threads.get(at).copied().unwrap_or(0);
        let known = &mut self.known;
        handles(all, &step.values, &mut |kind, handle, what| {
            let key = (kind, handle);
            let entry = known.entry(key).or_default();
            entry.uses.resize(threads.len(), 0);
            if what == What::Make {
                entry.made += 1;
                entry.is_send |= function.class == Class::Send;
                own.insert(key);
                return;
            }
            entry.is_foreign |= match kind {
                Kind::Request => handle >> 32 != i64::from(thread),
                _ => !own.contains(&key),
            };
            if function.name == COMMIT {
                entry.commits = Some(at);
            }
            if what == What::Free {
                own.remove(&key);
            } else if let Some(n) = entry.uses.get_mut(at) {
                *n += 1;
            }
        });
        let mut foreign = false;
        handles(all, &step.values, &mut |kind, handle, what| {
            let is_own = kind != Kind::Request || handle >> 32 == i64::from(thread);
            foreign |= what == What::Use && !is_own;
        });
        if foreign && matches!(function.class, Class::Start | Class::Ready) {
            return Err(STARTS);
        }
        let value = |kind: Kind| {
            let place = all.iter().position(|f| f.kind == kind);
            place.and_then(|i| step.values.get(i)).map(Value::number)
        };
        let makes = matches!(
            function.class,
            Class::CommCreate | Class::CommFree | Class::WinCreate | Class::WinFree
        );
        if function.is_collective() || makes {
            for kind in [Kind::Comm, Kind::Window, Kind::File] {
                let Some(handle) = value(kind) else { continue };
                let first = self.collectives.entry((kind, handle));
                let (first, several) = first.or_insert((at, false));
                *several |= *first != at;
            }
        }
        let sends = function.class == Class::Send;
        if (sends || function.class == Class::Recv)
            && let (Some(comm), Some(peer), Some(tag)) =
                (value(Kind::Comm), value(Kind::Peer), value(Kind::Tag))
        {
            let length = [Kind::Count, Kind::Datatype].map(|kind| value(kind).unwrap_or(0));
            let first = self.messages.entry((sends, [comm, peer, tag]));
            let (one, expected) = *first.or_insert((at, length));
            if one != at && expected != length {
                return Err(LENGTHS);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::ahead;
    use headwater_mpi_abi::id_of;
    use headwater_trace::likeness::Slack;
    use headwater_trace::recorder::Recorder;
    use headwater_trace::times::Delta;

    type Calls = &'static [(&'static str, &'static [i64])];

    /// What the threads with these calls share.
    fn of(threads: &[Calls]) -> Result<Sharing, Error> {
        let mut trace = Trace::of_rank(0, 1);
        for (thread, calls) in (0..).zip(threads) {
            let mut recorder = Recorder::new(1 << 20, Slack::default());
            for (name, values) in calls.iter() {
                let id = id_of(name).expect("a function of MPI").0;
                assert_eq!(fields(id).len(), values.len(), "{name}");
                let kinds = vec![headwater_trace::trace::Kind::Plain; values.len()];
                let signature = recorder.signature(name, &kinds, &[]);
                recorder.event(signature, values, Delta::default());
            }
            recorder.finish(&mut trace, 0, thread);
        }
        let threads = of_rank(&trace, 0);
        let aheads: Vec<Ahead> = threads.iter().map(|t| ahead(&trace, 0, *t)).collect();
        sharing(&trace, 0, &threads, &aheads)
    }

    const BYTE: i64 = 0x247;
    const MAKE: (&str, &[i64]) = ("MPI_Type_dup", &[BYTE, 1024]);
    const FREE: (&str, &[i64]) = ("MPI_Type_free", &[1024]);
    const USE: (&str, &[i64]) = ("MPI_Send", &[0, 1, 1024, 0, 5, 0]);
    const NOT: i64 = headwater_mpi_abi::constants::ABSENT;

    #[test]
    fn a_handle_of_one_thread_has_a_name_of_its_own() {
        let sharing = of(&[&[MAKE, USE, FREE], &[MAKE, FREE]]).expect("no order is needed");
        assert!(sharing.is_empty() && !sharing.is_of_one());
        let renamed = |at| {
            let id = id_of("MPI_Type_free").expect("a function of MPI").0;
            let mut values = [Value::Number(1024)];
            sharing.rename(at, id, &mut values);
            values[0].number()
        };
        assert_eq!([0, 1].map(renamed), [1024, NAMES + 1024]);
    }

    #[test]
    fn a_handle_that_others_use_is_shared_if_it_is_made_once() {
        let sharing = of(&[&[MAKE, FREE], &[USE]]).expect("no order is needed");
        assert_eq!(sharing.number(Kind::Datatype, 1024), Some(0));
        assert_eq!(sharing.uses, [[0, 1]]);
        let again = of(&[&[MAKE, FREE, MAKE, FREE], &[USE]]);
        assert_eq!(
            again.err(),
            Some(Error::Order {
                rank: 0,
                what: AGAIN
            })
        );
    }

    #[test]
    fn a_receive_is_completed_by_another_thread_and_a_send_is_not() {
        // The first request of thread 0, as thread 1 names it.
        let wait: Calls = &[("MPI_Wait", &[1 << 32, NOT, NOT, NOT])];
        let receive: Calls = &[("MPI_Irecv", &[0, 1, BYTE, 0, 5, 0, 0])];
        let send: Calls = &[("MPI_Isend", &[0, 1, BYTE, 0, 5, 0, 0])];
        let shared = |first| of(&[first, wait]).map(|s| s.number(Kind::Request, 0));
        assert_eq!(shared(receive), Ok(Some(0)));
        assert_eq!(shared(send), Ok(None));
    }

    #[test]
    fn what_needs_an_order_is_refused() {
        let barrier: Calls = &[("MPI_Barrier", &[0])];
        let short: Calls = &[("MPI_Send", &[0, 1, BYTE, 0, 5, 0])];
        let long: Calls = &[("MPI_Send", &[0, 2, BYTE, 0, 5, 0])];
        let refused = |threads: &[Calls]| of(threads).err();
        let order = |what| Some(Error::Order { rank: 0, what });
        assert_eq!(refused(&[barrier, barrier]), order(COLLECTIVES));
        assert_eq!(refused(&[short, long]), order(LENGTHS));
        assert_eq!(refused(&[short, short, barrier]), None);
        // One of them has made the communicator.
        const OWN: i64 = FIRST_MADE_COMM;
        let maker: Calls = &[
            ("MPI_Comm_dup", &[0, OWN]),
            ("MPI_Barrier", &[OWN]),
            ("MPI_Comm_free", &[OWN]),
        ];
        let other: Calls = &[("MPI_Barrier", &[OWN])];
        let makes: Calls = &[("MPI_Comm_dup", &[0, OWN]), ("MPI_Comm_free", &[OWN])];
        assert_eq!(refused(&[maker, other]), order(COLLECTIVES));
        assert_eq!(refused(&[other, maker]), order(COLLECTIVES));
        assert_eq!(refused(&[makes, other]), None);
        // Each has made its own.
        let same: Calls = &[("MPI_Comm_dup", &[1, OWN]), ("MPI_Barrier", &[OWN])];
        assert_eq!(refused(&[maker, same]), None);
    }
}
