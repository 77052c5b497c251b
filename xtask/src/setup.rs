//! What builds and tests need from outside: found, or installed with a word about it.

use crate::shell::{Done, output, root, run};
use std::path::PathBuf;
use std::process::Command;

/// Packages of the distribution.
const PACKAGES: [&str; 10] = [
    "openmpi-bin",
    "libopenmpi-dev",
    "mpich",
    "libmpich-dev",
    "gfortran",
    "g++",
    "gcc-aarch64-linux-gnu",
    "libc6-dev-arm64-cross",
    "elfutils",
    "python3-venv",
];

/// What the demonstration needs of them.
const DEMO: [&str; 2] = ["openmpi-bin", "libopenmpi-dev"];

/// The built command.
pub fn headwater() -> String {
    target().join("release/headwater").display().to_string()
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Builds the command and the collector.
pub fn build() -> Done {
    println!("building headwater and its collector");
    run(
        "cargo",
        &[
            "build",
            "--release",
            "--quiet",
            "-p",
            "headwater",
            "-p",
            "headwater-collector",
        ],
    )
}

fn installed(package: &str) -> bool {
    let state = output(Command::new("dpkg-query").args(["-W", "-f", "${Status}", package]));
    state.is_ok_and(|s| s.contains("install ok installed"))
}

/// Installs what is missing; `all` for tests, otherwise what the demonstration needs.
pub fn setup(all: bool) -> Done {
    let wanted: &[&str] = if all { &PACKAGES } else { &DEMO };
    let missing: Vec<&str> = wanted.iter().copied().filter(|p| !installed(p)).collect();
    if !missing.is_empty() {
        println!("installing from the distribution: {}", missing.join(" "));
        let root_user = output(Command::new("id").arg("-u")).is_ok_and(|u| u.trim() == "0");
        let sudo = !root_user
            && Command::new("sudo")
                .args(["-n", "true"])
                .output()
                .is_ok_and(|o| o.status.success());
        if !root_user && !sudo {
            return Err(format!(
                "no right to install; type:  sudo apt-get update && sudo apt-get install --no-install-recommends {}",
                missing.join(" ")
            ));
        }
        let (program, first): (&str, &[&str]) = if root_user {
            ("apt-get", &[])
        } else {
            ("sudo", &["apt-get"])
        };
        run(program, &[first, &["update", "-qq"]].concat())?;
        run(
            program,
            &[
                first,
                &["install", "-y", "-qq", "--no-install-recommends"],
                &missing,
            ]
            .concat(),
        )?;
    }
    if all { intel().map(|_| ()) } else { Ok(()) }
}

/// Where Intel MPI is; installs its wheel if it is nowhere.
pub fn intel() -> Result<PathBuf, String> {
    if let Some(given) = std::env::var_os("HEADWATER_IMPI")
        .map(PathBuf::from)
        .filter(|p| p.join("bin/mpiexec.hydra").exists())
    {
        return Ok(given);
    }
    let place = target().join("impi");
    if !place.join("bin/mpiexec.hydra").exists() {
        println!(
            "installing Intel MPI (the package impi-rt) into {}",
            place.display()
        );
        let dir = place.display().to_string();
        output(Command::new("python3").args(["-m", "venv", &dir]))?;
        output(Command::new(place.join("bin/pip")).args(["-q", "install", "impi-rt"]))?;
    }
    Ok(place)
}
