//! Threads that call no MPI: what is recorded of their work, and of their waits for one another.

use crate::case::{alone, cases};
use crate::counts::said;
use headwater_model::run::{CtxId, Run, ThreadInfo, WaitKind};

/// Whether `ctx` is `above` or was called from there.
fn is_below(run: &Run, ctx: CtxId, above: CtxId) -> bool {
    let up = |c: &CtxId| Some(run.contexts.get(c.index()?)?.parent);
    std::iter::successors(Some(ctx), up).any(|c| c == above)
}

/// The threads of the first rank that were made by others.
fn made(run: &Run) -> Vec<&ThreadInfo> {
    let threads = run.threads.iter().filter(|t| t.rank == 0);
    threads.filter(|t| t.made_by != CtxId::NONE).collect()
}

/// CPU time of a thread's samples below `above`, and of all of them.
fn sampled(run: &Run, thread: &ThreadInfo, above: CtxId) -> (u64, u64) {
    let own = || {
        let samples = run.samples.iter();
        samples.filter(|s| (s.rank, s.thread) == (thread.rank, thread.thread))
    };
    let below = own().filter(|s| is_below(run, s.ctx, above));
    (below.map(|s| s.cpu_ns).sum(), own().map(|s| s.cpu_ns).sum())
}

/// Four threads are made twice by one call, and take up what those before them left; one is there before
/// `MPI_Init`.
#[test]
fn threads_are_recorded_from_their_birth_below_the_call_that_made_them() {
    let _alone = alone();
    for case in cases("workers.c") {
        let out = case.unchanged("", &[]);
        assert!(out.status.success());
        let run = case.recorded();
        let threads = made(&run);
        assert_eq!(threads.len(), 5, "{}: {:?}", case.library, run.threads);
        for thread in &threads {
            let (below, all) = sampled(&run, thread, thread.made_by);
            assert!(below > all / 10 * 9, "{below} of {all}: {thread:?}");
            assert!(below > thread.cpu_ns / 2, "{below} of {thread:?}");
            let after_mpi = |s: &&headwater_model::run::Sample| s.after != CtxId::NONE;
            let own = run.samples.iter().filter(|s| s.thread == thread.thread);
            assert_eq!(own.filter(after_mpi).count(), 0);
        }
        // The first is the one from before, and of the others each does more than the one before it.
        let [first, others @ ..] = &threads[..] else {
            panic!("{threads:?}")
        };
        let one_call = others.iter().all(|t| t.made_by == others[0].made_by);
        assert!(one_call && first.made_by != others[0].made_by);
        assert!(
            others.is_sorted_by(|a, b| a.cpu_ns < b.cpu_ns),
            "{others:?}"
        );
        for thread in others {
            let mut teams = run.teams.iter();
            let team = teams.find(|t| (t.rank, t.thread) == (0, thread.thread));
            let team = team.expect("a thread is one of a team");
            assert_eq!((team.team, team.count), (thread.made_by, 2));
            assert_eq!((team.from, team.to), (team.team, team.team));
            assert!(team.cpu_ns > thread.cpu_ns / 10 * 9, "{team:?} {thread:?}");
        }
    }
}

/// Threads that live for less than a period of the sampler, made anew in each step.
#[test]
fn threads_that_end_before_their_first_sample_lose_no_time() {
    let _alone = alone();
    for case in cases("brief.c") {
        let out = case.unchanged("", &[]);
        assert!(out.status.success());
        let run = case.recorded();
        for rank in 0..2 {
            let of_rank = run.threads.iter().filter(|t| t.rank == rank);
            let threads: Vec<_> = of_rank.filter(|t| t.made_by != CtxId::NONE).collect();
            assert!(!threads.is_empty(), "{}", case.library);
            let exact: u64 = threads.iter().map(|t| t.cpu_ns).sum();
            assert!(exact > 0, "{threads:?}");
            let mut below = 0;
            for thread in threads {
                let (own, all) = sampled(&run, thread, thread.made_by);
                assert!(all <= thread.cpu_ns, "{all} of {thread:?}");
                below += own;
            }
            assert!(below > exact / 10 * 9, "{below} of {exact}");
            // Samples divide it: little is left to the start routine alone.
            let left = run
                .samples
                .iter()
                .filter(|s| s.rank == rank && s.count == 0);
            let left: u64 = left.map(|s| s.cpu_ns).sum();
            assert!(left < exact / 2, "{left} of {exact}");
        }
    }
}

#[test]
fn threads_of_a_killed_process_leave_their_data() {
    let _alone = alone();
    for case in cases("workers.c") {
        let out = case.record(&["kill"]);
        assert!(!out.status.success());
        let run = case.recorded();
        // Where one rank is killed, the launcher kills the other one, early maybe.
        let worked = run.threads.iter().filter(|t| {
            let (below, _) = sampled(&run, t, t.made_by);
            t.made_by != CtxId::NONE && below > 0 && t.cpu_ns >= below && t.wall_ns > 0
        });
        assert!(worked.count() >= 2, "{}: {:?}", case.library, run.threads);
    }
}

