//! `headwater cc`, `cxx` and `fc` with tools that only say how they are called: arguments and exit code are the compiler's,
//! and the plugin is built once.

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use support::headwater;

/// Says which compiler it would call, then its arguments, one on each line.
const WRAPPER: &str =
    "#!/bin/sh\necho \"$OMPI_CC|$MPICH_CC|$I_MPI_CC\"\nprintf '%s\\n' \"$@\"\nexit 7\n";

/// Makes the file behind `-o`, and counts.
const BUILDER: &str = "#!/bin/sh\necho built >> \"$COUNTED\"\nsleep 0.3\nwhile [ \"$1\" != -o ]; do shift; done\n: > \"$2\"\n";

const CONFIG: &str = "#!/bin/sh\necho 19.1.7\necho -I/nowhere\n";

fn tool(dir: &Path, name: &str, text: &str) {
    let at = dir.join("bin").join(name);
    std::fs::write(&at, text).expect("writes");
    std::fs::set_permissions(&at, PermissionsExt::from_mode(0o755)).expect("permits");
}

/// A directory with tools, and one for the cache.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let tools = [
        ("mpicc", WRAPPER),
        ("clang-19", "#!/bin/sh\n"),
        ("clang++-19", BUILDER),
        ("llvm-config-19", CONFIG),
    ];
    std::fs::create_dir(dir.path().join("bin")).expect("a directory");
    for (name, text) in tools {
        tool(dir.path(), name, text);
    }
    dir
}

fn command(dir: &Path, version: &str) -> Command {
    let mut command = headwater(dir);
    let path = format!("{}:/usr/bin:/bin", dir.join("bin").display());
    command.env("PATH", path).env("HEADWATER_LLVM", version);
    command.env("XDG_CACHE_HOME", dir.join("cache"));
    command.env("COUNTED", dir.join("counted"));
    command
}

fn lines(out: &Output) -> Vec<String> {
    let text = String::from_utf8(out.stdout.clone()).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn arguments_and_exit_code_are_those_of_the_compiler() {
    let dir = place();
    let run = |words: &[&str]| {
        let out = command(dir.path(), "19").arg("cc").args(words).output();
        let out = out.expect("runs");
        assert_eq!(out.status.code(), Some(7), "{out:?}");
        lines(&out)
    };
    let clang = dir.path().join("bin/clang-19").display().to_string();
    let words = [
        "-q", "--", "-c", "a b.c", "-DX=y z", "-", "--help", "-o", "a.o",
    ];
    let said = run(&words);
    assert_eq!(said[0], [&*clang; 3].join("|"));
    assert!(said[1].starts_with("-fpass-plugin=/"), "{said:?}");
    assert_eq!(said[2..], words);
    // Only linked: there is no use for the plugin.
    assert_eq!(
        run(&["a.o", "-lm", "-o", "app"])[1..],
        ["a.o", "-lm", "-o", "app"]
    );
    // Several sources, preprocessing, dependences, arguments in a file.
    std::fs::write(dir.path().join("rest"), "-O2 'c.c'").expect("writes");
    for words in [
        &["a.c", "b.c"][..],
        &["-E", "a.c"],
        &["-MM", "a.c"],
        &["@rest"],
    ] {
        let said = run(words);
        assert!(said[1].starts_with("-fpass-plugin=/"), "{said:?}");
        assert_eq!(said[2..], *words);
    }
}

#[test]
fn many_at_once_build_one_plugin() {
    let dir = place();
    let started: Vec<_> = (0..6)
        .map(|_| {
            let mut command = command(dir.path(), "19");
            command.args(["cc", "-c", "a.c"]);
            command.stdout(std::process::Stdio::null());
            command.spawn().expect("starts")
        })
        .collect();
    for mut one in started {
        assert_eq!(one.wait().expect("ends").code(), Some(7));
    }
    let counted = std::fs::read_to_string(dir.path().join("counted")).expect("reads");
    assert_eq!(counted, "built\n");
}

#[test]
fn what_is_missing_is_one_line() {
    let dir = place();
    let refused = |version: &str, why: &str| {
        let out = command(dir.path(), version).args(["cc", "a.c"]).output();
        let out = out.expect("runs");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(
            (out.status.code(), said.lines().count()),
            (Some(2), 1),
            "{said}"
        );
        assert!(said.contains(why), "{said}");
    };
    refused("99", "install clang-99 and llvm-99-dev");
    refused("new", "HEADWATER_LLVM is no version of LLVM");
    std::fs::remove_file(dir.path().join("bin/mpicc")).expect("removes");
    std::fs::write(
        dir.path().join("bin/clang++-19"),
        "#!/bin/sh\necho 'error: no headers' >&2\nexit 1\n",
    )
    .expect("writes");
    refused("19", "cannot be built with");
}

/// A wrapper whose library has modules that the compiler cannot read: it finds one only in a directory that an option names.
const FORTRAN: &str = r#"#!/bin/sh
echo "$*" >> "$COUNTED"
case "$*" in
*mpi.f90*) : > mpi.mod; exit 0 ;;
*probe_f08*) [ -n "$HAS_F08" ]; exit ;;
*probe.f90*-I*) exit 0 ;;
*probe.f90*) exit 1 ;;
esac
printf '%s\n' "$@"
exit 7
"#;

