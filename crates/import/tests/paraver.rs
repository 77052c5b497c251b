//! Paraver traces, written by hand after the format's description: nothing that is installed from a registry writes them.

use flate2::{Compression, write::GzEncoder};
use headwater_import::{ImportError, import};
use headwater_model::run::{CtxId, Run, Sample};
use proptest::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};

const HEAD: &str = "#Paraver (21/11/2026 at 10:00):9700_ns:2(2,1):1:3(1:1,2:1,1:2),2\nc:1:1:3:1:2:3\nc:1:2:2:3:1\n";

const LABELS: &str = "DEFAULT_OPTIONS\n\nLEVEL               THREAD\n\nEVENT_TYPE\n9   50000001    MPI Point-to-point\nVALUES\n\
    1   MPI_Send\n2   MPI_Recv\n3   MPI_Isend\n4   MPI_Irecv\n5   MPI_Wait\n0   Outside MPI\n\n\
    EVENT_TYPE\n9   50000002    MPI Collective Comm\nVALUES\n7   MPI_Bcast\n8   MPI_Barrier\n0   Outside MPI\n\n\
    EVENT_TYPE\n9   50000003    MPI Other\nVALUES\n31   MPI_Init\n32   MPI_Finalize\n0   Outside MPI\n\n\
    EVENT_TYPE\n0    70000001    Caller at level 1\n0    70000002    Caller at level 2\nVALUES\n0   End\n1   Unresolved\n\
    3   main\n4   solve [app]\n\n\
    EVENT_TYPE\n0    80000001    Caller line at level 1\n0    80000002    Caller line at level 2\nVALUES\n0   End\n\
    3   12 (main.c, /home/user/app)\n4   31 (solve.c, /home/user/app)\n5   37 (solve.c, /home/user/app)\n\n\
    EVENT_TYPE\n7  42000050 PAPI_TOT_INS [Instr completed]\n";

/// Records in the order of time.
fn records() -> String {
    let mut all: Vec<(u64, String)> = Vec::new();
    let mut call = |task: u32, kind: u64, value: u64, from: u64, to: u64, more: &str| {
        all.push((
            from,
            format!("2:{task}:1:{task}:1:{from}:{kind}:{value}{more}"),
        ));
        all.push((to, format!("2:{task}:1:{task}:1:{to}:{kind}:0")));
    };
    const IN_SOLVE: &str = ":70000001:4:70000002:3:80000001:4:80000002:3";
    const LATER_IN_SOLVE: &str = ":70000001:4:70000002:3:80000001:5:80000002:3";
    let in_main = ":70000001:3:80000001:3";
    let collective = format!("{in_main}:50100001:8:50100002:8:50100004:1");
    let root = format!("{collective}:50100003:1");
    for task in 1..=3 {
        call(task, 50_000_003, 31, 100, 1000, in_main);
        call(task, 50_000_003, 32, 9600, 9700, in_main);
    }
    call(1, 50_000_001, 1, 5000, 5200, IN_SOLVE);
    call(2, 50_000_001, 2, 2000, 5210, IN_SOLVE);
    call(3, 50_000_001, 4, 3000, 3010, IN_SOLVE);
    call(3, 50_000_001, 5, 3010, 6100, LATER_IN_SOLVE);
    call(1, 50_000_001, 3, 6000, 6010, LATER_IN_SOLVE);
    call(
        1,
        50_000_002,
        8,
        7000,
        9010,
        &format!("{collective}:42000050:77"),
    );
    call(2, 50_000_002, 8, 9000, 9010, &collective);
    call(3, 50_000_002, 8, 6500, 9010, &collective);
    call(1, 50_000_002, 7, 9500, 9510, &root);
    call(2, 50_000_002, 7, 9100, 9505, &collective);
    call(3, 50_000_002, 7, 9200, 9505, &collective);
    all.push((0, "1:1:1:1:1:0:9700:1".to_string()));
    all.push((
        5000,
        "3:1:1:1:1:5000:5200:2:1:2:1:2000:5210:64:7".to_string(),
    ));
    all.push((
        6000,
        "3:1:1:1:1:6000:6010:3:1:3:1:3000:6100:128:8".to_string(),
    ));
    // Another thread, which does nothing that is known.
    all.push((2500, "2:2:1:2:2:2500:40000018:5".to_string()));
    all.sort();
    all.into_iter().map(|(_, line)| line + "\n").collect()
}

