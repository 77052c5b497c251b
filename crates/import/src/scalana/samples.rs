//! `SAMPLE<r>.TXT-symb`: call stacks as `FILE:LINE`, innermost frame first, to samples of vertices (ScalAna, section III-C).
//!
//! A sample belongs to the innermost vertex to which its frames lead from `main` on. Frames around `main` are those of the
//! runtime library. A stack whose frames are never in `main` is outside of the tree.

use super::lines::Lines;
use super::tree::Tree;
use super::types::Type;
use crate::ImportError;
use rustc_hash::FxHashMap;
use std::path::Path;

/// Frames of a stack at the most.
const DEEPEST: usize = 10_000;

/// What `addr2line` says of what it does not know.
const UNKNOWN: &str = "??:";

/// What it puts before the functions around an inlined one.
const INLINED: &str = "(inlined by) ";

/// Samples of a rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// By vertex.
    pub of: Vec<u64>,
    /// In none of them.
    pub outside: u64,
}

/// The file and line of a frame; the file is a number of the finder's.
type Frame = (u32, u32);

/// Finds vertices by the frames of stacks.
pub struct Finder<'a> {
    tree: &'a Tree,
    /// Files by the last part of their paths, as `addr2line -s` writes them.
    files: FxHashMap<String, u32>,
    /// The number of each file of the tree.
    numbers: Vec<u32>,
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl<'a> Finder<'a> {
    /// Finds the vertices of a tree.
    pub fn new(tree: &'a Tree) -> Self {
        let mut files: FxHashMap<String, u32> = FxHashMap::default();
        let number = |file: &String| {
            let next = files.len() as u32;
            *files.entry(base(file).to_string()).or_insert(next)
        };
        let numbers = tree.files.iter().map(number).collect();
        Self {
            tree,
            files,
            numbers,
        }
    }

    /// Reads the stacks of a rank.
    ///
    /// # Errors
    /// Lines that are no frames.
    pub fn read(&self, path: &Path) -> Result<Samples, ImportError> {
        // Empty lines separate stacks. Where there are none, what is not known does: the frame of the system's start.
        let mut lines = Lines::open(path)?;
        let mut is_spaced = false;
        let mut empty = false;
        while let Some(line) = lines.next()? {
            is_spaced |= empty && !line.trim().is_empty();
            empty = line.trim().is_empty() && lines.number() > 1;
        }
        let mut lines = Lines::open(path)?;
        let mut samples = Samples {
            of: vec![0; self.tree.vertices.len()],
            outside: 0,
        };
        let mut stack: Vec<Option<Frame>> = Vec::new();
        let mut has_frames = false;
        loop {
            let line = lines.next()?;
            let line = line.as_deref().map(str::trim);
            let ends = match line {
                None | Some("") => true,
                Some(line) => line.starts_with(UNKNOWN) && !is_spaced,
            };
            if ends {
                if has_frames {
                    match self.vertex(&stack).and_then(|v| samples.of.get_mut(v)) {
                        Some(count) => *count += 1,
                        None => samples.outside += 1,
                    }
                }
                stack.clear();
                has_frames = false;
            }
            match line {
                None => break,
                Some(line) if !ends => {
                    if stack.len() >= DEEPEST {
                        let why = format!("its stack has more than {DEEPEST} frames");
                        return Err(lines.wrong(why));
                    }
                    let line = line.strip_prefix(INLINED).unwrap_or(line);
                    stack.push(self.frame(&lines, line)?);
                    has_frames = true;
                }
                Some(_) => {}
            }
        }
        Ok(samples)
    }

    /// A frame; `None` where it is in no file of the tree.
    fn frame(&self, lines: &Lines, text: &str) -> Result<Option<Frame>, ImportError> {
        // Behind it may be the number of a discriminator in brackets.
        let place = text.split(" (").next().unwrap_or(text);
        let Some((file, line)) = place.rsplit_once(':') else {
            return Err(lines.wrong("a frame is a file, a colon and a line"));
        };
        let line = match line {
            "?" => 0,
            line => line.parse().map_err(|_| {
                lines.wrong(format!(
                    "a frame is a file, a colon and a line, and {line} is no line"
                ))
            })?,
        };
        Ok(self.files.get(base(file)).map(|file| (*file, line)))
    }

    /// The vertex to which a stack leads; its innermost frame comes first.
    fn vertex(&self, stack: &[Option<Frame>]) -> Option<usize> {
        let main = *self.tree.roots.first()?;
        let mut frames = stack.iter().rev();
        let mut here = loop {
            let frame = frames.next()?;
            if self.holds(main, *frame) {
                break self.descend(main, *frame);
            }
        };
        for frame in frames {
            let called = self.children(here);
            let called = called.filter(|c| self.kind(*c) == Some(Type::Function));
            let found = called.into_iter().find(|c| self.holds(*c, *frame));
            // What is called there is no vertex of its own.
            let Some(function) = found else {
                break;
            };
            here = self.descend(function, *frame);
        }
        Some(here)
    }

    fn kind(&self, at: usize) -> Option<Type> {
        self.tree.vertices.get(at).map(|v| v.kind)
    }

    fn children(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let vertex = self.tree.vertices.get(at);
        vertex.into_iter().flat_map(|v| v.children.iter().copied())
    }

    fn holds(&self, at: usize, frame: Option<Frame>) -> bool {
        let (Some(vertex), Some((file, line))) = (self.tree.vertices.get(at), frame) else {
            return false;
        };
        let own = vertex.place.1.and_then(|f| self.numbers.get(f as usize));
        own == Some(&file) && (vertex.lines.0..=vertex.lines.1).contains(&line)
    }

    /// The innermost vertex of a function that has the line: of several the one with the fewest lines, and of those a
    /// call before computation.
    fn descend(&self, function: usize, frame: Option<Frame>) -> usize {
        let mut here = function;
        loop {
            // What a call leads to is found by the next frame.
            if self.kind(here).is_some_and(Type::is_call) {
                return here;
            }
            let inside = self.children(here);
            let inside = inside.filter(|c| self.kind(*c) != Some(Type::Function));
            let best = inside.filter(|c| self.holds(*c, frame)).min_by_key(|c| {
                let vertex = self.tree.vertices.get(*c);
                let lines = vertex.map_or(0, |v| v.lines.1 - v.lines.0);
                (lines, !vertex.is_some_and(|v| v.kind.is_call()), *c)
            });
            match best {
                Some(inside) => here = inside,
                None => return here,
            }
        }
    }
}
