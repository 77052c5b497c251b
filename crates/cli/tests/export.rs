//! Where `export` writes, and where it refuses to.

mod support;

use headwater_model::run::*;
use std::path::Path;
use std::process::Output;
use support::{headwater, said};

/// A rank that computes a second before a barrier.
fn run() -> Run {
    let ctx = CtxId(0);
    Run {
        header: Header {
            name: "app.1".into(),
            program: "/nowhere/app".into(),
            ranks: 1,
            ..Default::default()
        },
        modules: vec![Module {
            path: "/nowhere/app".into(),
            ..Default::default()
        }],
        contexts: vec![Context {
            offset: 0x10,
            ..Default::default()
        }],
        functions: vec!["MPI_Barrier".into()],
        comms: vec![Comm { hash: 1, size: 1 }],
        ranks: vec![RankInfo {
            complete: true,
            wall_ns: 2_000_000_000,
            ..Default::default()
        }],
        segments: vec![Segment {
            from: ctx,
            to: ctx,
            count: 1,
            wall_ns: 1_000_000_000,
            cpu_ns: 1_000_000_000,
            ..Default::default()
        }],
        calls: vec![MpiCalls {
            ctx,
            peer: peer::NONE,
            count: 2,
            wall_ns: 1_000_000_000,
            ..Default::default()
        }],
        ..Default::default()
    }
}

fn export(dir: &Path, args: &[&str]) -> Output {
    let mut command = headwater(dir);
    command.arg("export").args(args).output().expect("runs")
}

fn names(dir: &Path) -> Vec<String> {
    let there = std::fs::read_dir(dir).expect("a directory").flatten();
    let mut names: Vec<String> = there
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Holds that each command ends with 2 and one line with these words, and leaves the directory as it was.
fn assert_refused(at: &Path, cases: &[(&[&str], &[&str])]) {
    let before = names(at);
    for (args, words) in cases {
        let out = export(at, args);
        let text = said(&out);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{args:?}: {text}");
        for word in *words {
            assert!(text.contains(word), "{args:?}: no \"{word}\" in: {text}");
        }
        assert_eq!(names(at), before, "{args:?}");
    }
}

#[test]
fn a_directory_of_runs_stands_for_those_in_it() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    headwater_format::write_run(&at.join("all/one"), &run()).expect("writes a run");
    std::fs::create_dir(at.join("all/none")).expect("a directory");
    let out = export(at, &["folded", "all", "-o", "-"]);
    assert_eq!(out.status.code(), Some(0), "{}", said(&out));
    headwater_format::write_run(&at.join("all/two"), &run()).expect("writes a run");
    let out = export(at, &["folded", "all", "-o", "-"]);
    assert!(said(&out).contains("one run"), "{}", said(&out));
    let out = export(at, &["folded", "all/none", "-o", "-"]);
    assert!(said(&out).contains("no recorded run"), "{}", said(&out));
}