fn lay(dir: &Path, trace: &[u8], labels: &str) -> PathBuf {
    let path = dir.join("app.prv");
    std::fs::write(&path, trace).expect("writes");
    std::fs::write(dir.join("app.pcf"), labels).expect("writes");
    std::fs::write(dir.join("app.row"), "LEVEL NODE SIZE 2\nfirst\nsecond\n").expect("writes");
    path
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(bytes).expect("compresses");
    gz.finish().expect("compresses")
}

/// The function around a context's offset, the call at it, and its line.
fn place(run: &Run, ctx: CtxId) -> (String, String, u32) {
    let context = run.contexts[ctx.index().expect("a context")];
    let at = run
        .symbols
        .partition_point(|s| s.offset <= context.lookup());
    let own = &run.symbols[at - 1];
    let around = run.symbols[..at].iter().rev().find(|s| s.function);
    let around = around.expect("a function").name.clone();
    (around, own.name.clone(), own.first_line)
}

#[test]
fn every_wait_of_a_paraver_trace_is_known_exactly() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = lay(
        dir.path(),
        (HEAD.to_string() + &records()).as_bytes(),
        LABELS,
    );
    let run = import(&path, &dir.path().join("run"), None, |_, _| ()).expect("imports");
    let h = &run.header;
    assert_eq!(
        (h.ranks, &h.nodes[..]),
        (3, &["first".to_string(), "second".into()][..])
    );
    assert_eq!(h.counters, ["instructions"]);
    assert_eq!(h.program, "/home/user/app");
    assert!(h.incomplete.is_empty());
    assert!(h.missing.iter().any(|m| m.starts_with("Threads:")));
    assert!(
        run.ranks.iter().all(|r| r.wall_ns == 8700),
        "{:?}",
        run.ranks
    );

    let call = |ctx| {
        let (function, name, line) = place(&run, ctx);
        format!("{function}:{name}:{line}")
    };
    let [first, second] = &run.messages[..] else {
        panic!("two messages: {:?}", run.messages);
    };
    assert_eq!(
        (first.src, first.dst, first.bytes, first.late_sender_ns),
        (0, 1, 64, 3000)
    );
    assert_eq!(call(first.send_ctx), "solve:MPI_Send:31");
    assert_eq!(
        (second.src, second.dst, second.bytes, second.late_sender_ns),
        (0, 2, 128, 2990)
    );
    assert_eq!(call(second.post_ctx), "solve:MPI_Irecv:31");
    assert_eq!(call(second.recv_ctx), "solve:MPI_Wait:37");
    // The way there: main calls solve on line 12.
    let send = run.contexts[first.send_ctx.index().expect("a context")];
    assert_eq!(call(send.parent), "main:solve:12");

    let waits = |function: &str| -> Vec<(u32, u64, u64)> {
        let of = run
            .collectives
            .iter()
            .filter(|c| run.function(c.func) == function);
        of.map(|c| (c.rank, c.wait_ns, c.last)).collect()
    };
    assert_eq!(
        waits("MPI_Barrier"),
        [(0, 2000, 0), (1, 0, 1), (2, 2500, 0)]
    );
    // They wait for the root, who alone says that it is one.
    assert_eq!(waits("MPI_Bcast"), [(0, 0, 1), (1, 400, 0), (2, 300, 0)]);
    assert_eq!(waits("MPI_Finalize").len(), 3);
    let calls = |function: &str, rank: u32| {
        let mut of = run.calls.iter();
        let c = of.find(|c| c.rank == rank && run.function(c.func) == function);
        c.map(|c| (c.peer, c.tag, c.bytes))
    };
    assert_eq!(calls("MPI_Send", 0), Some((1, 7, 64)));
    assert_eq!(calls("MPI_Recv", 1), Some((-1, 7, 64)));
    assert_eq!(calls("MPI_Irecv", 2), Some((-2, 8, 128)));

    // Computation between two calls is in what is around both.
    let spent = |rank: u32| -> Vec<(u64, String, u64)> {
        let of = run.samples.iter().filter(move |s| s.rank == rank);
        let row = |s: &Sample| (s.cpu_ns, place(&run, s.ctx).0, s.counters.iter().sum());
        let mut all: Vec<(u64, String, u64)> = of.map(row).collect();
        all.sort();
        all
    };
    let row = |time, function: &str, counted| (time, function.to_string(), counted);
    let wanted = [
        row(90, "main", 0),
        row(490, "main", 0),
        row(800, "solve", 0),
        row(990, "main", 77),
        row(4000, "main", 0),
    ];
    assert_eq!(spent(0), wanted);
    for r in &run.ranks {
        let computed: u64 = spent(r.rank).iter().map(|s| s.0).sum();
        assert_eq!(computed + r.mpi_wall_ns, r.wall_ns, "rank {}", r.rank);
    }
}

