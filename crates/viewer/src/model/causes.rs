//! What the page shows of a cause beyond the diagnosis: places, pictures of the path, growth, source.

use super::timeline::{TimeAxis, TimelineTile};
use headwater_model::RankSet;
use serde::Serialize;

/// A cause.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseDetail {
    /// As the text report heads it.
    pub title: String,
    /// Its class in words.
    pub class_words: String,
    /// Frames of its place: the one with its call path first.
    pub frames: Vec<u32>,
    /// For each step of its path.
    pub steps: Vec<StepDetail>,
    /// The path in space and time; empty where no recorded window shows it.
    pub pictures: Vec<Picture>,
    /// Why there is no picture.
    pub picture_missing: Option<String>,
    /// Seconds in the place over ranks.
    pub by_rank: RankValues,
    /// Seconds in the place over scales.
    pub growth: Growth,
    /// Index into the page's sources.
    pub source: Option<u32>,
    /// What was looked into and turned out not to be a cause, a sentence each.
    pub ruled_out: Vec<String>,
    /// Index into the graph's neighbourhoods.
    pub neighbourhood: Option<u32>,
}

/// A step of a path.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepDetail {
    /// Which ranks do what, in words.
    pub words: String,
    /// File and line.
    pub location: String,
    /// Frames of its place.
    pub frames: Vec<u32>,
    /// Index into the page's sources.
    pub source: Option<u32>,
}

/// A stretch of a window with the hops of a cause's path.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Picture {
    /// Index of the run.
    pub scale: u32,
    /// Number of the window.
    pub window: u32,
    /// Times as recorded, or with a core for each rank and an ideal network.
    pub clock: TimeAxis,
    /// What it shows, a sentence.
    pub caption: String,
    /// The stretch.
    pub tile: TimelineTile,
    /// In the order of the path: first the wait, last the cause.
    pub hops: Vec<Hop>,
}

/// What a hop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HopKind {
    /// Waiting in a call.
    Wait,
    /// From a rank to another one.
    Message,
    /// A call.
    Call,
    /// Computation.
    Computation,
}

/// A part of a path in space and time.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hop {
    /// Index of the step; `None` between two steps of the text.
    pub step: Option<u32>,
    /// What it is.
    pub kind: HopKind,
    /// Rank.
    pub rank: u32,
    /// From.
    pub begin_ns: u64,
    /// Until.
    pub end_ns: u64,
    /// For a message: the rank at its other end.
    pub to_rank: Option<u32>,
    /// What happens, in words.
    pub words: String,
}

/// What values are in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ValueUnit {
    /// Seconds.
    #[default]
    Seconds,
}

/// A value for each rank, or for groups of like ranks.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankValues {
    /// What the values are in.
    pub unit: ValueUnit,
    /// What the seconds are of, in words.
    pub of: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Ranks of the cause.
    pub concerned: RankSet,
    /// One for each rank; `None` with very many ranks.
    pub values: Option<Vec<f64>>,
    /// Clusters by value, ascending.
    pub groups: Vec<ValueGroup>,
    /// Smallest value.
    pub least: f64,
    /// The middle one.
    pub median: f64,
    /// Largest value.
    pub most: f64,
}

/// Ranks with like values.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ValueGroup {
    /// What people call it.
    pub name: String,
    /// The ranks.
    pub ranks: RankSet,
    /// How many.
    pub size: u32,
    /// Smallest value.
    pub least_seconds: f64,
    /// Mean.
    pub mean_seconds: f64,
    /// Largest value.
    pub most_seconds: f64,
}

/// Seconds over scales.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Growth {
    /// Measured.
    pub points: Vec<GrowthPoint>,
    /// Fitted.
    pub models: Vec<GrowthModel>,
    /// What ideal scaling would be: ranks, seconds.
    pub ideal: Vec<(f64, f64)>,
}

/// One scale.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrowthPoint {
    /// Number of ranks.
    pub ranks: u32,
    /// Mean over ranks; `None` where the place was not seen.
    pub mean_seconds: Option<f64>,
    /// Largest of a rank.
    pub most_seconds: Option<f64>,
}

/// Which figure a model is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FittedFigure {
    /// Mean over ranks.
    Mean,
    /// Largest of a rank.
    Most,
}

/// What a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ModelKind {
    /// The log-log line.
    Line,
    /// What cross-validation chose.
    Model,
}

/// A fitted model.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrowthModel {
    /// The figure that is fitted.
    pub of: FittedFigure,
    /// What it is.
    pub kind: ModelKind,
    /// The same in words.
    pub words: String,
    /// Exponent of a line.
    pub slope: Option<f64>,
    /// Coefficient of determination of a line.
    pub r_squared: Option<f64>,
    /// Mean relative error of a model at scales left out of its fit.
    pub error: Option<f64>,
    /// Ranks and seconds, predictions for larger runs last.
    pub curve: Vec<(f64, f64)>,
    /// The number of ranks from which on the curve is a prediction.
    pub predicted_from: f64,
}

/// Whether source is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SourceState {
    /// The lines are there.
    Shown,
    /// The file does not exist, or cannot be shown.
    Gone,
    /// The file is at a location that must not be shown.
    Withheld,
    /// The user wants no source.
    LeftOut,
}

/// Lines of a source file.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// As debug information names it.
    pub file: String,
    /// Module that names it.
    pub module: String,
    /// Whether it is shown.
    pub state: SourceState,
    /// Why not, or what to know about it.
    pub note: Option<String>,
    /// Whether the file was changed after the module was built.
    pub newer: bool,
    /// Number of the first of `lines`.
    pub first_line: u32,
    /// The lines, without line ends.
    pub lines: Vec<String>,
    /// Sampled CPU seconds of all ranks at the largest scale, by line; `None` where none were sampled.
    pub heat_seconds: Option<Vec<f64>>,
    /// First and last line of the loop, call or function; 0 where unknown.
    pub marked: (u32, u32),
    /// Line with the most time; 0 where unknown.
    pub hot_line: u32,
}
