//! The MPI libraries that the testbed runs on.

use crate::setup;
use crate::wheels;
use std::path::PathBuf;
use std::process::Command;

/// An MPI library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mpi {
    /// Open MPI of the distribution.
    #[default]
    Open,
    /// Intel MPI, with programs built for MPICH, whose ABI it shares.
    Intel,
    /// MPICH of the distribution; one and two ranks only, as it is slow with more ranks than cores.
    Mpich,
}

impl Mpi {
    /// By the name on the command line.
    pub fn by_name(name: &str) -> Result<Self, String> {
        match name {
            "openmpi" => Ok(Self::Open),
            "intel" => Ok(Self::Intel),
            "mpich" => Ok(Self::Mpich),
            _ => Err(format!(
                "there is no MPI library {name} here; openmpi, intel and mpich are"
            )),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "openmpi",
            Self::Intel => "intel",
            Self::Mpich => "mpich",
        }
    }

    /// Ending of the compilers' names.
    pub fn compilers(self) -> &'static str {
        if self == Self::Open {
            "openmpi"
        } else {
            "mpich"
        }
    }

    /// The scales that it is run at.
    pub fn scales(self, wanted: &[u32]) -> Vec<u32> {
        match self {
            Self::Mpich => vec![1, 2],
            _ => wanted.to_vec(),
        }
    }

    /// Sets what running its programs needs.
    pub fn prepare(self, command: &mut Command) -> Result<(), String> {
        // Threads that wait for others must not take the cores that those need.
        command.env("OMP_WAIT_POLICY", "passive");
        if self == Self::Open {
            command.envs([
                ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
                ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ]);
        }
        if self == Self::Intel {
            let place = wheels::intel()?;
            let links = setup::target().join("impi-links");
            std::fs::create_dir_all(&links).map_err(|e| e.to_string())?;
            for (ours, theirs) in [
                ("libmpich.so.12", "libmpi.so.12"),
                ("libmpichfort.so.12", "libmpifort.so.12"),
                ("libmpichcxx.so.12", "libmpicxx.so.12"),
            ] {
                let link = links.join(ours);
                let _ = std::fs::remove_file(&link);
                std::os::unix::fs::symlink(place.join("lib").join(theirs), &link)
                    .map_err(|e| e.to_string())?;
            }
            command.env(
                "LD_LIBRARY_PATH",
                format!("{}:{}", links.display(), place.join("lib").display()),
            );
            command.env("I_MPI_FABRICS", "shm").env("I_MPI_ROOT", place);
        }
        Ok(())
    }

    /// Lets the threads of a rank use all cores: launchers bind two ranks to a core each, and a rank that waits
    /// for others keeps its core.
    pub fn unbind(self, command: &mut Command) {
        command.envs([
            ("OMPI_MCA_hwloc_base_binding_policy", "none"),
            ("OMPI_MCA_mpi_yield_when_idle", "1"),
            ("I_MPI_PIN", "0"),
        ]);
    }

    /// Its launcher, where the one that the program's library names is another.
    pub fn launcher(self) -> Result<Option<PathBuf>, String> {
        Ok(if self == Self::Intel {
            Some(wheels::intel()?.join("bin/mpiexec.hydra"))
        } else {
            None
        })
    }

    /// Its launcher by name, with what lets ranks outnumber cores, for a program that does not say its library, such as
    /// a script.
    pub fn named_launcher(self) -> Result<Vec<PathBuf>, String> {
        Ok(match (self, self.launcher()?) {
            (Self::Open, _) => vec!["mpirun.openmpi".into(), "--oversubscribe".into()],
            (_, Some(own)) => vec![own],
            (_, None) => vec!["mpirun.mpich".into()],
        })
    }

    /// Its launcher for so many ranks, as the distribution and the package name it.
    pub fn mpirun(self, ranks: u32) -> Result<Command, String> {
        let words = self.named_launcher()?;
        let (program, options) = words.split_first().ok_or("no launcher")?;
        let mut command = Command::new(program);
        command.args(options);
        self.prepare(&mut command)?;
        command.args(["-n", &ranks.to_string()]);
        Ok(command)
    }
}
