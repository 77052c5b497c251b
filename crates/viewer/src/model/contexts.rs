//! The calling-context tree that all scales share, with the figures of each.

use headwater_model::psg::VertexKind;
use serde::Serialize;
use std::collections::BTreeMap;

/// Frames in program order: a parent comes before its children, and all inside a frame follows it directly. The first
/// is the program. Columns have an element for each frame; texts are indices into `strings`, −1 is none.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contexts {
    /// Names, files, functions and modules.
    pub strings: Vec<String>,
    /// The frame around it; −1 for the first.
    pub parent: Vec<i32>,
    /// What it is.
    pub kind: Vec<VertexKind>,
    /// Its name.
    pub name: Vec<i32>,
    /// Function that holds it.
    pub function: Vec<i32>,
    /// Source file.
    pub file: Vec<i32>,
    /// Module.
    pub module: Vec<i32>,
    /// First line; 0 where unknown.
    pub first_line: Vec<u32>,
    /// Last line; 0 where unknown.
    pub last_line: Vec<u32>,
    /// Line with the most time; 0 where unknown.
    pub hot_line: Vec<u32>,
    /// Class of an MPI call.
    pub mpi_class: Vec<i32>,
    /// Copies of one place have the same number.
    pub site: Vec<u32>,
    /// The metrics of all scales.
    pub metrics: Vec<Metric>,
    /// For each run.
    pub scales: Vec<ContextScale>,
    /// Runs of other builds, to compare with.
    pub others: Vec<OtherBuild>,
}

/// A run of another build of the program. Places are the same if their call paths are: those that moved by some lines
/// are still the same.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherBuild {
    /// Name of the run.
    pub name: String,
    /// Its figures at the frames of this build.
    pub scale: ContextScale,
    /// By the metric's name: how much of it is at places that this build does not have. It is part of `inclusive` of the
    /// frames around them.
    pub elsewhere: BTreeMap<String, f64>,
}

/// A figure of frames.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// What people read.
    pub title: String,
    /// What it is in.
    pub unit: MetricUnit,
}

/// What a metric is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MetricUnit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// How many.
    Count,
}

/// The figures of a run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextScale {
    /// Number of ranks.
    pub ranks: u32,
    /// By the metric's name; what the run does not have is missing.
    pub metrics: BTreeMap<String, ContextMetric>,
}

/// A metric of a run: columns by frame.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextMetric {
    /// Without the frames inside, summed over ranks and threads.
    pub exclusive: Vec<Option<f64>>,
    /// With the frames inside.
    pub inclusive: Vec<Option<f64>>,
    /// Largest `exclusive` of a rank.
    pub largest: Vec<Option<f64>>,
    /// That rank; −1 is none.
    pub largest_rank: Vec<i32>,
}
