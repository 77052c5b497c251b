//! The recipe of a real code: where its source comes from, how it is built and what is run.
//!
//! A recipe is a file `xtask/truth/codes/NAME.toml`. Its head comment says why the code is in the bench. No source
//! code of others is in the repository: the source is fetched when the bench runs.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A language of the code's own files.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    C,
    #[serde(rename = "c++")]
    Cpp,
    Fortran,
    Python,
}

impl Language {
    /// As a reader knows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Cpp => "C++",
            Self::Fortran => "Fortran",
            Self::Python => "Python",
        }
    }
}

/// What makes the code different from others.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Trait {
    /// Collectives in the time loop.
    Collectives,
    /// Messages between ranks, and no collectives in the time loop.
    P2pOnly,
    /// Ranks work one after the other on what the rank before passes on.
    Pipeline,
    /// Templates of C++ hold most of the work.
    Templates,
    /// OpenMP threads in each rank.
    Openmp,
    /// POSIX threads in each rank.
    Pthreads,
    /// MPI through mpi4py.
    Mpi4py,
    /// Files are written or read in the time loop.
    Io,
}

impl Trait {
    /// As recipes name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Collectives => "collectives",
            Self::P2pOnly => "p2p-only",
            Self::Pipeline => "pipeline",
            Self::Templates => "templates",
            Self::Openmp => "openmp",
            Self::Pthreads => "pthreads",
            Self::Mpi4py => "mpi4py",
            Self::Io => "io",
        }
    }
}

/// What more ranks get to do with the recipe's arguments.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Scaling {
    /// The same work in all.
    Strong,
    /// The same work for each rank.
    Weak,
}

/// Where the source comes from.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub enum Source {
    /// Debian's source package, with Debian's patches.
    Apt(String),
    /// Only the authors' archive of Debian's source package.
    AptOriginal(String),
    /// A source distribution of the Python package index, as `NAME==VERSION`.
    Pypi(String),
}

impl TryFrom<String> for Source {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || {
            format!(
                "source \"{text}\" is not apt:PACKAGE, apt-original:PACKAGE or pypi:NAME==VERSION"
            )
        };
        let (registry, name) = text.split_once(':').ok_or_else(wrong)?;
        let is_name = |n: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
            n.starts_with(|c: char| c.is_ascii_alphanumeric()) && n.chars().all(allowed)
        };
        match registry {
            "apt" if is_name(name) => Ok(Self::Apt(name.into())),
            "apt-original" if is_name(name) => Ok(Self::AptOriginal(name.into())),
            "pypi" => match name.split_once("==") {
                Some((n, v)) if is_name(n) && is_name(v) => Ok(Self::Pypi(name.into())),
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Apt(name) => write!(f, "Debian source package {name}"),
            Self::AptOriginal(name) => write!(f, "authors' archive of Debian's {name}"),
            Self::Pypi(name) => write!(f, "Python package index, {name}"),
        }
    }
}

/// A real code of the bench.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Code {
    /// Unique name; also the name of the recipe's file.
    pub name: String,
    pub languages: Vec<Language>,
    pub traits: Vec<Trait>,
    pub source: Source,
    /// Name of the tree, where several codes share a build; the code's own name if empty.
    #[serde(default)]
    pub tree: String,
    /// Debian packages that build or run need.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Files that are written into the tree before the build, by their path: input of the program.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Shell lines that build the program, run once in the tree. They find the compilers in `CC`, `CXX`, `FC` and
    /// `F77`, and their flags in `CFLAGS`, `CXXFLAGS`, `FFLAGS`, `FCFLAGS` and `LDFLAGS`.
    #[serde(default)]
    pub build: Vec<String>,
    /// Shell lines that build the program again after a file was patched; they take seconds.
    #[serde(default)]
    pub rebuild: Vec<String>,
    /// The program: a path in the tree, or an absolute path.
    pub program: String,
    /// Its arguments. `{np}` is the number of ranks, `{tree}` the tree's path.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Arguments of single scales, by the number of ranks, in place of `arguments`.
    #[serde(default)]
    pub arguments_by_scale: BTreeMap<String, Vec<String>>,
    /// Environment variables of the program.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Directory in the tree that the program runs in; the tree's root if empty. `{np}` is the number of ranks.
    #[serde(default)]
    pub directory: String,
    /// Numbers of ranks that the bench runs, or of threads of a program without MPI, increasing.
    pub scales: Vec<u32>,
    pub scaling: Scaling,
    /// Approximate time of a clean run on 2 ranks, in seconds.
    pub seconds: f64,
    /// Files that the planter may patch, as paths in the tree; `*` is any part of one path component.
    pub patch: Vec<String>,
    /// OpenMP threads of a rank.
    #[serde(default = "one")]
    pub threads: u32,
    /// Whether it is a program of MPI. Otherwise it is one process, and `threads` is the largest of its scales.
    #[serde(default = "yes")]
    pub mpi: bool,
    /// Whether fetch and build take less than a minute, so that CI can run the code.
    #[serde(default)]
    pub ci: bool,
    /// Why this code is in the bench: the head comment of the recipe.
    #[serde(skip)]
    pub why: String,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

