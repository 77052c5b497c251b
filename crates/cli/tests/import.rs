//! Traces of other tools, from the command on: what was recorded elsewhere is diagnosed and analysed here.

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{headwater, said, target};

/// Writes an archive, of `ranks` ranks where that is not fixed, by the OTF2 library, which `cargo xtask setup` installs.
fn archive(dir: &Path, name: &str, ranks: &str) -> PathBuf {
    let given = std::env::var_os("HEADWATER_OTF2").map(PathBuf::from);
    let places = given.into_iter().chain([target().join("otf2")]);
    let mut pythons = places.map(|p| p.join("bin/python"));
    let python = pythons.find(|p| p.exists());
    let python = python.expect("the OTF2 library is missing here; type: cargo xtask setup");
    let path = dir.join(format!("trace{ranks}"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/archives.py");
    let mut write = Command::new(python);
    write.arg(script).arg(name).arg(&path);
    let out = write.args(Some(ranks).filter(|r| !r.is_empty())).output();
    let out = out.expect("Python starts");
    assert!(out.status.success(), "{}", said(&out));
    path
}

fn command(dir: &Path, args: &[&str]) -> Output {
    let out = headwater(dir).args(args).output().expect("runs");
    assert!(out.status.success(), "{args:?}: {}", said(&out));
    out
}

fn json(dir: &Path, args: &[&str]) -> Value {
    let out = command(dir, args);
    serde_json::from_slice(&out.stdout).expect("JSON")
}

#[test]
fn a_trace_is_imported_diagnosed_and_analysed() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    for ranks in ["2", "4"] {
        archive(at, "uneven", ranks);
        let name = format!("app.{ranks}");
        let out = command(at, &["import", &format!("trace{ranks}"), "-o", &name]);
        let line = format!("imported {name}: {ranks} ranks");
        assert!(said(&out).contains(&line), "{}", said(&out));
        assert!(
            !at.join(format!("{name}/spool")).exists(),
            "the run alone is left"
        );
    }
    let found = json(at, &["diagnose", "app.2", "app.4", "--json"]);
    let cause = &found["causes"][0];
    assert_eq!(cause["class"], "uneven-work", "{found}");
    assert_eq!(cause["ranks"], "2-3");
    let place = &cause["place"];
    assert_eq!(
        (&place["file"], &place["first_line"]),
        (&"slow.c".into(), &5.into())
    );
    // Both scales have one graph: half of the work of twice as many ranks.
    let scales = found["scales"].as_array().expect("scales");
    assert_eq!(scales.len(), 2);
    let efficiencies = json(at, &["analyse", "efficiencies", "app.2", "app.4", "--json"]);
    let rows = &efficiencies["sections"][0]["rows"];
    assert_eq!(rows.as_array().map(Vec::len), Some(2), "{efficiencies}");
    for paradigm in [
        "profile",
        "wait-states",
        "mpi-profile",
        "critical-path",
        "communication",
        "resources",
    ] {
        json(at, &["analyse", paradigm, "app.4", "--json"]);
    }
}

/// What `late` of `archives.py` is, in Paraver's format: times are nanoseconds.
const LATE: &str = "#Paraver (21/11/2026 at 10:00):4501000000_ns:1(2):1:2(1:1,1:1),1
c:1:1:2:1:2
2:1:1:1:1:100:50000003:31
2:2:1:2:1:100:50000003:31
2:1:1:1:1:1000000:50000003:0:60000019:1:60000119:1
2:2:1:2:1:1000000:50000003:0:60000019:2:60000119:1
2:2:1:2:1:1001000000:60000019:0:50000001:2
3:1:1:1:1:3001000000:3001000000:2:1:2:1:1001000000:3001000000:100:5
2:1:1:1:1:3001000000:60000019:0:50000001:1
2:1:1:1:1:3001000000:50000001:0:60000019:3
2:2:1:2:1:3001000000:50000001:0:60000019:4
2:1:1:1:1:3501000000:60000019:0:50000002:8
2:2:1:2:1:4501000000:60000019:0:50000002:8
2:2:1:2:1:4501000000:50000002:0:50000003:32
2:1:1:1:1:4501000000:50000002:0:50000003:32
2:1:1:1:1:4501000000:50000003:0
2:2:1:2:1:4501000000:50000003:0
";
const LABELS: &str = "EVENT_TYPE
9 50000001 MPI Point-to-point
VALUES
1 MPI_Send
2 MPI_Recv

EVENT_TYPE
9 50000002 MPI Collective Comm
VALUES
8 MPI_Barrier

EVENT_TYPE
9 50000003 MPI Other
VALUES
31 MPI_Init
32 MPI_Finalize

EVENT_TYPE
0 60000019 User function
VALUES
1 slow
2 quick
3 brief
4 long

EVENT_TYPE
0 60000119 User function line
VALUES
1 20 (app.c, app)
";

#[test]
fn efficiencies_wait_states_and_delay_cost_are_those_of_the_trace() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    archive(at, "late", "");
    std::fs::write(at.join("late.prv"), LATE).expect("writes");
    std::fs::write(at.join("late.pcf"), LABELS).expect("writes");
    for (trace, run) in [("trace", "of-otf2"), ("late.prv", "of-paraver")] {
        command(at, &["import", trace, "-o", run]);
        let near = |value: &Value, wanted: f64| {
            let got = value.as_f64().expect("a figure");
            assert!((got - wanted).abs() < 1e-6, "{run}: {got} for {wanted}");
        };
        // 4.5 s, in which rank 0 computes for 3.5 and rank 1 for 2.5.
        let found = json(at, &["analyse", "efficiencies", run, "--json"]);
        let row = &found["sections"][0]["rows"][0];
        near(&row["wall_seconds"], 4.5);
        near(&row["parallel"], 3.0 / 4.5);
        near(&row["load_balance"], 3.0 / 3.5);
        near(&row["communication"], 3.5 / 4.5);
        near(&row["transfer"], 1.0);
        let found = json(at, &["analyse", "wait-states", run, "--json"]);
        let rows = found["sections"][0]["rows"].as_array().expect("rows");
        let states: Vec<&str> = rows.iter().filter_map(|r| r["state"].as_str()).collect();
        assert_eq!(states, ["late sender", "wait at barrier"], "{run}");
        near(&rows[0]["wait_seconds"], 2.0);
        near(&rows[1]["wait_seconds"], 1.0);
        // The 2 s in which the receiver waits are those that the sender computes longer.
        let found = json(at, &["diagnose", run, "--json"]);
        let causes = found["causes"].as_array().expect("causes");
        let slow = causes.iter().find(|c| c["place"]["function"] == "slow");
        let slow = slow.expect("what makes the sender late");
        assert_eq!(
            (&slow["class"], &slow["ranks"]),
            (&"uneven-work".into(), &"0".into())
        );
        near(&slow["waiting_seconds"], 2.0);
    }
}

