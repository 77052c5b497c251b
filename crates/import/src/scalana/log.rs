//! `LOG<r>.TXT`: which vertices a rank entered and left, in order, without times (ScalAna, section III-B, indirect calls).
//!
//! It gives how often vertices ran, and which functions calls through pointers reached. ScalAna writes such calls and
//! the functions that nothing calls directly, and each call only until it was left once; other versions write every
//! vertex. So what is not there may have run all the same. `MPI_Init` is entered and never left.

use super::lines::{Lines, number};
use super::tree::{Tree, Vertex};
use super::types::Type;
use crate::ImportError;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::{Path, PathBuf};

/// What a log says.
#[derive(Debug, Default, PartialEq)]
pub struct Log {
    /// How often each vertex was entered, by its id.
    pub entered: FxHashMap<i64, u64>,
    /// Functions by the calls through pointers that reached them, in the order of the log.
    pub reached: Vec<Reached>,
}

/// A call through a pointer that reached a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// Id of the call.
    pub call: i64,
    /// Id of the function.
    pub function: i64,
    /// Where the log says so.
    pub file: PathBuf,
    /// The line of it.
    pub line: u64,
}

/// The vertices that are known, by id.
pub struct Known<'a> {
    by_id: FxHashMap<i64, &'a Vertex>,
    /// The file that they are from.
    file: &'a Path,
    /// Whether these are all vertices of the program: a `stat` file has those below `main` alone.
    all: bool,
}

impl<'a> Known<'a> {
    /// The vertices of a tree that was read from `file`.
    pub fn new(tree: &'a Tree, file: &'a Path, all: bool) -> Self {
        let each = tree.vertices.iter().map(|v| (v.id, v));
        Self {
            by_id: each.collect(),
            file,
            all,
        }
    }

    /// Checks that a line of another file speaks of a vertex that is here.
    ///
    /// # Errors
    /// An id that is not here, or is of another type.
    pub fn check(&self, id: i64, kind: Type) -> Result<(), String> {
        let file = self.file.display();
        match self.by_id.get(&id) {
            Some(known) if known.kind == kind => Ok(()),
            Some(known) => Err(format!(
                "vertex {id} is of another type on line {} of {file}",
                known.at
            )),
            None if self.all => Err(format!("{file} has no vertex {id}")),
            None => Ok(()),
        }
    }

    /// Checks that the tree of another file fits. Computation is in the files of single ranks alone.
    ///
    /// # Errors
    /// The line of the other file, and what is wrong with it.
    pub fn fits(&self, other: &Tree) -> Result<(), (u64, String)> {
        for vertex in &other.vertices {
            if vertex.kind == Type::Comp && !self.by_id.contains_key(&vertex.id) {
                continue;
            }
            let id = vertex.id;
            self.check(id, vertex.kind)
                .map_err(|why| (vertex.at, why))?;
            let known = self.by_id.get(&id);
            if let Some(known) =
                known.filter(|k| (k.place, k.lines) != (vertex.place, vertex.lines))
            {
                let (line, file) = (known.at, self.file.display());
                let why = format!("vertex {id} has other source lines on line {line} of {file}");
                return Err((vertex.at, why));
            }
        }
        Ok(())
    }
}

impl Log {
    /// Reads a log of a program with these vertices.
    ///
    /// # Errors
    /// Lines that are no events, or events that cannot be.
    pub fn read(path: &Path, known: &Known<'_>) -> Result<Self, ImportError> {
        let mut lines = Lines::open(path)?;
        let mut this = Self::default();
        let mut open: FxHashMap<i64, u64> = FxHashMap::default();
        let mut seen: FxHashSet<(i64, i64)> = FxHashSet::default();
        // The call through a pointer that was entered last, if nothing happened since.
        let mut pointer = None;
        while let Some(words) = lines.words()? {
            let [event, id, code] = words.as_slice() else {
                return Err(lines.wrong("an event is Y or T, the id of a vertex and its type"));
            };
            let id: i64 = number(&lines, id, "the id")?;
            let kind = Type::of(number(&lines, code, "the type")?);
            known.check(id, kind).map_err(|why| lines.wrong(why))?;
            match event.as_str() {
                "Y" => {
                    *this.entered.entry(id).or_default() += 1;
                    *open.entry(id).or_default() += 1;
                    if let (Some(call), Type::Function) = (pointer, kind)
                        && seen.insert((call, id))
                    {
                        this.reached.push(Reached {
                            call,
                            function: id,
                            file: path.to_path_buf(),
                            line: lines.number(),
                        });
                    }
                    pointer = (kind == Type::Indirect).then_some(id);
                }
                "T" => {
                    let count = open.get_mut(&id).filter(|n| **n > 0);
                    let count = count.ok_or_else(|| {
                        lines.wrong(format!("vertex {id} is left, and was not entered before"))
                    })?;
                    *count -= 1;
                    pointer = None;
                }
                other => {
                    return Err(lines.wrong(format!("an event is Y or T, and not {other}")));
                }
            }
        }
        Ok(this)
    }
}
