//! What the threads of a rank have in common, and how a call waits for what another thread makes.

use super::Player;
use crate::error::Error;
use crate::files::Scratch;
use crate::handles::Handles;
use crate::library::Mpi;
use crate::plan::Plan;
use crate::resolve::Value;
use crate::sizes::Sizes;
use crate::threads::{COMMIT, Sharing, What, handles};
use headwater_mpi_abi::constants::NULL;
use headwater_mpi_abi::{FUNCTIONS, Kind, id_of};
use headwater_trace::trace::Trace;
use rustc_hash::FxHashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What the threads of a rank have in common.
#[derive(Debug)]
pub struct Common<'a> {
    state: Mutex<Shared<'a>>,
    /// Another thread has made, used or given up a handle, or has ended.
    changed: Condvar,
    pub(super) sharing: Sharing,
}

/// What one thread at a time changes.
#[derive(Debug)]
pub(super) struct Shared<'a> {
    pub handles: Handles<'a>,
    /// Communicators that are being made without blocking, by request.
    begun: FxHashMap<i64, i64>,
    pub sizes: Sizes,
    /// Lists of calls that may be started again at any time.
    pub persistent: Vec<Vec<u64>>,
    /// Memory of windows by number, and of attached buffers.
    pub windows: FxHashMap<i64, Vec<u64>>,
    pub attached: Vec<Vec<u64>>,
    pub allocated: Vec<u64>,
    pub scratch: Option<Scratch>,
    /// By handle that is shared, and by thread: how often it will still be used.
    left: Vec<Vec<u64>>,
    /// The same: which thread has still to commit it.
    commits: Vec<Option<usize>>,
    waiters: Waiters,
}

/// The threads that have not ended, and those of them that wait for others here.
#[derive(Debug, Default)]
struct Waiters {
    running: usize,
    /// How often something changed that threads wait for.
    changes: u64,
    /// Threads that have seen the last change and still wait. One that was woken and has not looked yet is none of them.
    waiting: usize,
    /// Those of them that wait for requests alone.
    patient: usize,
}

/// How a thread is counted that waits: at which change, and whether it waits for requests alone.
type Counted = Option<(u64, bool)>;

impl Waiters {
    fn of(running: usize) -> Self {
        Self {
            running,
            ..Self::default()
        }
    }

    /// Something changed, so all that wait have to look again.
    fn changed(&mut self) {
        self.changes += 1;
        (self.waiting, self.patient) = (0, 0);
    }

    fn ended(&mut self) {
        self.running = self.running.saturating_sub(1);
        self.changed();
    }

    /// A thread has looked, and waits.
    fn wait(&mut self, counted: &mut Counted, is_patient: bool) {
        self.go_on(counted);
        self.waiting += 1;
        self.patient += usize::from(is_patient);
        *counted = Some((self.changes, is_patient));
    }

    /// A thread does not wait any longer.
    fn go_on(&mut self, counted: &mut Counted) {
        let Some((_, was_patient)) = counted.take().filter(|(at, _)| *at == self.changes) else {
            return;
        };
        self.waiting -= 1;
        self.patient -= usize::from(was_patient);
    }

    /// Whether all threads wait, and none of them will change anything.
    fn is_all(&self) -> bool {
        self.waiting == self.running
    }
}

impl<'a> Common<'a> {
    /// Before the first step of so many threads. All ranks call it together.
    ///
    /// # Errors
    /// There is no place for scratch files.
    pub fn new(
        mpi: &'a Mpi,
        trace: &Trace,
        sharing: Sharing,
        threads: usize,
    ) -> Result<Self, Error> {
        let ids = trace.signatures.values().filter_map(|s| id_of(&s.function));
        let mut functions = ids.filter_map(|id| FUNCTIONS.get(usize::from(id.0)));
        let has_files = functions.any(|f| f.is_about_files());
        let state = Shared {
            handles: Handles::new(mpi),
            begun: FxHashMap::default(),
            sizes: Sizes::default(),
            persistent: Vec::new(),
            windows: FxHashMap::default(),
            attached: Vec::new(),
            allocated: Vec::new(),
            scratch: has_files.then(|| Scratch::new(mpi)).transpose()?,
            left: sharing.uses.clone(),
            commits: sharing.commits.clone(),
            waiters: Waiters::of(threads),
        };
        Ok(Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            sharing,
        })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Shared<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The handle of a communicator, once it is made.
    pub fn communicator(&self, number: i64) -> Option<u64> {
        let handles = &self.lock().handles;
        let is_fixed = number < headwater_mpi_abi::FIRST_MADE_COMM;
        let handle = handles.get(Kind::Comm, number);
        handle.filter(|_| is_fixed || handles.has(Kind::Comm, number))
    }

    /// A thread has made its last call.
    pub fn ended(&self) {
        self.lock().waiters.ended();
        self.changed.notify_all();
    }

    /// Removes the scratch files. All ranks call it together.
    pub fn end(&self, mpi: &Mpi) {
        mpi.barrier();
        if let Some(scratch) = self.lock().scratch.take() {
            scratch.end();
        }
    }
}

/// The longest time without a change that a call waits for a request of another thread. That the trace attributes it to this
/// thread may be a mistake, so it is null afterwards.
const LONGEST: Duration = Duration::from_secs(1);

