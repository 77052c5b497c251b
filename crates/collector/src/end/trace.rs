//! Merges the traces of all ranks over the tree, and writes the trace of the run.

use crate::end::tree::Tree;
use crate::storage::process_spool::{say, take_back};
use crate::threads::roster;
use crate::trace::{UNFINISHED, keeper, kept, process};
use headwater_trace::file::Whose;
use headwater_trace::trace::Trace;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the threads of this process have given up their events.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Merges the traces of all ranks. If not all have one, each writes its own. So does a rank whose trace is not in the
/// one of the run: it keeps its own bytes until rank 0 has written.
///
/// Whatever goes wrong, a rank receives once from each child and sends once to its parent, and then the same the other
/// way round: others wait for it.
pub fn merge(tree: &Tree) {
    let own = guarded(taken).flatten();
    let own = own.and_then(|trace| {
        let bytes = guarded(|| trace.to_bytes())?;
        Some((trace, bytes))
    });
    if !tree.all(own.is_some()) {
        if let Some((_, bytes)) = own {
            write_alone(
                &bytes,
                tree.rank,
                "Some ranks have no trace, so each of the others has one of its own.",
            );
        }
        return;
    }
    let Some((trace, own)) = own else { return };
    let mut merged = Merged::of(trace);
    for child in tree.children() {
        let others = tree.receive_all(child);
        merged.add(child, &own, |mine| {
            mine.merge(Trace::from_bytes(&others?).ok()?);
            Some(())
        });
    }
    let bytes = match merged.children.is_empty() {
        // It is as it was.
        true => (Some(own.clone()), Vec::new()),
        false => merged.into_bytes(),
    };
    let is_written = match tree.parent() {
        Some(parent) => {
            let sent = tree.send(parent, bytes.0.as_deref().unwrap_or(&[]));
            tree.receive_words(parent) == Some([1]) && sent
        }
        None => bytes.0.as_deref().is_some_and(|all| write(all, Whose::All)),
    };
    for child in tree.children().rev() {
        let has_it = is_written && bytes.1.contains(&child);
        tree.send_words(child, &[u64::from(has_it)]);
    }
    if is_written {
        take_back(UNFINISHED);
        kept::forget(Whose::Rank(tree.rank));
        forget_threads(tree.rank);
    } else {
        write_alone(
            &own,
            tree.rank,
            "The traces of some ranks could not be merged with the others. They were in files of their own.",
        );
    }
}

/// Writes the trace of this rank, and says why it is alone.
fn write_alone(bytes: &[u8], rank: u32, why: &str) {
    if write(bytes, Whose::Rank(rank)) {
        take_back(UNFINISHED);
        forget_threads(rank);
        say(why);
    }
}

/// Removes the files of this rank's threads, which are in its trace now.
fn forget_threads(rank: u32) {
    for thread in roster::all() {
        // SAFETY: recordings are never freed, and the number of one never changes.
        let thread = unsafe { (*thread).number };
        if thread > 0 {
            kept::forget(Whose::Thread(rank, thread));
        }
    }
}

/// The trace of this rank and of those below it.
struct Merged {
    trace: Option<Trace>,
    /// Children whose traces are in it.
    children: Vec<u32>,
}

impl Merged {
    fn of(trace: Trace) -> Self {
        Self {
            trace: Some(trace),
            children: Vec::new(),
        }
    }

    /// Adds the trace of a child by `merge`. If that fails, this is again the trace of this rank alone, which is in
    /// `own`: nobody knows what a merge that has panicked has left.
    fn add(&mut self, child: u32, own: &[u8], merge: impl FnOnce(&mut Trace) -> Option<()>) {
        let Some(mut trace) = self.trace.take() else {
            return;
        };
        match guarded(|| merge(&mut trace)) {
            Some(None) => self.trace = Some(trace),
            Some(Some(())) => {
                self.trace = Some(trace);
                self.children.push(child);
            }
            None => {
                self.children.clear();
                self.trace = guarded(|| Trace::from_bytes(own).ok()).flatten();
            }
        }
    }

    /// As it is sent and written, and the children that are in it.
    fn into_bytes(self) -> (Option<Vec<u8>>, Vec<u32>) {
        let bytes = self.trace.and_then(|trace| guarded(|| trace.to_bytes()));
        (bytes, self.children)
    }
}

/// Writes the trace of this rank alone: the ranks exchange no messages of ours.
pub fn write_own() {
    if let Some(process) = process()
        && let Some(trace) = guarded(taken).flatten()
        && let Some(bytes) = guarded(|| trace.to_bytes())
        && write(&bytes, Whose::Rank(process.rank))
    {
        take_back(UNFINISHED);
        forget_threads(process.rank);
    }
}

/// The result, unless it panics.
fn guarded<T>(run: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).ok()
}

/// The trace of this process, whose threads call MPI no more. `None` if it is not traced, or its trace was taken.
fn taken() -> Option<Trace> {
    let process = process()?;
    if TAKEN.swap(true, Ordering::AcqRel) {
        say(
            "The trace of some ranks ends where they closed their last session. Later calls are not in it.",
        );
        return None;
    }
    keeper::end();
    let mut trace = process.trace();
    let mut unknown = false;
    for thread in roster::all() {
        // SAFETY: recordings are never freed. A thread uses its trace in calls of MPI alone, and all ranks are in
        // MPI_Finalize, where no other thread may call MPI.
        let thread = unsafe { &mut *thread };
        let number = thread.number;
        if let Some(tracer) = thread.take_trace() {
            unknown |= tracer.has_unknown();
            tracer.finish(&mut trace, number);
        }
    }
    kept::name_modules(&mut trace);
    if trace.losses.iter().any(|loss| loss.kept > 0) {
        say(
            "The trace of some ranks ends early, as its memory was used up. Later calls were only counted.",
        );
    }
    if unknown {
        say(
            "Some lists or handles in the trace are unknown, because they were too long or too many.",
        );
    }
    Some(trace)
}

fn write(bytes: &[u8], whose: Whose) -> bool {
    guarded(|| kept::write(bytes, whose)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_trace::ranks::Ranks;

    #[test]
    fn a_merge_that_fails_loses_no_rank() {
        let trace = Trace::of_rank(0, 8);
        let own = trace.to_bytes();
        let mut merged = Merged::of(trace);
        let with = |rank| {
            move |mine: &mut Trace| {
                mine.merge(Trace::of_rank(rank, 8));
                Some(())
            }
        };
        merged.add(1, &own, with(1));
        merged.add(2, &own, |_| None);
        assert_eq!(merged.children, [1]);
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        merged.add(2, &own, |mine| {
            *mine = Trace::default();
            panic!("a test")
        });
        std::panic::set_hook(hook);
        merged.add(4, &own, with(4));
        let (bytes, children) = merged.into_bytes();
        assert_eq!(children, [4], "child 1 writes its own");
        let mut both = Ranks::one(0);
        both.unite(&Ranks::one(4));
        let merged = Trace::from_bytes(&bytes.expect("bytes")).expect("a trace");
        assert_eq!(merged.ranks, both);
    }
}
