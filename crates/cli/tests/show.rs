//! `show` prints a trace, and says what is wrong with a file that is none.

mod support;

use headwater_trace::likeness::Slack;
use headwater_trace::recorder::Recorder;
use headwater_trace::times::Delta;
use headwater_trace::trace::{Frame, Kind, Loss, Trace};
use std::path::Path;
use std::process::Output;
use support::{headwater, said};

/// Two ranks that send each other ten numbers, twenty times.
fn trace() -> Trace {
    let mut all: Option<Trace> = None;
    for rank in 0..2 {
        let mut recorder = Recorder::new(usize::MAX, Slack::default());
        let frames = [Frame {
            module: 1,
            offset: 0x40,
        }];
        for _ in 0..20 {
            use Kind::{Comm, Peer, Plain};
            let kinds = [Plain, Plain, Plain, Peer, Plain, Comm];
            let send = recorder.signature("MPI_Send", &kinds, &frames);
            let values = [0, 10, 9, i64::from(1 - rank), 7, 0];
            recorder.event(send, &values, Delta::default());
        }
        let mut one = Trace::of_rank(rank as u32, 2);
        one.add_communicator(0, rank as u32, rank as u32, 2);
        one.modules.insert(1, "/nowhere/app".to_owned());
        recorder.finish(&mut one, rank as u32, 0);
        match &mut all {
            Some(all) => all.merge(one),
            None => all = Some(one),
        }
    }
    all.expect("two ranks")
}

fn show(dir: &Path, args: &[&str]) -> Output {
    let mut command = headwater(dir);
    command.arg("show").args(args).output().expect("runs")
}

#[test]
fn a_trace_is_printed_as_text_events_and_json() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let run = dir.path().join("t2");
    std::fs::create_dir(&run).expect("a directory");
    std::fs::write(run.join("trace.hwtr"), trace().to_packed_bytes()).expect("writes");
    let text = |args: &[&str]| {
        let out = show(dir.path(), args);
        assert!(out.status.success(), "{args:?}: {}", said(&out));
        String::from_utf8(out.stdout).expect("text")
    };
    let all = text(&["t2"]);
    assert_eq!(text(&["t2/trace.hwtr"]), all);
    assert!(all.starts_with("2 ranks\n\nthread 0: 40 events\n"), "{all}");
    for word in [
        "MPI_Send", "count=10", "dest=+1", "tag=7", "×20", "app+0x40",
    ] {
        assert!(all.contains(word), "no {word} in {all}");
    }
    let one = text(&["t2", "--rank", "1"]);
    assert!(one.contains("dest=0"), "{one}");
    let events = text(&["t2", "--rank", "1", "--events"]);
    assert_eq!(events.lines().count(), 20, "{events}");
    let json: serde_json::Value = serde_json::from_str(&text(&["t2", "--json"])).expect("JSON");
    assert_eq!(json["streams"][0]["nodes"][0]["function"], "MPI_Send");
}

#[test]
fn places_in_python_are_lines_in_functions() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut trace = trace();
    let name = headwater_model::run::python::module_of_trace("/home/u/solver.py", "Solver.step");
    trace.modules.insert(1, name);
    std::fs::write(dir.path().join("py"), trace.to_packed_bytes()).expect("writes");
    let out = show(dir.path(), &["py"]);
    let text = String::from_utf8_lossy(&out.stdout);
    // The frame is behind the call on line 0x3f.
    assert!(
        text.contains("solver.py:63 in Solver.step"),
        "{text}{}",
        said(&out)
    );
}

#[test]
fn a_killed_rank_lost_an_unknown_number_of_events() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut cut = trace();
    cut.losses.push(Loss {
        rank: 1,
        thread: 0,
        kept: 20,
        lost: 0,
    });
    std::fs::write(dir.path().join("cut"), cut.to_packed_bytes()).expect("writes");
    let out = show(dir.path(), &["cut"]);
    let text = String::from_utf8_lossy(&out.stdout);
    let line = "rank 1 thread 0: the trace ends after 20 events; an unknown number of later events is missing\n";
    assert!(text.contains(line), "{text}{}", said(&out));
}

#[test]
fn formats_that_write_directories_refuse_standard_output() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(dir.path().join("t"), trace().to_packed_bytes()).expect("writes");
    for format in ["simgrid", "otf2"] {
        let mut line = headwater(dir.path());
        let out = line.args(["export", format, "t", "-o", "-"]);
        let out = out.output().expect("runs");
        assert_eq!(out.status.code(), Some(2), "{}", said(&out));
        assert!(
            said(&out).contains("give a new directory to -o"),
            "{}",
            said(&out)
        );
        assert!(!dir.path().join("-").exists());
    }
}

#[test]
fn json_changes_no_existing_file() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let run = dir.path().join("t2");
    std::fs::create_dir(&run).expect("a directory");
    std::fs::write(run.join("trace.hwtr"), trace().to_packed_bytes()).expect("writes");
    std::fs::write(run.join("run.json"), "the only copy").expect("writes");
    std::os::unix::fs::symlink("nothing", dir.path().join("link")).expect("a link");
    for (command, path) in [
        ("show", "t2/run.json"),
        ("simulate", "t2/run.json"),
        ("replay", "t2/run.json"),
        ("show", "link"),
        ("show", "t2"),
        ("show", "nowhere/s.json"),
    ] {
        let mut line = headwater(dir.path());
        let out = line.args([command, "t2", &format!("--json={path}")]);
        let out = out.output().expect("runs");
        let said = said(&out);
        assert_eq!(out.status.code(), Some(2), "{command} {path}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains(path) && out.stdout.is_empty(), "{said}");
    }
    let kept = std::fs::read_to_string(run.join("run.json")).expect("a file");
    assert_eq!(kept, "the only copy");
    assert!(!dir.path().join("nothing").exists());
    for path in ["s.json", "/dev/null"] {
        let out = show(dir.path(), &["t2", &format!("--json={path}")]);
        assert!(out.status.success(), "{}", said(&out));
    }
    assert!(dir.path().join("s.json").exists());
}

#[test]
fn files_that_are_no_traces_are_refused_on_one_line() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let bytes = trace().to_packed_bytes();
    let mut newer = bytes.clone();
    newer[4] += 1;
    let mut damaged = bytes.clone();
    *damaged.last_mut().expect("bytes") ^= 1;
    let files: [(&str, &[u8]); 6] = [
        ("whole", &bytes),
        ("short", &bytes[..bytes.len() - 3]),
        ("newer", &newer),
        ("damaged", &damaged),
        ("other", b"something else"),
        ("empty", b""),
    ];
    for (name, bytes) in files {
        std::fs::write(dir.path().join(name), bytes).expect("writes");
    }
    std::fs::create_dir(dir.path().join("run")).expect("a directory");
    let cases: [(&[&str], &str); 8] = [
        (&["short"], "cut short"),
        (&["newer"], "format 5, this Headwater reads format 4"),
        (&["damaged"], "damaged"),
        (&["other"], "not a trace"),
        (&["empty"], "not a trace"),
        (&["run"], "has no trace"),
        (&["missing"], "No such file"),
        (&["whole", "--rank", "2"], "no rank 2; it has ranks 0-1"),
    ];
    for (args, words) in cases {
        let out = show(dir.path(), args);
        let text = said(&out);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{args:?}: {text}");
        assert!(text.contains(words), "{args:?}: {text}");
        assert!(out.stdout.is_empty(), "{args:?}");
    }
}