/// A handle that is shared: its number in [`Sharing`], and what a call does with it.
type Part = (usize, Kind, i64, What);

impl Shared<'_> {
    /// A call that makes a communicator has returned: others may use it now, or once the call's request is completed.
    pub fn made_comm(&mut self, plan: &Plan, values: &[Value], number: i64) {
        let request = plan.position(Kind::NewRequest).and_then(|i| values.get(i));
        match request.map_or(NULL, Value::number) {
            NULL => self.handles.finish(Kind::Comm, number),
            request => {
                self.begun.insert(request, number);
            }
        }
    }

    /// A request is completed.
    pub fn completed(&mut self, request: i64) {
        if let Some(comm) = self.begun.remove(&request) {
            self.handles.finish(Kind::Comm, comm);
        }
    }

    /// Whether a thread, the `at`-th one, may do it now.
    fn may(&self, at: usize, (number, kind, handle, what): Part) -> bool {
        let is_there = self.handles.has(kind, handle);
        match what {
            What::Use => {
                let commits = self.commits.get(number).copied().flatten();
                is_there && commits.is_none_or(|thread| thread == at)
            }
            // A thread names the next request like the last one only when that is done.
            What::Make => kind != Kind::Request || !is_there,
            What::Free => {
                let left = self.left.get(number).into_iter().flatten().enumerate();
                is_there
                    && left
                        .filter(|(thread, _)| *thread != at)
                        .all(|(_, n)| *n == 0)
            }
        }
    }
}

impl<'a> Player<'a> {
    fn parts(&self, plan: &Plan, values: &[Value]) -> Vec<Part> {
        let mut parts = Vec::new();
        if !self.common.sharing.is_empty() {
            handles(plan.fields, values, &mut |kind, handle, what| {
                let number = self.common.sharing.number(kind, handle);
                parts.extend(number.map(|number| (number, kind, handle, what)));
            });
        }
        parts
    }

    /// Waits until other threads have done what a call needs. `None` if they never will.
    pub(super) fn ready(
        &mut self,
        plan: &Plan,
        values: &[Value],
    ) -> Option<MutexGuard<'a, Shared<'a>>> {
        let parts = self.parts(plan, values);
        let mut state = self.common.lock();
        let mut counted = None;
        let mut waited = false;
        loop {
            let mut missing = parts.iter().filter(|part| !state.may(self.at, **part));
            let Some((_, first, ..)) = missing.next() else {
                break;
            };
            let is_request = *first == Kind::Request && missing.all(|m| m.1 == Kind::Request);
            state.waiters.wait(&mut counted, is_request);
            let is_alone = state.waiters.is_all();
            if is_request && (waited || is_alone) {
                break;
            }
            // One that waits for a request alone goes on in any case.
            if is_alone && state.waiters.patient == 0 {
                let function = plan.function.name;
                self.why = Some(Error::Stuck { function });
                return None;
            }
            let changed = &self.common.changed;
            let (next, time) = changed
                .wait_timeout(state, LONGEST)
                .unwrap_or_else(PoisonError::into_inner);
            (state, waited) = (next, time.timed_out());
        }
        state.waiters.go_on(&mut counted);
        Some(state)
    }

    /// Other threads need no longer wait for this call.
    pub(super) fn is_done(&self, shared: &mut Shared, plan: &Plan, values: &[Value]) {
        let parts = self.parts(plan, values);
        for (number, _, _, what) in &parts {
            let left = shared
                .left
                .get_mut(*number)
                .and_then(|l| l.get_mut(self.at));
            if let (Some(n), What::Use) = (left, what) {
                *n = n.saturating_sub(1);
            }
            if plan.function.name == COMMIT
                && let Some(commits) = shared.commits.get_mut(*number)
            {
                *commits = None;
            }
        }
        // A communicator that was made without blocking is there when its request is completed.
        let completes = plan.function.class.is_completing() && !self.common.sharing.is_empty();
        if !parts.is_empty() || completes {
            shared.waiters.changed();
            self.common.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_was_woken_and_has_not_looked_does_not_wait() {
        let mut waiters = Waiters::of(2);
        let (mut first, mut second) = (None, None);
        waiters.wait(&mut first, false);
        // The second thread makes what the first one waits for, and waits before the first one has seen it.
        waiters.changed();
        waiters.wait(&mut second, false);
        assert!(!waiters.is_all());
        waiters.go_on(&mut first);
        assert!(!waiters.is_all());
        waiters.wait(&mut first, false);
        assert!(waiters.is_all());
    }

    #[test]
    fn a_thread_counts_once_however_often_it_looks() {
        let mut waiters = Waiters::of(2);
        let (mut first, mut second) = (None, None);
        waiters.wait(&mut first, true);
        waiters.wait(&mut first, false);
        assert_eq!((waiters.waiting, waiters.patient), (1, 0));
        waiters.ended();
        assert!(!waiters.is_all());
        waiters.wait(&mut second, true);
        assert!(waiters.is_all());
        waiters.go_on(&mut second);
        assert_eq!((waiters.waiting, waiters.patient), (0, 0));
    }
}
