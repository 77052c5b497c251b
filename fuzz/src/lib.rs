//! Readers of files that somebody else made, each given any bytes: what comes of them is a value or an error, never a
//! panic, nor memory or time without end.
//!
//! Where what is read is a directory, one of its files is changed and the others stay as they are: the first byte says
//! which one, and the rest is what is in it.

use headwater_dataflow::flow::Flow;
use headwater_dataflow::set::Expr;
use headwater_import::import;
use headwater_trace::{file, text, trace::Trace};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// The variable that names the directory whose files are changed.
const WHOLE: &str = "HEADWATER_FUZZ_WHOLE";

/// Files by their names in the directory, sorted.
type Files = Vec<(PathBuf, Vec<u8>)>;

/// All files below `at`, a place within `root`.
fn collect(root: &Path, at: &Path, out: &mut Files) {
    for entry in std::fs::read_dir(root.join(at))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = at.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(root, &name, out),
            Ok(_) => {
                let bytes = std::fs::read(root.join(&name)).unwrap_or_default();
                out.push((name, bytes));
            }
            Err(_) => {}
        }
    }
    out.sort();
}

fn whole() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let root = std::env::var_os(WHOLE).expect("HEADWATER_FUZZ_WHOLE names a directory");
        let mut files = Files::new();
        collect(Path::new(&root), Path::new(""), &mut files);
        assert!(!files.is_empty(), "{root:?} has files");
        files
    })
}

/// A directory in memory, where there is one.
fn place() -> TempDir {
    let memory = Path::new("/dev/shm");
    let dir = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    dir.expect("a temporary directory")
}

/// The whole directory with one file changed, inside another one that is empty else.
fn changed(data: &[u8]) -> Option<(TempDir, PathBuf)> {
    let (which, bytes) = data.split_first()?;
    let dir = place();
    let root = dir.path().join("whole");
    let which = usize::from(*which) % whole().len();
    for (i, (name, own)) in whole().iter().enumerate() {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent()?).expect("makes a directory");
        std::fs::write(&path, if i == which { bytes } else { own }).expect("writes");
    }
    Some((dir, root))
}

/// What the collector wrote.
pub fn spool(data: &[u8]) {
    if let Some((_dir, root)) = changed(data) {
        let _ = headwater_format::spool::read_spool(&root);
    }
}

/// A recorded run.
pub fn run(data: &[u8]) {
    if let Some((_dir, root)) = changed(data) {
        let _ = headwater_format::read_run(&root);
    }
}

/// An OTF2 archive.
pub fn otf2(data: &[u8]) {
    if let Some((dir, root)) = changed(data) {
        let _ = import(&root, &dir.path().join("run"), None, |_, _| ());
    }
}

/// A Paraver trace.
pub fn paraver(data: &[u8]) {
    if let Some((dir, root)) = changed(data) {
        let trace = root.join("app.prv");
        let _ = import(&trace, &dir.path().join("run"), None, |_, _| ());
    }
}

/// Files of ScalAna: with the samples of vertices that one rank has, and with call stacks alone.
pub fn scalana(data: &[u8]) {
    if let Some((dir, root)) = changed(data) {
        let _ = import(&root, &dir.path().join("run"), None, |_, _| ());
        std::fs::remove_file(root.join("stat1.txt")).expect("removes");
        let _ = import(&root, &dir.path().join("again"), None, |_, _| ());
    }
}

/// A program: its structure, and the MPI library that it would load.
pub fn structure(data: &[u8]) {
    let dir = place();
    let file = dir.path().join("program");
    std::fs::write(&file, data).expect("writes");
    let _ = headwater_structure::analyse(&file, &headwater_structure::Options::default());
    let _ = headwater_launch::mpi_library(&file);
}

/// What a compiler's plugin wrote about a program: the section, then one record with a header that fits.
pub fn compiler(data: &[u8]) {
    let _ = headwater_structure::read_section(data);
    let _ = headwater_structure::read_section(&headwater_structure::framed(data));
}

