//! MPICH's own test suite, from Debian's source package and built against the installed MPICH: each test
//! bare and recorded, and the verdict must be the same.
//!
//! Tests of more ranks than two run with Intel MPI in MPICH's place, whose binary interface is the same: Debian's
//! MPICH polls, and hardly comes forward where cores are few.

use crate::apt::source_package;
use crate::mpi::Mpi;
use crate::setup;
use crate::shell::{Done, output, within};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Seconds that a test may take bare; recorded it may take three times as long, as cores are shared.
const PATIENCE: u32 = 60;

/// Ranks at the most.
const MOST_RANKS: u32 = 4;

/// Ranks at the most under MPICH itself.
const MOST_POLLING: u32 = 2;

/// Parts that are left out whole.
const LEFT_OUT: [(&str, &str); 5] = [
    (
        "spawn",
        "starts processes, for which it wants a name server and cores",
    ),
    (
        "perf",
        "measures, so that its verdict depends on the machine",
    ),
    (
        "ft",
        "kills ranks, which the installed MPICH does not survive",
    ),
    ("ckpoint", "wants a library for checkpoints"),
    ("manual", "is for people to look at"),
];

/// A line of a list of tests.
#[derive(Clone, Debug, PartialEq)]
struct Test {
    dir: PathBuf,
    program: String,
    ranks: u32,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Test {
    /// Reads a line; `None` for what is no test that can be run here.
    fn read(dir: &Path, line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let mut test = Self {
            dir: dir.to_path_buf(),
            program: words.next()?.to_string(),
            ranks: 2,
            arguments: Vec::new(),
            environment: Vec::new(),
        };
        for word in words {
            match word.split_once('=') {
                None => test.ranks = word.parse().unwrap_or(test.ranks),
                Some(("arg", value)) => test.arguments.push(value.to_string()),
                Some(("env", value)) => {
                    let (name, value) = value.split_once('=')?;
                    test.environment.push((name.into(), value.into()));
                }
                // It is known to fail, or checks what the standard leaves open.
                Some(("xfail", _)) => return None,
                Some(_) => {}
            }
        }
        Some(test)
    }

    fn name(&self, build: &Path) -> String {
        let dir = self.dir.strip_prefix(build).unwrap_or(&self.dir);
        let mut name = format!("{}/{} {}", dir.display(), self.program, self.ranks);
        for (key, value) in &self.environment {
            name += &format!(" {key}={value}");
        }
        self.arguments.iter().for_each(|a| name += &format!(" {a}"));
        name
    }

    /// How it ends: the code, and whether it finds everything right.
    fn run(&self, recorded: Option<&Path>, seconds: u32) -> Result<String, String> {
        let mpi = if self.ranks > MOST_POLLING {
            Mpi::Intel
        } else {
            Mpi::Mpich
        };
        let mut command = within(seconds, &mpi.mpirun(self.ranks)?);
        if let Some(spool) = recorded {
            setup::recorded(&mut command, spool);
        }
        command
            .arg(self.dir.join(&self.program))
            .args(&self.arguments);
        command.envs(self.environment.iter().map(|(n, v)| (n, v)));
        let out = command
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("cannot start {command:?}: {e}"))?;
        if [Some(124), Some(137)].contains(&out.status.code()) {
            return Ok(HANGS.into());
        }
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        let mut lines = said.lines().map(str::trim).filter(|l| !l.is_empty());
        let content =
            lines.all(|l| ["No Errors", "Test passed"].contains(&l)) && !said.trim().is_empty();
        let ended = out
            .status
            .code()
            .map_or("a signal".into(), |c| format!("code {c}"));
        Ok(format!(
            "{ended}, {}",
            if content { "no errors" } else { "complains" }
        ))
    }
}

const HANGS: &str = "does not end";
const PASSES: &str = "code 0, no errors";

/// The suite's source and its build, made where they are not there.
fn suite() -> Result<PathBuf, String> {
    let place = setup::target().join("mpich-suite");
    let build = place.join("build");
    let in_place = |program: &str, args: &[&str], dir: &Path| {
        output(Command::new(program).args(args).current_dir(dir))
    };
    if !build.join("pt2pt/sendself").exists() {
        println!("building MPICH's test suite in {}", place.display());
        std::fs::create_dir_all(&build).map_err(|e| e.to_string())?;
        source_package("mpich", &[], &place)?;
        in_place("sh", &["-c", "dpkg-source -x mpich_*.dsc"], &place)?;
        let configure = "../mpich-*/test/mpi/configure MPICC=mpicc.mpich MPICXX=mpicxx.mpich MPIF77=mpif77.mpich \
            MPIFC=mpif90.mpich MPIEXEC=mpirun.mpich FFLAGS=-fallow-argument-mismatch FCFLAGS=-fallow-argument-mismatch";
        in_place("sh", &["-c", configure], &build)?;
        // Some tests cannot be built against every MPICH; those are reported when they are missing.
        let _ = in_place("make", &["-k", "-j2"], &build);
    }
    Ok(build)
}

