//! What builds and tests need from outside: looked for by what must be there, so that a machine that
//! has it from elsewhere is content, and installed from Debian's packages where it is missing.

use crate::shell::{Done, output, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Something that must be there.
#[derive(Debug)]
struct Need {
    /// A program in `PATH`, or a file with its whole path.
    there: &'static str,
    /// Debian's package that has it.
    package: &'static str,
    /// Whether the demonstration needs it; tests need everything.
    demo: bool,
}

const fn need(there: &'static str, package: &'static str, demo: bool) -> Need {
    Need {
        there,
        package,
        demo,
    }
}

const NEEDS: [Need; 37] = [
    need("cc", "gcc", true),
    need("/usr/include/stdio.h", "libc6-dev", true),
    need("mpirun.openmpi", "openmpi-bin", true),
    need("mpicc.openmpi", "libopenmpi-dev", true),
    need("mpirun.mpich", "mpich", false),
    need("mpicc.mpich", "libmpich-dev", false),
    need("g++", "g++", false),
    need("gfortran", "gfortran", false),
    need("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu", false),
    need("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu", false),
    need(
        "/usr/aarch64-linux-gnu/include/stdio.h",
        "libc6-dev-arm64-cross",
        false,
    ),
    need("objcopy", "binutils", false),
    need("eu-strip", "elfutils", false),
    need("dwz", "dwz", false),
    need("clang-14", "clang-14", false),
    need("/usr/lib/llvm-14/lib/libomp.so", "libomp-14-dev", false),
    // What the plugin that writes a program's structure is built for.
    need("clang-19", "clang-19", false),
    need("/usr/lib/llvm-19/bin/llvm-config", "llvm-19-dev", false),
    need("flang-new-19", "flang-19", false),
    need("clang-22", "clang-22", false),
    need("/usr/lib/llvm-22/bin/llvm-config", "llvm-22-dev", false),
    need("script", "bsdutils", false),
    // For Slurm as a launcher; without a configuration only munge's service starts by itself.
    need("srun", "slurm-client", false),
    need("/usr/sbin/slurmctld", "slurmctld", false),
    need("/usr/sbin/slurmd", "slurmd", false),
    need("/usr/sbin/munged", "munge", false),
    need("python3", "python3", false),
    need("python3 -m ensurepip --version", "python3-venv", false),
    // Programs in Python that are recorded.
    need(
        "/usr/lib/python3/dist-packages/mpi4py/__init__.py",
        "python3-mpi4py",
        false,
    ),
    need(
        "/usr/lib/python3/dist-packages/numpy/__init__.py",
        "python3-numpy",
        false,
    ),
    // What reads exported formats.
    need("dot", "graphviz", false),
    need("node", "nodejs", false),
    need("npm", "npm", false),
    need("go", "golang-go", false),
    // What looks at the page of a diagnosis.
    need("chromium", "chromium", false),
    need("firefox-esr", "firefox-esr", false),
    // What replays exported traces.
    need("smpirun", "libsimgrid-dev", false),
];

impl Need {
    fn is_there(&self) -> bool {
        if self.there.starts_with('/') {
            return Path::new(self.there).exists();
        }
        match self.there.split_once(' ') {
            None => find(self.there).is_some(),
            Some((program, args)) => output(Command::new(program).args(args.split(' '))).is_ok(),
        }
    }
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|d| d.join(program))
        .find(|p| p.is_file())
}

/// How this user may install.
#[derive(Clone, Copy, Debug)]
enum Right {
    /// As root.
    Root,
    /// With `sudo`, which asks for no password.
    Sudo,
    /// Only with a password that we do not ask for, or through somebody else.
    None,
    /// There is no `apt-get`.
    OtherSystem,
}

fn right() -> Right {
    if find("apt-get").is_none() {
        return Right::OtherSystem;
    }
    if output(Command::new("id").arg("-u")).is_ok_and(|u| u.trim() == "0") {
        return Right::Root;
    }
    match output(Command::new("sudo").args(["-n", "true"])) {
        Ok(_) => Right::Sudo,
        Err(_) => Right::None,
    }
}

