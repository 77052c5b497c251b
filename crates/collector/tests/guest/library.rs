//! MPI libraries that the tests know: where they are, how programs are built for them and run.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a library is.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// Debian's; its programs' names end with this.
    Debian(&'static str),
    /// A directory that `cargo xtask setup` makes below cargo's, or that a variable names.
    Wheel(&'static str, &'static str),
}

/// A library, with one of its binary interfaces.
#[derive(Debug)]
pub struct Library {
    /// What tests call it.
    pub name: &'static str,
    place: Place,
    /// Compiler and options by language: C, C++, Fortran; none where the package cannot do it.
    compilers: [&'static str; 3],
    /// Launcher and options.
    launcher: &'static str,
}

const OPEN_MPI: &str = "mpirun --oversubscribe --mca mpi_yield_when_idle 1";
const IMPI: Place = Place::Wheel("HEADWATER_IMPI", "impi");

/// Those of the distribution, which all programs are tested with.
pub const DEBIAN: [Library; 2] = [
    Library {
        name: "openmpi",
        place: Place::Debian("openmpi"),
        compilers: ["mpicc", "mpicxx", "mpif90"],
        launcher: OPEN_MPI,
    },
    Library {
        name: "mpich",
        place: Place::Debian("mpich"),
        compilers: ["mpicc", "mpicxx", "mpif90"],
        launcher: "mpirun",
    },
];

/// Those of the Python index. Only Intel's has a Fortran layer, with its modules where its compiler does
/// not look; there is one for the standard ABI too, but it passes the native constants on, and programs
/// crash without us.
pub const WHEELS: [Library; 5] = [
    Library {
        name: "Open MPI 5",
        place: Place::Wheel("HEADWATER_OPENMPI5", "openmpi5"),
        compilers: ["mpicc", "mpicxx", ""],
        launcher: OPEN_MPI,
    },
    Library {
        name: "MPICH 5",
        place: Place::Wheel("HEADWATER_MPICH5", "mpich5"),
        compilers: ["mpicc", "mpicxx", ""],
        launcher: "mpiexec.hydra",
    },
    Library {
        name: "MPICH 5 with the standard ABI",
        place: Place::Wheel("HEADWATER_MPICH5", "mpich5"),
        compilers: ["mpicc_abi", "mpicxx_abi", ""],
        launcher: "mpiexec.hydra",
    },
    Library {
        name: "Intel MPI",
        place: IMPI,
        compilers: ["mpicc", "mpicxx", "mpif90 -Wl,--no-as-needed"],
        launcher: "mpiexec.hydra",
    },
    Library {
        name: "Intel MPI with the standard ABI",
        place: IMPI,
        compilers: ["mpicc -mpi_abi", "mpicxx -mpi_abi", ""],
        launcher: "mpiexec.hydra",
    },
];

/// The directory that cargo builds in.
pub fn target() -> PathBuf {
    let test = std::env::current_exe().expect("this program has a path");
    let target = test.ancestors().nth(3);
    target.expect("tests lie in the target folder").into()
}

impl Library {
    /// Where a wheel is; `None` where there is none.
    fn directory(&self) -> Option<PathBuf> {
        let Place::Wheel(variable, dir) = self.place else {
            return None;
        };
        let given = std::env::var_os(variable).map(PathBuf::from);
        let places = given.into_iter().chain([target().join(dir)]);
        let mut there = places.filter(|p| p.join("include/mpi.h").exists());
        there.next()
    }

    /// A line's program, the library's own if it has it, and its options; `$` is the wheel's directory.
    fn command(&self, line: &str) -> Option<(Command, Vec<String>)> {
        let mut words = line.split(' ').map(str::to_string);
        let first = words.next().filter(|w| !w.is_empty())?;
        if let Place::Debian(ending) = self.place {
            return Some((Command::new(format!("{first}.{ending}")), words.collect()));
        }
        let dir = self.directory()?;
        let own = dir.join("bin").join(&first);
        let mut command = Command::new(if own.exists() { own } else { first.into() });
        if self.place == IMPI {
            command.env("I_MPI_ROOT", &dir).env("I_MPI_FABRICS", "shm");
        }
        let here = dir.display().to_string();
        Some((command, words.map(|w| w.replace('$', &here)).collect()))
    }

    /// Compiles a program of `programs/` with options before it; `None` where there is no compiler.
    pub fn compiled(&self, source: &str, to: &Path, options: &[&str]) -> Option<()> {
        let line = match source.rsplit('.').next() {
            Some("c") => self.compilers[0],
            Some("cpp") => self.compilers[1],
            _ => self.compilers[2],
        };
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let status = self.command(line).and_then(|(mut compiler, more)| {
            compiler
                .args(["-g", "-O1", "-w", "-o"])
                .arg(to)
                .args(options)
                .arg(programs.join(source))
                // Libraries count for what is before them.
                .args(more)
                .current_dir(to.parent()?)
                .status()
                .ok()
        });
        let Some(status) = status else {
            eprintln!("{source} was not tested with {}: no compiler", self.name);
            return None;
        };
        assert!(status.success(), "{source} compiles for {}", self.name);
        Some(())
    }

    /// Its launcher, with options.
    pub fn launcher(&self) -> Command {
        let (mut command, options) = self.command(self.launcher).expect("the library is there");
        command.args(options);
        for open in ["OMPI", "PRTE"] {
            command.env(format!("{open}_ALLOW_RUN_AS_ROOT"), "1");
            command.env(format!("{open}_ALLOW_RUN_AS_ROOT_CONFIRM"), "1");
        }
        command
    }
}