/// The tests of a directory's list, and those below it.
fn tests(build: &Path, source: &Path, dir: &Path, all: &mut Vec<Test>) {
    let own = dir.join("testlist");
    let others = source
        .join(dir.strip_prefix(build).unwrap_or(dir))
        .join("testlist");
    let list = std::fs::read_to_string(own).or_else(|_| std::fs::read_to_string(others));
    for line in list.unwrap_or_default().lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let below = dir.join(line.trim_end_matches('/'));
        if !line.is_empty() && below.is_dir() {
            if !LEFT_OUT.iter().any(|(name, _)| *name == line) {
                tests(build, source, &below, all);
            }
        } else if let Some(test) = Test::read(dir, line) {
            all.push(test);
        }
    }
}

/// A test that can be run here.
pub struct Runnable {
    /// Its name, as in the output of the suite.
    pub name: String,
    /// The executable.
    pub program: PathBuf,
    /// Number of ranks.
    pub ranks: u32,
    /// Arguments.
    pub arguments: Vec<String>,
    /// Environment.
    pub environment: Vec<(String, String)>,
}

/// The tests of at most [`MOST_RANKS`] ranks that could be built.
pub fn all() -> Result<Vec<Runnable>, String> {
    let build = suite()?;
    let mut all = Vec::new();
    tests(&build, &source(&build)?, &build, &mut all);
    let fit = all.into_iter().filter(|test| test.ranks <= MOST_RANKS);
    let runnable = fit.map(|test| Runnable {
        name: test.name(&build),
        program: test.dir.join(&test.program),
        ranks: test.ranks,
        arguments: test.arguments,
        environment: test.environment,
    });
    Ok(runnable.filter(|test| test.program.exists()).collect())
}

/// Where the lists of tests are.
fn source(build: &Path) -> Result<PathBuf, String> {
    let parent = build.parent().unwrap_or(build);
    let unpacked = std::fs::read_dir(parent).map_err(|e| e.to_string())?;
    let source = unpacked
        .flatten()
        .map(|e| e.path().join("test/mpi"))
        .find(|p| p.is_dir());
    Ok(source.unwrap_or_default())
}

/// Runs the tests of at most [`MOST_RANKS`] ranks, or of another number or some parts if `wanted` says so.
pub fn mpich(wanted: &[String]) -> Done {
    let build = suite()?;
    let mut all = Vec::new();
    tests(&build, &source(&build)?, &build, &mut all);
    let most = wanted
        .iter()
        .find_map(|w| w.parse().ok())
        .unwrap_or(MOST_RANKS);
    let parts: Vec<&String> = wanted
        .iter()
        .filter(|w| w.parse::<u32>().is_err())
        .collect();
    let spool = setup::target().join("suite-spool");
    let (mut same, mut left_out, mut differ) =
        (0, BTreeMap::<String, Vec<String>>::new(), Vec::new());
    for (part, why) in LEFT_OUT {
        left_out.entry(why.into()).or_default().push(part.into());
    }
    for test in &all {
        let name = test.name(&build);
        if !parts.is_empty() && !parts.iter().any(|p| name.starts_with(p.as_str())) {
            continue;
        }
        let mut leave = |why: &str| left_out.entry(why.into()).or_default().push(name.clone());
        if test.ranks > most {
            leave(&format!("wants more than {most} ranks"));
            continue;
        }
        if !test.dir.join(&test.program).exists() {
            leave("could not be built here");
            continue;
        }
        let bare = test.run(None, PATIENCE)?;
        if bare == HANGS {
            leave(&format!("does not end within {PATIENCE} s, bare"));
            continue;
        }
        let mut recorded = test.run(Some(&spool), 3 * PATIENCE)?;
        // A test that is not certain of itself gets a second chance to be wrong in the same way.
        let again = if bare == recorded {
            bare.clone()
        } else {
            test.run(None, PATIENCE)?
        };
        if again != bare {
            leave("has another verdict each time, bare");
            continue;
        }
        if bare != recorded {
            recorded = test.run(Some(&spool), 3 * PATIENCE)?;
        }
        if bare == recorded {
            same += 1;
            if bare != PASSES {
                println!("{name}: {bare}, bare and recorded");
            }
        } else {
            println!("{name}: bare {bare}; recorded {recorded}");
            differ.push(name);
        }
    }
    println!(
        "MPICH's test suite: the same verdict on {same} of {} tests",
        same + differ.len()
    );
    for (why, names) in &left_out {
        println!("left out, {why}: {}: {}", names.len(), names.join("; "));
    }
    if differ.is_empty() {
        Ok(())
    } else {
        Err(format!("recording changed {}", differ.join("; ")))
    }
}

#[cfg(test)]
mod tests_of_lines {
    use super::*;

    #[test]
    fn lines_of_a_list_are_tests_with_ranks_arguments_and_environment() {
        let dir = Path::new("/suite/coll");
        let test = Test::read(dir, "allred 4 arg=-count=10 env=A=1 timeLimit=600").expect("a test");
        assert_eq!(
            test.name(Path::new("/suite")),
            "coll/allred 4 A=1 -count=10"
        );
        assert_eq!(Test::read(dir, "bcast").map(|t| t.ranks), Some(2));
        assert_eq!(Test::read(dir, "wrong 2 xfail=ticket0"), None);
    }
}
