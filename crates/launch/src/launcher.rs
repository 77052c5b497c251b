//! Launchers as rows of a table, and command lines made and taken apart by it.

use crate::LaunchError;
use crate::library::{MpiKind, mpi_library};
use std::path::{Path, PathBuf};

/// What is known of a launcher.
#[derive(Debug)]
pub struct Launcher {
    /// Base names that it goes by.
    pub names: &'static [&'static str],
    /// The library it belongs to; `None` for a scheduler's.
    pub kind: Option<MpiKind>,
    /// Option for the number of ranks.
    pub ranks: &'static str,
    /// Options that take this many values each.
    values: &'static [(&'static str, usize)],
    /// Options where ranks outnumber cores.
    crowded: &'static [&'static str],
}

const HYDRA_VALUES: &[(&str, usize)] = &[
    ("-n", 1),
    ("-np", 1),
    ("-ppn", 1),
    ("-perhost", 1),
    ("-f", 1),
    ("-hosts", 1),
    ("-host", 1),
    ("-machinefile", 1),
    ("-wdir", 1),
    ("-env", 2),
    ("-genv", 2),
    ("-genvlist", 1),
    ("-envlist", 1),
    ("-bind-to", 1),
    ("-map-by", 1),
    ("-launcher", 1),
    ("-rmk", 1),
    ("-iface", 1),
    ("-configfile", 1),
    ("-outfile-pattern", 1),
    ("-errfile-pattern", 1),
    ("-prepend-pattern", 1),
    ("-bootstrap", 1),
];

/// All launchers that are known. Where two go by one name, the first whose library fits counts.
const LAUNCHERS: [Launcher; 5] = [
    Launcher {
        names: &[
            "mpirun.openmpi",
            "mpiexec.openmpi",
            "orterun",
            "prterun",
            "mpirun",
            "mpiexec",
        ],
        kind: Some(MpiKind::OpenMpi),
        ranks: "-n",
        values: &[
            ("-n", 1),
            ("-np", 1),
            ("-c", 1),
            ("-N", 1),
            ("-npernode", 1),
            ("-x", 1),
            ("-H", 1),
            ("-host", 1),
            ("-hostfile", 1),
            ("-machinefile", 1),
            ("-mca", 2),
            ("-gmca", 2),
            ("-am", 1),
            ("-wdir", 1),
            ("-wd", 1),
            ("-map-by", 1),
            ("-bind-to", 1),
            ("-rank-by", 1),
            ("-output-filename", 1),
            ("-rf", 1),
            ("-rankfile", 1),
            ("-app", 1),
            ("-prefix", 1),
            ("-path", 1),
            ("-timeout", 1),
            ("-stdin", 1),
            ("-cpu-set", 1),
            ("-tune", 1),
            ("-ppr", 1),
            ("-output", 1),
            ("-prtemca", 2),
            ("-pmixmca", 2),
        ],
        crowded: &["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"],
    },
    Launcher {
        names: &["mpiexec.hydra", "mpirun", "mpiexec"],
        kind: Some(MpiKind::Intel),
        ranks: "-n",
        values: HYDRA_VALUES,
        crowded: &[],
    },
    Launcher {
        names: &[
            "mpirun.mpich",
            "mpiexec.mpich",
            "mpiexec.hydra",
            "mpirun",
            "mpiexec",
        ],
        kind: Some(MpiKind::Mpich),
        ranks: "-n",
        values: HYDRA_VALUES,
        crowded: &[],
    },
    Launcher {
        names: &["srun"],
        kind: None,
        ranks: "-n",
        values: &[
            ("-n", 1),
            ("-N", 1),
            ("-c", 1),
            ("-p", 1),
            ("-A", 1),
            ("-t", 1),
            ("-J", 1),
            ("-w", 1),
            ("-x", 1),
            ("-o", 1),
            ("-e", 1),
            ("-D", 1),
            ("-m", 1),
            ("-q", 1),
        ],
        crowded: &["--overcommit"],
    },
    Launcher {
        names: &["flux"],
        kind: None,
        ranks: "-n",
        values: &[
            ("-n", 1),
            ("-N", 1),
            ("-c", 1),
            ("-g", 1),
            ("-t", 1),
            ("-o", 1),
            ("-q", 1),
        ],
        crowded: &[],
    },
];

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The launcher that a word names. Generic names stand for several; which is told by what they link to.
pub fn recognise(word: &str) -> Option<&'static Launcher> {
    let resolved = find_program(word).and_then(|p| p.canonicalize().ok());
    let real = resolved
        .as_ref()
        .map_or(String::new(), |p| base(&p.to_string_lossy()).to_string());
    let by = |name: &str| {
        LAUNCHERS.iter().find(|l| {
            l.names.first() == Some(&name)
                || l.names.contains(&name) && !matches!(name, "mpirun" | "mpiexec")
        })
    };
    let exact = by(base(word)).or_else(|| by(&real));
    exact.or_else(|| LAUNCHERS.iter().find(|l| l.names.contains(&base(word))))
}

