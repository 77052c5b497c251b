//! OTF2 archives, written by the real library, whose every wait is known.

mod support;

use headwater_import::{ImportError, import};
use headwater_model::run::{CtxId, EventKind, Run, peer};
use std::path::Path;
use support::archive;

const MICRO: u64 = 1000;

fn imported(dir: &Path, name: &str, numbers: &[u32]) -> Run {
    let trace = archive(dir, name, numbers);
    let mut progress = Vec::new();
    let run = import(&trace, &dir.join(name), None, |done, of| {
        progress.push((done, of))
    });
    let run = run.expect("imports");
    let ranks = run.ranks.len();
    let all: Vec<(usize, usize)> = (0..=ranks).map(|n| (n, ranks)).collect();
    assert_eq!(progress, all, "progress rank by rank");
    let mut read = headwater_format::read_run(&dir.join(name)).expect("is a run");
    // Numbers in text may be out by their last bit.
    let (text, own) = (&mut read.header, &run.header);
    for (text, own) in [
        (&mut text.started_unix, own.started_unix),
        (&mut text.wall_seconds, own.wall_seconds),
    ] {
        assert!((*text - own).abs() <= own.abs() * f64::EPSILON);
        *text = own;
    }
    assert!(read == run, "what is written is what is given");
    run
}

/// The function and the call that a context's offset represents.
fn place(run: &Run, ctx: CtxId) -> (String, String) {
    let context = run.contexts[ctx.index().expect("a context")];
    let at = run
        .symbols
        .partition_point(|s| s.offset <= context.lookup());
    let own = &run.symbols[at - 1];
    let around = run.symbols[..at].iter().rev().find(|s| s.function);
    (around.expect("a function").name.clone(), own.name.clone())
}

