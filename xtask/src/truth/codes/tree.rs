//! A built tree of a real code: it is patched, built again, run and restored.
//!
//! Invariant: a tree that `Code::prepare` returns holds the original files, whatever an earlier bench left in it.

use super::recipe::{Code, Language};
use crate::compilers;
use crate::mpi::Mpi;
use crate::setup;
use crate::shell::{output, root, within};
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seconds after which a run of a real code is taken to hang; on a busy machine one of 2 s may take a minute.
pub const LONGEST_RUN: u32 = 120;

/// Seconds after which a build is taken to hang.
const LONGEST_BUILD: u32 = 3600;

/// How a tree is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// As users build: optimised, with line numbers.
    Optimised,
    /// With gcov's counters and without optimisation, to find the statements that a run executes.
    Coverage,
    /// With clang and the plugin that writes the program's structure.
    Compiler,
}

/// Of one source in so many the time to compile it is measured.
const ONE_IN: u32 = 12;

impl Flavor {
    fn directory(self) -> &'static str {
        match self {
            Self::Optimised => "tree",
            Self::Coverage => "coverage",
            Self::Compiler => "compiler",
        }
    }

    /// Compile times are measured one by one.
    fn make_flags(self) -> &'static str {
        match self {
            Self::Compiler => "-j1",
            Self::Optimised | Self::Coverage => "-j2",
        }
    }

    fn flags(self) -> &'static str {
        match self {
            Self::Optimised | Self::Compiler => "-g -O2",
            // Threads count at the same time. The functions that a compiler makes of parallel loops gcov leaves out, so
            // their loops are counted where they are, in one thread.
            Self::Coverage => "-g -O0 --coverage -fprofile-update=atomic -fno-openmp",
        }
    }

    /// The text of the plugin that objects are made with: a tree of an older one has records that are not read, or that say
    /// something else.
    fn plugin() -> Result<Vec<Vec<u8>>, String> {
        let directory = root().join("crates/structure/pass");
        let mut files = Vec::new();
        all_files(&directory, Path::new(""), &mut files);
        files.sort();
        let read = |file: &PathBuf| {
            let path = directory.join(file);
            std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))
        };
        files.iter().map(read).collect()
    }
}

/// A built tree.
#[derive(Clone, Debug)]
pub struct Tree {
    code: Code,
    root: PathBuf,
    flavor: Flavor,
}

impl Tree {
    pub(super) fn new(code: &Code, flavor: Flavor) -> Self {
        let place = setup::target().join("truth").join(&code.tree);
        Self {
            code: code.clone(),
            root: place.join(flavor.directory()),
            flavor,
        }
    }

    /// The tree's directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The code whose tree this is.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The program.
    pub fn program(&self) -> PathBuf {
        self.root.join(&self.code.program)
    }

    /// The directory that the program runs in on so many ranks.
    pub fn directory(&self, ranks: u32) -> PathBuf {
        let directory = self.code.directory.replace("{np}", &ranks.to_string());
        self.root.join(directory)
    }

    /// The program's arguments for so many ranks.
    pub fn arguments(&self, ranks: u32) -> Vec<String> {
        let root = self.root.display().to_string();
        let arguments = self.code.arguments(ranks);
        arguments
            .iter()
            .map(|a| a.replace("{tree}", &root))
            .collect()
    }