#[test]
fn equal_work_that_runs_slower_is_recognised_by_a_traces_counters() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    for ranks in ["2", "4"] {
        archive(at, "slower", ranks);
        let name = format!("app.{ranks}");
        command(at, &["import", &format!("trace{ranks}"), "-o", &name]);
    }
    let found = json(at, &["diagnose", "app.2", "app.4", "--json"]);
    let cause = &found["causes"][0];
    assert_eq!(cause["class"], "slower-work", "{found}");
    assert_eq!(cause["place"]["file"], "slow.c");
    assert!(
        cause["evidence"].to_string().contains("cache misses"),
        "{cause}"
    );
}

#[test]
fn threads_of_a_trace_that_wait_for_one_another_are_a_cause() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    archive(at, "teams", "2");
    command(at, &["import", "trace2", "-o", "app.2"]);
    let found = json(at, &["diagnose", "app.2", "--json"]);
    let cause = &found["causes"][0];
    assert_eq!(cause["class"], "thread-imbalance", "{found}");
    assert_eq!(cause["place"]["function"], "loop");
    // Of 30 times 1 and 3 ms, each rank could save 1 ms every time.
    let cost = cause["cost_seconds"].as_f64().expect("a cost");
    assert!((cost - 0.030).abs() < 1e-4, "{cost}");
    // And where both want one critical section, that is what they wait for.
    std::fs::remove_dir_all(at.join("trace2")).expect("removes");
    archive(at, "locks", "2");
    command(at, &["import", "trace2", "-o", "locks.2"]);
    let found = json(at, &["diagnose", "locks.2", "--json"]);
    assert_eq!(found["causes"][0]["class"], "lock-contention", "{found}");
}

