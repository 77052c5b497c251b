//! Types of vertices in ScalAna's files: negative codes, and numbers of MPI functions.

use super::lines::{Lines, number};
use crate::ImportError;
use headwater_model::scalana;
use headwater_mpi_abi as abi;
use rustc_hash::FxHashMap;
use std::path::Path;

/// What a vertex is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// The call of an MPI function, by its number in `in.txt`.
    Mpi(u32),
    /// A function.
    Function,
    /// A loop.
    Loop,
    /// A branch, or one way of it.
    Branch,
    /// A call of a function of the program.
    Call,
    /// A call through a pointer.
    Indirect,
    /// A call of a function that comes back to itself; it has no vertices in it.
    Recursive,
    /// Computation.
    Comp,
    /// Neighbours that contraction merged.
    Combined,
    /// A code that ScalAna does not define.
    Unknown,
}

impl Type {
    /// The type with this code.
    pub fn of(code: i64) -> Self {
        match code {
            0.. => u32::try_from(code).map_or(Self::Unknown, Self::Mpi),
            scalana::LOOP => Self::Loop,
            scalana::BRANCH | scalana::COMPOUND => Self::Branch,
            scalana::FUNCTION => Self::Function,
            scalana::CALL => Self::Call,
            scalana::RECURSIVE => Self::Recursive,
            scalana::INDIRECT => Self::Indirect,
            scalana::COMBINED => Self::Combined,
            scalana::COMPUTATION => Self::Comp,
            _ => Self::Unknown,
        }
    }

    /// Whether it is a call of any kind.
    pub fn is_call(self) -> bool {
        use Type::*;
        matches!(self, Mpi(_) | Call | Indirect | Recursive)
    }
}

/// The MPI functions of `in.txt`.
#[derive(Clone, Debug)]
pub struct Functions {
    by_id: FxHashMap<u32, String>,
}

/// Functions at the most.
const MOST: usize = 1 << 16;

impl Default for Functions {
    /// Those of the `in.txt` that ScalAna comes with.
    fn default() -> Self {
        let all = scalana::FUNCTIONS.iter();
        Self {
            by_id: all.map(|(id, name)| (*id, (*name).to_string())).collect(),
        }
    }
}

impl Functions {
    /// Reads `in.txt`.
    ///
    /// # Errors
    /// Lines that are no id and name; an id of two functions.
    pub fn read(path: &Path) -> Result<Self, ImportError> {
        let mut lines = Lines::open(path)?;
        let mut by_id: FxHashMap<u32, String> = FxHashMap::default();
        while let Some(words) = lines.words()? {
            let [id, name] = words.as_slice() else {
                return Err(lines.wrong("it should be the id of an MPI function and its name"));
            };
            let id: u32 = number(&lines, id, "the id")?;
            if by_id.len() >= MOST {
                return Err(lines.wrong(format!("more than {MOST} functions")));
            }
            let known = by_id.insert(id, name.clone());
            if let Some(known) = known.filter(|k| k != name) {
                return Err(lines.wrong(format!("{id} is the id of {known} as well")));
            }
        }
        Ok(Self { by_id })
    }

    /// The name of a function.
    pub fn name(&self, id: u32) -> String {
        let unknown = || format!("MPI function {id} that in.txt does not name");
        self.by_id.get(&id).cloned().unwrap_or_else(unknown)
    }

    /// Its row in the table of MPI functions; `u16::MAX` where it is in none.
    pub fn row(&self, id: u32) -> u16 {
        let name = self.by_id.get(&id);
        let row = name.and_then(|name| abi::id_of(name));
        row.map_or(u16::MAX, |row| row.0)
    }
}