#[test]
fn a_compressed_trace_becomes_the_same_run() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let trace = HEAD.to_string() + &records();
    let plain = lay(dir.path(), trace.as_bytes(), LABELS);
    let imported = |path: &Path, name: &str| {
        let run = import(path, &dir.path().join(name), None, |_, _| ()).expect("imports");
        (run.messages, run.calls, run.symbols, run.header.nodes)
    };
    let wanted = imported(&plain, "plain");
    // In several parts, as programs write it that compress in parallel.
    let (first, rest) = trace.as_bytes().split_at(300);
    let path = dir.path().join("app.prv.gz");
    std::fs::write(&path, [packed(first), packed(rest)].concat()).expect("writes");
    assert_eq!(imported(&path, "beside"), wanted);
    // A directory that has both has one trace.
    let inside = dir.path().join("trace");
    std::fs::create_dir(&inside).expect("a directory");
    std::fs::copy(&path, inside.join("app.prv.gz")).expect("copies");
    std::fs::copy(&plain, inside.join("app.prv")).expect("copies");
    let both = std::fs::read(dir.path().join("app.row")).expect("is there");
    std::fs::write(inside.join("app.pcf.gz"), packed(LABELS.as_bytes())).expect("writes");
    std::fs::write(inside.join("app.row.gz"), packed(&both)).expect("writes");
    assert_eq!(imported(&inside, "of-a-directory"), wanted);
}

#[test]
fn damaged_compressed_data_and_endless_lines_are_one_line() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = dir.path().join("run");
    let whole = HEAD.to_string() + &records();
    lay(dir.path(), whole.as_bytes(), LABELS);
    let path = dir.path().join("app.prv.gz");
    let refused = |bytes: &[u8], words: &str| {
        std::fs::write(&path, bytes).expect("writes");
        let imported = import(&path, &out, None, |_, _| ()).map(|run| run.header.name);
        let text = imported.expect_err("is refused").to_string();
        assert!(
            text.contains("app.prv.gz is damaged") && text.contains(words),
            "{text}"
        );
        assert!(!text.contains('\n') && !out.exists(), "{text}");
    };
    let good = packed(whole.as_bytes());
    refused(&good[..good.len() - 20], "end too early");
    refused(&good[..6], "end too early");
    refused(
        &[&good[..], b"garbage"].concat(),
        "damaged or end too early",
    );
    let mut other = good.clone();
    other[good.len() / 2] ^= 0x55;
    refused(&other, "line ");
    // Little to store, much to unpack, and no end of the line.
    let bomb = whole.clone() + "2:1:1:1:1:9800:" + &"1:1:".repeat(1 << 20);
    refused(&packed(bomb.as_bytes()), "a line has more than");
    refused(&packed(&vec![b'#'; 1 << 27]), "a line has more than");
    std::fs::write(&path, &good).expect("writes");
    let names = dir.path().join("app.pcf.gz");
    std::fs::rename(dir.path().join("app.pcf"), dir.path().join("other.pcf")).expect("renames");
    std::fs::write(&names, &packed(LABELS.as_bytes())[..50]).expect("writes");
    let imported = import(&path, &out, None, |_, _| ()).map(|run| run.header.name);
    let text = imported.expect_err("is refused").to_string();
    assert!(text.contains("app.pcf.gz is damaged"), "{text}");
}