    /// The files that the planter may patch, as paths in the tree, sorted.
    pub fn patchable(&self) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for pattern in &self.code.patch {
            let parts: Vec<&str> = pattern.split('/').collect();
            matching(&self.root, Path::new(""), &parts, &mut all);
        }
        all.sort();
        all.dedup();
        all
    }

    /// Replaces the text of a file of the tree; the original is saved for [`Tree::restore`].
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn patch(&self, file: &Path, text: &[u8]) -> Result<(), String> {
        let (path, saved) = (self.root.join(file), self.originals().join(file));
        let fails = |e: std::io::Error| format!("{}: {e}", path.display());
        if !saved.exists() {
            let parent = saved.parent().unwrap_or(&saved);
            std::fs::create_dir_all(parent).map_err(fails)?;
            let unfinished = saved.with_extension("unfinished");
            std::fs::copy(&path, &unfinished).map_err(fails)?;
            std::fs::rename(unfinished, &saved).map_err(fails)?;
        }
        std::fs::write(&path, text).map_err(fails)
    }

    /// Puts the originals of all patched files back and returns whether there were any. The caller builds again.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn restore(&self) -> Result<bool, String> {
        let originals = self.originals();
        if !originals.exists() {
            return Ok(false);
        }
        let mut files = Vec::new();
        all_files(&originals, Path::new(""), &mut files);
        files.retain(|f| f.extension().is_none_or(|e| e != "unfinished"));
        for file in &files {
            let path = self.root.join(file);
            // Written, not copied with its times: make compares them.
            let text = std::fs::read(originals.join(file));
            text.and_then(|text| std::fs::write(&path, text))
                .map_err(|e| format!("{}: {e}", path.display()))?;
        }
        std::fs::remove_dir_all(&originals).map_err(|e| e.to_string())?;
        Ok(!files.is_empty())
    }

    /// Beside the tree, so that no build of a code sees it.
    fn originals(&self) -> PathBuf {
        self.root.with_extension("originals")
    }

    /// Builds the program again after a patch.
    ///
    /// # Errors
    /// The compiler's last lines.
    pub fn rebuild(&self) -> Result<(), String> {
        let patched = self.originals().exists();
        if patched {
            std::fs::write(self.patched_program(), "").map_err(|e| e.to_string())?;
        }
        // Not every makefile sees that a library changed: the program is linked anew.
        if !self.code.rebuild.is_empty() && Path::new(&self.code.program).is_relative() {
            let _ = std::fs::remove_file(self.program());
        }
        self.shell(&self.code.rebuild)?;
        if !self.program().exists() {
            return Err(format!("the build made no {}", self.code.program));
        }
        if !patched {
            let _ = std::fs::remove_file(self.patched_program());
        }
        Ok(())
    }

    /// Is there while the program holds a patch, or may hold one: another code that shares the tree can restore the
    /// sources without building this program.
    fn patched_program(&self) -> PathBuf {
        self.root
            .with_extension(format!("{}.patched", self.code.name))
    }

    /// Puts all originals back and builds the program of them, where it is not.
    ///
    /// # Errors
    /// A file cannot be written, or the compiler's last lines.
    pub fn clean(&self) -> Result<(), String> {
        if self.restore()? || self.patched_program().exists() {
            self.rebuild()?;
        }
        Ok(())
    }

    /// Builds what is not built, or by an older recipe; else restores what was patched.
    pub(super) fn prepare(&self) -> Result<(), String> {
        let mark = self.root.with_extension("built");
        let hash = {
            let mut hasher = DefaultHasher::new();
            (self.code.making(), self.flavor.flags(), &self.root).hash(&mut hasher);
            if self.flavor == Flavor::Compiler {
                Flavor::plugin()?.hash(&mut hasher);
            }
            format!("{:016x}", hasher.finish())
        };
        if std::fs::read_to_string(&mark).is_ok_and(|m| m == hash) {
            return self.clean();
        }
        let _ = std::fs::remove_file(&mark);
        let _ = std::fs::remove_file(self.times());
        let _ = std::fs::remove_dir_all(&self.root);
        let _ = std::fs::remove_dir_all(self.originals());
        let _ = std::fs::remove_file(self.patched_program());
        super::fetch::unpack(
            &self.code.source,
            &self.root.with_file_name("archives"),
            &self.root,
        )?;
        for (file, text) in &self.code.files {
            let path = self.root.join(file);
            let parent = path.parent().unwrap_or(&path);
            std::fs::create_dir_all(parent)
                .and_then(|()| std::fs::write(&path, text))
                .map_err(|e| format!("{}: {e}", path.display()))?;
        }
        self.shell(&self.code.build)?;
        if !self.program().exists() {
            return Err(format!("the build made no {}", self.code.program));
        }
        std::fs::write(mark, hash).map_err(|e| e.to_string())
    }

    /// User and system seconds of compilers, a line for each source of the sample.
    pub fn times(&self) -> PathBuf {
        self.root.with_extension("times")
    }

    /// Sets the compilers to those with the plugin. Times are those of the first build: a patched file is not of the code.
    fn set_compilers(&self, shell: &mut Command) -> Result<(), String> {
        let is_built = self.root.with_extension("built").exists();
        let times = self.times();
        compilers::set(shell, (!is_built).then_some((&*times, ONE_IN)))
    }

    /// Runs shell lines in the tree; all that they print is in a file beside it.
    fn shell(&self, lines: &[String]) -> Result<(), String> {
        let log = self.root.with_extension("log");
        for line in lines {
            let mut shell = Command::new("bash");
            shell.args(["-c", &format!("exec >>\"$0\" 2>&1; {line}")]);
            shell.arg(&log);
            let flags = self.flavor.flags();
            let [cc, cxx, fortran] = match self.code.mpi {
                true => ["mpicc.openmpi", "mpicxx.openmpi", "mpifort.openmpi"],
                false => ["gcc", "g++", "gfortran"],
            };
            shell.envs([
                ("CC", cc),
                ("CXX", cxx),
                ("FC", fortran),
                ("F77", fortran),
                ("F90", fortran),
                ("MAKEFLAGS", self.flavor.make_flags()),
                ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
                ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ]);
            if self.flavor == Flavor::Compiler {
                self.set_compilers(&mut shell)?;
            }
            shell.envs(["CFLAGS", "CXXFLAGS", "FFLAGS", "FCFLAGS"].map(|n| (n, flags.to_string())));
            shell.env("LDFLAGS", flags);
            let mut shell = within(LONGEST_BUILD, &shell);
            if output(shell.current_dir(&self.root)).is_err() {
                let said = std::fs::read(&log).unwrap_or_default();
                let said = String::from_utf8_lossy(&said);
                let mut last: Vec<&str> = said.lines().rev().take(4).collect();
                last.reverse();
                return Err(format!(
                    "{}: \"{line}\" failed; the end of {}: {}",
                    self.code.name,
                    log.display(),
                    last.join(" | ")
                ));
            }
        }
        Ok(())
    }

    /// The command that runs the program on so many ranks, at most [`LONGEST_RUN`] seconds.
    ///
    /// # Errors
    /// The MPI library is not there.
    pub fn command(&self, ranks: u32, environment: &[(String, String)]) -> Result<Command, String> {
        self.command_under(ranks, environment, &[])
    }

    /// The same, where each rank is started by the words of `before`, such as `headwater exec --`.
    ///
    /// # Errors
    /// The MPI library is not there.
    pub fn command_under(
        &self,
        ranks: u32,
        environment: &[(String, String)],
        before: &[OsString],
    ) -> Result<Command, String> {
        self.command_within(LONGEST_RUN, ranks, environment, before)
    }

    /// Threads of each process at a scale where the compiler makes them.
    fn openmp_threads(&self, scale: u32) -> u32 {
        match self.flavor {
            Flavor::Optimised | Flavor::Compiler if self.code.mpi => self.code.threads,
            Flavor::Optimised | Flavor::Compiler => scale,
            Flavor::Coverage => 1,
        }
    }

    /// The command that starts the processes, each by the words of `before`.
    fn launcher(&self, scale: u32, before: &[OsString]) -> Result<Command, String> {
        if self.code.mpi {
            let mut launch = Mpi::Open.mpirun(scale)?;
            Mpi::Open.unbind(&mut launch);
            launch.args(before).arg(self.program());
            return Ok(launch);
        }
        let mut words = before.iter().cloned().chain([self.program().into()]);
        let mut launch = Command::new(words.next().unwrap_or_default());
        launch.args(words);
        // The planted code asks how large the scale is.
        launch.env("HW_SIZE", scale.to_string());
        Ok(launch)
    }

    /// The same, with a time limit in seconds of the caller's own.
    ///
    /// # Errors
    /// The MPI library is not there.
    pub fn command_within(
        &self,
        seconds: u32,
        ranks: u32,
        environment: &[(String, String)],
        before: &[OsString],
    ) -> Result<Command, String> {
        let mut launch = self.launcher(ranks, before)?;
        launch.args(self.arguments(ranks));
        launch.env("OMP_NUM_THREADS", self.openmp_threads(ranks).to_string());
        launch.envs(&self.code.environment);
        launch.envs(environment.iter().map(|(n, v)| (n, v)));
        let mut command = within(seconds, &launch);
        command.current_dir(self.directory(ranks));
        if self.code.languages.contains(&Language::Python) {
            // No byte code of a patched file is left behind.
            command.env("PYTHONDONTWRITEBYTECODE", "1");
        }
        Ok(command)
    }
}

