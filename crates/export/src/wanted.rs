//! What of recorded runs is wanted in an export.

use crate::error::ExportError;
use headwater_dataflow::Recorded;
use headwater_model::{Rank, RankSet};

/// Which view of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// Places, summed up over ranks.
    #[default]
    TopDown,
    /// Places on single ranks and threads.
    Parallel,
}

/// What can be said about what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// [`Wanted::ranks`].
    Ranks,
    /// [`Wanted::view`].
    View,
    /// [`Wanted::vertices`].
    Vertices,
    /// [`Wanted::table`].
    Table,
    /// [`Wanted::analysis`].
    Analysis,
}

impl Setting {
    /// Its name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ranks => "ranks",
            Self::View => "view",
            Self::Vertices => "vertices",
            Self::Table => "table",
            Self::Analysis => "analysis",
        }
    }
}

/// What of the runs is wanted; what is not said is everything, or the format's own choice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// These ranks alone.
    pub ranks: Option<RankSet>,
    /// The view.
    pub view: Option<Which>,
    /// At most so many vertices: those with the most time.
    pub vertices: Option<usize>,
    /// The table.
    pub table: Option<String>,
    /// The tables of this analysis instead of those of a view.
    pub analysis: Option<String>,
}

impl Wanted {
    /// Whether the data of a rank are wanted.
    pub(crate) fn has_rank(&self, rank: Rank) -> bool {
        self.ranks.as_ref().is_none_or(|r| r.contains(rank))
    }

    /// Whether a run has the ranks that are wanted.
    pub(crate) fn check_ranks(&self, run: &Recorded) -> Result<(), ExportError> {
        let header = &run.run().header;
        let asked = self.ranks.iter().flat_map(|r| r.as_slice());
        match asked.copied().find(|r| *r >= header.ranks) {
            None => Ok(()),
            Some(rank) => {
                let all = RankSet::all(header.ranks);
                Err(ExportError::NoRank(header.name.clone(), rank, all))
            }
        }
    }

    pub(crate) fn said(&self) -> impl Iterator<Item = Setting> {
        [
            (Setting::Ranks, self.ranks.is_some()),
            (Setting::View, self.view.is_some()),
            (Setting::Vertices, self.vertices.is_some()),
            (Setting::Table, self.table.is_some()),
            (Setting::Analysis, self.analysis.is_some()),
        ]
        .into_iter()
        .filter_map(|(setting, is)| is.then_some(setting))
    }
}
