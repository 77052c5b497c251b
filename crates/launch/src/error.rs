//! The errors that can prevent the launch of a program.

use std::path::PathBuf;

/// Why a program cannot be launched.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// Nothing to run.
    #[error(
        "no program was given; put it after --, for example: headwater record -- mpirun -n 4 ./app"
    )]
    NoProgram,
    /// The program is not there.
    #[error("there is no program {0}; check the path")]
    NotFound(String),
    /// A device, a pipe or a socket.
    #[error("{0} is not a regular file, so it cannot be a program; check the path")]
    NoRegularFile(String),
    /// An option in the place of the program.
    #[error(
        "{0} is in the place of the program; put options of headwater before --, and options of the program after its name"
    )]
    Option(String),
    /// The program is in the current directory, but not where a shell looks.
    #[error("there is no program {0} in PATH, but there is one in this directory: type ./{0}")]
    Here(String),
    /// The program may not be run.
    #[error("{0} is not executable; type chmod +x {0}, or put its interpreter before it")]
    NotExecutable(String),
    /// A directory in place of a program.
    #[error("{0} is a directory, not a program")]
    Directory(String),
    /// A script: its MPI library cannot be known.
    #[error(
        "{0} is a script, so its MPI library is not known; name the launcher: headwater run -n 2,4 -- mpirun -n {{np}} {0}"
    )]
    Script(String),
    /// A set-user-ID or set-group-ID program.
    #[error(
        "{0} is set to run as another user or group (set-user-ID or set-group-ID), and the loader does not load the collector into such programs; record a copy without these mode bits"
    )]
    ChangesUser(String),
    /// The launcher is not there.
    #[error(
        "there is no launcher {0} on this machine; install it, or name yours: headwater run -n 2,4 -- mpirun -n {{np}} ./app"
    )]
    NoLauncher(String),
    /// The program is not among the launcher's arguments.
    #[error(
        "no program was found after {0} and its options; put -- before the program: … {0} OPTIONS -- ./app"
    )]
    NoProgramBehind(String),
    /// The launcher reads its programs from a file.
    #[error(
        "{launcher} {option} takes its programs from a file; put `headwater exec --` before each program in that file, and run {launcher} without headwater"
    )]
    Listed {
        /// The launcher.
        launcher: String,
        /// Its option.
        option: String,
    },
    /// No MPI library is linked to the program.
    #[error(
        "{0} does not use MPI: it is not linked to an MPI library; to record its threads, type: headwater run --threads 1,2,4 -- {0}; if it loads MPI while it runs, name the launcher: headwater record -- mpirun -n 4 {0}"
    )]
    NoMpi(String),
    /// A program that was built with ThreadSanitizer.
    #[error(
        "{0} was built with ThreadSanitizer and is not recorded, because ThreadSanitizer would report the collector's locks as faults of the program; record a build without -fsanitize=thread"
    )]
    ThreadSanitizer(String),
    /// MPI is part of the program.
    #[error(
        "{0} is statically linked to MPI, so its calls cannot be recorded from outside; link it again with the flags that `headwater link-flags` prints, or with the shared MPI library"
    )]
    StaticMpi(String),
    /// A program without MPI into which nothing is loaded.
    #[error(
        "{0} is statically linked, so the collector cannot be loaded into it; link it dynamically (without -static)"
    )]
    Static(String),
    /// A library that the program needs is not found.
    #[error(
        "{program} needs {library}, which was not found; set LD_LIBRARY_PATH as you do to run it"
    )]
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
    #[error("{path} does not exist or is not the collector's archive, which the Python wheel does not contain; build it from Headwater's sources, beside libheadwater_collector.so, with: cargo rustc --release -p headwater-collector --features linked --crate-type staticlib", path = .0.display())]
    NoArchive(PathBuf),
    /// The collector is not where the user says.
    #[error("the collector {path}, which HEADWATER_COLLECTOR or --collector names, does not exist; correct the path, or leave it out to use the collector that is installed with headwater", path = .0.display())]
    CollectorGone(PathBuf),
    /// The loader would misread the path of the collector.
    #[error("the loader cannot load {path}, because a space or colon ends a name in LD_PRELOAD; make a link to its directory without these characters, and set HEADWATER_COLLECTOR to the collector's path through that link", path = .0.display())]
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
