//! The errors that can prevent the launch of a program.

use std::path::PathBuf;

/// Why a program cannot be launched.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Nothing to run.
    #[error("no program was given; put it behind --, as in: headwater record -- mpirun -n 4 ./app")]
    NoProgram,
    /// The program is not there.
    #[error("there is no program {0}; check the path")]
    NotFound(String),
    /// A device, a pipe or a socket.
    #[error("{0} is no regular file, so it is no program; check the path")]
    NoRegularFile(String),
    /// An option in the place of the program.
    #[error(
        "{0} is in the place of the program; options of headwater go before --, those of the program behind its name"
    )]
    Option(String),
    /// The program is in the current directory, but not where a shell looks.
    #[error("there is no program {0} on the PATH, but one here: type ./{0}")]
    Here(String),
    /// The program may not be run.
    #[error("{0} is not executable; make it so with chmod +x, or put its interpreter before it")]
    NotExecutable(String),
    /// A directory in place of a program.
    #[error("{0} is a directory, not a program")]
    Directory(String),
    /// A script: its MPI library cannot be known.
    #[error(
        "{0} is a script, which does not tell its MPI library; name the launcher: headwater run -n 2,4 -- mpirun -n {{np}} {0}"
    )]
    Script(String),
    /// A set-user-ID or set-group-ID program.
    #[error(
        "{0} runs as another user or group, and the loader preloads nothing into such programs; record a copy without those mode bits"
    )]
    ChangesUser(String),
    /// The launcher is not there.
    #[error(
        "there is no launcher {0} on this machine; install it, or name yours: headwater run -n 2,4 -- mpirun -n {{np}} ./app"
    )]
    NoLauncher(String),
    /// The program is not among the launcher's arguments.
    #[error(
        "no program was found behind {0}; put it behind a -- of its own: … {0} OPTIONS -- ./app"
    )]
    NoProgramBehind(String),
    /// The launcher reads its programs from a file.
    #[error(
        "{launcher} {option} names its programs in a file; put `headwater exec --` before each of them there, and run {launcher} as before"
    )]
    Listed {
        /// The launcher.
        launcher: String,
        /// Its option.
        option: String,
    },
    /// No MPI library is linked to the program.
    #[error(
        "{0} does not use MPI: no MPI library is linked to it; if it opens MPI itself, name the launcher: headwater record -- mpirun -n 4 {0}"
    )]
    NoMpi(String),
    /// A program that was built with ThreadSanitizer.
    #[error(
        "{0} was built with ThreadSanitizer, which would report the collector's own use of locks as faults of the program, so it is not recorded; record a build without -fsanitize=thread"
    )]
    ThreadSanitizer(String),
    /// MPI is part of the program.
    #[error(
        "{0} holds MPI within itself (statically linked), where calls cannot be seen from outside; link it anew with what `headwater link-flags` prints, or to the shared MPI library"
    )]
    StaticMpi(String),
    /// A library that the program needs is not found.
    #[error("{program} needs {library}, which is not found; set LD_LIBRARY_PATH as for running it")]
    MissingLibrary {
        /// The program.
        program: String,
        /// What it needs.
        library: String,
    },
    /// The collector is not there.
    #[error("the collector libheadwater_collector.so was not found beside {place} or in ../lib; build it with: cargo build --release, or set HEADWATER_COLLECTOR", place = .0.display())]
    NoCollector(PathBuf),
    /// The archive of the collector is not there.
    #[error("{path} is not there, or not the collector; a wheel does not have it, so build it from Headwater's sources, beside libheadwater_collector.so, with: cargo rustc --release -p headwater-collector --features linked --crate-type staticlib", path = .0.display())]
    NoArchive(PathBuf),
    /// The collector is not where the user says.
    #[error("{path}, which HEADWATER_COLLECTOR or --collector names, is not there; correct it, or leave it out to use the collector beside headwater", path = .0.display())]
    CollectorGone(PathBuf),
    /// The loader would misread the path of the collector.
    #[error("the loader takes a space or a colon in LD_PRELOAD for the end of a name, so it cannot load {path}; make a link to its directory whose name has neither, and name the collector there in HEADWATER_COLLECTOR", path = .0.display())]
    Unloadable(PathBuf),
    /// The operating system refused.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// The system's error.
        source: std::io::Error,
    },
}