#[test]
fn every_wait_of_an_archive_is_known_exactly() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let run = imported(dir.path(), "patterns", &[]);
    let h = &run.header;
    assert_eq!((h.ranks, h.name.as_str()), (4, "patterns"));
    assert_eq!(
        (h.program.as_str(), &h.nodes[..]),
        ("/home/user/app", &["n0".to_string(), "n1".into()][..])
    );
    assert_eq!(run.modules[0].path, "app", "wherever a job has its copy");
    assert!(h.incomplete.is_empty() && run.ranks.iter().all(|r| r.complete));
    assert!(
        run.ranks
            .iter()
            .all(|r| r.before_init_wall_ns == 1000 * MICRO && r.cpu_ns.is_none())
    );
    assert!(h.missing.iter().any(|m| m.contains("wall time only")));

    // Messages: late sender, late receiver, the stream whose receives were completed in another order.
    let message = |src, dst, call: &str| {
        let at = |m: &&headwater_model::run::MessageEdge| {
            (m.src, m.dst) == (src, dst) && place(&run, m.send_ctx).1 == call
        };
        run.messages.iter().find(at).expect(call)
    };
    let late = message(0, 1, "MPI_Send");
    assert_eq!((late.sampled, late.bytes, late.late_senders), (1, 100, 1));
    assert_eq!(late.late_sender_ns, 500 * MICRO);
    let late = message(2, 3, "MPI_Ssend");
    assert_eq!(
        (late.late_sender_ns, late.late_receiver_ns),
        (0, 700 * MICRO)
    );
    let stream = message(0, 1, "MPI_Isend");
    assert_eq!(
        (stream.sampled, stream.bytes, stream.late_senders),
        (2, 30, 1)
    );
    // The wait for the second, which is completed first, is until it is sent.
    assert_eq!(stream.late_sender_ns, 244 * MICRO);
    assert_eq!(place(&run, stream.post_ctx).1, "MPI_Irecv");
    assert_eq!(place(&run, stream.recv_ctx).1, "MPI_Wait");
    // Rank 0 of the communicator of ranks 3 and 1 is rank 3.
    assert_eq!(message(3, 1, "MPI_Send").bytes, 30);
    assert_eq!(run.messages.len(), 4);

    // Collectives: on the world, on a part with a root, and nonblocking.
    let collective = |function: &str, rank| {
        let mut all = run.collectives.iter();
        let found = all.find(|c| run.function(c.func) == function && c.rank == rank);
        found.map(|c| (c.wait_ns / MICRO, c.last, run.comms[c.comm as usize].size))
    };
    for (rank, wait, last) in [(0, 2000, 0), (1, 2000, 0), (2, 0, 1), (3, 0, 1)] {
        assert_eq!(collective("MPI_Barrier", rank), Some((wait, last, 4)));
    }
    assert_eq!(collective("MPI_Bcast", 3), Some((900, 0, 2)));
    assert_eq!(collective("MPI_Bcast", 1), Some((0, 1, 2)));
    assert_eq!(collective("MPI_Bcast", 0), None);
    assert!(collective("MPI_Ibarrier", 0).is_some_and(|c| c.0 > 500 && c.2 == 4));
    assert_eq!(collective("MPI_Finalize", 0).map(|c| c.2), Some(4));
    // To the nonblocking one ranks come where they post it.
    let posts = (run.events.iter()).filter(|e| e.kind == EventKind::CollectivePost && e.link != 0);
    let posts: Vec<&str> = posts.map(|e| run.function(e.func)).collect();
    assert_eq!(posts, ["MPI_Ibarrier"; 4]);

    // Calls with their parameters: of a receive that was only posted, those that it turned out to have.
    let calls = |function: &str, rank| {
        let all = run.calls.iter();
        let of: Vec<(i32, i32, u64, u64)> = all
            .filter(|c| run.function(c.func) == function && c.rank == rank)
            .map(|c| (c.peer, c.tag, c.bytes, c.count))
            .collect();
        of
    };
    assert_eq!(calls("MPI_Send", 0), [(1, 5, 100, 1)]);
    // Score-P's sums over partners are the call's bytes.
    let volume = |function: &str, rank| calls(function, rank)[0].2;
    for (function, rank, bytes) in [
        ("MPI_Allreduce", 2, 8),
        ("MPI_Bcast", 1, 8),
        ("MPI_Bcast", 3, 8),
        ("MPI_Barrier", 0, 0),
    ] {
        assert_eq!(volume(function, rank), bytes, "{function} on rank {rank}");
    }
    assert_eq!(calls("MPI_Irecv", 1), [(-1, 7, 10, 1), (-1, 7, 20, 1)]);
    assert_eq!(
        calls("MPI_Irecv", 2).len(),
        1,
        "the one that was called off"
    );
    assert!(calls("MPI_Init", 0).is_empty(), "a run begins behind it");

    // Computation: exact, and where.
    let work: Vec<(u32, u64)> = (run.samples.iter())
        .filter(|s| place(&run, s.ctx).0 == "work")
        .map(|s| (s.rank, s.cpu_ns / MICRO))
        .collect();
    assert_eq!(work, [(0, 1000), (1, 1000), (2, 3000), (3, 3000)]);
    let of_rank = |rank| {
        let own = run.segments.iter().filter(move |s| s.rank == rank);
        own.map(|s| s.wall_ns / MICRO).sum::<u64>()
    };
    assert_eq!([0, 1, 2, 3].map(of_rank), [2150, 1900, 3000, 3700]);
    for r in &run.ranks {
        let computed = of_rank(r.rank) * MICRO;
        assert_eq!(computed + r.mpi_wall_ns, r.wall_ns, "rank {}", r.rank);
    }
    let lines = run.symbols.iter().find(|s| s.function && s.name == "work");
    assert!(
        lines.is_some_and(|s| (s.file.as_str(), s.first_line, s.last_line) == ("app.c", 20, 29))
    );
}

#[test]
fn ranks_that_are_each_alone_in_a_communicator_do_not_meet_there() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let run = imported(dir.path(), "alone", &[]);
    let met = run.collectives.iter();
    let met: Vec<&str> = met.map(|c| run.function(c.func)).collect();
    assert!(!met.contains(&"MPI_Barrier"), "{met:?}");
    assert!(met.contains(&"MPI_Allreduce"), "{met:?}");
    // Nor in the windows, which are played again.
    let barriers = (run.events.iter())
        .filter(|e| run.function(e.func) == "MPI_Barrier" && e.link != 0)
        .map(|e| (e.window, e.link));
    let mut links: Vec<(u32, u32)> = barriers.collect();
    let all = links.len();
    links.sort_unstable();
    links.dedup();
    assert_eq!((links.len(), all), (6, 6), "two on each of three ranks");
    // A call that sends and receives names whom it sends to.
    let both = (run.calls.iter()).filter(|c| run.function(c.func) == "MPI_Sendrecv");
    let partners: Vec<(u32, i32)> = both.map(|c| (c.rank, c.peer)).collect();
    assert_eq!(partners, [(0, 1), (1, peer::PROC_NULL)]);
}

