//! The programs whose traces are compared with logs.

use crate::mpi::Mpi;
use crate::mpich_suite;
use crate::setup;
use crate::shell::{output, root};
use crate::testbed::{self, Case};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program, its arguments and the numbers of ranks.
pub struct Program {
    /// Group and name.
    pub name: String,
    /// The executable.
    pub program: PathBuf,
    /// Where it runs; `None` is a new directory.
    pub directory: Option<PathBuf>,
    /// Numbers of ranks.
    pub ranks: Vec<u32>,
    given: Vec<String>,
    environment: Vec<(String, String)>,
    /// A testbed program says itself how it runs.
    case: Option<Case>,
}

/// Skeletons and their arguments. Those of `random` are seeds.
const SKELETONS: [(&str, &[&str]); 11] = [
    ("cg", &[""]),
    ("lu", &[""]),
    ("mg", &[""]),
    ("sp", &[""]),
    ("bt", &[""]),
    ("is", &[""]),
    ("inner", &["100", "100 branches"]),
    ("mixed", &["5"]),
    ("every", &["5"]),
    ("mpmd", &["50"]),
    ("random", &SEEDS),
];

const SEEDS: [&str; 20] = [
    "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17",
    "18", "19", "20 200",
];

/// Test programs of the collector, options of the compiler and the arguments.
const GUESTS: [(&str, &[&str], &[&str]); 38] = [
    ("asks.c", &[], &[""]),
    ("both.c", &[], &[""]),
    ("brief.c", &["-pthread"], &[""]),
    ("cancel.c", &[], &[""]),
    ("comms_threads.c", &["-pthread"], &[""]),
    ("constants.c", &[], &[""]),
    ("corners.c", &[], &[""]),
    ("every.c", &[], &[""]),
    ("every.f90", &[], &[""]),
    ("fiber.c", &[], &[""]),
    ("files.c", &[], &["file"]),
    ("first.c", &[], &[""]),
    ("forks.c", &[], &[""]),
    ("last_comm.c", &[], &[""]),
    ("late_finalize.c", &[], &[""]),
    ("local.c", &[], &[""]),
    ("many_comms.c", &[], &[""]),
    ("many_files.c", &[], &["file"]),
    ("many_paths.c", &[], &[""]),
    ("many_tags.c", &[], &[""]),
    ("matched_probe.c", &[], &[""]),
    ("no_error.f90", &[], &[""]),
    ("nonblocking.c", &[], &[""]),
    ("onesided.c", &[], &[""]),
    ("openmp.c", &["-fopenmp"], &["barriers"]),
    ("partitioned.c", &[], &[""]),
    ("passive.c", &[], &[""]),
    ("pauses.c", &[], &[""]),
    ("pauses.f90", &[], &[""]),
    ("pauses_threads.c", &["-pthread"], &[""]),
    ("pipeline.c", &[], &["40000"]),
    ("polls.c", &[], &[""]),
    ("ports.c", &[], &[""]),
    ("reused_type.c", &[], &[""]),
    ("spawn.c", &[], &[""]),
    ("threads.c", &["-pthread"], &[""]),
    ("thrown.cpp", &[], &[""]),
    ("world.c", &[], &[""]),
];

impl Program {
    fn new(name: String, program: PathBuf, ranks: &[u32]) -> Self {
        Self {
            name,
            program,
            directory: None,
            ranks: ranks.to_vec(),
            given: Vec::new(),
            environment: Vec::new(),
            case: None,
        }
    }

    /// A program that the user names, which runs where the user is.
    pub fn own(program: &str, arguments: &[String]) -> Self {
        let file = Path::new(program).file_name().unwrap_or_default();
        Self {
            given: arguments.to_vec(),
            directory: std::env::current_dir().ok(),
            ..Self::new(file.to_string_lossy().into_owned(), program.into(), &[2])
        }
    }

    /// With such arguments, separated by spaces.
    fn with(mut self, arguments: &str) -> Self {
        self.given = arguments.split_whitespace().map(str::to_string).collect();
        if !self.given.is_empty() {
            self.name += &format!(" {arguments}");
        }
        self
    }

