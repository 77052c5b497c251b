//! What runs took of the machine: memory, files, messages, energy, counters, and vector instructions.
//!
//! Figures of ranks are shown in short, because there may be many: their sum, the least, the median and the most, with
//! the ranks of both ends. A figure that was not recorded is missing, and `not-recorded` says why.

mod by_rank;
mod counted;
mod counters;
mod files;
mod missing;
mod partners;
mod spread;
mod vectors;

use crate::flow::{Call, Gives, Kind, Pass, PassError};
use crate::pass::of_one_program;
use crate::run::Recorded;
use headwater_model::report::Section;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    type Make = fn(&[&Recorded]) -> Section;
    let tables: [(&'static str, &'static str, Make); 10] = [
        (
            "used-memory",
            "The most memory of each rank and node.",
            counted::memory,
        ),
        (
            "used-events",
            "Page faults, context switches and migrations of ranks.",
            counted::events,
        ),
        (
            "used-files",
            "Bytes and calls of ranks that read and write.",
            counted::files,
        ),
        (
            "used-file-time",
            "Time of ranks in calls that concern files, with the file systems.",
            files::times,
        ),
        (
            "used-partners",
            "Bytes that ranks send to each of their partners, by the partner's distance.",
            partners::partners,
        ),
        ("used-energy", "Energy of each node.", counted::energy),
        (
            "used-counters",
            "Counters of the processor over ranks, and their ratios.",
            counters::counters,
        ),
        (
            "used-vectors",
            "Hot loops with the share of vector instructions in their arithmetic.",
            vectors::vectors,
        ),
        (
            "used-by-rank",
            "What each rank used, of runs with few ranks.",
            by_rank::by_rank,
        ),
        (
            "not-recorded",
            "Which of these figures were not recorded, and why.",
            missing::missing,
        ),
    ];
    let pass = |(name, about, make): (&'static str, &'static str, Make)| {
        Pass::new(name, about, move |call| Ok(vec![make(&runs(call)?).into()]))
            .takes("run", Kind::Run)
            .and_more()
            .gives(Gives::Kind(Kind::Section))
    };
    tables.into_iter().map(pass).collect()
}

/// The runs of a call, those with fewer ranks first.
fn runs<'c>(call: &'c Call<'_>) -> Result<Vec<&'c Recorded>, PassError> {
    let mut all = Vec::new();
    for i in 0..call.inputs().len() {
        let run = call.run(i)?;
        of_one_program(&call.run(0)?.run().header, &run.run().header, "run")?;
        all.push(run);
    }
    all.sort_by_key(|r| crate::run::threads::scale(r.run()));
    Ok(all)
}
