//! The real codes of the bench: programs of others, fetched from public registries and built here.
//!
//! Give a code's recipe ([`Code::all`]), get a built tree ([`Code::prepare`]) whose files can be patched, built
//! again in seconds, run on any number of ranks and restored. What is fetched and built is in
//! `target/truth/NAME`, and used again as long as the recipe does not change.

mod check;
mod fetch;
mod recipe;
#[cfg(test)]
mod tests;
mod tree;

pub use check::check;
pub use recipe::{Code, Language, Scaling, Source, Trait};
pub use tree::{Flavor, LONGEST_RUN, Tree};

use crate::needs;
use crate::shell::{output, root};
use std::process::Command;

/// What every build needs, as Debian packages.
const TOOLS: [&str; 9] = [
    "dpkg-dev",
    "make",
    "patch",
    "gcc",
    "g++",
    "gfortran",
    "openmpi-bin",
    "libopenmpi-dev",
    "xz-utils",
];

impl Code {
    /// All codes of the bench, sorted by name.
    ///
    /// # Errors
    /// A recipe is wrong: one line says which and why.
    pub fn all() -> Result<Vec<Self>, String> {
        let place = root().join("xtask/truth/codes");
        let entries = std::fs::read_dir(&place).map_err(|e| format!("{}: {e}", place.display()))?;
        let mut files: Vec<_> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        files.retain(|p| p.extension().is_some_and(|e| e == "toml"));
        files.sort();
        let read = |path: &std::path::PathBuf| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|e| format!("{}: {e}", path.display()))?;
            Self::read(&name, &text)
        };
        let all: Vec<Self> = files.iter().map(read).collect::<Result<_, _>>()?;
        for (i, code) in all.iter().enumerate() {
            let same = |other: &&Self| other.tree == code.tree && other.making() != code.making();
            if let Some(other) = all[..i].iter().find(same) {
                return Err(format!(
                    "recipes {}.toml and {}.toml share the tree {}, but not source, files and build",
                    other.name, code.name, code.tree
                ));
            }
        }
        Ok(all)
    }

    /// Fetches and builds the code where that is not done; returns its tree, with all files original.
    ///
    /// # Errors
    /// A package is missing and may not be installed, or fetch or build fail: one line says which.
    pub fn prepare(&self) -> Result<Tree, String> {
        let tree = self.prepare_as(Flavor::Optimised)?;
        self.check_threads(&tree)?;
        Ok(tree)
    }

    /// The same in a second tree with gcov's counters. Each run adds to the `.gcda` files in the tree; several
    /// ranks may write at the same time.
    ///
    /// # Errors
    /// As [`Code::prepare`].
    pub fn prepare_coverage(&self) -> Result<Tree, String> {
        self.prepare_as(Flavor::Coverage)
    }

    /// The same in a tree that clang and the plugin compile.
    ///
    /// # Errors
    /// As [`Code::prepare`].
    pub fn prepare_compiled(&self) -> Result<Tree, String> {
        self.prepare_as(Flavor::Compiler)
    }

    fn prepare_as(&self, flavor: Flavor) -> Result<Tree, String> {
        let packages = TOOLS.iter().copied();
        let own = self.packages.iter().map(String::as_str);
        needs::install_packages(&packages.chain(own).collect::<Vec<_>>())?;
        let tree = Tree::new(self, flavor);
        tree.prepare()
            .map_err(|e| format!("code {}: {e}", self.name))?;
        Ok(tree)
    }

    /// Holds that a program starts threads if its recipe says so: without them, causes between threads cost nothing.
    fn check_threads(&self, tree: &Tree) -> Result<(), String> {
        const STARTS: [&str; 2] = ["GOMP_parallel", "pthread_create"];
        let program = tree.root().join(&self.program);
        if self.threads < 2 || !program.is_file() {
            return Ok(());
        }
        let symbols = output(Command::new("nm").arg("-D").arg(&program))?;
        match STARTS.iter().any(|s| symbols.contains(s)) {
            true => Ok(()),
            false => Err(format!(
                "code {}: its recipe has {} threads, and the program was built so that it starts none",
                self.name, self.threads
            )),
        }
    }
}
