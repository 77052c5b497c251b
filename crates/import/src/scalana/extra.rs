//! `headwater.txt`, which our own export puts beside ScalAna's files: the program, the samples per second, and names.

use super::lines::{Lines, number};
use crate::ImportError;
use rustc_hash::FxHashMap;
use std::path::Path;

/// Names at the most.
const MOST: usize = 1 << 21;

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extra {
    /// The program.
    pub program: Option<String>,
    /// Samples per second.
    pub hz: Option<u32>,
    /// Names of functions and of what is called, by the ids of vertices.
    pub names: FxHashMap<i64, String>,
}

impl Extra {
    /// Reads the file.
    ///
    /// # Errors
    /// Lines of another kind.
    pub fn read(path: &Path) -> Result<Self, ImportError> {
        let mut lines = Lines::open(path)?;
        let mut this = Self::default();
        while let Some(line) = lines.next()? {
            let (what, value) = line.split_once(' ').unwrap_or((&line, ""));
            match (what, value.split_once(' ')) {
                ("program", _) => this.program = Some(value.to_string()),
                ("samples-per-second", None) => {
                    let hz: u32 = number(&lines, value, "the samples per second")?;
                    if !super::RATES.contains(&hz) {
                        return Err(lines.wrong(format!("{hz} are no samples per second")));
                    }
                    this.hz = Some(hz);
                }
                ("vertex", Some((id, name))) if this.names.len() < MOST => {
                    let id: i64 = number(&lines, id, "the id")?;
                    this.names.insert(id, name.to_string());
                }
                _ => {
                    return Err(lines.wrong("it is neither program, samples-per-second nor vertex"));
                }
            }
        }
        Ok(this)
    }
}
