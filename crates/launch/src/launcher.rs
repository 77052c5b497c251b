//! Builds and parses command lines, by the table of launchers.

use crate::LaunchError;
use crate::library::{MpiKind, bytes_of, mpi_library, mpi_library_of};
use crate::program::{self, holds};
use crate::sanitizer::{has_thread_sanitizer, holds_thread_sanitizer};
use crate::table::{LAUNCHERS, Launcher, RANK, lists};
use rustix::fs::{Access, access};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The launcher that a word names. Names such as `mpirun` belong to several launchers; the contents of the file
/// decide.
pub fn recognise(word: &str) -> Option<&'static Launcher> {
    let path = find_program(word);
    let real = path.as_ref().and_then(|p| p.canonicalize().ok());
    let real = real.map_or(String::new(), |p| p.display().to_string());
    [base(word), base(&real)].iter().find_map(|name| {
        let mut fitting = LAUNCHERS.iter().filter(|l| l.names.contains(name));
        let first = fitting.next()?;
        let Some(second) = fitting.next() else {
            return Some(first);
        };
        let kind = path.as_deref().and_then(launcher_library);
        let mut all = [first, second].into_iter().chain(fitting);
        all.find(|l| l.kind == kind).or(Some(first))
    })
}

/// The library that the launcher in the file `path` belongs to, decided by the contents of the file; `None` if they
/// do not show it.
pub fn launcher_library(path: &Path) -> Option<MpiKind> {
    let bytes = program::read(path).ok()?;
    let marks = [
        ("I_MPI_", MpiKind::Intel),
        ("open-rte", MpiKind::OpenMpi),
        ("prte", MpiKind::OpenMpi),
        ("HYDRA", MpiKind::Mpich),
    ];
    let found = marks.iter().find(|(mark, _)| holds(&bytes, mark));
    found.map(|m| m.1)
}

/// The rank as which a launcher has started this process; `None` if no launcher has.
pub fn rank() -> Option<u32> {
    let said = RANK.iter().find_map(|name| std::env::var(name).ok())?;
    said.parse().ok()
}

/// The launchers that are installed: each name that is found, once, with its file.
pub fn installed() -> Vec<(&'static str, PathBuf)> {
    let mut names: Vec<&str> = Vec::new();
    for name in LAUNCHERS.iter().flat_map(|l| l.names) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let there = names
        .into_iter()
        .filter_map(|n| Some((n, find_program(n)?)));
    there.collect()
}