/// Installs what is missing; for tests if `all`, otherwise for the demonstration.
///
/// # Errors
/// There is no right to install, or this is not a system of Debian's kind: then it says what to type.
pub fn install(all: bool) -> Done {
    let needs = || NEEDS.iter().filter(|n| all || n.demo);
    let missing = || needs().filter(|n| !n.is_there());
    let wanted: Vec<&Need> = missing().collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let mut packages: Vec<&str> = wanted.iter().map(|n| n.package).collect();
    packages.dedup();
    let things = wanted
        .iter()
        .map(|n| n.there)
        .collect::<Vec<_>>()
        .join(", ");
    println!("missing here: {things}");
    for line in commands(right(), &things, &packages)? {
        println!("installing: {}", line.join(" "));
        let (program, args) = line.split_first().ok_or("nothing to run")?;
        run(program, args)?;
    }
    match missing().next() {
        None => Ok(()),
        Some(n) => Err(format!(
            "{} is still missing after {} was installed; see that it is in PATH",
            n.there, n.package
        )),
    }
}

/// Installs those of these Debian packages that are missing.
///
/// # Errors
/// As [`install`].
pub fn install_packages(packages: &[&str]) -> Done {
    let installed = |package: &str| {
        let mut query = Command::new("dpkg-query");
        query.args(["-W", "-f", "${db:Status-Status}", package]);
        output(&mut query).is_ok_and(|status| status == "installed")
    };
    let mut missing: Vec<&str> = packages.to_vec();
    missing.retain(|p| !installed(p));
    if missing.is_empty() {
        return Ok(());
    }
    for line in commands(right(), &missing.join(", "), &missing)? {
        println!("installing: {}", line.join(" "));
        let (program, args) = line.split_first().ok_or("nothing to run")?;
        run(program, args)?;
    }
    Ok(())
}

/// The command lines that install `packages`, or what the user has to do.
fn commands<'a>(
    right: Right,
    things: &str,
    packages: &[&'a str],
) -> Result<Vec<Vec<&'a str>>, String> {
    const INSTALL: [&str; 4] = ["apt-get", "install", "-y", "--no-install-recommends"];
    let prefix: &[&str] = match right {
        Right::Root => &["env", "DEBIAN_FRONTEND=noninteractive"],
        Right::Sudo => &["sudo", "-n", "env", "DEBIAN_FRONTEND=noninteractive"],
        Right::None => {
            return Err(format!(
                "no right to install; type:  sudo apt-get update && sudo {} {}",
                INSTALL.join(" "),
                packages.join(" ")
            ));
        }
        Right::OtherSystem => {
            return Err(format!(
                "this system has no apt-get; install by its own means what gives {things} (Debian's packages are {}), so that they are found under these names",
                packages.join(" ")
            ));
        }
    };
    Ok(vec![
        [prefix, &["apt-get", "update", "-qq"]].concat(),
        [prefix, &INSTALL, &["-qq"], packages].concat(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_install_does_and_others_are_told_what_to_type() {
        let said = |right| {
            commands(right, "mpicc.openmpi", &["libopenmpi-dev"]).map(|lines| {
                let lines: Vec<String> = lines.iter().map(|l| l.join(" ")).collect();
                lines.join("; ")
            })
        };
        let installs = "apt-get install -y --no-install-recommends";
        let typed = format!("sudo {installs} libopenmpi-dev");
        assert!(said(Right::Root).is_ok_and(|l| l.starts_with("env ") && l.contains(installs)));
        assert!(said(Right::Sudo).is_ok_and(|l| l.starts_with("sudo -n ") && l.contains(installs)));
        assert!(said(Right::None).is_err_and(|e| e.ends_with(&typed)));
        let elsewhere = said(Right::OtherSystem).expect_err("no apt-get");
        assert!(elsewhere.contains("mpicc.openmpi") && elsewhere.contains("libopenmpi-dev"));
    }
}
