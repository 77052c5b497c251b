//! The second front end: structure from the compiler, with what loops and branches depend on (ScalAna, section III-A).
//!
//! The plugin (`pass`) writes a record for each translation unit, and linking joins them. The way:
//! `reading` (bytes to a `record`) → `program` (units joined by symbols) → `follow` (a value back to its origins, with the
//! `meaning` of MPI calls) → `loops`, `matching`, `merged` (vertices of machine code that the compiler has too) →
//! `attach`, `compare`. The vertices stay those of the machine code, because that is what runs; the compiler adds why
//! they run as often as they do.

mod attach;
mod compare;
mod follow;
mod loops;
mod matching;
mod meaning;
mod merged;
mod program;
mod reading;
mod record;

pub use attach::attach;
pub use compare::compare;

use crate::elf::Image;
use object::{Object, ObjectSection};
use record::Record;

/// Name of the section.
const SECTION: &str = ".headwater.psg";

/// The records of a file, and what is wrong with them; `None` where there is no such section.
fn records(image: &Image<'_>) -> Option<(Vec<Record>, Vec<String>)> {
    let section = image.file.section_by_name(SECTION)?;
    // What it says of its size is checked before it is unpacked, and what comes out is no longer.
    let long = |size: u64| size > reading::LONGEST as u64;
    let unpacked = section.compressed_data().map_or(0, |d| d.uncompressed_size);
    if long(section.size()) || long(unpacked) {
        return Some((Vec::new(), vec!["too long to be one".to_string()]));
    }
    match section.uncompressed_data() {
        Ok(bytes) => Some(reading::read(&bytes)),
        Err(_) => Some((Vec::new(), vec!["cut short".to_string()])),
    }
}

/// Says that the section, or a part of it, is not used because it is `problem`.
fn unreadable(problem: &str) -> String {
    format!("the compiler's structure in {SECTION} is {problem}")
}

/// A record with a header that fits its body; for tests with damaged bodies.
pub fn framed(body: &[u8]) -> Vec<u8> {
    reading::framed(reading::VERSION, body)
}

/// Reads a section of any bytes and follows all that is in it; for tests with damaged ones.
pub fn read_section(bytes: &[u8]) -> usize {
    let (records, _) = reading::read(bytes);
    let exported = rustc_hash::FxHashSet::default();
    let program = program::Program::new(&records, false, &exported);
    let mut found = 0;
    for (id, function) in program.functions() {
        for vertex in &function.vertices {
            found += follow::origins(&program, id, &vertex.conditions).len();
        }
        for call in &function.calls {
            let values: Vec<u32> = call.arguments.iter().map(|a| a.value).collect();
            found += follow::origins(&program, id, &values).len();
        }
    }
    found
}