#[test]
fn what_was_not_recorded_is_in_no_figure() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let run = imported(dir.path(), "pauses", &[]);
    let h = &run.header;
    // Recording was off once on both, and buffers were written besides.
    let [off] = &h.paused[..] else {
        panic!("ranks alike: {:?}", h.paused);
    };
    assert_eq!((off.ranks.to_string(), off.times), ("0-1".into(), 1));
    assert!((off.shortest_seconds - 5050e-6).abs() < 1e-9);
    assert!((off.longest_seconds - 5060e-6).abs() < 1e-9);
    assert!(h.paused_alike());
    for words in ["wrote its buffers for 0.000 s", "Recording was paused"] {
        assert!(h.missing.iter().any(|m| m.contains(words)), "{words}");
    }
    // 300, then 7 until it is off; 400 behind that; 100 and 40 with a flush between them.
    let computed = |rank| -> Vec<u64> {
        let own = run.segments.iter().filter(move |s| s.rank == rank);
        let mut all: Vec<u64> = own.map(|s| s.wall_ns / MICRO).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(computed(0), [0, 7, 140, 300, 400]);
    assert_eq!(computed(1), [0, 0, 7, 50, 100]);
    for r in &run.ranks {
        let sum = computed(r.rank).iter().sum::<u64>() * MICRO;
        assert_eq!(sum + r.mpi_wall_ns, r.wall_ns, "rank {}", r.rank);
    }
    assert_eq!(run.ranks[0].wall_ns, (317 + 420 + 150 + 50) * MICRO);
    // A receive of 375, in 50 of which buffers were written; it waited for the sender all the same.
    let receive = run
        .calls
        .iter()
        .find(|c| run.function(c.func) == "MPI_Recv");
    assert_eq!(receive.map(|c| c.wall_ns / MICRO), Some(325));
    assert_eq!(run.messages[0].late_sender_ns, 350 * MICRO);
    // What was counted meanwhile is not the program's.
    let counted: u64 = run.samples.iter().flat_map(|s| &s.counters).sum();
    assert_eq!(counted, 30 + 50);

    let dir = tempfile::tempdir().expect("a temporary directory");
    let run = imported(dir.path(), "pauses", &[1]);
    assert!(!run.header.paused_alike(), "rank 1 was paused once more");
}

#[test]
fn several_counters_are_read_together() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let run = imported(dir.path(), "slower", &[2]);
    assert_eq!(
        run.header.counters,
        ["instructions", "cycles", "cache_misses"]
    );
    // In forty steps each; the late rank misses the cache.
    let slow = |rank| {
        let own = run.samples.iter().filter(move |s| s.rank == rank);
        let mut sums = [0; 3];
        for sample in own.filter(|s| place(&run, s.ctx).0 == "slow") {
            for (sum, counted) in sums.iter_mut().zip(&sample.counters) {
                *sum += counted;
            }
        }
        sums
    };
    assert_eq!(slow(0), [40 * 10_000_000, 40 * 12_500_000, 40 * 10]);
    assert_eq!(slow(1), [40 * 10_000_000, 40 * 25_000_000, 40 * 450_000]);
}

#[test]
fn fences_of_windows_are_waited_at_and_metrics_of_all_types_are_read() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let run = imported(dir.path(), "windows", &[]);
    let fence = |rank| {
        let at = |c: &&headwater_model::run::CollectiveWait| {
            (run.function(c.func), c.rank) == ("MPI_Win_fence", rank)
        };
        run.collectives.iter().find(at).map(|c| c.wait_ns / MICRO)
    };
    assert_eq!((fence(0), fence(1)), (Some(95), Some(0)));
    let bytes = |function: &str| {
        let mut of = run.calls.iter();
        of.find(|c| run.function(c.func) == function)
            .map(|c| c.bytes)
    };
    assert_eq!(
        (bytes("MPI_Put"), bytes("MPI_Fetch_and_op")),
        (Some(4096), Some(16))
    );
    assert_eq!(run.header.counters, ["instructions", "below"]);
    assert_eq!(run.samples[0].counters, [2000, 2]);
    for words in ["One-sided communication", "left out: power."] {
        assert!(
            run.header.missing.iter().any(|m| m.contains(words)),
            "{words}"
        );
    }
}

