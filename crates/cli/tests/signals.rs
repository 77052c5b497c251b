//! Signals sent to `headwater record` reach the launcher, once, and what was recorded is kept.

mod support;

use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use support::{BARRIER, built, collector, headwater};

/// Says which signals came, and ends with code 100 some time after the first.
const LISTENER: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile sig_atomic_t got;
static void note(int n) {
    char text[] = "got 00\n";
    text[4] += n / 10, text[5] += n % 10;
    got += write(1, text, 7) == 7;
}
int main(void) {
    int list[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGINT};
    for (int i = 0; i < 6; i++)
        signal(list[i], note);
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < 300 && !got; i++)
        usleep(100000);
    usleep(300000);
    return 100;
}
"#;

/// Reduces until SIGUSR1 comes or a minute is over.
const REDUCER: &str = r#"
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile sig_atomic_t stop;
static void note(int n) { stop = n; }
int main(int argc, char **argv) {
    int rank, all = 0;
    signal(SIGUSR1, note);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 6000 && !all; i++) {
        int mine = stop;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (rank == 0 && i == 30)
            puts("ready"), fflush(stdout);
        usleep(10000);
    }
    MPI_Finalize();
    return 0;
}
"#;

/// Starts `command`, and when it says that it is ready, does `then`; returns its status and the rest of
/// what it said.
fn when_ready(mut command: Command, then: impl FnOnce(&mut Child)) -> (ExitStatus, String) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.starts_with("ready") {
        line.clear();
        let n = said.read_line(&mut line).expect("reads");
        assert!(n > 0, "the program ended before it was ready");
    }
    then(&mut child);
    let mut rest = String::new();
    while said.read_line(&mut rest).expect("reads") > 0 {}
    (child.wait().expect("ends"), rest)
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("sends a signal");
}

/// `headwater` with `arguments`, to which ctrl-c is typed at a terminal when it is ready.
fn interrupted(dir: &Path, arguments: &str) -> (ExitStatus, String) {
    let mut command = Command::new("script");
    // `exec`, or else a shell may wait beside it, take the signal too and end with a code of its own.
    let line = format!("exec {} {arguments}", env!("CARGO_BIN_EXE_headwater"));
    command
        .args(["-q", "-e", "-c", &line, "/dev/null"])
        .current_dir(dir)
        .env("SHELL", "/bin/sh")
        .env("HEADWATER_COLLECTOR", collector())
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    when_ready(command, |child| {
        let keys = child.stdin.as_mut().expect("a pipe");
        keys.write_all(&[3]).expect("types ctrl-c");
    })
}

/// Whether this process ignores a signal, as under `nohup`: then so do its children, and nothing comes.
fn ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|l| l.strip_prefix("SigIgn:"))
        .and_then(|m| u64::from_str_radix(m.trim(), 16).ok());
    mask.is_some_and(|m| m >> (signal.as_raw() - 1) & 1 == 1)
}

#[test]
fn every_signal_reaches_the_program_and_its_code_comes_back() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("cc", dir.path(), "listener", LISTENER, &[]) else {
        return;
    };
    for signal in [
        Signal::TERM,
        Signal::HUP,
        Signal::USR1,
        Signal::USR2,
        Signal::QUIT,
        Signal::INT,
    ] {
        if ignored(signal) {
            eprintln!("{signal:?} is ignored here: not tested");
            continue;
        }
        let mut command = headwater(dir.path());
        command.env("HEADWATER_COLLECTOR", collector());
        command.args(["record", "--"]).arg(&program);
        let (status, rest) = when_ready(command, |child| send(child, signal));
        assert_eq!(rest, format!("got {:02}\n", signal.as_raw()));
        assert_eq!(status.code(), Some(100), "{signal:?}");
    }
}

#[test]
fn the_keyboards_signal_comes_once() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("cc", dir.path(), "listener", LISTENER, &[]) else {
        return;
    };
    let (status, rest) = interrupted(dir.path(), &format!("record -- {}", program.display()));
    assert_eq!(rest.matches("got 02").count(), 1, "{rest}");
    assert_eq!(status.code(), Some(100), "{rest}");
}

