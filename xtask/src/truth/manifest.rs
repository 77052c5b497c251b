//! A case as it is known before the tool sees it, and its hash.

use super::cost::Truth;
use super::plan::Wish;
use super::plant::Method;
use super::run::Dose;
use crate::judge::{Known, Ranks};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The planted cause.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Planted {
    /// How it is made.
    pub method: Method,
    /// File, relative to the tree.
    pub file: String,
    /// Function.
    pub function: String,
    /// First and last line of the cause, in the patched file.
    pub lines: [u32; 2],
    /// First and last line of all that was inserted.
    pub block: [u32; 2],
    /// Executions of the statement on each rank of the smallest scale.
    pub executions: Vec<u64>,
    /// What the place is like: the share of its function in the executed lines, loops around it, statements that
    /// call its function, inlined, template.
    pub heat: f64,
    /// See `heat`.
    pub depth: u32,
    /// See `heat`.
    pub callers: usize,
    /// See `heat`.
    pub inlined: bool,
    /// See `heat`.
    pub template: bool,
    /// Class that a diagnosis should report.
    pub class: String,
    /// Ranks that it should name, by scale.
    pub ranks: BTreeMap<String, String>,
    /// Threads that it should name, where that is known.
    pub threads: Option<String>,
    /// Environment that switches it on.
    pub environment: Dose,
    /// Hash of the patched source.
    pub source_sha256: String,
    /// What it truly costs.
    pub truth: Truth,
}

/// One case.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Manifest {
    /// Seed of the bench.
    pub seed: u64,
    /// What was drawn.
    pub wish: Wish,
    /// Numbers of ranks.
    pub scales: Vec<u32>,
    /// Whether these are numbers of threads of a program without MPI.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_threads: bool,
    /// How the problem scales.
    pub scaling: String,
    /// `None` for a control.
    pub planted: Option<Planted>,
    /// Clean run, by scale: what each rank did, measured by the bench's own layer.
    pub clean: BTreeMap<u32, Vec<super::interposer::RankFigures>>,
}

impl Manifest {
    /// SHA-256 of the manifest as it is stored.
    pub fn hash(&self) -> Result<String, String> {
        let text = serde_json::to_string(self).map_err(|e| e.to_string())?;
        Ok(sha256(text.as_bytes()))
    }

    /// What the judge compares with; empty for a control.
    pub fn known(&self) -> Vec<Known> {
        let of = |p: &Planted| Known {
            file: p.file.rsplit('/').next().unwrap_or(&p.file).to_string(),
            lines: p.lines,
            class: p.class.clone(),
            ranks: Ranks::ByScale(p.ranks.clone()),
            threads: p.threads.clone(),
            through_call_path: true,
        };
        self.planted.iter().map(of).collect()
    }
}

/// SHA-256 as hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in Sha256::digest(bytes) {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_hash_is_that_of_the_standard() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(super::sha256(b"abc"), abc);
    }
}
