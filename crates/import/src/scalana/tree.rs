//! The tree of vertices in `out.txt` and `stat<r>.txt`: the Program Structure Graph (ScalAna, section III-A), each vertex
//! on a line, in pre-order, and behind them the tables of directories and files.
//!
//! An id may be there several times, because a function that is called at several places is written at each of them.
//! Then all of its lines are alike. Nothing here recurses, and depth and sizes are bounded.

use super::lines::{Lines, number};
use super::types::Type;
use crate::ImportError;
use rustc_hash::FxHashMap;

/// Vertices of a tree at the most.
pub const MOST: usize = 1 << 21;
/// Vertices around a vertex at the most: ScalAna's call stacks have up to 100 frames.
pub const DEEPEST: usize = 1000;
/// Names in a table at the most.
const NAMES: usize = 1 << 20;

/// A vertex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vertex {
    /// Its number in the file.
    pub id: i64,
    /// What it is.
    pub kind: Type,
    /// Types of the first and the last vertex that were merged into a combined one.
    pub merged: (i64, i64),
    /// Vertices in it, in the order of the file.
    pub children: Vec<usize>,
    /// The vertex that it is in.
    pub parent: Option<usize>,
    /// Indices into the tables of directories and files.
    pub place: (Option<u32>, Option<u32>),
    /// First and last source line, 0 where unknown.
    pub lines: (u32, u32),
    /// The line of the file that it is on.
    pub at: u64,
}

impl Vertex {
    /// Whether two lines tell of the same vertex.
    fn is_like(&self, other: &Self) -> bool {
        (
            self.kind,
            self.merged,
            self.place,
            self.lines,
            self.children.len(),
        ) == (
            other.kind,
            other.merged,
            other.place,
            other.lines,
            other.children.len(),
        )
    }
}

/// What `stat<r>.txt` says of a vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Samples.
    pub samples: u64,
    /// Their part of all samples of the rank, those outside of the tree included.
    pub share: f64,
}

/// A forest of vertices. The first tree is that of `main`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    /// Vertices in pre-order.
    pub vertices: Vec<Vertex>,
    /// The roots.
    pub roots: Vec<usize>,
    /// Directories.
    pub dirs: Vec<String>,
    /// Files.
    pub files: Vec<String>,
}

/// Columns of a line, before those of figures.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    /// Id, type, first and last merged type, children, directory, file, first and last line.
    Out,
    /// The same without the merged types.
    Stat,
}

impl Tree {
    /// Reads `out.txt`.
    ///
    /// # Errors
    /// What is no such file, or contradicts itself.
    pub fn read_out(lines: &mut Lines) -> Result<Self, ImportError> {
        Self::read(lines, false).map(|(tree, _)| tree)
    }

    /// Reads `stat<r>.txt`: the tree, and the figures of its vertices.
    ///
    /// # Errors
    /// As [`Tree::read_out`].
    pub fn read_stat(lines: &mut Lines) -> Result<(Self, Vec<Figures>), ImportError> {
        Self::read(lines, true)
    }

    fn read(lines: &mut Lines, stat: bool) -> Result<(Self, Vec<Figures>), ImportError> {
        let mut this = Self::default();
        let mut figures = Vec::new();
        let empty = |lines: &Lines| lines.wrong("the file is empty");
        let mut first = Some(lines.words()?.ok_or_else(|| empty(lines))?);
        // The description of stat files says nothing of a number of trees, and ScalAna writes none.
        let mut trees: usize = 1;
        if let Some([count]) = first.as_deref() {
            trees = number(lines, count, "the number of trees")?;
            first = None;
        } else if !stat {
            return Err(lines.wrong("it should be the number of trees alone"));
        }
        let mut by_id: FxHashMap<i64, usize> = FxHashMap::default();
        // Vertices that are not complete, and how many children each lacks.
        let mut open: Vec<(usize, usize)> = Vec::new();
        while trees > 0 || !open.is_empty() {
            let Some(words) = first
                .take()
                .map_or_else(|| lines.words(), |w| Ok(Some(w)))?
            else {
                return Err(this.cut(lines, &open, "the file ends"));
            };
            if let [_] = words.as_slice() {
                return Err(this.cut(lines, &open, "the tables begin"));
            }
            if this.vertices.len() >= MOST {
                return Err(lines.wrong(format!("a tree may have {MOST} vertices at the most")));
            }
            let (vertex, children, own) = parse(lines, &words, stat)?;
            figures.extend(own);
            let at = this.vertices.len();
            let parent = open.last().map(|o| o.0);
            match parent.and_then(|p| this.vertices.get_mut(p)) {
                Some(around) => around.children.push(at),
                None => {
                    this.roots.push(at);
                    trees -= 1;
                }
            }
            this.vertices.push(Vertex { parent, ..vertex });
            if let Some(last) = open.last_mut() {
                last.1 -= 1;
            }
            if children > 0 {
                open.push((at, children));
            }
            while open.last().is_some_and(|o| o.1 == 0) {
                open.pop();
            }
            if open.len() > DEEPEST {
                let why = format!("more than {DEEPEST} vertices are around it");
                return Err(lines.wrong(why));
            }
        }
        this.dirs = table(lines, "directories")?;
        this.files = table(lines, "files")?;
        for (at, vertex) in this.vertices.iter().enumerate() {
            let beyond = |ix: Option<u32>, of: &[String]| ix.filter(|i| *i as usize >= of.len());
            let wrong = |why: String| ImportError::line(lines.path(), vertex.at, why);
            if let Some(dir) = beyond(vertex.place.0, &this.dirs) {
                let n = this.dirs.len();
                return Err(wrong(format!("directory {dir} is not in the table of {n}")));
            }
            if let Some(file) = beyond(vertex.place.1, &this.files) {
                let n = this.files.len();
                return Err(wrong(format!("file {file} is not in the table of {n}")));
            }
            let known = *by_id.entry(vertex.id).or_insert(at);
            let known = this.vertices.get(known).filter(|k| !k.is_like(vertex));
            if let Some(known) = known {
                let (id, line) = (vertex.id, known.at);
                return Err(wrong(format!(
                    "vertex {id} is another one than vertex {id} on line {line}"
                )));
            }
        }
        Ok((this, figures))
    }