impl Code {
    /// Reads a recipe; `file` is the file's name without its ending, for messages.
    ///
    /// # Errors
    /// One line that says what is wrong in which recipe.
    pub fn read(file: &str, text: &str) -> Result<Self, String> {
        let wrong = |what: String| format!("recipe {file}.toml: {what}");
        let mut code: Self = toml::from_str(text).map_err(|e| {
            let line = e
                .span()
                .map(|s| text[..s.start].matches('\n').count() + 1)
                .map_or_else(String::new, |l| format!("line {l}: "));
            wrong(format!("{line}{}", e.message().replace('\n', " ")))
        })?;
        code.why = head_comment(text);
        if code.tree.is_empty() {
            code.tree.clone_from(&code.name);
        }
        code.check(file).map_err(wrong)?;
        Ok(code)
    }

    /// What the types do not express.
    fn check(&self, file: &str) -> Result<(), String> {
        if self.name != file {
            return Err(format!("the name is \"{}\", not \"{file}\"", self.name));
        }
        if self.why.is_empty() {
            return Err("no comment at the head says why the code is in the bench".into());
        }
        if self.languages.is_empty() {
            return Err("languages is empty".into());
        }
        if self.patch.is_empty() {
            return Err("patch is empty: the planter has no file to patch".into());
        }
        if self.scales.is_empty() || !self.scales.windows(2).all(|w| w[0] < w[1]) {
            return Err("scales must be increasing numbers of ranks".into());
        }
        if !(self.seconds > 0.0 && self.seconds.is_finite()) {
            return Err("seconds must be above 0".into());
        }
        if self.threads == 0 || self.scales.contains(&0) {
            return Err("threads and scales must be above 0".into());
        }
        if !self.mpi && self.scales.last() != Some(&self.threads) {
            return Err("threads must be the largest scale where there is no MPI".into());
        }
        if self.traits.contains(&Trait::P2pOnly) && self.traits.contains(&Trait::Collectives) {
            return Err("traits p2p-only and collectives exclude each other".into());
        }
        if let Some(scale) = self
            .arguments_by_scale
            .keys()
            .find(|k| !self.scales.iter().any(|s| s.to_string() == **k))
        {
            return Err(format!("arguments_by_scale has {scale}, scales has not"));
        }
        let inside = |p: &str| !p.starts_with('/') && !p.split('/').any(|part| part == "..");
        let paths = self.files.keys().chain(&self.patch);
        match paths.chain([&self.directory]).find(|p| !inside(p)) {
            Some(path) => Err(format!("path \"{path}\" leaves the tree")),
            None => Ok(()),
        }
    }

    /// What the tree is made by: a tree is built anew where this changes.
    pub(super) fn making(&self) -> String {
        format!("{} {:?} {:?}", self.source, self.files, self.build)
    }

    /// Its processes at a scale.
    pub fn processes(&self, scale: u32) -> u32 {
        if self.mpi { scale } else { 1 }
    }

    /// The program's arguments for so many ranks; `{tree}` is left as it is.
    pub fn arguments(&self, ranks: u32) -> Vec<String> {
        let ranks = ranks.to_string();
        let arguments = self.arguments_by_scale.get(&ranks);
        arguments
            .unwrap_or(&self.arguments)
            .iter()
            .map(|a| a.replace("{np}", &ranks))
            .collect()
    }

    /// A row of the table of codes: name, languages, traits, source, why.
    pub fn describe(&self) -> [String; 5] {
        let join = |names: Vec<&str>| names.join(", ");
        [
            self.name.clone(),
            join(self.languages.iter().map(|l| l.name()).collect()),
            join(self.traits.iter().map(|t| t.name()).collect()),
            self.source.to_string(),
            self.why.clone(),
        ]
    }
}

/// The comment at the head of a recipe, as one line.
fn head_comment(text: &str) -> String {
    let lines = text.lines().map_while(|l| l.strip_prefix('#'));
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}
