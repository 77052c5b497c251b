//! Results of the bench, one line of JSON for each case, so that an interrupted bench goes on where it was.

use super::manifest::Manifest;
use super::score::Scored;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::Path;

/// What became of a case.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Row {
    /// Number in the plan.
    pub number: u64,
    /// Code.
    pub code: String,
    /// Why it is no case, where it is none; the tool never saw it then.
    pub dropped: Option<String>,
    /// What was known before the tool ran.
    pub manifest: Option<Manifest>,
    /// Its hash, stored before anything was recorded.
    pub hash: String,
    /// Scores of the recordings, each diagnosed alone.
    pub scored: Vec<Scored>,
    /// The same of the first repetition of each recording alone, if scales were recorded several times.
    #[serde(default)]
    pub once: Vec<Scored>,
    /// Recordings or diagnoses that failed.
    pub failures: Vec<String>,
    /// Seconds that the case took.
    pub seconds: f64,
}

impl Row {
    /// The case as it is if each scale had been recorded once.
    pub fn recorded_once(&self) -> Self {
        Self {
            scored: self.once.clone(),
            once: Vec::new(),
            ..self.clone()
        }
    }

    /// Whether it counts.
    pub fn counts(&self) -> bool {
        self.dropped.is_none() && self.manifest.is_some()
    }

    /// Whether it is a control.
    pub fn is_control(&self) -> bool {
        self.manifest.as_ref().is_some_and(|m| m.planted.is_none())
    }
}

/// Reads what is there; nothing where the file is not. A last line that was cut off is left out.
pub fn read(file: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .filter_map(|l| serde_json::from_str(l).ok())
        .collect()
}

/// Adds one line.
pub fn append(file: &Path, value: &impl Serialize) -> Result<(), String> {
    let mut text = serde_json::to_string(value).map_err(|e| e.to_string())?;
    text.push('\n');
    let opened = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(file);
    let mut opened = opened.map_err(|e| format!("{}: {e}", file.display()))?;
    opened
        .write_all(text.as_bytes())
        .map_err(|e| format!("{}: {e}", file.display()))
}

/// Writes all lines anew.
pub fn replace(file: &Path, rows: &[Row]) -> Result<(), String> {
    let unfinished = file.with_extension("unfinished");
    let _ = std::fs::remove_file(&unfinished);
    for row in rows {
        append(&unfinished, row)?;
    }
    std::fs::rename(&unfinished, file).map_err(|e| format!("{}: {e}", file.display()))
}