fn may_run(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

/// A program by path or through `PATH`, as a shell finds it.
pub fn find_program(word: &str) -> Option<PathBuf> {
    if word.contains('/') {
        return Some(PathBuf::from(word)).filter(|p| may_run(p));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|d| d.join(word))
        .find(|p| may_run(p))
}

/// A program that can be run here.
fn program(word: &str) -> Result<PathBuf, LaunchError> {
    find_program(word).ok_or_else(|| {
        if word.contains('/') && Path::new(word).is_dir() {
            LaunchError::Directory(word.to_string())
        } else if word.contains('/') && Path::new(word).exists() {
            LaunchError::NotExecutable(word.to_string())
        } else if may_run(Path::new(word)) {
            LaunchError::Here(word.to_string())
        } else if word.starts_with('-') {
            LaunchError::Option(word.to_string())
        } else {
            LaunchError::NotFound(word.to_string())
        }
    })
}

/// Puts `ours` before the program in a launcher's command line, or before each program if several are given with `:`.
/// A command whose first word is no launcher is itself a program.
///
/// # Errors
/// There is no command, the launcher or the program does not exist, there is no program behind the launcher, or the
/// program cannot be recorded (see [`may_be_recorded`]).
pub fn place_before_program(
    command: &[String],
    ours: &[String],
) -> Result<Vec<String>, LaunchError> {
    let Some(first) = command.first() else {
        return Err(LaunchError::NoProgram);
    };
    let Some(launcher) = recognise(first) else {
        may_be_recorded(first)?;
        return Ok([ours, command].concat());
    };
    if find_program(first).is_none() {
        return Err(LaunchError::NoLauncher(first.clone()));
    }
    placed(launcher, command, ours, may_be_recorded)
}

/// Refuses a program that cannot be run or cannot be recorded.
///
/// # Errors
/// The program does not exist, contains its MPI library, changes its user, or was built with ThreadSanitizer.
pub fn may_be_recorded(word: &str) -> Result<(), LaunchError> {
    let path = program(word)?;
    // What cannot be read is for the system to refuse.
    let Ok(bytes) = bytes_of(&path) else {
        return Ok(());
    };
    if holds_thread_sanitizer(&bytes) {
        return Err(LaunchError::ThreadSanitizer(word.to_string()));
    }
    match mpi_library_of(&path, &bytes) {
        Err(e @ (LaunchError::StaticMpi(_) | LaunchError::ChangesUser(_))) => Err(e),
        _ => Ok(()),
    }
}

/// Refuses a program, found as a shell finds it, that runs, but not with the collector in it.
///
/// # Errors
/// The program was built with ThreadSanitizer.
pub fn not_sanitized(word: &str) -> Result<(), LaunchError> {
    match find_program(word).is_some_and(|p| has_thread_sanitizer(&p)) {
        true => Err(LaunchError::ThreadSanitizer(word.to_string())),
        false => Ok(()),
    }
}

/// `command` with `ours` before each of its programs. Programs that must be on this machine are passed to `check`.
fn placed(
    launcher: &Launcher,
    command: &[String],
    ours: &[String],
    check: impl Fn(&str) -> Result<(), LaunchError>,
) -> Result<Vec<String>, LaunchError> {
    let name = command.first().map_or("", String::as_str);
    let verb = command
        .get(1)
        .is_some_and(|w| launcher.verbs.contains(&w.as_str()));
    let (head, rest) = command.split_at(command.len().min(1 + usize::from(verb)));
    let mut out = head.to_vec();
    // A scheduler's program runs on other machines.
    let mut here = launcher.kind.is_some();
    for (i, part) in rest.split(|w| launcher.parts && w == ":").enumerate() {
        let (options, program) = part.split_at(program_at(launcher, name, part)?);
        let away = |w: &String| {
            lists(
                launcher.away,
                w.split('=').next().unwrap_or(w).trim_start_matches('-'),
            )
        };
        here &= !options.iter().any(|w| w.starts_with('-') && away(w));
        if let Some(word) = program.first().filter(|_| here) {
            check(word)?;
        }
        out.extend((i > 0).then(|| ":".to_string()));
        out.extend_from_slice(options);
        out.extend_from_slice(ours);
        out.extend_from_slice(program);
    }
    Ok(out)
}

/// Position of the program behind the options of `launcher`, which is called `name`.
fn program_at(launcher: &Launcher, name: &str, words: &[String]) -> Result<usize, LaunchError> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if word == "--" {
            at += 1;
            break;
        }
        if !word.starts_with('-') {
            break;
        }
        let (option, joined) = match word.split_once('=') {
            Some((option, _)) => (option, true),
            None => (word.as_str(), false),
        };
        let bare = option.trim_start_matches('-');
        if lists(launcher.listed, bare) {
            return Err(LaunchError::Listed {
                launcher: name.to_string(),
                option: option.to_string(),
            });
        }
        at += 1;
        if !joined {
            at +=
                usize::from(lists(launcher.one, bare)) + 2 * usize::from(lists(launcher.two, bare));
        }
    }
    if at < words.len() {
        Ok(at)
    } else {
        Err(LaunchError::NoProgramBehind(name.to_string()))
    }
}

/// Options for the number of ranks, without dashes.
const RANKS: &str = "n np ntasks";

/// One more of Open MPI's.
const OPEN_MPIS: &str = "c";

