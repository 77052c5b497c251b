//! A cause before it is put into words: its place, ranks, class and cost.

use crate::measure::scale::Scale;
use headwater_dataflow::flow::{Stage, StageResult, counted};
use headwater_dataflow::numbers::stats::CONFIDENCE;
use headwater_graph::{Pag, RankRows, VertexIx, sum_rows};
use headwater_model::diagnosis::{CauseClass, Clock, ThreadTimes};
use headwater_model::run::CtxId;

/// A candidate for a cause of scaling loss at the largest scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Class.
    pub class: CauseClass,
    /// Vertex of the top-down view.
    pub vertex: VertexIx,
    /// Ranks concerned, ascending.
    pub ranks: Vec<u32>,
    /// Seconds of run time that it costs.
    pub cost: f64,
    /// Seconds of run time that removing it would save at most.
    pub gain: f64,
    /// Standard error of `gain`, seconds: sampling, differences between repetitions, what was not recorded.
    pub error: f64,
    /// MPI calls after which it happens; they connect it to the windows, to find its path.
    pub after: Vec<CtxId>,
    /// Sentences with figures.
    pub evidence: Vec<String>,
    /// Other vertices of the same place, on other call paths; their seconds belong to it.
    pub twins: Vec<VertexIx>,
    /// Whether its ranks are late one after another, not together.
    pub in_turn: bool,
    /// For a cause between threads: what the threads do.
    pub team: Option<OfThreads>,
    /// How its gain is known.
    pub price: Price,
}

/// How the gain of a candidate is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Price {
    /// Measured, with its standard error.
    #[default]
    Measured,
    /// Estimated; this many seconds are certain.
    AtLeast(f64),
    /// Estimated, and its certain part is too small for a cause. This sentence is reported instead.
    Note(String),
}

/// A gain is certain if its lower bound is at least this part of it: three standard errors. A cause is the largest of
/// many places, so it must be further from chance than the ends of a range are.
const CERTAIN: f64 = 1.0 / 3.0;

/// Whether a gain with this standard error is more than chance.
pub fn is_certain(gain: f64, error: f64) -> bool {
    gain > 0.0 && gain - CONFIDENCE * error >= CERTAIN * gain
}

/// A further loss of the same class around a cause is reported with it, if it is at most this part of its gain.
pub const REST: f64 = 0.25;

impl Candidate {
    /// All vertices of its place: the named one, then those on other call paths.
    pub fn vertices(&self) -> impl Iterator<Item = VertexIx> {
        std::iter::once(self.vertex).chain(self.twins.iter().copied())
    }

    /// Seconds of each rank at its place, from a column of the computation at a scale.
    pub fn row(&self, pag: &Pag, scale: &Scale, column: &RankRows) -> Vec<f64> {
        let mut out = vec![0.0; scale.p as usize];
        for v in self.vertices() {
            let own = sum_rows(column, &scale.keys_inside(pag, v), scale.p);
            out.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
        out
    }

    /// The least and the most that removing it is likely to gain, seconds.
    pub fn range(&self) -> (f64, f64) {
        let reach = CONFIDENCE * self.error;
        let least = match self.price {
            Price::Measured => self.gain - reach,
            Price::AtLeast(seconds) => seconds.min(self.gain),
            Price::Note(_) => 0.0,
        };
        (least.max(0.0), self.gain + reach)
    }
}

/// Candidates, and why some of them were set aside.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// In an order that does not depend on the machine.
    pub found: Vec<Candidate>,
    /// A sentence for each that was set aside.
    pub set_aside: Vec<String>,
}

impl StageResult for Candidates {
    const STAGE: Stage = Stage::new(&["candidates", "candidates for causes"]);

    fn words(&self) -> String {
        counted(self.found.len(), "candidate", "candidates")
    }
}

impl From<Vec<Candidate>> for Candidates {
    fn from(found: Vec<Candidate>) -> Self {
        Self {
            found,
            ..Self::default()
        }
    }
}

/// A cause between threads: which threads, and the path to it from where other threads wait.
#[derive(Clone, Debug, PartialEq)]
pub struct OfThreads {
    /// Threads of the rank that loses most.
    pub times: ThreadTimes,
    /// Where the rank's own thread spends the time that it costs.
    pub around: VertexIx,
    /// Seconds of its cost that are not part of the run with a core for each rank, because threads seldom met for lack
    /// of cores.
    pub on_top: f64,
    /// The steps from symptom to cause: where threads wait for it, in words, and seconds of a rank.
    pub waits: Vec<ThreadStep>,
}

/// A step between threads.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadStep {
    /// What happens.
    pub what: String,
    /// Where.
    pub vertex: VertexIx,
    /// Seconds on each rank concerned.
    pub seconds: f64,
    /// The clock of the seconds.
    pub clock: Clock,
}
