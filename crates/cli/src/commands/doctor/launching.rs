//! Whether programs can be started with the collector: the collector itself, launchers, a program.

use super::Finding;
use headwater_launch::{
    LaunchError, ProgramKind, collector_path, installed, kind_of, launcher_library, mpi_library,
    not_sanitized,
};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether the collector is there, and the loader takes it.
pub fn collector() -> Finding {
    const WHAT: &str = "collector";
    let path = match collector_path() {
        Ok(path) => path,
        Err(e) => {
            let e = e.to_string();
            let (found, advice) = e.split_once("; ").unwrap_or((&e, "install headwater anew"));
            return Finding::look(WHAT, found, advice);
        }
    };
    let shown = path.display();
    // What the loader does with it is seen by loading it into a program that does nothing.
    let tried = Command::new("/bin/true").env("LD_PRELOAD", &path).output();
    match tried {
        Ok(out) if out.status.success() && out.stderr.is_empty() => {
            Finding::good(WHAT, format!("{shown}, and it loads"))
        }
        Ok(out) => {
            let said = String::from_utf8_lossy(&out.stderr).trim().to_string();
            Finding::look(
                WHAT,
                format!("{shown} does not load ({}): {said}", out.status),
                "build it on this machine: cargo build --release -p headwater-collector",
            )
        }
        Err(e) => Finding::look(
            WHAT,
            format!("{shown}; whether it loads could not be tried ({e})"),
            "look at what `headwater record` says",
        ),
    }
}

/// Each launcher with the names that it goes by and the library that it belongs to.
pub fn launchers() -> Vec<Finding> {
    const WHAT: &str = "launcher";
    let mut files: Vec<(PathBuf, Vec<&str>)> = Vec::new();
    for (name, path) in installed() {
        let real = path.canonicalize().unwrap_or(path);
        match files.iter_mut().find(|f| f.0 == real) {
            Some((_, names)) => names.push(name),
            None => files.push((real, vec![name])),
        }
    }
    if files.is_empty() {
        return vec![Finding::look(
            WHAT,
            "none found",
            "install an MPI library, or load its module: module load openmpi",
        )];
    }
    let finding = |(path, names): &(PathBuf, Vec<&str>)| {
        let shown = format!("{} ({})", path.display(), names.join(", "));
        if names.iter().any(|n| matches!(*n, "srun" | "flux")) {
            return Finding::good(WHAT, format!("the scheduler's, for any library: {shown}"));
        }
        match launcher_library(path) {
            Some(kind) => Finding::good(WHAT, format!("for {}: {shown}", kind.name())),
            None => Finding::look(
                WHAT,
                format!("of an unknown library: {shown}"),
                "where headwater run takes the wrong one, name yours: headwater run -n 2,4 -- mpirun -n {np} ./app",
            ),
        }
    };
    files.iter().map(finding).collect()
}

/// Whether `program` can be recorded.
pub fn program(program: &Path) -> Finding {
    let shown = program.display();
    let path = std::path::absolute(program).unwrap_or_else(|_| program.to_path_buf());
    let recorded = not_sanitized(&path.display().to_string()).and_then(|()| mpi_library(program));
    match recorded {
        Ok((kind, library)) => Finding::good(
            "program",
            format!("{shown}: {} from {}", kind.name(), library.display()),
        ),
        Err(LaunchError::NoMpi(_)) if kind_of(program) == ProgramKind::NoMpi => Finding::good(
            "program",
            format!(
                "{shown} does not use MPI: it is recorded from its start to its end, with its threads"
            ),
        ),
        Err(LaunchError::NoMpi(_)) if kind_of(program) == ProgramKind::Interpreted => {
            Finding::look(
                "program",
                format!("{shown} does not use MPI by itself: it runs scripts, which may"),
                format!(
                    "name the launcher: headwater record -- mpirun -n 4 {shown} script; without MPI, name the program that the script starts"
                ),
            )
        }
        Err(e) => {
            let e = e.to_string();
            let (found, advice) = e.split_once("; ").unwrap_or((&e, "check the path"));
            Finding::look("program", found, advice)
        }
    }
}

/// What the loader does where a program changes its user.
pub fn set_id() -> Finding {
    Finding::good(
        "set-user-ID",
        "programs that change their user or have file capabilities run unrecorded (the loader drops preloaded objects); record a copy without them",
    )
}