/// Where a launcher's command line says how many ranks it starts: the index of the word and the number, for each of
/// its programs.
fn asked_at(command: &[String]) -> Vec<(usize, u32)> {
    let Some(launcher) = command.first().and_then(|w| recognise(w)) else {
        return Vec::new();
    };
    let name = command.first().map_or("", String::as_str);
    let verb = (command.get(1)).is_some_and(|w| launcher.verbs.contains(&w.as_str()));
    let mut found = Vec::new();
    let mut begin = 1 + usize::from(verb);
    let rest = command.get(begin..).unwrap_or(&[]);
    for part in rest.split(|w| launcher.parts && w == ":") {
        let behind = program_at(launcher, name, part).unwrap_or(part.len());
        let options = part.get(..behind).unwrap_or(&[]).iter().enumerate();
        for (at, word) in options.filter(|(_, w)| w.starts_with('-')) {
            let (option, value) = match word.split_once('=') {
                Some((option, value)) => (option, Some((at, value))),
                None => (
                    word.as_str(),
                    part.get(at + 1).map(|v| (at + 1, v.as_str())),
                ),
            };
            let number = value.and_then(|(at, v)| Some((begin + at, v.parse().ok()?)));
            let bare = option.trim_start_matches('-');
            let own = launcher.kind == Some(MpiKind::OpenMpi) && lists(OPEN_MPIS, bare);
            found.extend(number.filter(|_| own || lists(RANKS, bare)));
        }
        begin += part.len() + 1;
    }
    found
}

/// How many ranks a launcher's command line asks for; `None` if it does not say, or is not a launcher's.
pub fn asked(command: &[String]) -> Option<u32> {
    let all = asked_at(command);
    let sum = all.iter().try_fold(0u32, |sum, (_, n)| sum.checked_add(*n));
    sum.filter(|_| !all.is_empty())
}

/// A launcher's command line with `{np}` in place of the number of ranks; `None` if it does not say how many.
pub fn with_place_for_ranks(command: &[String]) -> Option<Vec<String>> {
    let mut out = command.to_vec();
    let all = asked_at(command);
    for (at, number) in &all {
        let word = out.get_mut(*at)?;
        *word = word.replace(&number.to_string(), "{np}");
    }
    (!all.is_empty()).then_some(out)
}

/// Whether `command` starts its ranks itself: its first word is a launcher, or something that does not load MPI, such
/// as a script of the user's.
pub fn brings_launcher(command: &[String]) -> bool {
    let Some(first) = command.first() else {
        return false;
    };
    let loads_mpi = |path: PathBuf| {
        use LaunchError::{NoMpi, NoRegularFile, NotFound, Script};
        let none = mpi_library(&path);
        !matches!(
            none,
            Err(NoMpi(_) | NotFound(_) | NoRegularFile(_) | Script(_))
        )
    };
    recognise(first).is_some() || !find_program(first).is_some_and(loads_mpi)
}

