//! The wheel for Python, and the tests of what it installs.
//!
//! The wheel carries the command and the collector of the release build beside the module, so that `pip install` is all
//! that a user does. Its tests run in an environment that has nothing but the wheel and what reads its tables.

use crate::readers::{Environment, TABLES};
use crate::request::Request;
use crate::setup;
use crate::shell::{Done, output, root, within};
use crate::testbed::build_all;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seconds that all tests may take: a deadlock is reported, not waited for.
const PATIENCE: u32 = 900;

/// What builds wheels.
const MATURIN: Environment = Environment {
    dir: "maturin",
    packages: &["maturin==1.15.0"],
    complete: false,
};

/// What the wheel carries besides the module: a file of the release build, and where it goes.
const CARRIED: [(&str, &str); 2] = [
    ("headwater", "scripts/headwater"),
    (
        "libheadwater_collector.so",
        "data/lib/libheadwater_collector.so",
    ),
];

/// Builds the wheel; returns its path.
pub fn wheel() -> Result<PathBuf, String> {
    setup::build()?;
    let crate_dir = root().join("crates/python");
    let data = crate_dir.join("wheel-data");
    let _ = std::fs::remove_dir_all(&data);
    for (file, place) in CARRIED {
        let to = data.join(place);
        let dir = to.parent().ok_or("a file without a directory")?;
        std::fs::create_dir_all(dir).map_err(|e| format!("cannot make {}: {e}", dir.display()))?;
        // Lines of our own source help nobody who installs a wheel.
        let mut strip = Command::new("objcopy");
        strip.arg("--strip-debug");
        output(
            strip
                .arg(setup::target().join("release").join(file))
                .arg(&to),
        )?;
    }
    let python = MATURIN.python()?;
    let out = setup::target().join("wheels");
    let _ = std::fs::remove_dir_all(&out);
    println!("building the wheel");
    let mut maturin = Command::new(&python);
    maturin
        .args(["-m", "maturin", "build", "--quiet", "--release", "--strip"])
        .arg("--manifest-path")
        .arg(crate_dir.join("Cargo.toml"))
        .arg("--out")
        .arg(&out)
        .current_dir(root());
    output(&mut maturin)?;
    let _ = std::fs::remove_dir_all(&data);
    let mut wheels = std::fs::read_dir(&out)
        .map_err(|e| e.to_string())?
        .flatten();
    let wheel = wheels.next().ok_or("maturin made no wheel")?;
    Ok(wheel.path())
}

/// Installs the wheel beside what reads its tables; returns the interpreter.
pub fn installed() -> Result<PathBuf, String> {
    let wheel = wheel()?;
    let python = TABLES.python()?;
    output(
        Command::new(&python)
            .args([
                "-m",
                "pip",
                "-q",
                "install",
                "--force-reinstall",
                "--no-deps",
            ])
            .arg(wheel),
    )?;
    Ok(python)
}

/// What the tests are about: programs of the testbed, and on how many ranks each is recorded.
const TESTED: [(&str, &str); 3] = [("zeus", "2,4"), ("bins", "1,2"), ("noshrink", "2,8")];

/// What the guide is about.
const GUIDE: [(&str, &str); 2] = [("zeus", "2,4,8,16"), ("bins", "1")];

/// Records programs of the testbed with the command of the wheel, all runs into one directory; returns the programs.
fn recorded(python: &Path, what: &[(&str, &str)], out: &Path) -> Result<Vec<PathBuf>, String> {
    let mut programs = Vec::new();
    for (case, ranks) in what {
        println!("recording {case} on {ranks} ranks");
        let request = Request {
            cases: vec![(*case).into()],
            ..Default::default()
        };
        let built = build_all(&request)?;
        let program = built.into_iter().next().ok_or("the program is missing")?;
        let part = out.join(case);
        let mut record = Command::new(python.with_file_name("headwater"));
        program.manifest.prepare(request.mpi, &mut record);
        record.args(["run", "-n", ranks, "-o"]).arg(&part).arg("--");
        output(record.arg(&program.program))?;
        for run in std::fs::read_dir(&part)
            .map_err(|e| e.to_string())?
            .flatten()
        {
            std::fs::rename(run.path(), out.join(run.file_name())).map_err(|e| e.to_string())?;
        }
        std::fs::remove_dir(&part).map_err(|e| e.to_string())?;
        programs.push(program.program);
    }
    Ok(programs)
}

/// An empty directory below cargo's.
fn emptied(name: &str) -> PathBuf {
    let place = setup::target().join(name);
    let _ = std::fs::remove_dir_all(&place);
    place
}

/// A script of the crate, with what the wheel installed.
fn script(python: &Path, name: &str) -> Command {
    let mut command = Command::new(python);
    command.arg(root().join("crates/python").join(name));
    command.env_remove("HEADWATER_COLLECTOR");
    command
}

/// Writes the reference and the stubs.
pub fn api() -> Done {
    let python = installed()?;
    print!("{}", output(&mut script(&python, "document.py"))?);
    Ok(())
}

/// Prints the figures that the module is held to.
pub fn figures() -> Done {
    let python = installed()?;
    print!("{}", output(&mut script(&python, "measure.py"))?);
    Ok(())
}

/// Records what the guide is about, and puts what its analyses say into it.
pub fn guide() -> Done {
    let python = installed()?;
    let out = emptied("guide");
    recorded(&python, &GUIDE, &out)?;
    output(script(&python, "guide.py").arg(&out)).map(drop)
}

/// Builds and installs the wheel, and runs the tests; `arguments` are pytest's.
pub fn python(arguments: &[String]) -> Done {
    let python = installed()?;
    let runs = emptied("python-runs");
    let programs = recorded(&python, &TESTED, &runs)?;
    let program = programs.first().ok_or("no program is tested")?;
    let mut pytest = Command::new(&python);
    pytest
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .arg(root().join("crates/python/tests"))
        .args(arguments);
    let status = within(PATIENCE, &pytest)
        .env("HEADWATER_RUNS", runs)
        .env("HEADWATER_PROGRAM", program)
        .env_remove("HEADWATER_COLLECTOR")
        .current_dir(setup::target())
        .status()
        .map_err(|e| format!("cannot start pytest: {e}"))?;
    match status.success() {
        true => Ok(()),
        false => Err("tests of the module for Python failed".into()),
    }
}
