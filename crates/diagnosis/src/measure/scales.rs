//! Runs of one program at their scales, with everything that finders use.

use crate::measure::efficiency::{self, WithTeams};
use crate::measure::pace::Pace;
use crate::measure::scale::{self, Scale};
use crate::measure::scaling::{self, Guess};
use crate::measure::teams::Teams;
use crate::measure::times::Times;
use crate::measure::useful;
use headwater_dataflow::algorithm::Interrupted;
use headwater_dataflow::flow::{PassError, Stage, StageResult, counted};
use headwater_dataflow::run::{Recorded, threads, together};
use headwater_graph::Pag;
use headwater_model::diagnosis::{ScaleSummary, Scaling};
use headwater_model::run::Run;
use rayon::prelude::*;

/// Runs at their scales; there is at least one.
pub struct Scales {
    /// By ranks, ascending.
    pub all: Vec<Scale>,
    /// Time of every vertex at every scale.
    pub times: Times,
    /// Teams of threads at every scale.
    pub teams: Vec<Teams>,
    /// How the problem grows.
    pub scaling: Scaling,
    /// How that is known.
    pub scaling_reason: String,
    /// Whether it is certain.
    pub scaling_certain: bool,
    /// How much longer the machine takes for the same work at the largest scale.
    pub pace: Pace,
    /// One of the runs.
    end: Recorded,
}

impl StageResult for Scales {
    const STAGE: Stage = Stage::new(&["scales", "runs at their scales"]);

    fn words(&self) -> String {
        counted(self.all.len(), "scale", "scales")
    }
}

impl Scales {
    /// Derives what is needed from runs; `said` is how the problem grows, if the user says so.
    ///
    /// # Errors
    /// If there are no runs, they do not belong together, or it is interrupted.
    pub fn new(
        mut runs: Vec<&Recorded>,
        said: Option<Scaling>,
        interrupted: Interrupted<'_>,
    ) -> Result<Self, PassError> {
        let wrong = |what: String| PassError::Argument("run".to_string(), what);
        runs.sort_by_key(|r| threads::scale(r.run()));
        let recorded: Vec<&Run> = runs.iter().map(|r| r.run()).collect();
        together::scales(&recorded).map_err(|e| wrong(e.to_string()))?;
        let Some(end) = runs.last() else {
            return Err(wrong("there is none".to_string()));
        };
        if runs.iter().any(|r| !r.shares_graph(end)) {
            let what = "the runs are on several graphs; join all scales together";
            return Err(wrong(what.to_string()));
        }
        let pag = end.pag();
        let all = Scale::all(&runs, interrupted);
        if interrupted() {
            return Err(PassError::Interrupted);
        }
        let times = Times::new(pag, &all);
        let growth = scaling::Growth::new(pag, &all, &times);
        let Guess {
            scaling,
            reason,
            certain,
        } = scaling::scaling_of(&recorded, said, growth);
        let mut this = Self {
            pace: Pace::NONE,
            times,
            teams: all.par_iter().map(|s| Teams::new(pag, s)).collect(),
            all,
            scaling,
            scaling_reason: reason,
            scaling_certain: certain,
            end: (*end).clone(),
        };
        this.pace = Pace::new(pag, this.compared(), scaling);
        Ok(this)
    }

    /// The graph that all runs share.
    pub fn pag(&self) -> &Pag {
        self.end.pag()
    }

    /// The runs.
    pub fn runs(&self) -> Vec<&Run> {
        self.all.iter().map(Scale::run).collect()
    }

    /// The largest scale, with its teams.
    pub fn last(&self) -> Option<(&Scale, &Teams)> {
        self.all.last().zip(self.teams.last())
    }

    /// Part of what all threads compute at the largest scale that there would not be if it scaled ideally; 0 where scales
    /// are not compared, or threads are no part of them.
    pub fn grown(&self) -> f64 {
        let [first, .., last] = self.compared() else {
            return 0.0;
        };
        if first.threads_each.is_none() || last.threads_each.is_none() {
            return 0.0;
        }
        self.beyond(useful::each(first), useful::each(last))
    }

    /// Part of `now` that there would not be if it scaled ideally from `before`: seconds of each rank or thread at the largest
    /// and the smallest scale; 0 where scales are not compared.
    pub fn beyond(&self, before: f64, now: f64) -> f64 {
        match self.compared() {
            [first, .., last] if now > 0.0 => {
                let should = scaling::ideal(self.scaling, before, first.size, last.size);
                (1.0 - should / now).max(0.0)
            }
            _ => 0.0,
        }
    }

    /// Scales that can be compared: all of them, or the largest alone if only some of them miss a part of the program.
    pub fn compared(&self) -> &[Scale] {
        if scale::paused_alike(&self.all) {
            &self.all
        } else {
            self.all.last().map_or(&[], std::slice::from_ref)
        }
    }

    /// Whether ranks can be compared at the largest scale: if only some of them miss a part of the program, the others
    /// seem to do more.
    pub fn ranks_alike(&self) -> bool {
        self.end.run().header.paused_alike()
    }

    /// How the problem grows, if scales can be compared.
    pub fn comparable_scaling(&self) -> Option<Scaling> {
        (self.compared().len() > 1).then_some(self.scaling)
    }

    /// A summary of each scale.
    pub fn summaries(&self) -> Vec<ScaleSummary> {
        let each = self.all.iter().zip(&self.teams);
        let each = each.map(|(s, t)| WithTeams::new(self.pag(), s, t));
        efficiency::summaries(&each.collect::<Vec<_>>(), self.scaling)
    }
}
