//! Ways in which input can be bad: each gets one line that says what and what to do, exit code 2, and
//! nothing that was there is lost.

mod support;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use support::{PROGRAM, built, collector, headwater, said};

fn command(dir: &Path, args: &[&str]) -> Output {
    headwater(dir)
        .env("HEADWATER_COLLECTOR", collector())
        .args(args)
        .output()
        .expect("runs")
}

/// Holds that `args` is refused on one line with these words.
fn assert_refused(dir: &Path, args: &[&str], words: &[&str]) {
    let out = command(dir, args);
    let text = said(&out);
    let ours: Vec<&str> = text.lines().collect();
    assert_eq!(out.status.code(), Some(2), "{args:?}: {text}");
    assert_eq!(ours.len(), 1, "{args:?}: {text}");
    for word in words {
        assert!(text.contains(word), "{args:?}: no \"{word}\" in: {text}");
    }
    assert!(out.stdout.is_empty(), "{args:?}");
}

/// Every file below `dir` with its bytes, but for the cache.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut out = BTreeMap::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).expect("a directory").flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("cache") {
                open.push(path);
            } else if path.is_file() {
                let bytes = std::fs::read(&path).expect("a file");
                out.insert(path, bytes);
            }
        }
    }
    out
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("makes a directory");
    for (path, bytes) in files(from) {
        let name = path.file_name().expect("a name");
        std::fs::write(to.join(name), bytes).expect("writes a file");
    }
}

/// Records `program` on `ranks` ranks as the run `name`.
fn record(dir: &Path, program: &Path, ranks: &str, name: &str) {
    let program = program.display().to_string();
    let launch = ["mpirun.openmpi", "--oversubscribe", "-n", ranks, &program];
    let out = command(
        dir,
        &[&["record", "-q", "-o", name, "--"][..], &launch].concat(),
    );
    assert!(
        out.status.success() && said(&out).is_empty(),
        "{}",
        said(&out)
    );
}

#[test]
fn programs_that_cannot_be_recorded() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    std::fs::create_dir(at.join("folder")).expect("a directory");
    for (name, text) in [("script", "#!/bin/sh\nexit 0\n"), ("plain", "text\n")] {
        std::fs::write(at.join(name), text).expect("a file");
    }
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(at.join("script"), mode).expect("a mode");
    let before = files(at);
    let cases: [(&[&str], &[&str]); 8] = [
        (
            &["run", "-n", "2", "--", "./none"],
            &["there is no program ./none"],
        ),
        (
            &["run", "-n", "2", "--", "./plain"],
            &["./plain is not executable", "chmod"],
        ),
        (
            &["run", "-n", "2", "--", "./folder"],
            &["./folder is a directory"],
        ),
        (
            &["run", "-n", "2", "--", "./script"],
            &["./script is a script", "mpirun -n {np}"],
        ),
        (
            &["run", "-n", "2", "--", "/bin/true"],
            &["does not use MPI", "mpirun -n {np} /bin/true"],
        ),
        (
            &["run", "-n", "2", "--", "no-mpirun", "-n", "{np}", "./a"],
            &["there is no program no-mpirun"],
        ),
        (&["record", "--", "./none"], &["there is no program ./none"]),
        (
            &["record", "-o", "plain/run", "--", "/bin/true"],
            &["cannot make", "plain/run", "-o"],
        ),
    ];
    for (args, words) in cases {
        assert_refused(at, args, words);
    }
    let launchers: [&[&str]; 2] = [&["srun", "-n", "2", "./a"], &["mpirun", "./a"]];
    for launcher in launchers {
        let out = headwater(at)
            .env("HEADWATER_COLLECTOR", collector())
            .env("PATH", "/nowhere")
            .args(["record", "--"])
            .args(launcher)
            .output()
            .expect("runs");
        let wanted = format!("there is no launcher {}", launcher[0]);
        assert!(said(&out).contains(&wanted), "{}", said(&out));
        assert_eq!(out.status.code(), Some(2));
    }
    let out = headwater(at)
        .env("HEADWATER_COLLECTOR", "/nowhere/collector.so")
        .args(["record", "--", "/bin/true"])
        .output()
        .expect("runs");
    let wanted = "/nowhere/collector.so, which HEADWATER_COLLECTOR";
    assert!(said(&out).contains(wanted) && out.status.code() == Some(2));
    for mpirun in ["mpirun.openmpi", "mpirun.mpich"] {
        if command(at, &["record", "--dry-run", "--", mpirun, "true"])
            .status
            .success()
        {
            let words = ["there is no program ./none"];
            assert_refused(at, &["record", "--", mpirun, "-n", "2", "./none"], &words);
            let words = ["./plain is not executable"];
            assert_refused(at, &["record", "--", mpirun, "-n", "2", "./plain"], &words);
            let out = command(at, &["record", "--", mpirun, "-n", "2", "true"]);
            assert!(
                said(&out).contains("nothing was recorded"),
                "{}",
                said(&out)
            );
            assert_eq!(out.status.code(), Some(2));
        }
    }
    let kept = files(at);
    assert!(
        before
            .iter()
            .all(|(path, bytes)| kept.get(path) == Some(bytes))
    );
    assert!(
        !kept
            .keys()
            .any(|p| p.to_string_lossy().contains("headwater-"))
    );
}