#[test]
fn the_keyboard_ends_an_mpi_program_and_its_data_are_kept() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("mpicc.openmpi", dir.path(), "reducer", REDUCER, &[]) else {
        return;
    };
    let launched = format!(
        "record -o kept -- mpirun.openmpi --oversubscribe -n 2 {}",
        program.display()
    );
    let (status, rest) = interrupted(dir.path(), &launched);
    assert!(
        !status.success() && rest.contains("recorded kept"),
        "{rest}"
    );
    let run = headwater_format::read_run(&dir.path().join("kept")).expect("the data are kept");
    assert!(run.calls.iter().map(|c| c.count).sum::<u64>() >= 60);
}

#[test]
fn a_signal_at_a_later_scale_leaves_the_runs_before_it() {
    const SLEEPS_AT_TWO: &str = r#"[ "$1" = 1 ] && exec "$0"; echo ready; exec sleep 60"#;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("mpicc.openmpi", dir.path(), "app", BARRIER, &[]) else {
        return;
    };
    for (signal, name) in [(Signal::TERM, "term"), (Signal::INT, "int")] {
        if ignored(signal) {
            eprintln!("{signal:?} is ignored here: not tested");
            continue;
        }
        let file = dir.path().join(format!("{name}.txt"));
        let mut command = headwater(dir.path());
        command.env("HEADWATER_COLLECTOR", collector());
        command.args(["run", "-n", "1,2", "-o", name, "--"]);
        command.args(["sh", "-c", SLEEPS_AT_TWO]).arg(&program);
        command.arg("{np}");
        command.stderr(File::create(&file).expect("a file"));
        let (status, _) = when_ready(command, |child| send(child, signal));
        let said = std::fs::read_to_string(&file).expect("what it said");
        let number = signal.as_raw();
        assert_eq!(status.code(), Some(128 + number), "{said}");
        let last = said.lines().next_back().unwrap_or_default();
        for words in [
            format!("signal {number} ended"),
            "runs recorded before it: 1 of 2;".to_string(),
            format!("headwater diagnose {name}/app.1"),
        ] {
            assert!(last.contains(&words), "no \"{words}\" in: {said}");
        }
        assert!(!said.contains("exit code"), "{said}");
        headwater_format::read_run(&dir.path().join(name).join("app.1")).expect("a run");
    }
}

/// While a finished recording is read, no program runs that a signal could end. The program leaves standard error full,
/// so that the command waits there with what it says about the recording.
#[test]
fn a_signal_between_two_scales_names_the_runs_before_it() {
    const FILLS: &str = r#"if [ "$1" = 1 ]; then
        "$0" || exit
        timeout 1 cat /dev/zero >&2
        echo ready
        exit 0
    fi
    exec "$0""#;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("mpicc.openmpi", dir.path(), "app", BARRIER, &[]) else {
        return;
    };
    for (signal, name) in [(Signal::TERM, "term"), (Signal::INT, "int")] {
        if ignored(signal) {
            eprintln!("{signal:?} is ignored here: not tested");
            continue;
        }
        let mut command = headwater(dir.path());
        command.env("HEADWATER_COLLECTOR", collector());
        command.args(["run", "-n", "1,2", "-o", name, "--"]);
        command.args(["sh", "-c", FILLS]).arg(&program);
        command.arg("{np}");
        command.stderr(Stdio::piped());
        let run = dir.path().join(name).join("app.1").join("run.json");
        let mut reader = None;
        let (status, _) = when_ready(command, |child| {
            while !run.exists() {
                assert!(child.try_wait().expect("a child").is_none(), "it ended");
                std::thread::sleep(Duration::from_millis(10));
            }
            std::thread::sleep(Duration::from_millis(300));
            send(child, signal);
            std::thread::sleep(Duration::from_millis(100));
            let mut pipe = child.stderr.take().expect("a pipe");
            reader = Some(std::thread::spawn(move || {
                let mut said = Vec::new();
                pipe.read_to_end(&mut said).expect("reads");
                String::from_utf8_lossy(&said).replace('\0', "")
            }));
        });
        let said = reader.expect("a thread").join().expect("what it said");
        let number = signal.as_raw();
        assert_eq!(status.code(), Some(128 + number), "{said}");
        // What is said about the next scale may come before or after it.
        let words = format!("signal {number} ended headwater run");
        let line = said.lines().find(|l| l.contains(&words));
        let line = line.unwrap_or_else(|| panic!("no \"{words}\" in: {said}"));
        for words in [
            "runs recorded before it: 1 of 2;".to_string(),
            format!("headwater diagnose {name}/app.1"),
        ] {
            assert!(line.contains(&words), "no \"{words}\" in: {said}");
        }
        assert!(!dir.path().join(name).join("app.2").exists(), "{said}");
    }
}