#[test]
fn functions_and_files_have_their_full_names() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let labels = LABELS
        .replace("4   solve [app]", "4   compute_..esidual [compute_the_first_residual]\n5   compute_..esidual [compute_the_other_residual]")
        .replace(
            "4   31 (solve.c, /home/user/app)",
            "4   31 (a_long_n..ame_of.c) [31 (a_long_name_of.c, /home/user/app)]",
        );
    let text = lines(&[
        (100, "50000003:31"),
        (1000, "50000003:0"),
        (2000, "50000002:8:70000001:4:80000001:4"),
        (2010, "50000002:0"),
        (3000, "50000002:8:70000001:5:80000001:4"),
        (3010, "50000002:0"),
        (5000, "50000003:32"),
        (5100, "50000003:0"),
    ]);
    let path = lay(dir.path(), text.as_bytes(), &labels);
    let run = import(&path, &dir.path().join("run"), None, |_, _| ()).expect("imports");
    let functions = run.symbols.iter().filter(|s| s.function);
    let mut functions: Vec<_> = functions
        .map(|s| (s.name.as_str(), s.file.as_str()))
        .collect();
    functions.sort_unstable();
    let file = "a_long_name_of.c";
    let wanted = [
        ("app", ""),
        ("compute_the_first_residual", file),
        ("compute_the_other_residual", file),
    ];
    assert_eq!(functions, wanted);
    assert_eq!(run.header.program, "/home/user/app");
}

/// Lines of events of task 1, each a time and what it says.
fn lines(events: &[(u64, &str)]) -> String {
    let line = |(at, pairs): &(u64, &str)| format!("2:1:1:1:1:{at}:{pairs}\n");
    let head = "#Paraver (21/11/2026 at 10:00):9700_ns:1(1):1:1(1:1),1\nc:1:1:1:1\n";
    head.to_string() + &events.iter().map(line).collect::<String>()
}

#[test]
fn calls_that_take_no_time_end_and_what_was_not_recorded_is_in_no_figure() {
    const INIT: [(u64, &str); 2] = [(100, "50000003:31"), (1000, "50000003:0")];
    const END: [(u64, &str); 2] = [(5000, "50000003:32"), (5100, "50000003:0")];
    let imported = |between: &[(u64, &str)]| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let text = lines(&[&INIT[..], between, &END[..]].concat());
        let path = lay(dir.path(), text.as_bytes(), LABELS);
        import(&path, &dir.path().join("run"), None, |_, _| ()).expect("imports")
    };
    let called = |run: &Run| -> Vec<(String, u64, u64)> {
        let all = run.calls.iter();
        let mut all: Vec<_> = all
            .map(|c| (run.function(c.func).to_string(), c.count, c.wall_ns))
            .collect();
        all.sort();
        all
    };
    let row = |name: &str, count, wall| (name.to_string(), count, wall);
    let run = imported(&[
        // One of no time, two at one moment, one right behind another that ends then.
        (2000, "50000001:4"),
        (2000, "50000001:0"),
        (2500, "50000001:3:50000001:0"),
        (2500, "50000001:5:50000001:0"),
        (3000, "50000002:8"),
        (3100, "50000002:0:50000001:5:50000001:0"),
        (4000, "50000001:1"),
        (4010, "50000001:0:50000001:2"),
        (4030, "50000001:0"),
    ]);
    assert_eq!(
        called(&run),
        [
            row("MPI_Barrier", 1, 100),
            row("MPI_Finalize", 1, 100),
            row("MPI_Irecv", 1, 0),
            row("MPI_Isend", 1, 0),
            row("MPI_Recv", 1, 20),
            row("MPI_Send", 1, 10),
            row("MPI_Wait", 2, 0),
        ]
    );
    let run = imported(&[
        (1200, "42000050:1000"),
        (1500, "40000012:0"),
        (2500, "40000012:1"),
        (2600, "42000050:5000"),
        (2700, "42000050:20"),
        (3000, "50000002:8"),
        (3010, "40000003:1"),
        (3060, "40000003:0"),
        (3100, "50000002:0"),
    ]);
    let h = &run.header;
    assert_eq!((h.paused.len(), h.paused[0].times), (1, 1));
    assert_eq!(called(&run)[0], row("MPI_Barrier", 1, 50));
    assert_eq!(run.ranks[0].wall_ns, 4100 - 1000 - 50);
    let counted: u64 = run.samples.iter().flat_map(|s| &s.counters).sum();
    assert_eq!(counted, 1020);
    assert!(h.missing.iter().any(|m| m.contains("wrote its buffers")));
}

