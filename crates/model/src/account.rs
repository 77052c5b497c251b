//! Where the loss of the largest scale goes: every second of it in one part, and the parts sum to the whole.

use crate::diagnosis::{Cause, Place, Scaling};
use serde::{Deserialize, Serialize};

/// What the loss is measured against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// A run that takes only the mean computation of its ranks: the loss is 1 − parallel efficiency.
    #[default]
    Even,
    /// A run that takes only the computation of the smallest scale, divided ideally: the loss is 1 − global
    /// efficiency.
    Ideal,
}

/// What a part of the loss is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// What the reported causes explain.
    Causes,
    /// Places in which ranks differ, each by too little to report.
    SmallUneven,
    /// Places that do not shrink as they should, each by too little to report.
    SmallGrowth,
    /// Ranks that wait for one another in turn.
    Serialisation,
    /// Moving data in MPI calls that nobody is late for.
    Transfer,
    /// Growth of the time before `MPI_Init` returned.
    BeforeInit,
    /// What all places alike take longer at the largest scale than the same work takes at the smallest one.
    Pace,
    /// What none of these explains.
    Unknown,
}

impl LossKind {
    /// The kind in words, for a report.
    pub fn words(self) -> &'static str {
        match self {
            Self::Causes => "the causes reported",
            Self::SmallUneven => "small differences between ranks",
            Self::SmallGrowth => "small parts that do not shrink",
            Self::Serialisation => "ranks waiting in turn",
            Self::Transfer => "moving data",
            Self::BeforeInit => "before MPI_Init returned",
            Self::Pace => "slower machine (assumed)",
            Self::Unknown => "unknown",
        }
    }
}

/// A part of the loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LossPart {
    /// What it is.
    pub kind: LossKind,
    /// Seconds of run time.
    pub seconds: f64,
    /// The same as a share of `of_seconds`.
    pub share: f64,
}

/// A place that loses too little to be a cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SmallLoss {
    /// Where.
    pub place: Place,
    /// Seconds of run time that it loses.
    pub seconds: f64,
}

/// A step of the program that holds a good part of the losses that are each too small: a function with all that it
/// calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SmallStep {
    /// The function.
    pub place: Place,
    /// The share of the small losses that is in it, without what the steps before it in the list hold.
    pub share: f64,
    /// Names of the steps before it in the list that hold a part of what is in it, at least 1 % of the small losses.
    pub without: Vec<String>,
}

/// Places that each lose too little to be a cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SmallLosses {
    /// Number of places.
    pub places: u32,
    /// Those that lose most, five at the most.
    pub largest: Vec<SmallLoss>,
    /// What they share, in words: fragments such as `all are in app.c`.
    pub shared: Vec<String>,
    /// Steps of the program that hold a fifth of them or more, sorted by what they hold in all, the smallest first.
    /// `share` leaves out what earlier steps hold.
    #[serde(default)]
    pub steps: Vec<SmallStep>,
}

/// Where the loss of the largest scale goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Account {
    /// Number of ranks of that scale.
    pub ranks: u32,
    /// What the loss is measured against.
    pub against: Against,
    /// Seconds that shares are of: `model_seconds`, and what causes add that a run with a core for each thread
    /// does not contain, and the start-up where its growth is counted.
    pub of_seconds: f64,
    /// The loss, seconds.
    pub loss_seconds: f64,
    /// The same as a share of `of_seconds`.
    pub loss_share: f64,
    /// Its parts, which sum to it; those of 0 s are left out.
    pub parts: Vec<LossPart>,
    /// Of the places whose losses are too small for a cause; `None` where there are none.
    pub small: Option<SmallLosses>,
}

impl Account {
    /// Share of one kind.
    pub fn share(&self, kind: LossKind) -> f64 {
        let own = self.parts.iter().filter(|p| p.kind == kind);
        own.map(|p| p.share).sum()
    }
}

/// How many of the diagnoses that each leave out one recording of each scale show a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repeated {
    /// Diagnoses that show it.
    pub found: u32,
    /// All of these diagnoses: as many as the most often recorded scale has recordings.
    pub of: u32,
}

impl Repeated {
    /// Whether more than half of them show it.
    pub fn survives(self) -> bool {
        2 * self.found > self.of
    }
}

/// The answer if the problem grows in the other way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reading {
    /// How the problem grows in this reading.
    pub scaling: Scaling,
    /// The answer, a sentence each.
    pub headline: Vec<String>,
    /// Causes that there are in this reading alone, the largest gain first.
    pub causes: Vec<Cause>,
}