/// A Paraver trace of OpenMP alone: of two threads, the second one computes half as long again in each of 100 regions.
fn openmp_alone() -> String {
    let mut text =
        "#Paraver (21/11/2026 at 10:00):700000000_ns:1(2):1:1(2:1),1\nc:1:1:1:1\n".to_string();
    let mut line = |thread: u32, at: u64, pairs: &str| {
        text += &format!("2:1:1:1:{thread}:{at}:{pairs}\n");
    };
    for n in 0..100_u64 {
        let at = 1000 + 7_000_000 * n;
        line(1, at, "60000001:3:60000018:1");
        line(2, at, "60000018:1");
        line(1, at + 4_000_000, "60000018:0");
        line(2, at + 6_000_000, "60000018:0");
        line(1, at + 6_000_000, "60000001:0");
    }
    text
}

#[test]
fn a_trace_without_mpi_is_diagnosed_by_its_threads() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    let labels = "EVENT_TYPE\n0 60000018 Executed OpenMP parallel function\nVALUES\n0 End\n1 sweep._omp_fn.0\n";
    std::fs::write(at.join("omp.prv"), openmp_alone()).expect("writes");
    std::fs::write(at.join("omp.pcf"), labels).expect("writes");
    command(at, &["import", "omp.prv", "-o", "omp"]);
    let found = json(at, &["diagnose", "omp", "--json"]);
    let cause = &found["causes"][0];
    assert_eq!(cause["class"], "thread-imbalance", "{found}");
    assert_eq!(cause["place"]["function"], "sweep._omp_fn.0");
    // A region would take 5 ms instead of 6.
    let cost = cause["cost_seconds"].as_f64().expect("a cost");
    assert!((cost - 0.1).abs() < 1e-3, "{cost}");
    let report = String::from_utf8_lossy(&command(at, &["diagnose", "omp"]).stdout).into_owned();
    assert!(report.contains("no MPI call"), "{report}");
}

/// A Paraver trace of a pipeline of `ranks`, some of which write buffers now and then, and the time that it would take with
/// messages that take none.
fn pipeline(ranks: usize, steps: u64) -> (String, f64) {
    let mut lines: Vec<(u64, String)> = Vec::new();
    let (mut now, mut ideal) = (vec![1_000_000_u64; ranks], vec![0_u64; ranks]);
    for (task, at) in (1..=ranks).flat_map(|task| [(task, 100), (task, 1_000_000)]) {
        let value = if at == 100 { 31 } else { 0 };
        lines.push((at, format!("2:1:1:{task}:1:{at}:50000003:{value}")));
    }
    let mut random = 1_u64;
    for step in 0..steps {
        let mut sent = (0, 0);
        for rank in 0..ranks {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let late = u64::from(step / 7 % ranks as u64 == rank as u64);
            let work = 20_000 + 30_000 * late + (random >> 50);
            let task = rank + 1;
            now[rank] += work;
            ideal[rank] += work;
            if random >> 32 & 0x3f == 0 {
                let (from, to) = (now[rank], now[rank] + 500_000);
                lines.push((from, format!("2:1:1:{task}:1:{from}:40000003:1")));
                lines.push((to, format!("2:1:1:{task}:1:{to}:40000003:0")));
                now[rank] = to;
            }
            if rank > 0 {
                let (from, to) = (now[rank], (now[rank] + 500).max(sent.0 + 3000));
                lines.push((from, format!("2:1:1:{task}:1:{from}:50000001:2")));
                lines.push((to, format!("2:1:1:{task}:1:{to}:50000001:0")));
                let at = sent.0;
                let send = format!("3:1:1:{rank}:1:{at}:{at}:1:1:{task}:1:{from}:{to}:64:7");
                lines.push((at, send));
                now[rank] = to;
                ideal[rank] = ideal[rank].max(sent.1);
            }
            if task < ranks {
                let (from, to) = (now[rank], now[rank] + 500);
                lines.push((from, format!("2:1:1:{task}:1:{from}:50000001:1")));
                lines.push((to, format!("2:1:1:{task}:1:{to}:50000001:0")));
                sent = (from, ideal[rank]);
                now[rank] = to;
            }
        }
    }
    let end = now.iter().copied().max().unwrap_or(0);
    for (task, from) in (1..=ranks).zip(now) {
        lines.push((from, format!("2:1:1:{task}:1:{from}:50000003:32")));
        lines.push((end + 10, format!("2:1:1:{task}:1:{}:50000003:0", end + 10)));
    }
    lines.sort_by_key(|l| l.0);
    let all = vec!["1:1"; ranks].join(",");
    let head = format!("#Paraver (21/11/2026 at 10:00):{end}_ns:1({ranks}):1:{ranks}({all}),0\n");
    let text = lines
        .into_iter()
        .map(|(_, line)| line + "\n")
        .collect::<String>();
    (
        head + &text,
        ideal.into_iter().max().unwrap_or(0) as f64 * 1e-9,
    )
}

