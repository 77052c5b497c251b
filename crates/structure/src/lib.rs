//! From an executable or shared library to its functions, loops, branches and calls with lines.
//!
//! *Comes in*: the path of an ELF file (x86-64 or AArch64, position independent or not, with debug
//! information of its own, split off, or none). *Goes out*: a
//! [`ModuleStructure`](headwater_model::psg::ModuleStructure), the contracted Program Structure Graph
//! of ScalAna (section III-A), got from machine code as in PerFlow (section 3.2), so that it works for
//! whatever compiler made the file and nothing is rebuilt.
//!
//! The way: `elf` (sections, symbols, imported names) → `decode` (instructions that steer, `x86` and
//! `arm`, with jump tables) → `arithmetic` (which calculate) → `flow` (basic blocks, dominators, loops) → `functions` (where they lie,
//! `parts` of them elsewhere, which ones never come back) → `regions` (what is around each block, up to
//! its `joins`) → `levels` (of inlining) → `tree` (vertices with lines from `dwarf`) → `module`.
//! Bytes may be anything: what cannot be read becomes a sentence in `problems`, or an error that names
//! the file; never a panic.

mod arithmetic;
mod arm;
mod cache;
mod callees;
mod calls;
mod compiler;
mod debug;
mod decode;
mod draft;
mod dwarf;
mod elf;
mod error;
mod flow;
mod functions;
mod graph;
mod inlines;
mod joins;
mod levels;
mod module;
mod names;
mod no_return;
mod parts;
mod python;
mod python_lines;
mod regions;
mod render;
mod stubs;
mod table;
mod tree;
mod x86;

pub use cache::Cache;
pub use compiler::{framed, read_section};
pub use error::StructureError;
pub use names::is_mpi_name;
pub use python::{PythonSource, is_python};
pub use render::{names, tree as render_tree};

use headwater_model::dependence::Comparison;
use headwater_model::psg::ModuleStructure;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Source of the plugin for clang and flang that writes what [`analyse`] adds to the machine code's structure: the names of
/// MPI's functions, then the plugin.
pub fn pass_source() -> &'static str {
    static WHOLE: OnceLock<String> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let names = headwater_mpi_abi::FUNCTIONS.iter().map(|f| f.name);
        let names: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
        let table = format!(
            "// Functions of MPI.\nconstexpr const char *mpiFunctions[] = {{{}}};\n",
            names.join(", ")
        );
        table + PASS_SOURCE
    })
}

const PASS_SOURCE: &str = concat!(
    include_str!("../pass/record.cpp"),
    include_str!("../pass/names.cpp"),
    include_str!("../pass/control.cpp"),
    include_str!("../pass/function.cpp"),
    include_str!("../pass/values.cpp"),
    include_str!("../pass/objects.cpp"),
    include_str!("../pass/memory.cpp"),
    include_str!("../pass/vertices.cpp"),
    include_str!("../pass/writing.cpp"),
    include_str!("../pass/plugin.cpp"),
);

/// What the user may set.
#[derive(Clone, Debug)]
pub struct Options {
    /// Loops nested deeper than this are merged into the one around them, unless MPI is called in them.
    pub max_loop_depth: usize,
    /// Where split debug information is looked for.
    pub debug_roots: Vec<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_loop_depth: 10,
            debug_roots: vec![PathBuf::from("/usr/lib/debug")],
        }
    }
}

/// Analyses the module at `path`.
///
/// # Errors
/// A file that cannot be read, or is neither an ELF file for one of the known processors nor a source of Python.
pub fn analyse(path: &Path, options: &Options) -> Result<ModuleStructure, StructureError> {
    if is_python(path) {
        return PythonSource::read(path).map(|source| source.structure());
    }
    from_machine_code(path, options, |image, mut structure| {
        compiler::attach(image, &mut structure);
        structure
    })
}

/// Takes what machine code and debug information say of a module, with its image.
fn from_machine_code<T>(
    path: &Path,
    options: &Options,
    take: impl FnOnce(&elf::Image<'_>, ModuleStructure) -> T,
) -> Result<T, StructureError> {
    let file = elf::map(path)?;
    let image = elf::Image::parse(path, &file)?;
    let split = debug::find(path, &image, options);
    let info = dwarf::read(&image, &split);
    let structure = module::build(path, &image, &split, &info, options);
    Ok(take(&image, structure))
}

/// Compares the structure that a compiler's plugin wrote with that from machine code; `None` if there is none.
///
/// # Errors
/// As [`analyse`].
pub fn compare(path: &Path, options: &Options) -> Result<Option<Comparison>, StructureError> {
    from_machine_code(path, options, |image, structure| {
        compiler::compare(image, &structure)
    })
}