    /// The arguments on so many ranks.
    pub fn arguments(&self, ranks: u32) -> Vec<String> {
        match &self.case {
            Some(case) => case.manifest.arguments(ranks, None),
            None => self.given.clone(),
        }
    }

    /// Sets what running it needs.
    pub fn manifest_needs(&self, mpi: Mpi, command: &mut Command) {
        mpi.unbind(command);
        command.envs(self.environment.iter().map(|(n, v)| (n, v)));
        if let Some(case) = &self.case {
            case.manifest.prepare(mpi, command);
        }
    }
}

/// Builds the programs whose names begin with one of `wanted`, or all.
pub fn all(wanted: &[String], mpi: Mpi) -> Result<Vec<Program>, String> {
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|w| name.starts_with(&**w));
    let some_of = |group: &str| {
        wanted.is_empty()
            || wanted
                .iter()
                .any(|w| w.starts_with(group) || group.starts_with(&**w))
    };
    let mut programs = Vec::new();
    let sources = root().join("testbed/skeletons");
    let scales = mpi.scales(&[2, 4, 16]);
    for (name, arguments) in SKELETONS {
        let full = format!("skeletons/{name}");
        let source = sources.join(format!("{name}.c"));
        if !is_wanted(&full) || !source.exists() {
            continue;
        }
        let built = compiled(&source, &["-O2"], mpi)?;
        for one in arguments {
            programs.push(Program::new(full.clone(), built.clone(), &scales).with(one));
        }
    }
    for (source, options, arguments) in GUESTS {
        let name = format!("guest/{source}");
        if !is_wanted(&name) {
            continue;
        }
        let path = root().join("crates/collector/tests/programs").join(source);
        let built = compiled(&path, &[&["-O1", "-w"], options].concat(), mpi)?;
        for one in arguments {
            programs.push(Program::new(name.clone(), built.clone(), &[2]).with(one));
        }
    }
    if some_of("testbed/") {
        let names = wanted.iter().filter_map(|w| w.strip_prefix("testbed/"));
        let request = crate::request::Request {
            cases: names
                .filter(|n| !n.is_empty())
                .map(str::to_string)
                .collect(),
            mpi,
            ..Default::default()
        };
        for case in testbed::build_all(&request)? {
            if case.manifest.unfit(mpi).is_some() {
                continue;
            }
            let name = format!("testbed/{}", case.name);
            let mut program = Program::new(name, case.program.clone(), &mpi.scales(&[4]));
            program.case = Some(case);
            programs.push(program);
        }
    }
    if some_of("mpich/") && mpi != Mpi::Open {
        for test in mpich_suite::all()? {
            let name = format!("mpich/{}", test.name);
            // MPICH polls, and hardly comes forward on few cores.
            let is_slow = mpi == Mpi::Mpich && test.ranks > 2;
            if is_wanted(&name) && !is_slow {
                programs.push(Program {
                    directory: test.program.parent().map(Path::to_path_buf),
                    given: test.arguments,
                    environment: test.environment,
                    ..Program::new(name, test.program, &[test.ranks])
                });
            }
        }
    }
    if programs.is_empty() {
        return Err("no such program is here".into());
    }
    Ok(programs)
}

fn compiled(source: &Path, options: &[&str], mpi: Mpi) -> Result<PathBuf, String> {
    let to = setup::target().join("lossless").join(mpi.compilers());
    std::fs::create_dir_all(&to).map_err(|e| e.to_string())?;
    // A skeleton and a guest may have the same name, and so may programs of several languages.
    let names = source.iter().rev().take(2).map(|n| n.to_string_lossy());
    let names: Vec<_> = names.collect();
    let program = to.join(names.join(".of.") + ".x");
    let compiler = match source.extension().and_then(|e| e.to_str()) {
        Some("f90") => "mpif90",
        Some("cpp") => "mpicxx",
        _ => "mpicc",
    };
    let mut command = Command::new(format!("{compiler}.{}", mpi.compilers()));
    command
        .arg("-g")
        .args(options)
        .arg("-o")
        .arg(&program)
        .arg(source)
        .arg("-lm")
        .current_dir(&to);
    output(&mut command)?;
    Ok(program)
}
