//! The structures of all modules that the runs touched; a module is found by its build id or path.

use headwater_model::psg::ModuleStructure;
use headwater_model::run::Module;
use rustc_hash::FxHashMap;

/// Base names (up to the first `.so` or version digits) of libraries that belong to the language or the system. Users
/// cannot change their code, so time in them belongs to the call.
const RUNTIME_LIBRARIES: [&str; 19] = [
    "libc",
    "libm",
    "libmvec",
    "libpthread",
    "libdl",
    "librt",
    "libgcc_s",
    "libstdc++",
    "libgfortran",
    "libquadmath",
    "libgomp",
    "libomp",
    "libiomp5",
    "ld-linux-x86-64",
    "ld-linux-aarch64",
    "linux-vdso",
    "libmpi",
    "libopen-pal",
    "libheadwater_collector",
];

/// Folders of Python's packages whose code belongs to the line of Python that called it.
const PACKAGES: [&str; 3] = ["/mpi4py/", "/numpy/", "/numpy.libs/"];

/// How Python names code that is part of the interpreter, and numpy up to 1.24 what it makes around its functions.
const WITHOUT_FILE: [&str; 2] = ["<frozen ", "<__array_function__ "];

/// Whether a file is of Python's own library: `lib/python3.11/`, `lib64/python3.11/`, but not what is installed there in
/// `site-packages` or `dist-packages`.
fn is_pythons_own(path: &str) -> bool {
    let mut folders = path.split('/').rev().skip(1).peekable();
    while let Some(folder) = folders.next() {
        if folder.ends_with("-packages") {
            return false;
        }
        let version = folder.strip_prefix("python3.").map(|v| {
            // Builds without the global lock have this letter.
            v.strip_suffix('t').unwrap_or(v)
        });
        let is_version = version.is_some_and(|v| v.parse::<u8>().is_ok());
        if is_version && matches!(folders.peek(), Some(&"lib" | &"lib64")) {
            return true;
        }
    }
    false
}

/// Whether the module at `path` belongs to the language runtime, the system or an MPI library.
pub fn is_runtime_library(path: &str) -> bool {
    let base = path.rsplit('/').next().unwrap_or(path);
    // Where it is installed, a package also has code in Python. Elsewhere a folder may have its name.
    let is_installed = |at: usize| path.get(..at).is_some_and(|p| p.ends_with("-packages"));
    let is_machine_code = base.contains(".so");
    let is_package = |p: &&str| {
        path.find(*p)
            .is_some_and(|at| is_machine_code || is_installed(at))
    };
    let has_no_file = WITHOUT_FILE.iter().any(|p| path.starts_with(p));
    if has_no_file || PACKAGES.iter().any(is_package) || is_pythons_own(path) {
        return true;
    }
    let stem = base.split(".so").next().unwrap_or(base);
    let stem = stem
        .split(['-', '_'])
        .next()
        .filter(|s| *s == "libmpi" || *s == "libmpich")
        .unwrap_or(stem);
    RUNTIME_LIBRARIES.contains(&stem)
        || stem.starts_with("libmpi")
        || stem == "libopen-rte"
        || base == "[vdso]"
}

/// Structures by module. Modules of different runs with the same build id are one module here.
#[derive(Debug, Default)]
pub struct Structures {
    modules: Vec<(Module, ModuleStructure)>,
    by_key: FxHashMap<String, u32>,
}

impl Structures {
    /// Takes the structures of modules; of a module that is given twice, the first counts.
    pub fn new(modules: impl IntoIterator<Item = (Module, ModuleStructure)>) -> Self {
        let mut this = Self::default();
        for (module, structure) in modules {
            this.add(module, structure);
        }
        this
    }

    fn add(&mut self, module: Module, structure: ModuleStructure) -> u32 {
        if let Some(&index) = self.by_key.get(module.identity()) {
            return index;
        }
        let index = self.modules.len() as u32;
        self.by_key.insert(module.identity().to_string(), index);
        self.modules.push((module, structure));
        index
    }

    /// The index of `module`; adds it without structure if it was not given.
    pub(crate) fn index_or_empty(&mut self, module: &Module) -> u32 {
        self.add(
            module.clone(),
            ModuleStructure {
                path: module.path.clone(),
                ..Default::default()
            },
        )
    }

    /// The structure of `module`.
    pub fn find(&self, module: &Module) -> Option<&ModuleStructure> {
        self.by_key
            .get(module.identity())
            .and_then(|&i| self.get(i))
            .map(|(_, s)| s)
    }

    /// Module and structure behind an index.
    pub fn get(&self, index: u32) -> Option<(&Module, &ModuleStructure)> {
        self.modules.get(index as usize).map(|(m, s)| (m, s))
    }

    /// All modules with their structures.
    pub fn iter(&self) -> impl Iterator<Item = (&Module, &ModuleStructure)> {
        self.modules.iter().map(|(m, s)| (m, s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtime_libraries_are_known_by_their_base_name() {
        for path in [
            "/lib/x86_64-linux-gnu/libm.so.6",
            "/usr/lib/libmpi_mpifh.so.40",
            "libmpich.so.12",
            "[vdso]",
            "<frozen importlib._bootstrap>",
            "<__array_function__ internals>",
            "/usr/lib/python3/dist-packages/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so",
            "/env/numpy.libs/libscipy_openblas64_-6bb31eeb.so",
            "/env/lib/python3.12/site-packages/numpy/core/fromnumeric.py",
            "/usr/lib/python3.11/argparse.py",
            "/usr/local/lib/python3.12/json/decoder.py",
            "/usr/lib64/python3.9/threading.py",
            "/usr/lib/python3.11/lib-dynload/_json.cpython-311-x86_64-linux-gnu.so",
            "/opt/lib/python3.13t/ast.py",
        ] {
            assert!(is_runtime_library(path), "{path}");
        }
        for path in [
            "/home/u/app",
            "/usr/lib/liblammps.so.0",
            "/opt/libmine.so",
            "/usr/lib/libblas.so.3",
            "/home/u/numpy/solver.py",
            "/usr/lib/python3/dist-packages/scipy/optimize/_root.py",
            "/home/u/fast.cpython-311-x86_64-linux-gnu.so",
            "/usr/lib/python3/dist-packages/yaml/loader.py",
            "/env/lib/python3.12/site-packages/solver/argparse.py",
            "/usr/local/lib/python3.11/dist-packages/solver.py",
            "/home/u/python3.11/solver.py",
            "/home/u/lib/python3/solver.py",
            "/home/u/lib/python3.x/solver.py",
            "/home/u/lib/python3.11-tests/solver.py",
            "/home/u/argparse.py",
        ] {
            assert!(!is_runtime_library(path), "{path}");
        }
    }
}