#[test]
fn the_whole_of_a_trace_is_replayed_though_buffers_were_written() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    let (trace, ideal) = pipeline(8, 500);
    std::fs::write(at.join("app.prv"), trace).expect("writes");
    std::fs::write(at.join("app.pcf"), LABELS).expect("writes");
    command(at, &["import", "app.prv", "-o", "app.8"]);
    let found = json(at, &["diagnose", "app.8", "--json"]);
    let scale = &found["scales"][0];
    for share in ["window_share", "replayed_share"] {
        assert_eq!(scale[share].as_f64(), Some(1.0), "{share}");
    }
    let figure = |value: &Value| value.as_f64().expect("a figure");
    let replayed = figure(&scale["model_seconds"]) * figure(&scale["efficiencies"]["transfer"]);
    assert!(
        (replayed / ideal - 1.0).abs() < 1e-4,
        "{replayed} for {ideal}"
    );
}

#[test]
fn counters_of_traces_split_computation_scaling_and_lost_messages_are_said() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    let counted = "EVENT_TYPE\n7 42000050 PAPI_TOT_INS [Instr completed]\n7 42000059 PAPI_TOT_CYC [Total cycles]\n";
    let labels = format!("{LABELS}\n{counted}");
    // Twice the ranks compute half as long, with a quarter more instructions than half.
    for (ranks, half, instructions, cycles) in [(2, 1, 8000, 4000), (4, 2, 5000, 2000)] {
        let all = vec!["1:1"; ranks].join(",");
        let mut text =
            format!("#Paraver (21/11/2026 at 10:00):4000000000_ns:1({ranks}):1:{ranks}({all}),0\n");
        let ends = [1_000_000, 1_000_000 + 2_000_000_000 / half];
        let calls = [
            (100, "50000003:31".to_string()),
            (ends[0], "50000003:0".to_string()),
            (
                ends[1],
                format!("50000001:1:42000050:{instructions}:42000059:{cycles}"),
            ),
            (ends[1] + 10, "50000001:0:50000003:32".to_string()),
            (ends[1] + 20, "50000003:0".to_string()),
        ];
        for (time, pairs) in &calls {
            for task in 1..=ranks {
                text += &format!("2:{task}:1:{task}:1:{time}:{pairs}\n");
            }
        }
        std::fs::write(at.join("app.prv"), text).expect("writes");
        std::fs::write(at.join("app.pcf"), &labels).expect("writes");
        command(at, &["import", "app.prv", "-o", &format!("app.{ranks}")]);
    }
    let strong = [
        "analyse",
        "efficiencies",
        "app.2",
        "app.4",
        "--scaling",
        "strong",
        "--json",
    ];
    let found = json(at, &strong);
    let row = &found["sections"][0]["rows"][1];
    for (name, wanted) in [
        ("instruction_scaling", 0.8),
        ("ipc_scaling", 1.25),
        ("frequency_scaling", 1.0),
        ("computation_scaling", 1.0),
    ] {
        let value = row[name].as_f64().expect("a figure");
        assert!((value - wanted).abs() < 1e-4, "{name}: {value}");
    }
    let report = command(at, &["diagnose", "app.2", "app.4", "--scaling", "strong"]);
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    for words in [
        "instruction scaling",
        "IPC scaling",
        "frequency scaling",
        "but no message",
    ] {
        assert!(report.contains(words), "{words}: {report}");
    }
}