/// A program by path or through `PATH`.
fn find_program(word: &str) -> Option<PathBuf> {
    if word.contains('/') {
        return Some(PathBuf::from(word)).filter(|p| p.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|d| d.join(word))
        .find(|p| p.is_file())
}

/// Puts `ours` before the program in a launcher's command line.
///
/// # Errors
/// No command, an unknown launcher that is not there, or no program behind it. A command whose first
/// word is no launcher is a program by itself.
pub fn place_before_program(
    command: &[String],
    ours: &[String],
) -> Result<Vec<String>, LaunchError> {
    let Some(first) = command.first() else {
        return Err(LaunchError::NoProgram);
    };
    if find_program(first).is_none() {
        return Err(if recognise(first).is_some() {
            LaunchError::NoLauncher(first.clone())
        } else {
            LaunchError::NotFound(first.clone())
        });
    }
    let at = match recognise(first) {
        Some(launcher) => program_at(launcher, command)
            .ok_or_else(|| LaunchError::NoProgramBehind(first.clone()))?,
        None => 0,
    };
    let mut out = command[..at].to_vec();
    out.extend_from_slice(ours);
    // `mpmd` lines: each part behind a colon has its own options and program.
    let parts: Vec<&[String]> = command[at..].split(|w| w == ":").collect();
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            out.push(":".to_string());
            let again = recognise(first)
                .and_then(|l| program_at(l, &[std::slice::from_ref(first), *part].concat()))
                .map_or(0, |n| n - 1);
            out.extend_from_slice(&part[..again]);
            out.extend_from_slice(ours);
            out.extend_from_slice(&part[again..]);
        } else {
            out.extend_from_slice(part);
        }
    }
    Ok(out)
}

/// Position of the program behind a launcher's options.
fn program_at(launcher: &Launcher, command: &[String]) -> Option<usize> {
    let mut at = 1;
    if launcher.names.contains(&"flux")
        && command
            .get(1)
            .is_some_and(|w| matches!(w.as_str(), "run" | "submit" | "alloc"))
    {
        at = 2;
    }
    while let Some(word) = command.get(at) {
        if word == "--" {
            return Some(at + 1).filter(|n| *n < command.len());
        }
        if !word.starts_with('-') {
            return Some(at);
        }
        let name = word.trim_start_matches('-');
        let values = launcher
            .values
            .iter()
            .find(|(o, _)| o.trim_start_matches('-') == name)
            .map_or(0, |v| v.1);
        at += 1 + if word.contains('=') { 0 } else { values };
    }
    None
}

/// A command line, and what its environment needs besides.
pub type Plan = (Vec<String>, Vec<(&'static str, &'static str)>);

/// The command that runs `program` on `ranks` ranks with the launcher of its own MPI library, and the
/// environment that it needs besides.
///
/// # Errors
/// As [`mpi_library`]; or its launcher is not there.
pub fn command_for(program: &[String], ranks: u32, cores: u32) -> Result<Plan, LaunchError> {
    let Some(name) = program.first() else {
        return Err(LaunchError::NoProgram);
    };
    let path = find_program(name).ok_or_else(|| LaunchError::NotFound(name.clone()))?;
    let (kind, library) = mpi_library(&path)?;
    let launcher = LAUNCHERS
        .iter()
        .find(|l| l.kind == Some(kind))
        .ok_or_else(|| LaunchError::NoLauncher("mpirun".into()))?;
    let beside = library
        .canonicalize()
        .ok()
        .and_then(|l| Some(l.parent()?.parent()?.join("bin")));
    let near = beside
        .iter()
        .flat_map(|bin| launcher.names.iter().map(|n| bin.join(n)))
        .find(|p| p.is_file());
    let found =
        near.filter(|p| p.parent() != Some(Path::new("/usr/bin")) || kind == MpiKind::Intel);
    let found = found.or_else(|| launcher.names.iter().find_map(|n| find_program(n)));
    let found = found.ok_or_else(|| LaunchError::NoLauncher(launcher.names[0].to_string()))?;
    let mut command = vec![found.display().to_string()];
    let mut environment = Vec::new();
    if kind == MpiKind::OpenMpi && rustix::process::getuid().is_root() {
        // Open MPI refuses root unless told twice.
        for name in [
            "OMPI_ALLOW_RUN_AS_ROOT",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
            "PRTE_ALLOW_RUN_AS_ROOT",
            "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM",
        ] {
            environment.push((name, "1"));
        }
    }
    if kind == MpiKind::Intel && std::env::var_os("I_MPI_FABRICS").is_none() {
        environment.push(("I_MPI_FABRICS", "shm"));
    }
    if ranks > cores {
        command.extend(launcher.crowded.iter().map(|w| w.to_string()));
    }
    command.extend([launcher.ranks.to_string(), ranks.to_string()]);
    command.extend_from_slice(program);
    if let Some(word) = command.iter_mut().rev().nth(program.len() - 1) {
        *word = path.display().to_string();
    }
    Ok((command, environment))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_string).collect();
        let launcher = LAUNCHERS
            .iter()
            .find(|l| l.names.contains(&words[0].as_str()))?;
        program_at(launcher, &words).map(|i| words[i].clone())
    }

    #[test]
    fn the_program_is_found_behind_the_options() {
        for line in [
            "mpirun.openmpi -n 4 ./app x",
            "mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 -np 4 ./app -n 3",
            "mpirun.openmpi -x A=b --map-by core -- ./app",
            "mpiexec.hydra -genv A b -n 2 -ppn 1 ./app",
            "srun -n 4 --mpi=pmix -c 2 ./app",
            "flux run -n 4 ./app",
        ] {
            assert_eq!(at(line).as_deref(), Some("./app"), "{line}");
        }
        assert_eq!(at("mpirun.openmpi -n 4"), None);
    }

    #[test]
    fn we_go_before_the_program_and_nowhere_else() {
        let words = |s: &str| s.split(' ').map(str::to_string).collect::<Vec<_>>();
        let out = place_before_program(&words("sh -c true"), &words("headwater exec --"))
            .expect("sh is there");
        assert_eq!(out.join(" "), "headwater exec -- sh -c true");
        assert!(matches!(
            place_before_program(&words("no-such-launcher -n 2"), &[]),
            Err(LaunchError::NotFound(_))
        ));
        assert!(matches!(
            place_before_program(&[], &[]),
            Err(LaunchError::NoProgram)
        ));
    }
}