#[test]
fn what_was_ignored_stays_so() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            "trap '' HUP; exec \"$0\" record -- grep SigIgn /proc/self/status",
        ])
        .arg(env!("CARGO_BIN_EXE_headwater"))
        .current_dir(dir.path())
        .env("HEADWATER_COLLECTOR", collector());
    let out = command.output().expect("runs");
    let text = String::from_utf8_lossy(&out.stdout);
    let mask = text.trim().rsplit('\t').next().unwrap_or("");
    let mask = u64::from_str_radix(mask, 16).expect("a mask of signals");
    assert_eq!(mask & 1, 1, "nohup holds for the program: {text}");
}

/// A caller may have blocked any signal, and its children inherit that.
#[test]
fn the_end_is_seen_whatever_is_blocked() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut command = Command::new("env");
    command
        .args(["--block-signal", env!("CARGO_BIN_EXE_headwater")])
        .args(["record", "--", "sh", "-c", "exit 7"])
        .current_dir(dir.path())
        .env("HEADWATER_COLLECTOR", collector());
    assert_eq!(command.status().expect("runs").code(), Some(7));
}

#[test]
fn what_a_killed_recording_left_is_finished_by_diagnosing_it() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("mpicc.openmpi", dir.path(), "reducer", REDUCER, &[]) else {
        return;
    };
    let mut command = headwater(dir.path());
    command.env("HEADWATER_COLLECTOR", collector());
    let launch = ["mpirun.openmpi", "--oversubscribe", "-n", "2"];
    command.args(["record", "-o", "left", "--"]).args(launch);
    command.arg(&program);
    when_ready(command, |child| {
        let id = child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let children = children.expect("the kernel lists children");
        let launcher = children.trim().parse().ok().and_then(Pid::from_raw);
        send(child, Signal::KILL);
        kill_process(launcher.expect("one child"), Signal::USR1).expect("ends the program");
    });
    assert!(headwater_format::read_run(&dir.path().join("left")).is_err());
    let out = headwater(dir.path())
        .args(["diagnose", "left"])
        .output()
        .expect("runs");
    assert!(out.status.success(), "{}", support::said(&out));
    let run = headwater_format::read_run(&dir.path().join("left")).expect("a finished run");
    assert!(run.calls.iter().map(|c| c.count).sum::<u64>() >= 60);
}

#[test]
fn an_mpi_program_ends_with_its_launcher_and_its_data_are_kept() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("mpicc.openmpi", dir.path(), "reducer", REDUCER, &[]) else {
        return;
    };
    for (signal, name, ordered) in [(Signal::USR1, "usr1", true), (Signal::TERM, "term", false)] {
        let mut command = headwater(dir.path());
        command.env("HEADWATER_COLLECTOR", collector());
        command.args([
            "record",
            "-o",
            name,
            "--",
            "mpirun.openmpi",
            "--oversubscribe",
            "-n",
            "2",
        ]);
        command.arg(&program);
        let (status, _) = when_ready(command, |child| send(child, signal));
        assert_eq!(status.success(), ordered, "{signal:?}: {status}");
        let run = headwater_format::read_run(&dir.path().join(name)).expect("the data are kept");
        assert_eq!(run.header.incomplete.is_empty(), ordered, "{signal:?}");
        assert!(run.calls.iter().map(|c| c.count).sum::<u64>() >= 60);
        assert_eq!(run.header.exit_code, status.code());
    }
}
