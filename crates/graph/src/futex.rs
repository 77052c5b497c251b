//! What waits in the kernel's lock (futex) were for.
//!
//! Libraries and languages build more than locks on it: conditions, parked threads, and the sleep of a pool's threads until
//! there is work or the work is done. The functions around the call say which it was. Where they do not, it counts as a
//! lock.

use crate::structures::Structures;
use crate::threads::ThreadEdge;
use crate::topdown::{TopDown, VertexIx};
use headwater_model::psg::VertexKind;
use headwater_model::run::WaitKind;
use rustc_hash::FxHashMap;

/// Parts of names of functions, and what their threads wait for. The first that is in a name counts.
const BY_NAME: [(&str, WaitKind); 10] = [
    // Rust's standard library, parking_lot.
    ("Condvar", WaitKind::Condition),
    ("condvar", WaitKind::Condition),
    ("Thread>::park", WaitKind::Condition),
    ("Thread::park", WaitKind::Condition),
    ("Mutex", WaitKind::Futex),
    ("mutex", WaitKind::Futex),
    ("RwLock", WaitKind::Futex),
    ("rwlock", WaitKind::Futex),
    // oneTBB: its mutexes wait for a change of their memory, its scheduler for tasks.
    ("wait_on_address", WaitKind::Futex),
    ("wait_bounded_queue", WaitKind::Condition),
];

/// Libraries whose other waits are for tasks, by the beginning of their file names.
const OF_TASKS: [&str; 1] = ["libtbb.so"];

/// So many functions around the call are looked at: those of the library itself.
const FUNCTIONS: usize = 5;

/// What a wait in the kernel's lock at `at` was for.
fn awaited(top: &TopDown, structures: &Structures, at: VertexIx) -> WaitKind {
    let is_of_tasks = |v: VertexIx| {
        let module = structures.get(top.get(v).module).map(|(module, _)| module);
        let file = module.and_then(|module| module.path.rsplit('/').next());
        OF_TASKS
            .iter()
            .any(|of| file.is_some_and(|f| f.starts_with(of)))
    };
    // What the program's own code waits for in a task is another thing.
    let of_tasks = is_of_tasks(at);
    let mut functions = 0;
    for v in top.ancestors(at) {
        let place = top.place(structures, v);
        let is_in = |part: &str| place.name.contains(part) || place.function.contains(part);
        if let Some((_, kind)) = BY_NAME.iter().find(|(part, _)| is_in(part)) {
            return *kind;
        }
        functions += usize::from(top.get(v).kind == VertexKind::Function);
        let is_out = match of_tasks {
            true => !is_of_tasks(v),
            false => functions == FUNCTIONS,
        };
        if is_out {
            break;
        }
    }
    match of_tasks {
        true => WaitKind::Tasks,
        false => WaitKind::Futex,
    }
}

/// Gives waits in the kernel's lock the kind of what they were for.
pub(crate) fn name(top: &TopDown, structures: &Structures, edges: &mut [ThreadEdge]) {
    let mut known: FxHashMap<VertexIx, WaitKind> = FxHashMap::default();
    for e in edges.iter_mut().filter(|e| e.kind == WaitKind::Futex) {
        let kind = known.entry(e.at);
        e.kind = *kind.or_insert_with(|| awaited(top, structures, e.at));
    }
}