#[test]
fn a_program_that_holds_mpi_within_itself() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let source = "int MPI_Init(int *c, char ***v) { return !c + !v; }\nint main(void) { return MPI_Init(0, 0) * 0; }\n";
    for (name, more) in [("static", &["-static"][..]), ("inside", &[])] {
        let Some(program) = built("cc", dir.path(), name, source, more) else {
            return;
        };
        let program = program.display().to_string();
        for args in [
            &["run", "-n", "2", "--", &program][..],
            &["record", "--", &program],
        ] {
            assert_refused(
                dir.path(),
                args,
                &[
                    "statically linked",
                    "headwater link-flags",
                    "shared MPI library",
                ],
            );
        }
    }
}

#[test]
fn a_program_that_changes_its_group() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built(
        "cc",
        dir.path(),
        "app",
        "int main(void) { return 0; }\n",
        &[],
    ) else {
        return;
    };
    // Only root may give files away, and to another group than its own.
    if std::os::unix::fs::chown(&program, None, Some(1)).is_err() {
        return;
    }
    let mode = std::fs::Permissions::from_mode(0o2755);
    std::fs::set_permissions(&program, mode).expect("a mode");
    let program = program.display().to_string();
    assert_refused(
        dir.path(),
        &["record", "--", &program],
        &["another user or group", "record a copy"],
    );
}