/// Labels of functions that are outlined for OpenMP, and of tasks.
const OUTLINED: &str = "\nEVENT_TYPE\n0 60000018 Executed OpenMP parallel function\n0 60000023 Executed OpenMP task function\n\
    VALUES\n0 End\n1 main._omp_fn.0\n2 main._omp_fn.1\n\n\
    EVENT_TYPE\n0 60000118 Executed OpenMP parallel function line and file\nVALUES\n0 End\n1 40 (app.c, /home/user/app)\n";

/// A trace of one task with threads; events are those of (thread, time).
fn of_threads(threads: u32, events: &[(u32, u64, &str)]) -> String {
    let line = |(thread, at, pairs): &(u32, u64, &str)| format!("2:1:1:1:{thread}:{at}:{pairs}\n");
    let head = format!(
        "#Paraver (21/11/2026 at 10:00):9700_ns:1({threads}):1:1({threads}:1),1\nc:1:1:1:1\n"
    );
    head + &events.iter().map(line).collect::<String>()
}

/// What threads did where: (thread, function, computed, asleep).
fn spent(run: &Run) -> Vec<(u16, String, u64, u64)> {
    let row = |s: &Sample| (s.thread, place(run, s.ctx).0, s.cpu_ns, s.blocked_ns);
    let mut all: Vec<_> = run.samples.iter().map(row).collect();
    all.sort();
    all
}

#[test]
fn all_threads_of_a_task_are_read_with_their_teams() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    const MAIN: &str = "50000002:8:70000001:3:80000001:3";
    let text = of_threads(
        2,
        &[
            (1, 100, "50000003:31"),
            (1, 1000, "50000003:0"),
            (1, 1500, MAIN),
            (1, 1510, "50000002:0"),
            // The worker joins the region in the moment in which it begins, and its line may be the first.
            (2, 2000, "60000018:1:60000118:1"),
            (1, 2000, "60000001:3:60000018:1:60000118:1"),
            (2, 2600, "42000050:70:60000018:0:60000118:0"),
            (1, 3000, "60000018:0:60000118:0"),
            (1, 3010, "60000001:0"),
            // Another thread than the first one calls MPI.
            (1, 4000, "60000001:3:60000018:1:60000118:1"),
            (2, 4000, "60000018:1:60000118:1"),
            (2, 4100, "50000001:1"),
            (2, 4200, "50000001:0"),
            (1, 4500, "60000018:0:60000118:0"),
            (2, 5000, "60000018:0:60000118:0"),
            (1, 5000, "60000001:0"),
            (1, 6000, "50000003:32"),
            (1, 6100, "50000003:0"),
        ],
    );
    let text = text + "3:1:1:1:2:4100:4200:1:1:1:2:4100:4200:64:7\n";
    let path = lay(
        dir.path(),
        text.as_bytes(),
        &(LABELS.to_string() + OUTLINED),
    );
    let run = import(&path, &dir.path().join("run"), None, |_, _| ()).expect("imports");
    let threads: Vec<(u32, u16)> = run.threads.iter().map(|t| (t.rank, t.thread)).collect();
    assert_eq!(threads, [(0, 0), (0, 1)]);
    let (team, barrier) = ("main._omp_fn.0", "omp implicit barrier");
    let spent_in =
        |thread, function: &str, computed, slept| (thread, function.to_string(), computed, slept);
    let wanted = [
        spent_in(0, "app", 500, 0),
        spent_in(0, "main", 2480, 0),
        spent_in(0, team, 1500, 0),
        spent_in(0, barrier, 0, 510),
        spent_in(1, team, 700, 0),
        spent_in(1, team, 800, 0),
        spent_in(1, barrier, 0, 410),
    ];
    assert_eq!(spent(&run), wanted);
    let work: Vec<(u16, u64, u64, u64, u64)> = (run.teams.iter())
        .map(|t| (t.thread, t.count, t.wall_ns, t.locked_ns, t.wait_ns))
        .collect();
    assert_eq!(work, [(0, 2, 1500, 0, 500), (1, 2, 1600, 100, 400)]);
    let counted: u64 = run.samples.iter().flat_map(|s| &s.counters).sum();
    assert_eq!(counted, 70);
    let send = run
        .calls
        .iter()
        .find(|c| run.function(c.func) == "MPI_Send");
    let send = send.expect("the worker sends");
    assert_eq!((send.thread, send.bytes), (1, 64));
    // Both are below one call, on the way of the first thread.
    let ways: Vec<CtxId> = run.teams.iter().map(|t| t.team).collect();
    assert_eq!(ways[0], ways[1]);
    assert_eq!(place(&run, ways[0]).1, "omp parallel");
}

