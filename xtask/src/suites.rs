//! Other people's test suites, bare and recorded: the verdict on every module must be the same.

use crate::mpi::Mpi;
use crate::setup;
use crate::shell::{Done, HANGING, output, within};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// mpi4py, whose wheel opens the MPI library at run time.
const MPI4PY: &str = "4.1.2";

/// Modules that are left out: they start processes, for which Open MPI 4.1 waits until it gives up where
/// cores are few, recorded or not.
const LEFT_OUT: [&str; 4] = ["test_spawn", "test_dynproc", "test_util_pool", "test_doc"];

/// mpi4py with its tests, installed beside the build; returns its Python and the directory of the tests.
fn mpi4py() -> Result<(PathBuf, PathBuf), String> {
    let place = setup::target().join("mpi4py");
    let python = place.join("bin/python");
    let tests = place.join(format!("mpi4py-{MPI4PY}/test"));
    if !tests.join("main.py").exists() {
        println!("installing mpi4py {MPI4PY} into {}", place.display());
        let wanted = format!("mpi4py=={MPI4PY}");
        output(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
        let pip = |args: &[&str]| {
            let mut command = Command::new(&python);
            output(
                command
                    .args(["-m", "pip", "-q"])
                    .args(args)
                    .arg(&wanted)
                    .current_dir(&place),
            )
        };
        pip(&["install"])?;
        pip(&["download", "--no-deps", "--no-binary", ":all:"])?;
        let archive = format!("mpi4py-{MPI4PY}.tar.gz");
        output(
            Command::new("tar")
                .args(["xzf", &archive])
                .current_dir(&place),
        )?;
    }
    Ok((python, tests))
}

/// Names of the suite's modules.
fn modules(tests: &Path) -> Result<Vec<String>, String> {
    let listing = std::fs::read_dir(tests).map_err(|e| e.to_string())?;
    let names = listing.filter_map(|e| e.ok()?.file_name().into_string().ok());
    let mut all: Vec<String> = names
        .filter_map(|n| Some(n.strip_suffix(".py")?.to_string()))
        .filter(|n| n.starts_with("test_") && !LEFT_OUT.contains(&n.as_str()))
        .collect();
    all.sort();
    Ok(all)
}

/// Sends what a rank says into a file of its own, as lines of several mix.
const APART: &str = r#"exec "$@" 2> "$0.$OMPI_COMM_WORLD_RANK$PMI_RANK""#;

/// How a module ended: the launcher's code, and what each rank counted.
fn verdict(command: &mut Command, said: &Path) -> Result<String, String> {
    let out = command
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("cannot start {command:?}: {e}"))?;
    let counted = |rank: u32| {
        let text = std::fs::read_to_string(said.with_extension(rank.to_string()));
        let text = text.unwrap_or_default();
        let last = text.lines().last().unwrap_or_default();
        last.to_string()
    };
    let ranks = [counted(0), counted(1)];
    Ok(format!("{:?}: {}", out.status.code(), ranks.join(", ")))
}

/// Runs every module of mpi4py's tests on two ranks, bare and recorded, under each library.
pub fn suites() -> Done {
    let (python, tests) = mpi4py()?;
    let spool = setup::target().join("suite-spool");
    let said = setup::target().join("suite-said");
    let mut differ = Vec::new();
    for mpi in [Mpi::Open, Mpi::Intel] {
        let all = modules(&tests)?;
        let mut same = 0;
        for module in &all {
            let run = |recorded: bool| {
                let mut command = within(HANGING, &mpi.mpirun(2)?);
                if recorded {
                    setup::recorded(&mut command, &spool);
                }
                command.arg("sh").args(["-c", APART]).arg(&said);
                command.arg(&python).arg(tests.join("main.py"));
                verdict(command.args(["-q", module]), &said)
            };
            let (bare, recorded) = (run(false)?, run(true)?);
            if bare == recorded {
                same += 1;
            } else {
                println!(
                    "{module} on {}: bare {bare}; recorded {recorded}",
                    mpi.name()
                );
                differ.push(format!("{module} on {}", mpi.name()));
            }
        }
        println!(
            "mpi4py {MPI4PY} on {}: the same verdict on {same} of {} modules",
            mpi.name(),
            all.len()
        );
    }
    if differ.is_empty() {
        Ok(())
    } else {
        Err(format!("recording changed {}", differ.join(", ")))
    }
}