#[test]
fn runs_that_are_damaged_or_do_not_belong_together() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    let Some(app) = built("mpicc.openmpi", at, "app", PROGRAM, &[]) else {
        return;
    };
    record(at, &app, "2", "r2");
    let other = built("mpicc.openmpi", at, "other", PROGRAM, &[]).expect("a program");
    record(at, &other, "3", "other3");
    built(
        "mpicc.openmpi",
        at,
        "app",
        &(PROGRAM.to_owned() + "int more;\n"),
        &["-O2"],
    );
    record(at, &app, "3", "built3");
    copy(&at.join("r2"), &at.join("again2"));
    copy(&at.join("r2"), &at.join("newer"));
    let header = std::fs::read_to_string(at.join("r2/run.json")).expect("a header");
    let own = format!("\"format\": {}", headwater_format::VERSION);
    let newer = header.replacen(&own, "\"format\": 999", 1);
    assert_ne!(newer, header);
    std::fs::write(at.join("newer/run.json"), newer).expect("writes");
    std::fs::create_dir_all(at.join("cut/spool")).expect("a directory");
    std::fs::write(at.join("cut/spool/rank"), b"HW").expect("writes");

    let mut cases: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    let mut case = |args: &[&str], words: &[&str]| {
        let own = |w: &[&str]| w.iter().map(|w| w.to_string()).collect::<Vec<_>>();
        cases.push((own(args), own(words)));
    };
    case(&["r2", "again2"], &["are one recording"]);
    case(&["r2", "other3"], &["different programs"]);
    case(&["r2", "built3"], &["different builds"]);
    case(&["newer"], &["run.json", "newer headwater", "update"]);
    case(&["nowhere"], &["nowhere is not there"]);
    case(&["app"], &["app holds no recorded run"]);
    case(&["cut"], &["cut"]);
    for path in files(&at.join("r2")).into_keys() {
        let name = path.file_name().expect("a name").to_string_lossy();
        for (part, of) in [("half", 2), ("none", usize::MAX)] {
            let run = format!("{part}-{name}");
            copy(&at.join("r2"), &at.join(&run));
            let file = at.join(&run).join(&*name);
            let bytes = std::fs::read(&file).expect("a file");
            std::fs::write(&file, &bytes[..bytes.len() / of]).expect("writes");
            case(&[&run], &[&name, "damaged", "record the run again"]);
        }
        let run = format!("gone-{name}");
        copy(&at.join("r2"), &at.join(&run));
        std::fs::remove_file(at.join(&run).join(&*name)).expect("removes");
        let what = if name == "run.json" {
            "holds no recorded run"
        } else {
            &name
        };
        case(&[&run], &[what]);
    }
    let before = files(at);
    for (args, words) in cases {
        let args: Vec<&str> = ["diagnose"]
            .into_iter()
            .chain(args.iter().map(String::as_str))
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_refused(at, &args, &words);
    }
    for (args, words) in [
        (
            &["mpi-profile", "r2", "built3"][..],
            &["mpi-profile takes one run, and 2"][..],
        ),
        (
            &["differential", "r2"],
            &["differential takes two runs, and 1"],
        ),
        (&["differential", "r2", "other3"], &["different programs"]),
        (&["communication", "nowhere"], &["nowhere is not there"]),
        (&["efficiencies", "cut"], &["cut"]),
    ] {
        assert_refused(at, &[&["analyse"], args].concat(), words);
    }
    assert!(before == files(at), "nothing was changed");
}

#[test]
fn a_diagnosis_of_a_run_that_is_still_being_recorded_changes_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    // It ends when its input does.
    let source = "#include <mpi.h>\n#include <stdio.h>\n#include <unistd.h>\nint main(int c, char **v) { MPI_Init(&c, &v); MPI_Barrier(MPI_COMM_WORLD); puts(\"ready\"), fflush(stdout); while (read(0, &c, 1) > 0); return MPI_Finalize(); }\n";
    let Some(program) = built("mpicc.openmpi", at, "waits", source, &[]) else {
        return;
    };
    for killed in [false, true] {
        let name = format!("run-{killed}");
        let mut recorder = headwater(at)
            .env("HEADWATER_COLLECTOR", collector())
            .args(["record", "-q", "-o", &name, "--"])
            .arg(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut line = String::new();
        let mut out = BufReader::new(recorder.stdout.take().expect("a pipe"));
        out.read_line(&mut line).expect("reads");
        let names = || files(at).into_keys().collect::<Vec<_>>();
        let before = names();
        if killed {
            recorder.kill().expect("is killed");
        }
        let so_far = command(at, &["diagnose", &name]);
        let report = String::from_utf8_lossy(&so_far.stdout);
        assert!(so_far.status.success(), "{}", said(&so_far));
        assert!(report.contains(&format!("{name} still runs")), "{report}");
        let now = names();
        assert!(
            before
                .iter()
                .all(|f| now.contains(f) || killed && f.ends_with("recording"))
        );
        let made = at.join(&name).join("run.json");
        assert!(!now.contains(&made), "{now:?}");
        drop(recorder.stdin.take());
        recorder.wait().expect("ends");
        out.read_to_string(&mut line).expect("the program ends too");
        let out = command(at, &["diagnose", &name]);
        assert!(out.status.success(), "{}", said(&out));
        let left = files(&at.join(&name));
        assert!(left.keys().all(|p| !p.ends_with("recording")), "{left:?}");
    }
}