/// Files below `root` whose path matches the pattern's components.
fn matching(root: &Path, at: &Path, pattern: &[&str], out: &mut Vec<PathBuf>) {
    let Some((first, rest)) = pattern.split_first() else {
        if root.join(at).is_file() {
            out.push(at.to_path_buf());
        }
        return;
    };
    if !first.contains('*') {
        return matching(root, &at.join(first), rest, out);
    }
    let entries = std::fs::read_dir(root.join(at)).into_iter().flatten();
    for name in entries.filter_map(|e| e.ok()?.file_name().into_string().ok()) {
        if matches(first, &name) {
            matching(root, &at.join(&name), rest, out);
        }
    }
}

/// Whether a name matches a pattern in which `*` is any text.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name.strip_prefix(head).is_some_and(|rest| {
            let ends = rest.char_indices().map(|(i, _)| i).chain([rest.len()]);
            ends.into_iter().any(|i| matches(tail, &rest[i..]))
        }),
    }
}

/// All files below a directory.
fn all_files(root: &Path, at: &Path, out: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(root.join(at)).into_iter().flatten();
    for name in entries.filter_map(|e| Some(e.ok()?.file_name())) {
        let path = at.join(name);
        if root.join(&path).is_dir() {
            all_files(root, &path, out);
        } else {
            out.push(path);
        }
    }
}