#[test]
fn traces_that_cannot_be_imported_get_one_line_and_leave_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    std::fs::write(at.join("text.otf2"), "no archive").expect("writes");
    std::fs::create_dir(at.join("two")).expect("makes a directory");
    for name in ["two/a.otf2", "two/b.otf2", "plain"] {
        std::fs::write(at.join(name), "").expect("writes");
    }
    for (trace, words) in [
        ("none", &["none", "No such file"][..]),
        ("plain", &["plain is no trace that headwater knows", "OTF2"]),
        (".", &["text.otf2 is damaged"]),
        ("two", &["two holds several traces", "a.otf2, b.otf2"]),
        ("text.otf2", &["text.otf2 is damaged", "anchor file"]),
    ] {
        let mut import = headwater(at);
        let out = import.args(["import", trace, "-o", "run"]).output();
        let out = out.expect("runs");
        let text = said(&out);
        assert_eq!(out.status.code(), Some(2), "{trace}: {text}");
        assert_eq!(text.lines().count(), 1, "{trace}: {text}");
        assert!(words.iter().all(|w| text.contains(w)), "{trace}: {text}");
        let left = std::fs::read_dir(at).expect("a directory").count();
        assert_eq!(left, 3, "{trace}");
    }
}

#[test]
fn what_somebody_has_there_is_not_mixed_with_a_run() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    archive(at, "uneven", "2");
    std::fs::create_dir(at.join("mine")).expect("a directory");
    std::fs::write(at.join("mine/calls.parquet"), "mine").expect("a file");
    for out in ["mine", ".", ".."] {
        let refused = headwater(at).args(["import", "trace2", "-o", out]).output();
        let refused = refused.expect("runs");
        assert_eq!(refused.status.code(), Some(2), "{out}");
        assert!(said(&refused).contains("is not overwritten"), "{out}");
    }
    let kept = std::fs::read_dir(at).expect("a directory").count();
    assert_eq!(kept, 2, "the trace and the directory");
    std::fs::create_dir(at.join("empty")).expect("a directory");
    command(at, &["import", "trace2", "-o", "empty"]);
}

/// A scale in ScalAna's files: a loop of `main` shrinks with the ranks and one of a function does not; rank 1 is longer in
/// that one, and the others wait for it in MPI_Allreduce.
fn scalana(dir: &Path, ranks: u32) {
    let at = dir.join(format!("cg/{ranks}"));
    std::fs::create_dir_all(&at).expect("a directory");
    for rank in 0..ranks {
        let (shrinks, stays) = (16_000 / ranks + rank, 4000 + 2000 * u32::from(rank == 1));
        let waits = 16_000 / ranks + 6400 - shrinks - stays;
        let all = f64::from(shrinks + stays + waits + 3);
        let share = |samples: u32| f64::from(samples) / all;
        let text = format!(
            "0 -4 3 0 0 10 90 0 0 \n1 0 0 0 0 12 12 0 0 \n2 -1 3 0 0 20 60 0 0 \n3 -1 0 0 0 25 30 {shrinks} {} \n4 -5 1 0 0 35 35 0 0 \n5 -4 1 0 1 100 130 0 0 \n6 -1 0 0 1 105 120 {stays} {} \n7 37 0 0 0 50 50 {waits} {} \n8 2 0 0 0 88 88 0 0 \n1\n/home/u/cg\n2\nmain.c\nsolve.c\n",
            share(shrinks),
            share(stays),
            share(waits)
        );
        std::fs::write(at.join(format!("stat{rank}.txt")), text).expect("a file");
    }
}