#[test]
fn a_spool_may_lie_in_a_directory_of_the_users() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    let Some(app) = built("mpicc.openmpi", at, "app", PROGRAM, &[]) else {
        return;
    };
    std::fs::create_dir(at.join("mine")).expect("a directory");
    std::fs::write(at.join("mine/notes"), "text").expect("a file");
    let out = Command::new("mpirun.openmpi")
        .current_dir(at)
        .env("HEADWATER_COLLECTOR", collector())
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .args([
            "--oversubscribe",
            "-n",
            "2",
            env!("CARGO_BIN_EXE_headwater"),
        ])
        .args(["exec", "--spool", "mine", "--"])
        .arg(&app)
        .output()
        .expect("runs");
    assert!(out.status.success(), "{}", said(&out));
    let out = command(at, &["diagnose", "mine"]);
    assert!(out.status.success(), "{}", said(&out));
    let left = files(&at.join("mine"));
    let spooled = |p: &PathBuf| p.extension().is_some_and(|e| e == "spool");
    assert!(!left.keys().any(spooled) && left.contains_key(&at.join("mine/notes")));
    assert!(command(at, &["diagnose", "mine"]).status.success());
}

#[test]
fn what_newcomers_type_gets_what_helps() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    std::fs::write(at.join("here"), "#!/bin/sh\n").expect("a file");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(at.join("here"), mode).expect("a mode");
    for (line, words) in [
        ("run -np 2 ./a", &["write -n, not -np"][..]),
        ("run -n 2-8 ./a", &["2,4,8"]),
        ("run -n 2 ./none", &["there is no program ./none"]),
        ("run -n 2 here", &["type ./here"]),
        (
            "run -n 2,4 mpirun -n 2 ./a -x",
            &["write {np}", "mpirun -n {np} ./a -x"],
        ),
        ("diagnose gone", &["gone is not there"]),
        (
            "record -- --top ./a",
            &["--top is in the place of the program"],
        ),
    ] {
        if line.contains("mpirun") && Command::new("mpirun").arg("--version").output().is_err() {
            continue;
        }
        assert_refused(at, &line.split(' ').collect::<Vec<_>>(), words);
    }
}

#[test]
fn a_rank_behind_a_launcher_says_that_it_cannot_record() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = headwater(dir.path())
        .env("HEADWATER_COLLECTOR", collector())
        .env("OMPI_COMM_WORLD_RANK", "3")
        .args(["record", "-o", "/dev/null/none/run", "--", "/bin/true"])
        .output()
        .expect("runs");
    let text = said(&out);
    assert_eq!(out.status.code(), Some(2), "{text}");
    assert!(
        text.contains("rank 3 cannot record into /dev/null"),
        "{text}"
    );
}

#[test]
fn a_program_behind_exec_runs_where_nothing_can_be_recorded() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let run = |rank: &str| {
        let mut command = headwater(dir.path());
        command.env("HEADWATER_COLLECTOR", collector());
        command.args(["exec", "--spool", "/dev/null/none", "--", "/bin/true"]);
        let out = command.env("OMPI_COMM_WORLD_RANK", rank).output();
        out.expect("headwater starts")
    };
    let first = run("0");
    let text = String::from_utf8_lossy(&first.stderr).into_owned();
    assert!(first.status.success(), "{text}");
    for words in [
        "rank 0 cannot record into /dev/null",
        "--spool",
        "nothing will be recorded",
    ] {
        assert!(text.contains(words), "{text}");
    }
    let second = run("1");
    assert!(second.status.success() && second.stderr.is_empty());
}