/// A command line, and the environment variables that it also needs.
pub type Plan = (Vec<String>, Vec<(&'static str, String)>);

/// The command that runs `program` on `ranks` ranks with the launcher of its own MPI library, and the environment
/// variables that it also needs.
///
/// # Errors
/// As [`mpi_library`], or its launcher is not installed.
pub fn command_for(
    program: &[String],
    ranks: u32,
    threads: Option<u32>,
    cores: u32,
) -> Result<Plan, LaunchError> {
    let Some(name) = program.first() else {
        return Err(LaunchError::NoProgram);
    };
    let path = self::program(name)?;
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
    // Several libraries use the same names for their launchers. A launcher of another library is not taken.
    let fits = |p: &PathBuf| launcher_library(p).is_none_or(|k| k == kind);
    let in_path = |n: &&str| find_program(n).filter(fits);
    let found = found.or_else(|| launcher.names.iter().find_map(in_path));
    let found = found.ok_or_else(|| LaunchError::NoLauncher(launcher.names[0].to_string()))?;
    let mut command = vec![found.display().to_string()];
    let mut environment = Vec::new();
    if kind == MpiKind::OpenMpi && rustix::process::getuid().is_root() {
        // Open MPI refuses to run as root unless two variables allow it.
        for name in [
            "OMPI_ALLOW_RUN_AS_ROOT",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
            "PRTE_ALLOW_RUN_AS_ROOT",
            "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM",
        ] {
            environment.push((name, "1".to_string()));
        }
    }
    if kind == MpiKind::Intel && std::env::var_os("I_MPI_FABRICS").is_none() {
        environment.push(("I_MPI_FABRICS", "shm".to_string()));
    }
    if ranks > cores {
        command.extend(launcher.crowded.iter().map(|w| w.to_string()));
    } else if kind == MpiKind::OpenMpi && !BOUND.iter().any(|v| std::env::var_os(v).is_some()) {
        let threads = threads.map(|n| n.to_string());
        let threads = threads.or_else(|| std::env::var("OMP_NUM_THREADS").ok());
        let threads = threads.unwrap_or_default();
        command.extend(binding(&threads, ranks, cores.min(whole_cores())));
    }
    command.extend([launcher.ranks.to_string(), ranks.to_string()]);
    command.extend_from_slice(program);
    if let Some(word) = command.iter_mut().rev().nth(program.len() - 1) {
        *word = path.display().to_string();
    }
    Ok((command, environment))
}

/// Whole cores that this process may use: a core that appears as several CPUs counts once, because Open MPI binds to
/// whole cores. The largest number if the system does not report them.
fn whole_cores() -> u32 {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else {
        return u32::MAX;
    };
    let cpus = (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let siblings = cpus.filter_map(|cpu| {
        let place = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        std::fs::read_to_string(place).ok()
    });
    let cores: BTreeSet<String> = siblings.collect();
    match u32::try_from(cores.len()) {
        Ok(n) if n > 0 => n,
        _ => u32::MAX,
    }
}

/// Variables by which a user chooses how Open MPI binds. If one is set, no options are added.
const BOUND: [&str; 4] = [
    "OMPI_MCA_hwloc_base_binding_policy",
    "OMPI_MCA_rmaps_base_mapping_policy",
    "PRTE_MCA_hwloc_default_binding_policy",
    "PRTE_MCA_rmaps_default_mapping_policy",
];

/// Options that make Open MPI give the threads of a rank more than one core. `threads` is the value of
/// `OMP_NUM_THREADS`: a number, or one for each level.
fn binding(threads: &str, ranks: u32, cores: u32) -> Vec<String> {
    let outermost = threads.split(',').next().unwrap_or("").trim();
    let words = match outermost.parse::<u32>() {
        Ok(n) if n > 1 && ranks.saturating_mul(n) <= cores => {
            ["--map-by".to_string(), format!("slot:PE={n}")]
        }
        Ok(n) if n > 1 => ["--bind-to".to_string(), "none".to_string()],
        _ => return Vec::new(),
    };
    words.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_cores_of_their_own_where_there_are_enough() {
        for (threads, ranks, cores, wanted) in [
            ("2", 4, 8, "--map-by slot:PE=2"),
            ("4,2", 2, 8, "--map-by slot:PE=4"),
            ("4", 4, 8, "--bind-to none"),
            ("1", 4, 8, ""),
            ("", 4, 8, ""),
            ("many", 4, 8, ""),
        ] {
            assert_eq!(
                binding(threads, ranks, cores).join(" "),
                wanted,
                "{threads}"
            );
        }
    }

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_string).collect()
    }

    /// The line with `WE` put before the program, and the programs that were looked at.
    fn put(line: &str) -> (String, Vec<String>) {
        let words = words(line);
        let launcher = LAUNCHERS
            .iter()
            .find(|l| l.names.contains(&words[0].as_str()))
            .expect("a launcher");
        let seen = std::cell::RefCell::default();
        let note = |w: &str| {
            Vec::push(&mut *seen.borrow_mut(), w.to_string());
            Ok(())
        };
        let out = placed(launcher, &words, &["WE".to_string()], note)
            .map_or_else(|e| e.to_string(), |w| w.join(" "));
        (out, seen.into_inner())
    }

    #[test]
    fn we_go_before_the_program_behind_the_options() {
        for line in [
            "mpirun.openmpi -n 4 | ./app x",
            "mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 -np 4 | ./app -n 3",
            "mpirun.openmpi -x A=b --map-by core -- | ./app",
            "mpirun.openmpi --report-bindings --report-uri f -n 2 | ./app",
            "mpiexec.hydra -genv A b -n 2 -ppn 1 | ./app",
            "srun -n 4 --mpi=pmix -c 2 | ./app",
            "srun --ntasks 4 --cpus-per-task 2 --mpi pmix --cpu-bind cores --exclusive -u | ./app",
            "srun --nodes 2 --time 10 --bcast --label --kill-on-bad-exit | ./app --nodes 3",
            "flux run -n 4 | ./app",
            "flux run --ntasks 4 --cores-per-task 2 --env A=b --setopt mpi=x -x --label-io | ./app",
            "flux submit --cc 1-4 --watch | ./app a : b",
            "mpirun.openmpi -n 1 | ./a x : -n 2 --map-by core | ./b y",
            "mpiexec.hydra -n 1 | ./a : -env A b -n 2 | ./b",
            "srun -n 1 | ./a : --ntasks 2 | ./b",
        ] {
            assert_eq!(put(&line.replace("| ", "")).0, line.replace('|', "WE"));
        }
    }

    #[test]
    fn ranks_that_are_asked_for_are_found() {
        // Whatever launcher goes by that name here, or none.
        if recognise("mpirun").is_none() {
            return;
        }
        for (line, ranks, with_place) in [
            (
                "mpirun -n 4 ./a -n 7",
                Some(4),
                Some("mpirun -n {np} ./a -n 7"),
            ),
            (
                "mpirun -np 2 ./a : -n 3 ./b",
                Some(5),
                Some("mpirun -np {np} ./a : -n {np} ./b"),
            ),
            ("mpirun ./a -n 3", None, None),
            ("./a -n 3", None, None),
        ] {
            assert_eq!(asked(&words(line)), ranks, "{line}");
            let found = with_place_for_ranks(&words(line)).map(|w| w.join(" "));
            assert_eq!(found.as_deref(), with_place, "{line}");
        }
    }

    #[test]
    fn a_line_without_a_program_is_an_error() {
        for (line, wanted) in [
            ("mpirun.openmpi -n 4", "no program was found"),
            ("mpirun.openmpi -n 4 ./a :", "no program was found"),
            ("mpirun.openmpi --app file", "headwater exec --"),
            ("srun --multi-prog file", "headwater exec --"),
        ] {
            let said = put(line).0;
            assert!(said.contains(wanted), "{line}: {said}");
        }
    }

    #[test]
    fn only_programs_that_must_be_here_are_looked_for() {
        for (line, looked_for) in [
            ("mpirun.openmpi -n 2 ./a : -n 1 ./b", "./a ./b"),
            ("mpirun.openmpi --host n1 ./a", ""),
            ("mpirun.openmpi -wdir=x ./a", ""),
            ("srun -n 2 ./a", ""),
        ] {
            assert_eq!(put(line).1.join(" "), looked_for, "{line}");
        }
    }

    #[test]
    fn a_command_without_a_launcher_is_a_program() {
        let out = place_before_program(&words("sh -c : : x"), &words("headwater exec --"))
            .expect("sh is there");
        assert_eq!(out.join(" "), "headwater exec -- sh -c : : x");
        assert!(matches!(
            place_before_program(&words("no-such-program -n 2"), &[]),
            Err(LaunchError::NotFound(_))
        ));
        assert!(matches!(
            place_before_program(&words("/etc/passwd"), &[]),
            Err(LaunchError::NotExecutable(_))
        ));
        assert!(matches!(
            place_before_program(&[], &[]),
            Err(LaunchError::NoProgram)
        ));
    }
}