fn openmp_alone() -> String {
    of_threads(
        2,
        &[
            (1, 100, "60000019:0"),
            (1, 1000, "60000001:3:60000018:1"),
            (2, 1010, "60000018:1"),
            // Both want a critical section, and the worker gets it first.
            (2, 1100, "60000007:3"),
            (2, 1110, "60000007:6"),
            (1, 1200, "60000007:3"),
            (2, 1500, "60000007:5"),
            (1, 1510, "60000007:6"),
            (2, 1510, "60000007:0"),
            (1, 1600, "60000007:5"),
            (1, 1610, "60000007:0"),
            // The worker does a task in the barrier.
            (2, 2000, "60000005:1"),
            (2, 2100, "60000023:2"),
            (2, 2400, "60000023:0"),
            (1, 3000, "60000005:1"),
            (1, 3010, "60000005:0"),
            (2, 3010, "60000005:0"),
            (1, 4000, "60000018:0"),
            (2, 4000, "60000018:0"),
            (1, 4000, "60000001:0"),
            (1, 5000, "60000018:0"),
        ],
    )
}

#[test]
fn a_trace_of_openmp_alone_is_a_run_with_locks_and_tasks() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let text = openmp_alone();
    let path = lay(dir.path(), text.as_bytes(), OUTLINED);
    let run = import(&path, &dir.path().join("run"), None, |_, _| ()).expect("imports");
    assert_eq!((run.header.ranks, run.ranks[0].wall_ns), (1, 4900));
    let segments = run.segments.iter();
    let segments: Vec<(u64, u64)> = segments.map(|s| (s.wall_ns, s.count)).collect();
    assert_eq!(segments, [(4900, 1)]);
    assert!(run.header.missing.iter().any(|m| m.contains("no MPI call")));
    assert!(
        !run.header
            .missing
            .iter()
            .any(|m| m.contains("completes a send"))
    );
    let all = spent(&run);
    let of = |thread, function: &str| {
        let own = all.iter().filter(|s| s.0 == thread && s.1 == function);
        own.fold((0, 0), |sum, s| (sum.0 + s.2, sum.1 + s.3))
    };
    assert_eq!(of(1, "main._omp_fn.1"), (300, 0), "a task is work");
    assert_eq!(of(1, "omp barrier"), (0, 710));
    let [wait] = &run.waits[..] else {
        panic!("one waits: {:?}", run.waits);
    };
    assert_eq!((wait.thread, wait.holder, wait.wait_ns), (0, 1, 310));
    assert_eq!(of(0, "omp critical"), (100, 310));
    let arrived: u64 = run.teams.iter().map(|t| t.wait_ns).sum();
    assert_eq!(arrived, 1000);
}

#[test]
fn all_events_are_one_window_though_buffers_were_written() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut events = vec![(100, "50000003:31"), (1000, "50000003:0")];
    for n in 1..9 {
        let at = 1000 * n;
        events.extend([
            (at + 200, "40000003:1"),
            (at + 300, "40000003:0"),
            (at + 500, "50000002:8"),
            (at + 600, "50000002:0"),
        ]);
    }
    events.extend([(9600, "50000003:32"), (9700, "50000003:0")]);
    let path = lay(dir.path(), lines(&events).as_bytes(), LABELS);
    let run = import(&path, &dir.path().join("run"), None, |_, _| ()).expect("imports");
    let windows = &run.header.windows;
    let ends: Vec<(bool, bool)> = windows.iter().map(|w| (w.from_start, w.to_end)).collect();
    assert_eq!(ends, [(true, true)]);
    let busy: Vec<u64> = run.events.iter().map(|e| e.busy_ns).collect();
    assert_eq!(busy, [400, 800, 800, 800, 800, 800, 800, 800, 1000]);
}