#[test]
fn a_module_that_the_compiler_cannot_read_is_made_once() {
    let dir = place();
    for (name, text) in [("mpif90", FORTRAN), ("flang-19", "#!/bin/sh\n")] {
        tool(dir.path(), name, text);
    }
    std::fs::write(dir.path().join("a.f90"), "use mpi\nend\n").expect("writes");
    std::fs::write(dir.path().join("b.F90"), "  Use MPI_f08, only: MPI_Comm\n").expect("writes");
    let run = |words: &[&str], has_f08: &str| {
        let mut command = command(dir.path(), "19");
        command.current_dir(dir.path()).env("HAS_F08", has_f08);
        command.arg("fc").args(words).output().expect("runs")
    };
    let made = |out: &Output| {
        assert_eq!(out.status.code(), Some(7), "{out:?}");
        let said = lines(out);
        let option = said.last().expect("arguments").strip_prefix("-I");
        let made = option.expect("a directory").to_owned();
        assert!(Path::new(&made).join("mpi.mod").is_file(), "{said:?}");
        made
    };
    let first = made(&run(&["-c", "a.f90"], ""));
    let calls = || {
        let counted = std::fs::read_to_string(dir.path().join("counted")).expect("reads");
        counted.lines().filter(|l| l.contains("mpi.f90")).count()
    };
    assert_eq!(made(&run(&["-c", "a.f90", "-Iown"], "")), first);
    assert_eq!(calls(), 1);
    // The other module cannot be made.
    let out = run(&["-c", "b.F90"], "");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("b.F90 uses mpi_f08"), "{said}");
    // Where the user has one, it is taken.
    assert_eq!(made(&run(&["-c", "b.F90", "-Iown"], "1")), first);
    // Where nothing is compiled, nothing is looked for.
    assert_eq!(lines(&run(&["a.o", "-o", "app"], "")), ["a.o", "-o", "app"]);
    // Nothing else is left in the cache.
    let left = std::fs::read_dir(dir.path().join("cache/headwater")).expect("a cache");
    let left: Vec<String> = left
        .map(|e| {
            e.expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| name.ends_with(".part"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn a_module_that_the_compiler_can_read_is_taken() {
    let dir = place();
    let wrapper = "#!/bin/sh\ncase \"$*\" in *probe.f90*) exit 0 ;; esac\nprintf '%s\\n' \"$@\"\n";
    for (name, text) in [("mpif90", wrapper), ("flang-19", "#!/bin/sh\n")] {
        tool(dir.path(), name, text);
    }
    let out = command(dir.path(), "19")
        .args(["fc", "-c", "a.f90"])
        .output();
    let said = lines(&out.expect("runs"));
    assert_eq!(said[1..], ["-c", "a.f90"], "{said:?}");
}