#[test]
fn scales_of_scalana_are_imported_together_diagnosed_and_exported_again() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    scalana(at, 4);
    scalana(at, 8);
    let out = command(
        at,
        &["import", "cg/4", "cg/8", "-o", "runs", "--program", "cg"],
    );
    for line in [
        "imported runs/runs.4: 4 ranks",
        "imported runs/runs.8: 8 ranks",
    ] {
        assert!(said(&out).contains(line), "{}", said(&out));
    }
    let found = json(at, &["diagnose", "runs", "--json"]);
    let causes = found["causes"].as_array().expect("causes");
    let told: Vec<_> = (causes.iter())
        .map(|c| {
            let (place, ranks) = (&c["place"], &c["ranks"]);
            (&c["class"], &place["file"], &place["first_line"], ranks)
        })
        .collect();
    let file = Value::from("/home/u/cg/solve.c");
    let (uneven, stays) = (
        Value::from("uneven-work"),
        Value::from("non-shrinking-work"),
    );
    let line = Value::from(105);
    let ranks = [Value::from("1"), Value::from("0-7")];
    let wanted = [
        (&uneven, &file, &line, &ranks[0]),
        (&stays, &file, &line, &ranks[1]),
    ];
    assert_eq!(told, wanted, "{found}");
    let text = command(at, &["diagnose", "runs"]).stdout;
    let text = String::from_utf8(text).expect("text");
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ");
    for words in [
        "loop in func@solve.c:100",
        "there are no communication edges",
        "200 samples per second",
    ] {
        assert!(text.contains(words), "no \"{words}\" in: {text}");
    }
    // Calls were not counted, so they are missing.
    let profile = json(at, &["analyse", "mpi-profile", "runs/runs.8", "--json"]);
    let sites = profile["sections"].as_array().expect("sections");
    let by_site = sites.iter().find(|s| s["name"] == "time_by_site");
    let row = &by_site.expect("a table")["rows"][0];
    assert!(
        row["count"].is_null() && row["time_seconds"].is_number(),
        "{row}"
    );
    command(at, &["export", "scalana", "runs", "-o", "files"]);
    command(at, &["import", "files", "-o", "again"]);
    command(at, &["export", "scalana", "again", "-o", "files2"]);
    for rank in 0..8 {
        let name = format!("8/stat{rank}.txt");
        let read = |dir: &str| std::fs::read_to_string(at.join(dir).join(&name)).expect("a file");
        assert_eq!(read("files"), read("files2"));
    }
    let again = json(at, &["diagnose", "again", "--json"]);
    assert_eq!(again["causes"], found["causes"]);
}

#[test]
fn missing_ranks_make_nobody_late() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    scalana(at, 4);
    scalana(at, 8);
    // One in the middle, and the last one, which the name of the directory shows to be missing.
    std::fs::remove_file(at.join("cg/4/stat2.txt")).expect("removes");
    std::fs::remove_file(at.join("cg/8/stat7.txt")).expect("removes");
    let out = command(at, &["import", "cg", "-o", "runs"]);
    assert!(said(&out).contains("8 ranks"), "{}", said(&out));
    assert!(
        said(&out).contains("nothing is there of ranks 7"),
        "{}",
        said(&out)
    );
    let found = json(at, &["diagnose", "runs", "--json"]);
    let causes = found["causes"].as_array().expect("causes");
    let uneven: Vec<&Value> = (causes.iter())
        .filter(|c| c["class"] == "uneven-work")
        .map(|c| &c["ranks"])
        .collect();
    assert_eq!(uneven, ["1"], "{found}");
    let missing = found["missing"].to_string();
    assert!(missing.contains("nothing is there of rank 7"), "{missing}");
}

#[test]
fn scales_that_cannot_be_imported_leave_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    scalana(at, 4);
    scalana(at, 8);
    std::fs::write(at.join("cg/8/stat5.txt"), "0 -4 1 0 0 1 9 0 0\n").expect("a file");
    std::fs::write(at.join("app.prv"), "#Paraver\n").expect("a file");
    for (args, words) in [
        (
            &["cg", "-o", "runs"][..],
            "cg/8/stat5.txt, line 1: vertex 0 should have 1 children",
        ),
        (&["cg/4", "app.prv", "-o", "runs"], "app.prv"),
        (&["cg/4", "-o", "cg"], "cg"),
        (
            &["cg/4", "-o", "runs", "--sampling-hz", "0"],
            "from 1 to 1000000",
        ),
    ] {
        let out = headwater(at)
            .arg("import")
            .args(args)
            .output()
            .expect("runs");
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", said(&out));
        assert!(said(&out).contains(words), "{args:?}: {}", said(&out));
        assert!(!at.join("runs").exists(), "{args:?}");
        let there = std::fs::read_dir(at).expect("a directory").count();
        assert_eq!(there, 2, "{args:?}");
    }
}