#[test]
fn recording_is_switched_by_the_first_thread_and_one_that_does_nothing_is_none() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let imported = |events: &[(u32, u64, &str)], labels: &str, name: &str| {
        let path = lay(dir.path(), of_threads(2, events).as_bytes(), labels);
        import(&path, &dir.path().join(name), None, |_, _| ()).expect("imports")
    };
    let both = LABELS.to_string() + OUTLINED;
    let run = imported(
        &[
            (1, 100, "50000003:31"),
            (1, 1000, "50000003:0"),
            // The other thread ends, and is not recorded any more.
            (2, 2000, "60000018:1"),
            (2, 3000, "60000018:0:40000012:0"),
            (1, 5000, "40000012:0"),
            (1, 6000, "40000012:1"),
            (1, 9600, "50000003:32"),
            (1, 9700, "50000003:0"),
        ],
        &both,
        "switched",
    );
    assert_eq!(run.ranks[0].wall_ns, 8700 - 1000);
    let times: Vec<u64> = run.header.paused.iter().map(|p| p.times).collect();
    assert_eq!(times, [1]);
    let run = imported(
        &[(2, 2000, "60000018:1"), (2, 3000, "60000018:0")],
        OUTLINED,
        "other",
    );
    assert_eq!(run.ranks[0].wall_ns, 1000);
}

#[test]
fn a_trace_that_lost_all_messages_says_so() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let said = |records: String, name: &str| {
        let text = HEAD.to_string() + &records;
        let path = lay(dir.path(), text.as_bytes(), LABELS);
        let run = import(&path, &dir.path().join(name), None, |_, _| ()).expect("imports");
        let mut missing = run.header.missing.into_iter();
        missing.find(|m| m.starts_with("Messages:"))
    };
    assert_eq!(said(records(), "whole"), None);
    let lines = records();
    let lines = lines.lines().filter(|l| !l.starts_with("3:"));
    let without: String = lines.map(|l| format!("{l}\n")).collect();
    let sentence = said(without, "without").expect("is said");
    assert!(
        sentence.contains("4 calls that send or receive"),
        "{sentence}"
    );
}

#[test]
fn a_program_that_nobody_names_is_said_to_be_so() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let text = lines(&[
        (100, "50000003:31"),
        (1000, "50000003:0"),
        (2000, "50000002:8"),
        (2001, "50000002:0"),
    ]);
    let nameless = LABELS.replace(", /home/user/app", "");
    let path = lay(dir.path(), text.as_bytes(), &nameless);
    let imported = |name: &str, program| {
        let run = import(&path, &dir.path().join(name), program, |_, _| ());
        run.expect("imports").header
    };
    let said = |h: &headwater_model::run::Header| h.missing.iter().any(|m| m.contains("--program"));
    let unnamed = imported("unnamed", None);
    assert_eq!(
        (unnamed.program.as_str(), said(&unnamed)),
        ("unnamed program", true)
    );
    let named = imported("named", Some("app"));
    assert_eq!((named.program.as_str(), said(&named)), ("app", false));
}

