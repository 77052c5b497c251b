//! Programs of the testbed and what is known of them.

use crate::compilers;
use crate::mpi::Mpi;
use crate::request::Request;
use crate::setup;
use crate::shell::{output, root};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is known of a program; the tool never reads it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    sources: Vec<String>,
    language: String,
    #[serde(default)]
    flags: Vec<String>,
    /// Fortran binding, where it matters.
    binding: Option<String>,
    library: Option<String>,
    /// `weak` for a problem that grows with the ranks.
    pub scaling: Option<String>,
    /// Cells for each rank; all cells are the argument after the dose where this is there.
    cells_per_rank: Option<u32>,
    /// How much of its cause the program has, given as its first argument; a control has none.
    /// Every program takes 0 as being without it, and costs grow with it.
    pub dose: Option<f64>,
    /// Scales other than the usual ones.
    pub scales: Option<Vec<u32>>,
    /// Numbers of threads of a program without MPI, which is given them as its second argument too.
    pub threads: Option<Vec<u32>>,
    /// `none` in a control, which has no cause.
    expected: Option<String>,
    /// Ranks to price the cause on, where it does not show on as many as there are cores.
    pub price_ranks: Option<u32>,
    /// Causes, the dearest first.
    #[serde(default)]
    pub cause: Vec<Known>,
    /// Places where the waits show.
    #[serde(default)]
    pub trap: Vec<Trap>,
}

/// A known cause.
#[derive(Clone, Debug, Deserialize)]
pub struct Known {
    /// Source file.
    pub file: String,
    /// First and last line.
    pub lines: [u32; 2],
    /// Class, as in the diagnosis.
    pub class: String,
    /// Ranks: `all`, or by scale.
    pub ranks: Ranks,
    /// Threads of a cause between threads, where they are known.
    pub threads: Option<String>,
    /// Whether a place below these lines counts too: one whose call path leads through them.
    #[serde(default)]
    pub through_call_path: bool,
}

/// Ranks of a known cause.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Ranks {
    /// All of them; the word itself does not matter.
    All(#[allow(dead_code)] String),
    /// By number of ranks.
    ByScale(BTreeMap<String, String>),
}

/// A place where waits show.
#[derive(Clone, Debug, Deserialize)]
pub struct Trap {
    /// Source file.
    pub file: String,
    /// First and last line.
    pub lines: [u32; 2],
}

/// A built program.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of its directory.
    pub name: String,
    /// What is known of it.
    pub manifest: Manifest,
    /// The executable.
    pub program: PathBuf,
    /// How idle threads of an OpenMP runtime wait; `None` for its default.
    pub wait_policy: Option<&'static str>,
}

impl Case {
    /// The case under each policy of waiting that it is scored with: a program of OpenMP alone under the default, where
    /// idle threads spin, and where they sleep.
    pub fn policies(&self) -> Vec<Self> {
        let openmp = self.manifest.flags.iter().any(|f| f == "-fopenmp");
        let both = openmp && self.manifest.threads.is_some();
        let policies: &[_] = if both {
            &[None, Some("passive")]
        } else {
            &[None]
        };
        let with = |policy: &Option<&'static str>| Self {
            wait_policy: *policy,
            ..self.clone()
        };
        policies.iter().map(with).collect()
    }
}

impl Manifest {
    /// Why the program cannot run on a library, if it cannot: Intel's package has no `mpi_f08` module
    /// for gfortran, and a program built with MPICH's fails there by itself.
    pub fn unfit(&self, mpi: Mpi) -> Option<&'static str> {
        let f08 = self.binding.as_deref() == Some("mpi_f08");
        if self.is_python() && self.scales.is_some() && mpi != Mpi::Open {
            return Some("Debian's mpi4py is that of Open MPI");
        }
        (f08 && mpi == Mpi::Intel)
            .then_some("no mpi_f08 module for gfortran in this library's package")
    }

    /// Arguments of the program: the dose, its own where none is given, then the size of a problem
    /// that grows.
    pub fn arguments(&self, ranks: u32, dose: Option<f64>) -> Vec<String> {
        let dose = dose.or(self.dose).unwrap_or(0.0);
        let cells = self.cells_per_rank.map(|c| (c * ranks).to_string());
        std::iter::once(dose.to_string()).chain(cells).collect()
    }

    /// Sets what running the program needs on a library.
    pub fn prepare(&self, mpi: Mpi, command: &mut Command) {
        if self.has_threads() {
            mpi.unbind(command);
        }
    }

    /// Flags of its compiler.
    fn flags(&self) -> Vec<String> {
        match self.flags.is_empty() {
            true => vec!["-O2".to_string()],
            false => self.flags.clone(),
        }
    }

    /// Whether it is a script, which does not say its MPI library.
    pub fn is_python(&self) -> bool {
        self.language == "python"
    }

    /// Whether it is recorded once, and its cause is where most of the time is.
    pub fn is_profiled(&self) -> bool {
        self.is_python() && self.scales.is_none() && self.threads.is_none()
    }

    /// Whether each rank has several threads.
    pub fn has_threads(&self) -> bool {
        let threads = ["-fopenmp", "-pthread"];
        self.flags.iter().any(|f| threads.contains(&f.as_str()))
    }

    /// The scales to run at.
    pub fn scales(&self, mpi: Mpi) -> Vec<u32> {
        match &self.scales {
            Some(own) => own.clone(),
            None => mpi.scales(&[2, 4, 8, 16]),
        }
    }
}

/// The directory of programs with MPI, of those without, or of those in Python.
fn programs(request: &Request) -> PathBuf {
    let testbed = root().join("testbed");
    match (request.python, request.threads) {
        (true, _) => testbed.join("python"),
        (_, true) => testbed.join("threads"),
        _ => testbed,
    }
}