#[test]
fn a_thread_begins_when_it_is_made_though_it_has_no_core_yet() {
    let _alone = alone();
    for case in cases("late_thread.c") {
        let out = case.record(&[]);
        if out.status.code() == Some(3) {
            eprintln!("not tested: real-time threads are not permitted here");
            continue;
        }
        assert!(out.status.success(), "{}: {out:?}", case.library);
        let run = case.recorded();
        let [thread] = &made(&run)[..] else {
            panic!("{}: {:?}", case.library, run.threads);
        };
        let (wall, ready) = (thread.wall_ns, thread.runq_ns);
        assert!(wall > 190_000_000, "{}: {thread:?}", case.library);
        assert!(ready > 190_000_000, "{}: {thread:?}", case.library);
    }
}

/// glibc's lock of its memory has no name that could be wrapped.
#[test]
fn waits_for_memory_are_seen_by_samples() {
    let _alone = alone();
    for case in cases("allocates.c") {
        let futex = |run: &Run| {
            let waits = run.waits.iter().filter(|w| w.kind == WaitKind::Futex);
            waits.cloned().collect::<Vec<_>>()
        };
        // Threads meet at the lock by chance.
        let mut runs = (0..3).map(|_| {
            let _ = std::fs::remove_dir_all(case.spool());
            assert!(case.unchanged("", &[]).status.success());
            case.recorded()
        });
        let permitted = |run: &Run| said(run, "Performance events are not permitted") == 0;
        let Some(run) = runs.find(|run| !permitted(run) || !futex(run).is_empty()) else {
            panic!("{}: nobody waited", case.library)
        };
        if !permitted(&run) {
            eprintln!("performance events are not permitted here: not tested");
            continue;
        }
        for wait in futex(&run) {
            let who = |t: &&ThreadInfo| (t.rank, t.thread) == (wait.rank, wait.thread);
            let thread = run.threads.iter().find(who).expect("its thread is known");
            assert!(is_below(&run, wait.ctx, thread.made_by), "{wait:?}");
            assert!(wait.wait_ns <= thread.wall_ns && wait.count > 0, "{wait:?}");
        }
    }
}

/// One thread has each lock for 30 ms while the other one wants it, or lets it wait as long.
#[test]
fn waits_of_threads_are_recorded_with_the_thread_that_caused_them() {
    use WaitKind::*;
    let _alone = alone();
    for case in cases("waits.c") {
        let out = case.unchanged("", &[]);
        assert!(out.status.success());
        let run = case.recorded();
        let threads = made(&run);
        let [holder, waiter] = &threads[..] else {
            panic!("{:?}", run.threads)
        };
        for kind in [
            Mutex, ReadLock, WriteLock, SpinLock, Condition, Semaphore, Futex, Join,
        ] {
            let of_kind = |w: &&headwater_model::run::ThreadWait| {
                let who = if kind == Join { 0 } else { waiter.thread };
                (w.rank, w.thread, w.kind) == (0, who, kind)
            };
            // Where cores are few, one thread may have waited for the next to come, too.
            let waits = run.waits.iter().filter(of_kind);
            let longest = waits.max_by_key(|w| w.wait_ns);
            let wait = longest.unwrap_or_else(|| panic!("{kind:?}: {:?}", run.waits));
            assert!(wait.wait_ns > 20_000_000, "{wait:?}");
            assert!(wait.brief_ns <= wait.count * 1_000_000, "{wait:?}");
            if kind == Join {
                assert!(threads.iter().any(|t| t.thread == wait.holder), "{wait:?}");
                continue;
            }
            assert!(is_below(&run, wait.ctx, waiter.made_by), "{wait:?}");
            assert_eq!(wait.holder, holder.thread, "{wait:?}");
            let place = wait.holder_ctx.index().and_then(|i| run.contexts.get(i));
            let module = place.and_then(|p| run.modules.get(p.module as usize));
            assert!(
                module.is_some_and(|m| m.path.ends_with("waits")),
                "{wait:?}"
            );
        }
        let most = run.waits.iter().map(|w| w.count).max();
        assert!(most < Some(100), "what is refused is no wait: {most:?}");
        // Eleven barriers: the stretches between are the threads' work, without what they waited at the ends.
        let stretches = run.teams.iter().filter(|t| t.rank == 0);
        let of = |thread: u16| stretches.clone().filter(move |t| t.thread == thread);
        for thread in [holder, waiter] {
            let met = of(thread.thread).filter(|t| t.to != t.team);
            assert_eq!(met.map(|t| t.count).sum::<u64>(), 11, "{:?}", run.teams);
        }
        let locked: u64 = of(waiter.thread).map(|t| t.locked_ns).sum();
        let waited = run
            .waits
            .iter()
            .filter(|w| (w.rank, w.thread) == (0, waiter.thread));
        assert_eq!(locked, waited.map(|w| w.wait_ns).sum::<u64>());
    }
}