#[test]
fn what_is_wrong_with_a_paraver_trace_is_said_with_its_line() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = dir.path().join("run");
    let whole = HEAD.to_string() + &records();
    let refused = |trace: &str, labels: &str, words: &[&str]| {
        let path = lay(dir.path(), trace.as_bytes(), labels);
        let imported = import(&path, &out, None, |_, _| ()).map(|run| run.header.name);
        let text = imported.expect_err("is refused").to_string();
        assert!(words.iter().all(|w| text.contains(w)), "{text}");
        assert!(!text.contains('\n') && !out.exists(), "{text}");
        assert_eq!(
            std::fs::read_dir(dir.path()).expect("a directory").count(),
            3,
            "{text}"
        );
    };
    refused(
        "",
        LABELS,
        &["app.prv is damaged", "does not begin as a Paraver trace"],
    );
    refused(
        &whole.replace(":1:3(", ":2:3("),
        LABELS,
        &["2 applications"],
    );
    refused(
        &whole[..whole.len() - 5],
        LABELS,
        &["ends within a line", "line "],
    );
    refused(
        &whole.replacen("\n2:", "\n4:", 1),
        LABELS,
        &["\"4:", "is no record", "line 5"],
    );
    refused(
        &whole.replace("c:1:2:2:3:1", "c:1:2:3:3:1"),
        LABELS,
        &["a communicator is broken", "line 3"],
    );
    refused(
        &format!("{whole}2:1:1:9:1:5:1:1\n"),
        LABELS,
        &["2:1:1:9:1:5", "is no record"],
    );
    refused(
        &format!("{whole}2:1:1:1:1:5:1\n"),
        LABELS,
        &["2:1:1:1:1:5:1", "is no record"],
    );
    let records = records();
    let backward: Vec<&str> = records.lines().rev().collect();
    refused(
        &format!("{HEAD}{}\n", backward.join("\n")),
        LABELS,
        &["times go backward"],
    );
    refused(
        &whole,
        "EVENT_TYPE\n",
        &["does not name the MPI calls", ".pcf"],
    );
    refused(HEAD, LABELS, &["no MPI call", "nothing to analyse"]);
    lay(dir.path(), whole.as_bytes(), LABELS);
    std::fs::remove_file(dir.path().join("app.pcf")).expect("removes");
    let error = import(dir.path(), &out, None, |_, _| ()).map(|run| run.header.name);
    let error = error.expect_err("the names of numbers are missing");
    assert!(matches!(error, ImportError::Missing { .. }), "{error}");
    assert!(
        error.to_string().contains("app.pcf is not there"),
        "{error}"
    );
}

#[test]
fn the_largest_numbers_anywhere_are_no_panic() {
    let omp = openmp_alone();
    let omp = omp.lines().skip(2).map(|l| format!("{l}\n"));
    let omp: String = omp.collect();
    let text = records() + &omp;
    let text = text + "2:1:1:1:1:9800:40000003:1\n2:1:1:1:1:9900:40000003:0:42000050:7\n";
    let fields: Vec<&str> = text.split(':').collect();
    for at in (0..fields.len()).step_by(7) {
        let mut fields = fields.clone();
        // With the beginning of the next line, if one follows.
        let next = fields[at]
            .split_once('\n')
            .map(|(_, next)| format!("\n{next}"));
        let largest = format!("{}{}", u64::MAX, next.unwrap_or_default());
        fields[at] = &largest;
        let dir = tempfile::tempdir().expect("a temporary directory");
        let text = HEAD.to_string() + &fields.join(":");
        let path = lay(dir.path(), text.as_bytes(), LABELS);
        let out = dir.path().join("run");
        match import(&path, &out, None, |_, _| ()) {
            Ok(_) => drop(headwater_format::read_run(&out).expect("is a run")),
            Err(e) => assert!(!out.exists() && !e.to_string().contains('\n'), "{e}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn paraver_traces_of_any_bytes_are_no_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"0129:c#\n-x".to_vec())), 1..8),
        labels in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"0129( \nx[].,".to_vec())), 0..4),
        openmp in any::<bool>(),
        compressed in any::<bool>(),
        broken in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let change = |text: String, changes: Vec<(prop::sample::Index, u8)>| {
            let mut bytes = text.into_bytes();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes
        };
        let own = if openmp { openmp_alone() } else { HEAD.to_string() + &records() };
        let trace = change(own, changes);
        let labels = change(LABELS.to_string() + OUTLINED, labels);
        let labels = String::from_utf8(labels).expect("text");
        let mut path = lay(dir.path(), &trace, &labels);
        if compressed {
            let mut bytes = packed(&trace);
            for (at, byte) in broken {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            path = dir.path().join("app.prv.gz");
            std::fs::write(&path, bytes).expect("writes");
        }
        let out = dir.path().join("run");
        if let Err(e) = import(&path, &out, None, |_, _| ()) {
            prop_assert!(!e.to_string().contains('\n'), "{}", e);
            prop_assert!(!out.exists());
        }
    }
}