#[test]
fn who_has_a_lock_is_waited_for() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let run = imported(dir.path(), "locks", &[1]);
    let [wait] = &run.waits[..] else {
        panic!("one place waits: {:?}", run.waits);
    };
    assert_eq!((wait.thread, wait.holder, wait.count), (1, 0, 30));
    assert_eq!((wait.wait_ns, wait.max_ns), (30_000 * MICRO, 1000 * MICRO));
    let critical = "!$omp critical @app.c:45";
    assert_eq!(place(&run, wait.ctx).1, critical);
    assert_eq!(place(&run, wait.holder_ctx).1, critical);
    // What waits does not compute: 500, and 1000 in the section.
    let work: Vec<(u16, u64, u64, u64)> = (run.teams.iter())
        .map(|t| (t.thread, t.cpu_ns, t.locked_ns, t.wait_ns))
        .map(|(n, cpu, locked, wait)| (n, cpu / MICRO, locked / MICRO, wait / MICRO))
        .collect();
    assert_eq!(work, [(0, 45_000, 0, 30_000), (1, 45_000, 30_000, 0)]);
    let asleep: u64 = (run.samples.iter())
        .filter(|s| s.thread == 1 && place(&run, s.ctx).0 == critical)
        .map(|s| s.blocked_ns / MICRO)
        .sum();
    assert_eq!(asleep, 30_000);
}

#[test]
fn threads_counters_clocks_and_call_sites_are_read() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let run = imported(dir.path(), "threads", &[]);
    let h = &run.header;
    assert_eq!(h.counters, ["instructions"]);
    // Clocks are out by two ticks of a microsecond.
    assert!((h.clock_error_seconds - 2e-6).abs() < 1e-12);
    assert!(h.missing.iter().any(|m| m.starts_with("Threads:")));
    let threads: Vec<(u32, u16)> = run.threads.iter().map(|t| (t.rank, t.thread)).collect();
    assert_eq!(
        threads,
        [(0, 0), (0, 1), (1, 0)],
        "the other one of rank 1 did nothing"
    );

    // Where threads were: `work` also by rank 1's own number for it, and the worker below the region of its team.
    let spent: Vec<(u32, u16, String, u64, u64)> = (run.samples.iter())
        .map(|s| {
            (
                s.rank,
                s.thread,
                place(&run, s.ctx).0,
                s.cpu_ns / MICRO,
                s.blocked_ns / MICRO,
            )
        })
        .collect();
    let parallel = "!$omp parallel @app.c:40".to_string();
    let barrier = "!$omp implicit barrier @app.c:50".to_string();
    assert_eq!(
        spent,
        [
            (0, 0, "work".into(), 300, 0),
            (0, 0, parallel.clone(), 500, 0),
            (0, 1, parallel, 200, 0),
            (0, 1, barrier, 0, 300),
            (1, 0, "work".into(), 100, 0),
        ]
    );
    assert_eq!(run.samples[0].counters, [700]);
    // They are a team, and the one that has less to do waits for the other.
    let work: Vec<(u16, u64, u64, u64)> = (run.teams.iter())
        .map(|t| {
            (
                t.thread,
                t.wall_ns / MICRO,
                t.cpu_ns / MICRO,
                t.wait_ns / MICRO,
            )
        })
        .collect();
    assert_eq!(work, [(0, 500, 500, 0), (1, 200, 200, 300)]);
    assert!(
        run.teams
            .iter()
            .all(|t| (t.rank, t.team, t.to) == (0, run.teams[0].team, run.teams[0].to))
    );
    assert!(place(&run, run.teams[0].team).1.contains("parallel"));
    assert!(place(&run, run.teams[0].to).1.contains("barrier"));
    let parents = |thread| {
        let mut of = run
            .samples
            .iter()
            .filter(move |s| (s.rank, s.thread) == (0, thread));
        let sample = of.find(|s| s.cpu_ns > 0 && place(&run, s.ctx).0.contains("parallel"));
        run.contexts[sample.expect("in the region").ctx.0 as usize].parent
    };
    assert_eq!(parents(0), parents(1), "one call began the region");

    // A message that a probe took was sent first, though it was received after another one.
    let mut received: Vec<(String, u64)> = (run.messages.iter())
        .map(|m| (place(&run, m.recv_ctx).1, m.bytes))
        .collect();
    received.sort();
    assert_eq!(
        received,
        [("MPI_Mrecv".into(), 10), ("MPI_Recv".into(), 20)]
    );

    // A call path with lines: main calls solve on line 33, that MPI_Barrier on line 66.
    let barrier = run
        .collectives
        .iter()
        .find(|c| run.function(c.func) == "MPI_Barrier");
    let ctx = barrier.expect("a barrier").ctx;
    let line = |ctx: CtxId| {
        let lookup = run.contexts[ctx.0 as usize].lookup();
        let at = run.symbols.partition_point(|s| s.offset <= lookup);
        run.symbols[at - 1].first_line
    };
    assert_eq!(
        (place(&run, ctx), line(ctx)),
        (("solve".into(), "MPI_Barrier".into()), 66)
    );
    let caller = run.contexts[ctx.0 as usize].parent;
    assert_eq!(
        (place(&run, caller), line(caller)),
        (("main".into(), "solve".into()), 33)
    );
}