    /// The error of a file that ends before its vertices are complete.
    fn cut(&self, lines: &Lines, open: &[(usize, usize)], ends: &str) -> ImportError {
        let last = open.last();
        let Some((vertex, lacks)) = last.and_then(|(at, n)| Some((self.vertices.get(*at)?, n)))
        else {
            return lines.wrong(format!("{ends} before all trees are there"));
        };
        let has = vertex.children.len();
        let why = format!(
            "vertex {} should have {} children, but {ends} after {has} of them",
            vertex.id,
            has + lacks
        );
        ImportError::line(lines.path(), vertex.at, why)
    }

    /// The path of a vertex's file; empty where unknown.
    pub fn file(&self, vertex: &Vertex) -> String {
        let name = |ix: Option<u32>, of: &[String]| {
            ix.and_then(|i| of.get(i as usize))
                .cloned()
                .unwrap_or_default()
        };
        let (dir, file) = (
            name(vertex.place.0, &self.dirs),
            name(vertex.place.1, &self.files),
        );
        match file.is_empty() || file.starts_with('/') || dir.is_empty() {
            true => file,
            false => format!("{}/{file}", dir.trim_end_matches('/')),
        }
    }
}

/// A line: the vertex, the number of its children, and its figures.
fn parse(
    lines: &Lines,
    words: &[String],
    stat: bool,
) -> Result<(Vertex, usize, Option<Figures>), ImportError> {
    let columns = match (stat, words.len()) {
        (false, 9) | (true, 11) => Columns::Out,
        (true, 9) => Columns::Stat,
        (false, n) => {
            return Err(lines.wrong(format!("a vertex has 9 columns here, and there are {n}")));
        }
        (true, n) => {
            return Err(lines.wrong(format!(
                "a vertex has 9 columns here (or 11), and there are {n}"
            )));
        }
    };
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let id: i64 = number(lines, word(0), "the id")?;
    let kind: i64 = number(lines, word(1), "the type")?;
    let (merged, next) = match columns {
        Columns::Out => {
            let first = number(lines, word(2), "the first merged type")?;
            ((first, number(lines, word(3), "the last merged type")?), 4)
        }
        // Not told: as of a vertex that nothing was merged into.
        Columns::Stat => ((kind, kind), 2),
    };
    let children: usize = number(lines, word(next), "the number of children")?;
    let index = |at: usize, what| -> Result<Option<u32>, ImportError> {
        match number::<i64>(lines, word(at), what)? {
            -1 => Ok(None),
            ix => u32::try_from(ix)
                .map(Some)
                .map_err(|_| lines.wrong(format!("{what} is no index of a table: {ix}"))),
        }
    };
    let place = (
        index(next + 1, "the directory")?,
        index(next + 2, "the file")?,
    );
    // What is not known is -1, or the line 0.
    let line = |at: usize, what| -> Result<u32, ImportError> {
        let line = number::<i64>(lines, word(at), what)?;
        u32::try_from(line.max(0)).map_err(|_| lines.wrong(format!("{what} is too large: {line}")))
    };
    let first = line(next + 3, "the first line")?;
    let last = line(next + 4, "the last line")?.max(first);
    let figures = match stat {
        true => Some(Figures {
            samples: number(lines, word(next + 5), "the number of samples")?,
            share: share(lines, word(next + 6))?,
        }),
        false => None,
    };
    let vertex = Vertex {
        id,
        kind: Type::of(kind),
        merged,
        children: Vec::new(),
        parent: None,
        place,
        lines: (first, last),
        at: lines.number(),
    };
    Ok((vertex, children, figures))
}

/// A share of time. Of a rank without samples ScalAna divides nothing by nothing.
fn share(lines: &Lines, word: &str) -> Result<f64, ImportError> {
    let share: f64 = number(lines, word, "the share of time")?;
    match share {
        share if share.is_nan() => Ok(0.0),
        share if (0.0..=1.0 + 1e-6).contains(&share) => Ok(share),
        _ => Err(lines.wrong(format!("the share of time is not between 0 and 1: {word}"))),
    }
}

/// A table of names: how many, and each on a line.
fn table(lines: &mut Lines, of: &str) -> Result<Vec<String>, ImportError> {
    let count = match lines.words()?.as_deref() {
        None => return Err(lines.wrong(format!("the file ends before its table of {of}"))),
        Some([count]) => number::<usize>(lines, count, &format!("the number of {of}"))?,
        Some(_) => {
            return Err(lines.wrong(format!(
                "the number of {of} should be here; the vertices before have fewer children than there are lines"
            )));
        }
    };
    if count > NAMES {
        return Err(lines.wrong(format!(
            "{count} {of} are more than the {NAMES} that are read"
        )));
    }
    let mut names = Vec::new();
    while names.len() < count {
        let Some(name) = lines.next()? else {
            let n = names.len();
            return Err(lines.wrong(format!(
                "there should be {count} {of}, but the file ends after {n}"
            )));
        };
        names.push(name);
    }
    Ok(names)
}