/// Names of the programs that a request may mean.
pub fn names(request: &Request) -> Vec<String> {
    let entries = std::fs::read_dir(programs(request))
        .into_iter()
        .flatten()
        .flatten();
    let mut names: Vec<String> = entries
        .filter(|e| e.path().join("expected.toml").exists())
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Builds the programs of a request.
pub fn build_all(request: &Request) -> Result<Vec<Case>, String> {
    let known = names(request);
    let wanted = if request.cases.is_empty() {
        known.clone()
    } else {
        request.cases.clone()
    };
    wanted
        .into_iter()
        .map(|name| {
            if known.contains(&name) {
                build(name, request)
            } else {
                Err(format!(
                    "there is no testbed program {name}; there are {}",
                    known.join(", ")
                ))
            }
        })
        .collect()
}

fn manifest(dir: &Path, name: &str) -> Result<Manifest, String> {
    let text =
        std::fs::read_to_string(dir.join("expected.toml")).map_err(|e| format!("{name}: {e}"))?;
    toml::from_str(&text).map_err(|e| format!("{name}/expected.toml: {e}"))
}

/// Builds a program of MPI in `out` with the compilers that write its structure, and returns it; the time of each source goes
/// to a file.
///
/// # Errors
/// It does not compile, or is in a language without such a compiler.
pub fn build_with_plugin(name: &str, out: &Path, times: &Path) -> Result<PathBuf, String> {
    let dir = programs(&Request::default()).join(name);
    let manifest = manifest(&dir, name)?;
    let (compiler, all) = match manifest.language.as_str() {
        "c" => ("$CC", &manifest.sources),
        "c++" => ("$CXX", &manifest.sources),
        "fortran" => ("$FC", &manifest.sources),
        other => return Err(format!("{name}: no compiler of {other} takes the plugin")),
    };
    // Without the plugin, flang does not find MPI's modules.
    let times = (compiler != "$FC").then_some((times, 1));
    let flags = manifest.flags().join(" ");
    let mut lines = vec!["set -e".to_string()];
    let mut objects = Vec::new();
    for (i, source) in all.iter().enumerate() {
        let object = format!("{name}.{i}.o");
        let source = dir.join(source).display().to_string();
        lines.push(format!("{compiler} -g {flags} -c '{source}' -o {object}"));
        objects.push(object);
    }
    if let Some(library) = &manifest.library {
        let (source, shared) = (dir.join(library), format!("lib{name}.so"));
        let source = source.display();
        lines.push(format!(
            "$CC -g {flags} -shared -fPIC '{source}' -o {shared}"
        ));
        objects.push(format!("{shared} -Wl,-rpath,'$ORIGIN'"));
    }
    let objects = objects.join(" ");
    // The distribution has the libraries of OpenMP of one version of LLVM only.
    let openmp = "-L/usr/lib/llvm-14/lib";
    lines.push(format!(
        "{compiler} {flags} {objects} {openmp} -lm -o {name}"
    ));
    let mut shell = Command::new("bash");
    shell.args(["-c", &lines.join("\n")]).current_dir(out);
    compilers::set(&mut shell, times)?;
    output(&mut shell).map_err(|e| format!("{name}: {e}"))?;
    Ok(out.join(name))
}

fn build(name: String, request: &Request) -> Result<Case, String> {
    let mpi = request.mpi;
    let dir = programs(request).join(&name);
    let manifest = manifest(&dir, &name)?;
    if manifest.cause.is_empty() != (manifest.expected.as_deref() == Some("none")) {
        return Err(format!(
            "{name}/expected.toml: either causes or expected = \"none\", not both or neither"
        ));
    }
    if manifest.is_python() {
        let script = manifest.sources.first();
        let script = script.ok_or(format!("{name}/expected.toml names no script"))?;
        return Ok(Case {
            program: dir.join(script),
            name,
            manifest,
            wait_policy: None,
        });
    }
    let compilers = match request.threads {
        true => "threads",
        false => mpi.compilers(),
    };
    let out = setup::target().join("testbed").join(compilers);
    std::fs::create_dir_all(&out).map_err(|e| e.to_string())?;
    let program = out.join(&name);
    let compiler = match manifest.language.as_str() {
        "c" if request.threads => "gcc",
        "c++" if request.threads => "g++",
        "fortran" if request.threads => "gfortran",
        "rust" if request.threads => "rustc",
        "c" => "mpicc",
        "c++" => "mpicxx",
        "fortran" => "mpifort",
        other => return Err(format!("{name}: language {other} is not known")),
    };
    let flags = manifest.flags();
    let mut command = match request.threads {
        true => Command::new(compiler),
        false => Command::new(format!("{compiler}.{}", mpi.compilers())),
    };
    command
        .arg("-g")
        .args(&flags)
        .arg("-o")
        .arg(&program)
        .args(manifest.sources.iter().map(|s| dir.join(s)));
    if let Some(library) = &manifest.library {
        let stem = library.split('.').next().unwrap_or(library);
        let built = out.join(format!("lib{stem}.so"));
        output(
            Command::new("gcc")
                .args(["-g", "-shared", "-fPIC"])
                .args(&flags)
                .arg("-o")
                .arg(&built)
                .arg(dir.join(library)),
        )?;
        command
            .arg(format!("-L{}", out.display()))
            .arg(format!("-l{stem}"))
            .arg("-Wl,-rpath,$ORIGIN");
    }
    output(&mut command)?;
    Ok(Case {
        name,
        manifest,
        program,
        wait_policy: None,
    })
}