#[test]
fn an_archive_without_mpi_is_a_run_of_its_processes() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let run = imported(dir.path(), "openmp", &[]);
    assert_eq!((run.header.ranks, run.threads.len()), (1, 2));
    assert!(run.header.missing.iter().any(|m| m.contains("no MPI call")));
    assert_eq!(run.ranks[0].wall_ns, 3200 * MICRO);
    let work: Vec<(u16, u64, u64)> = (run.teams.iter())
        .map(|t| (t.thread, t.wall_ns / MICRO, t.wait_ns / MICRO))
        .collect();
    assert_eq!(work, [(0, 1800, 1200), (1, 3000, 0)]);
}

#[test]
fn nothing_is_written_of_what_is_no_trace_or_is_damaged() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let trace = archive(dir.path(), "uneven", &[2, 3]);
    let out = dir.path().join("run");
    let refused = |trace: &Path, words: &[&str]| {
        let imported = import(trace, &out, None, |_, _| ()).map(|run| run.header.name);
        let error = imported.expect_err("is refused");
        let text = error.to_string();
        assert!(words.iter().all(|w| text.contains(w)), "{text}");
        assert!(!text.contains('\n'), "{text}");
        let left: Vec<_> = std::fs::read_dir(dir.path())
            .expect("a directory")
            .flatten()
            .collect();
        assert_eq!(left.len(), 1, "{text}: {left:?}");
        error
    };
    let file = |name: &str| trace.join(name);
    refused(&dir.path().join("none"), &["none", "No such file"]);
    refused(dir.path(), &["no trace that headwater knows", "OTF2"]);
    refused(
        &file("traces.def"),
        &["traces.def", "no trace that headwater knows"],
    );

    // Cut anywhere, and with bytes that are others.
    for name in ["traces.otf2", "traces.def", "traces/1.evt"] {
        let whole = std::fs::read(file(name)).expect("a file");
        let short = name.rsplit('/').next().unwrap_or(name);
        // The last two bytes are what follows the end.
        for len in (0..whole.len() - 2).step_by(whole.len().div_ceil(40)) {
            std::fs::write(file(name), &whole[..len]).expect("writes");
            let error = refused(&trace, &[short]);
            assert!(
                matches!(error, ImportError::Damaged { .. }),
                "{name} cut to {len}: {error}"
            );
        }
        std::fs::write(file(name), b"something else").expect("writes");
        refused(&trace, &[short, "damaged"]);
        std::fs::remove_file(file(name)).expect("removes");
        if name != "traces.otf2" {
            refused(&trace, &[short, "missing", "copy the whole trace"]);
        }
        std::fs::write(file(name), &whole).expect("writes");
    }
    let anchor = std::fs::read(file("traces.otf2")).expect("a file");
    for (at, value, words) in [
        (29, 2, "compressed by zlib"),
        (28, 2, "SCOREP_TRACING_USE_SION"),
        (9, 0, "older than its first release"),
    ] {
        let mut other = anchor.clone();
        other[at] = value;
        std::fs::write(file("traces.otf2"), other).expect("writes");
        refused(&trace, &["traces.otf2", words]);
    }
    std::fs::write(file("traces.otf2"), &anchor).expect("writes");
    import(&trace, &out, None, |_, _| ()).expect("is whole again");
    let again = import(&trace, &out, None, |_, _| ()).expect_err("is there");
    assert!(again.to_string().contains("exists already"), "{again}");
}
