//! The finders of a diagnosis as passes: first those between threads, then those between ranks.

use super::found;
use crate::find::candidate::Candidates;
use crate::find::finder::{Does, Finder, Look};
use crate::find::proposal::{Charged, Proposals};
use crate::find::{FINDERS, segments};
use crate::measure::floor::{self, LEAST_SHARE};
use crate::measure::scales::Scales;
use crate::price::charge;
use headwater_dataflow::flow::{Call, Finding, Gives, Kind, Pass, PassError, StageResult, Value};

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    let charge = Pass::new(
        "charge",
        "Prices causes between threads, the largest first, by what they take off the slowest rank of each phase; and what of the ranks' time they explain.",
        charge,
    );
    let charge = with_least(charge.takes("scales", Kind::Finding(Scales::STAGE)))
        .takes("proposals", Kind::Finding(Proposals::STAGE))
        .and_more()
        .gives(Gives::Kind(Kind::Finding(Candidates::STAGE)))
        .gives(Gives::Kind(Kind::Finding(Charged::STAGE)));
    let segments = Pass::new(
        "uneven-segments",
        "If places of the program have no names: uneven computation, located by the MPI calls around it instead of by single addresses.",
        segments,
    );
    let segments = with_least(segments.takes("scales", Kind::Finding(Scales::STAGE)))
        .takes("uneven", Kind::Finding(Candidates::STAGE))
        .gives(Gives::Kind(Kind::Finding(Candidates::STAGE)));
    let proposes = |f: &Finder| matches!(f.does, Does::Proposes(_));
    let (threads, ranks): (Vec<Finder>, Vec<Finder>) = FINDERS.into_iter().partition(proposes);
    let mut out: Vec<Pass> = threads.into_iter().map(pass).collect();
    out.push(charge);
    out.extend(ranks.into_iter().map(pass));
    out.push(segments);
    out
}

/// A finder as a pass.
fn pass(finder: Finder) -> Pass {
    let does = move |call: &Call<'_>| look_for(call, &finder);
    let pass = Pass::new(finder.name, finder.about, does);
    let mut pass = with_least(pass.takes("scales", Kind::Finding(Scales::STAGE)));
    if finder.needs_charged {
        pass = pass.takes("charged", Kind::Finding(Charged::STAGE));
    }
    pass.gives(Gives::Kind(Kind::Finding(match finder.does {
        Does::Proposes(_) => Proposals::STAGE,
        Does::Finds(_) => Candidates::STAGE,
    })))
}

fn with_least(pass: Pass) -> Pass {
    pass.with(
        "least",
        LEAST_SHARE,
        "smallest cost of a cause that is reported, as a share of the run time",
    )
    .figure_from(0.0)
}

/// The scales of a call and what to look for, if there is any run.
fn look<'a>(call: &'a Call<'_>, charged: &'a Charged) -> Result<Option<Look<'a>>, PassError> {
    let scales = call.found::<Scales>(0)?;
    Ok(scales.last().map(|(last, teams)| Look {
        scales,
        pag: scales.pag(),
        last,
        teams,
        charged,
        least: floor::seconds(last, call.number("least")),
    }))
}

fn look_for(call: &Call<'_>, finder: &Finder) -> Result<Vec<Value>, PassError> {
    let nothing = Charged::default();
    let charged = if finder.needs_charged {
        call.found::<Charged>(1)?
    } else {
        &nothing
    };
    let look = look(call, charged)?.filter(|l| !finder.needs_alike || l.scales.ranks_alike());
    match finder.does {
        Does::Proposes(propose) => {
            let threads = |l: &Look<'_>| !l.teams.teams.is_empty() || !l.teams.contended.is_empty();
            let proposed = look.filter(threads).map(|l| propose(&l));
            found(Proposals(proposed.unwrap_or_default()))
        }
        Does::Finds(find) => {
            let all = look.map(|l| find(&l)).unwrap_or_default();
            found(Candidates::from(all))
        }
    }
}

fn charge(call: &Call<'_>) -> Result<Vec<Value>, PassError> {
    let mut all = Vec::new();
    for i in 1..call.inputs().len() {
        all.extend(call.found::<Proposals>(i)?.0.iter().cloned());
    }
    let nothing = Charged::default();
    let priced = look(call, &nothing)?.map(|l| charge::price(l.last, all, l.least));
    let (found, charged) = priced.unwrap_or_default();
    Ok(vec![
        Finding::new(Candidates::from(found)).into(),
        Finding::new(charged).into(),
    ])
}

fn segments(call: &Call<'_>) -> Result<Vec<Value>, PassError> {
    let nothing = Charged::default();
    let mut all = call.found::<Candidates>(1)?.clone();
    if let Some(l) = look(call, &nothing)? {
        segments::refine(&l, &mut all);
    }
    found(all)
}