/// A saved dataflow, and an expression that chooses vertices.
pub fn flow(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Flow::from_json(text, &[], headwater_diagnosis::pass::catalogue());
        let _ = Expr::parse(text);
    }
}

/// A trace: its form, then the body behind the checksum. What is read is written and read again.
pub fn trace(data: &[u8]) {
    let _ = Trace::from_bytes(data);
    let Some((form, body)) = data.split_first() else {
        return;
    };
    if let Ok(trace) = Trace::from_bytes(&file::framed(*form, body)) {
        assert_eq!(Trace::from_bytes(&trace.to_bytes()).as_ref(), Ok(&trace));
        assert_eq!(
            Trace::from_bytes(&trace.to_packed_bytes()),
            Ok(trace.clone())
        );
        let _ = text::show(&trace, &text::Numbers, None).to_string();
    }
}

/// A source file of Python.
pub fn python(data: &[u8]) {
    let dir = place();
    let file = dir.path().join("script.py");
    std::fs::write(&file, data).expect("writes");
    if let Ok(source) = headwater_structure::PythonSource::read(&file) {
        let structure = source.structure();
        assert!(
            source.structure_of(&structure).is_some(),
            "a file has its own functions"
        );
    }
}

/// Where the memory of a Python begins.
const MEMORY: u64 = 0x1_0000;

/// Memory that has these bytes.
struct Bytes<'d>(&'d [u8]);

impl headwater_cpython::Memory for Bytes<'_> {
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        let at = address
            .checked_sub(MEMORY)
            .and_then(|at| usize::try_from(at).ok());
        let whole = at.and_then(|at| self.0.get(at..)?.get(..bytes.len()));
        whole.map(|whole| bytes.copy_from_slice(whole)).is_some()
    }
}

/// Code of the interpreter is in the second half of the memory, the evaluator's at its end.
struct Halves(u64);

impl headwater_cpython::splice::Owner for Halves {
    fn is_interpreter(&self, address: u64) -> bool {
        address >= MEMORY + self.0 / 2
    }

    fn is_evaluator(&self, address: u64) -> bool {
        address >= MEMORY + self.0 / 4 * 3
    }
}

/// The memory of a Python: the first byte is its minor version, the rest begins with the state of a thread. From 3.13 on,
/// the table of offsets is at the end.
pub fn cpython(data: &[u8]) {
    use headwater_cpython::{Blocks, Code, DEBUG_WORDS, Layout, Stack, splice};
    let Some((minor, bytes)) = data.split_first() else {
        return;
    };
    let mut table = [0; DEBUG_WORDS];
    for (word, bytes) in table.iter_mut().zip(bytes.rchunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    }
    table[0] = u64::from_le_bytes(*b"xdebugpy");
    let Some(layout) = Layout::of((3, 9 + minor % 6), &table) else {
        return;
    };
    let mut blocks = Box::new(Blocks::new());
    let memory = blocks.of(Bytes(bytes));
    let mut stack = Box::new(Stack::new());
    if !stack.read(&memory, &layout, MEMORY) {
        assert!(stack.frames().is_empty());
        return;
    }
    for frame in stack.frames() {
        if let Some(code) = Code::read(&memory, &layout, MEMORY, frame.code) {
            let _ = (
                code.function(&memory, &layout),
                code.line(&memory, &layout, frame.at),
            );
        }
    }
    let words: Vec<u64> = bytes
        .chunks_exact(8)
        .map(|w| u64::from_le_bytes(w.try_into().expect("eight")))
        .collect();
    let (code, slots) = words.split_at(words.len() / 2);
    let native = splice::Native { code, slots };
    let mut count = 0;
    splice::splice(&native, &stack, &Halves(bytes.len() as u64), |_| {
        count += 1;
        count < 200
    });
    assert!(count <= 200);
}