#[test]
fn a_file_is_there_whole_or_not_at_all() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    headwater_format::write_run(&at.join("run"), &run()).expect("writes a run");
    std::fs::write(at.join("taken"), "mine").expect("writes a file");
    export(at, &["folded", "run", "-o", "-"]);
    let cases: [(&[&str], &[&str]); 8] = [
        (&["folded", "none", "-o", "x"], &["none", "no recorded run"]),
        (
            &["folded", "run", "-o", "taken"],
            &["taken is there already"],
        ),
        (
            &["folded", "run", "-o", "run"],
            &["run is a directory", "run/run.folded"],
        ),
        (
            &["folded", "run", "-o", "no/x"],
            &["no/x", "no directory no"],
        ),
        (
            &["parquet", "run", "-o", "-"],
            &["parquet is no text", "-o"],
        ),
        (
            &["folded", "run", "-o", "x", "--ranks", "3"],
            &["no rank 3"],
        ),
        (
            &["csv", "run", "-o", "x", "--table", "nix"],
            &["no table nix"],
        ),
        (&["folded", "run", "run", "-o", "x"], &["one run"]),
    ];
    assert_refused(at, &cases);
    assert_eq!(std::fs::read(at.join("taken")).expect("a file"), b"mine");

    let shown = export(at, &["folded", "run", "-o", "-"]);
    assert_eq!(shown.status.code(), Some(0), "{}", said(&shown));
    let done = export(at, &["folded", "run", "-o", "new"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert!(done.stdout.is_empty() && !shown.stdout.is_empty());
    assert_eq!(std::fs::read(at.join("new")).expect("a file"), shown.stdout);
    let device = export(at, &["folded", "run", "-o", "/dev/null"]);
    assert_eq!(device.status.code(), Some(0), "{}", said(&device));
}

/// The trace of a rank that meets nobody, often.
fn traced(at: &Path) {
    use headwater_trace::likeness::Slack;
    use headwater_trace::recorder::Recorder;
    use headwater_trace::times::Delta;
    use headwater_trace::trace::{Frame, Kind, Trace};
    headwater_format::write_run(&at.join("run"), &run()).expect("writes a run");
    let mut recorder = Recorder::new(usize::MAX, Slack::default());
    let frame = Frame {
        module: 1,
        offset: 0x10,
    };
    let signature = recorder.signature("MPI_Barrier", &[Kind::Comm], &[frame]);
    let delta = Delta {
        wall: 10_000,
        cpu: 10_000,
        call: 1000,
    };
    for _ in 0..1000 {
        recorder.event(signature, &[0], delta);
    }
    let mut trace = Trace::of_rank(0, 1);
    trace.add_communicator(0, 0, 0, 1);
    recorder.finish(&mut trace, 0, 0);
    std::fs::write(at.join("run/trace.hwtr"), trace.to_packed_bytes()).expect("writes a trace");
}

#[test]
fn a_directory_of_a_trace_is_there_whole_or_not_at_all() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    traced(at);
    headwater_format::write_run(&at.join("bare"), &run()).expect("writes a run");
    std::fs::write(at.join("file"), "mine").expect("writes a file");
    std::fs::create_dir(at.join("empty")).expect("a directory");
    let cases: [(&[&str], &[&str]); 9] = [
        (&["otf2", "run", "-o", "no/x"], &["no/x", "no directory no"]),
        (
            &["goal", "bare", "-o", "x"],
            &["bare has no trace", "headwater trace"],
        ),
        (
            &["simgrid", "bare", "-o", "x"],
            &["bare has no trace", "headwater trace"],
        ),
        (&["simgrid", "none", "-o", "x"], &["none"]),
        (
            &["simgrid", "run", "-o", "run"],
            &["run is there already", "new directory"],
        ),
        (
            &["simgrid", "run", "-o", "file"],
            &["file is a file", "new directory"],
        ),
        (&["simgrid", "run", "run", "-o", "x"], &["one run"]),
        (
            &["simgrid", "run", "-o", "x", "--table", "ranks"],
            &["simgrid takes no --table"],
        ),
        (
            &["folded", "run", "-o", "x", "--network", "ideal"],
            &["folded takes no --network"],
        ),
    ];
    assert_refused(at, &cases);
    let done = export(at, &["goal", "run", "-o", "schedule"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let shown = export(at, &["goal", "run", "-o", "-"]);
    let schedule = std::fs::read(at.join("schedule")).expect("a file");
    assert!(schedule.starts_with(b"num_ranks 1\n"));
    assert_eq!(shown.stdout, schedule);
    let full = export(at, &["goal", "run", "-o", "/dev/full"]);
    assert_eq!(full.status.code(), Some(2), "{}", said(&full));
    let taken = export(at, &["goal", "run", "-o", "schedule"]);
    assert!(said(&taken).contains("schedule is there already"));
    let alone = export(at, &["otf2", "run", "-o", "x", "--network", "ideal"]);
    assert_eq!(alone.status.code(), Some(2), "{}", said(&alone));
    assert!(said(&alone).contains("give --simulated as well"));
    for more in [&[][..], &["--simulated"]] {
        let name = format!("otf2{}", more.len());
        let args = [&["otf2", "run", "-o", &name][..], more].concat();
        let done = export(at, &args);
        assert_eq!(done.status.code(), Some(0), "{}", said(&done));
        assert_eq!(
            names(&at.join(&name)),
            ["traces", "traces.def", "traces.otf2"]
        );
        assert_eq!(names(&at.join(&name).join("traces")), ["0.def", "0.evt"]);
    }
    for name in ["new", "empty"] {
        let done = export(at, &["simgrid", "run", "-o", name]);
        assert_eq!(done.status.code(), Some(0), "{}", said(&done));
        let files = ["hosts", "platform.xml", "rank-0.txt", "trace.index"];
        assert_eq!(names(&at.join(name)), files);
        let line = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(
            line.starts_with(&format!("cd {name} && smpirun -np 1 ")),
            "{line}"
        );
    }
}

#[test]
fn what_does_not_fit_on_the_disk_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    traced(at);
    let before = names(at);
    for (format, file) in [("simgrid", "new/rank-0.txt"), ("otf2", "new")] {
        let mut shell = std::process::Command::new("sh");
        let line = format!("trap '' XFSZ; ulimit -f 0; exec \"$0\" export {format} run -o new");
        let command = headwater(at);
        shell.args(["-c", &line]).arg(command.get_program());
        let out = shell.current_dir(at).output().expect("runs");
        let text = said(&out);
        assert_eq!(out.status.code(), Some(2), "{text}");
        assert!(
            text.contains(&format!("cannot write {file}: File too large")),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1, "{text}");
        assert_eq!(names(at), before);
    }
}