#[test]
fn values_that_mean_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (option, value) in [
        ("--abnorm-threshold", "nan"),
        ("--abnorm-threshold", "0.5"),
        ("--abnorm-threshold", "inf"),
        ("--fail-on", "5"),
        ("--fail-on", "nan"),
        ("--top", "0"),
    ] {
        let words = ["headwater: invalid value", option, value, "give a"];
        assert_refused(dir.path(), &["diagnose", option, value, "run"], &words);
    }
    for args in [["run", "--ranks", "0"], ["record", "--hz", "0"]] {
        let words = ["headwater: invalid value '0'", args[1]];
        assert_refused(dir.path(), &[&args[..], &["--", "true"]].concat(), &words);
    }
}

#[test]
fn functions_that_are_not_there() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    assert_refused(at, &["structure", "."], &["it is a directory"]);
    let source = "static inline __attribute__((always_inline)) int inner(int n) { int s = 0; for (int i = 0; i < n; i++) s ^= i * s + n; return s; }\nint main(int c, char **v) { return v ? inner(c) : 0; }\n";
    let Some(program) = built("cc", at, "app", source, &[]) else {
        return;
    };
    let program = program.display().to_string();
    let none = ["structure", &program, "--function", "outer"];
    assert_refused(at, &none, &["inlined", "has outer in its name"]);
    let out = command(at, &["structure", &program, "--function", "inner"]);
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(
        text.starts_with("main") && text.contains("inlined inner"),
        "{text}"
    );
}

#[test]
fn one_rank_is_a_run_too() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let source = "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); MPI_Barrier(MPI_COMM_WORLD); return MPI_Finalize(); }\n";
    let Some(program) = built("mpicc.openmpi", dir.path(), "one", source, &[]) else {
        return;
    };
    record(dir.path(), &program, "1", "r1");
    let out = command(dir.path(), &["diagnose", "r1"]);
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && !text.is_empty(), "{}", said(&out));
}

#[test]
fn a_script_and_a_crash_are_recorded() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    let Some(app) = built("mpicc.openmpi", at, "app", PROGRAM, &[]) else {
        return;
    };
    let script = format!("#!/bin/sh\nexec {} \"$@\"\n", app.display());
    std::fs::write(at.join("script"), script).expect("a script");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(at.join("script"), mode).expect("a mode");
    for (name, argument, code) in [("well", "0", 0), ("crashed", "8", 139)] {
        let launch = [
            "mpirun.openmpi",
            "--oversubscribe",
            "-n",
            "2",
            "./script",
            argument,
        ];
        let out = command(at, &[&["record", "-o", name, "--"][..], &launch].concat());
        assert_eq!(out.status.code(), Some(code), "{}", said(&out));
        assert!(said(&out).contains(&format!("recorded {name}: 2 ranks")));
        let run = headwater_format::read_run(&at.join(name)).expect("the data are kept");
        assert_eq!(run.header.exit_code, Some(code));
        assert_eq!(run.header.incomplete.is_empty(), code == 0);
        assert!(
            run.header.program.ends_with("/app"),
            "{}",
            run.header.program
        );
        assert!(run.calls.iter().map(|c| c.count).sum::<u64>() > 50);
    }
}

#[test]
fn a_region_that_the_program_does_not_name_is_refused_with_those_that_it_does() {
    use headwater_model::run::{Header, Module, RankInfo, Run};
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    let run = |names: &[&str]| Run {
        header: Header {
            ranks: 1,
            ..Header::default()
        },
        modules: names.iter().map(|name| Module::of_region(name)).collect(),
        ranks: vec![RankInfo::default()],
        ..Run::default()
    };
    for (name, regions) in [("without", &[][..]), ("with", &["step", "solve"])] {
        headwater_format::write_run(&at.join(name), &run(regions)).expect("writes a run");
    }
    let asked = ["diagnose", "--region", "slove"];
    let none = "no region slove: the program names no regions (docs/REGIONS.md)";
    assert_refused(at, &[&asked[..], &["without"]].concat(), &[none]);
    let some = "no region slove in these runs; there is solve, step";
    assert_refused(at, &[&asked[..], &["with", "without"]].concat(), &[some]);
}
