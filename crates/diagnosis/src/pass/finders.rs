//! The finders of a diagnosis as passes. Each looks for one class of cause at the largest scale: first between threads,
//! then between ranks.

use crate::find::candidate::{Candidate, Candidates};
use crate::find::proposal::{Charged, Proposal, Proposals};
use crate::find::threads::{allocator, lock_contention, serial, thread_imbalance};
use crate::find::{
    asleep, chain_cause, communication, imbalance, moving_work, preempt, segments, work,
};
use crate::measure::floor::LEAST_SHARE;
use crate::measure::scale::Scale;
use crate::measure::scales::Scales;
use crate::measure::teams::Teams;
use crate::measure::{floor, unnamed};
use crate::price::charge;
use headwater_dataflow::flow::{Call, Finding, Found, Gives, Kind, Pass, PassError, Value};
use headwater_graph::Pag;
use headwater_model::diagnosis::CauseClass;

/// If causes between threads explain more than this share of the cost of non-shrinking work at a place, only they are
/// reported.
const EXPLAINED: f64 = 0.5;

/// What a finder examines.
struct Look<'a> {
    scales: &'a Scales,
    pag: &'a Pag,
    /// The largest scale.
    last: &'a Scale,
    teams: &'a Teams,
    charged: &'a Charged,
    /// Seconds that a cause must cost to be reported.
    least: f64,
}

/// A finder of causes between threads.
type Proposes = fn(&Pag, &Scale, &Teams, f64) -> Vec<Proposal>;

const BETWEEN_THREADS: [(&str, &str, Proposes); 4] = [
    (
        "thread-imbalance",
        "Teams of threads that wait for the slowest of them.",
        thread_imbalance::propose,
    ),
    (
        "lock-contention",
        "Locks for which threads wait.",
        lock_contention::propose,
    ),
    (
        "allocator-contention",
        "Places where threads wait for one another in the memory allocator.",
        allocator::propose,
    ),
    (
        "serial-region",
        "What one thread of a rank does while its team idles.",
        serial::propose,
    ),
];

/// A finder of causes between ranks. `alike`: it needs ranks of which the same part of the program was recorded.
/// `charged`: it needs to know what is charged to threads.
struct Finder {
    name: &'static str,
    about: &'static str,
    alike: bool,
    charged: bool,
    find: fn(&Look<'_>) -> Vec<Candidate>,
}

const BETWEEN_RANKS: [Finder; 7] = [
    Finder {
        name: "uneven-work",
        about: "Places in which some ranks compute longer than others, by what these wait for it.",
        alike: true,
        charged: true,
        find: |l| imbalance::find(l.pag, l.scales.compared(), l.charged, l.least),
    },
    Finder {
        name: "moving-work",
        about: "Uneven work that is on other ranks in each iteration.",
        alike: true,
        charged: false,
        find: |l| moving_work::find(l.pag, l.last, l.least),
    },
    Finder {
        name: "non-shrinking-work",
        about: "Computation that does not shrink as ranks are added, beside what threads explain.",
        alike: false,
        charged: true,
        find: non_shrinking,
    },
    Finder {
        name: "common-sleep",
        about: "Sleep that all ranks have, as where each waits for a file: what is beyond the ideal of the smallest scale.",
        alike: false,
        charged: false,
        find: |l| asleep::find(l.pag, l.scales.compared(), l.scales.scaling, l.least),
    },
    Finder {
        name: "growing-communication",
        about: "Messages that grow with the ranks, and collectives that do by their algorithm.",
        alike: false,
        charged: false,
        find: |l| communication::find(l.pag, l.scales.compared(), l.scales.scaling, l.least),
    },
    Finder {
        name: "late-sender-chain",
        about: "Ranks that can only start when the one before has finished.",
        alike: true,
        charged: false,
        find: |l| chain_cause::find(l.pag, l.last, l.least),
    },
    Finder {
        name: "preempted",
        about: "Ranks that were ready to run and had no core.",
        alike: true,
        charged: false,
        find: |l| preempt::find(l.pag, l.last, l.least),
    },
];

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    let mut out: Vec<Pass> = BETWEEN_THREADS
        .into_iter()
        .map(|(name, about, propose)| {
            let pass = Pass::new(name, about, move |call| proposals(call, propose));
            with_least(pass.takes("scales", Kind::Finding(Scales::STAGE)))
                .gives(Gives::Kind(Kind::Finding(Proposals::STAGE)))
        })
        .collect();
    let charge = Pass::new(
        "charge",
        "Prices causes between threads, the largest first, by what they take off the slowest rank of each phase; and what of the ranks' time they explain.",
        charge,
    );
    out.push(
        with_least(charge.takes("scales", Kind::Finding(Scales::STAGE)))
            .takes("proposals", Kind::Finding(Proposals::STAGE))
            .and_more()
            .gives(Gives::Kind(Kind::Finding(Candidates::STAGE)))
            .gives(Gives::Kind(Kind::Finding(Charged::STAGE))),
    );
    out.extend(BETWEEN_RANKS.into_iter().map(|finder| {
        let (name, about) = (finder.name, finder.about);
        let charged = finder.charged;
        let pass = Pass::new(name, about, move |call| candidates(call, &finder));
        let mut pass = with_least(pass.takes("scales", Kind::Finding(Scales::STAGE)));
        if charged {
            pass = pass.takes("charged", Kind::Finding(Charged::STAGE));
        }
        pass.gives(Gives::Kind(Kind::Finding(Candidates::STAGE)))
    }));
    let segments = Pass::new(
        "uneven-segments",
        "Where the program's places have no names: uneven computation told by the MPI calls around it, in the stead of single addresses of it.",
        segments,
    );
    let segments = with_least(segments.takes("scales", Kind::Finding(Scales::STAGE)));
    out.push(
        segments
            .takes("uneven", Kind::Finding(Candidates::STAGE))
            .gives(Gives::Kind(Kind::Finding(Candidates::STAGE))),
    );
    out
}

fn with_least(pass: Pass) -> Pass {
    pass.with(
        "least",
        LEAST_SHARE,
        "what a cause must cost to be told, as a share of the run time",
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

fn proposals(call: &Call<'_>, propose: Proposes) -> Result<Vec<Value>, PassError> {
    let nothing = Charged::default();
    let found = look(call, &nothing)?.map(|l| {
        let threads = !l.teams.teams.is_empty() || !l.teams.contended.is_empty();
        threads.then(|| propose(l.pag, l.last, l.teams, l.least))
    });
    let found = found.flatten().unwrap_or_default();
    super::found(Proposals(found))
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

fn candidates(call: &Call<'_>, finder: &Finder) -> Result<Vec<Value>, PassError> {
    let nothing = Charged::default();
    let charged = if finder.charged {
        call.found::<Charged>(1)?
    } else {
        &nothing
    };
    let found = look(call, charged)?
        .filter(|l| !finder.alike || l.scales.ranks_alike())
        .map(|l| (finder.find)(&l));
    super::found(Candidates::from(found.unwrap_or_default()))
}

/// Finds non-shrinking work, without what causes between threads explain.
fn non_shrinking(l: &Look<'_>) -> Vec<Candidate> {
    let rest = |mut c: Candidate| {
        let explained = l.charged.inside(l.pag, l.last, c.vertex, &c.ranks);
        (c.cost, c.gain) = (c.cost - explained, (c.gain - explained).max(0.0));
        let rest = explained <= EXPLAINED * (c.cost + explained) && c.cost >= l.least;
        rest.then_some(c)
    };
    let (scales, times) = (l.scales.compared(), &l.scales.times);
    let found = work::find(
        l.pag,
        scales,
        times,
        l.scales.scaling,
        l.scales.pace,
        l.least,
    );
    found.into_iter().filter_map(rest).collect()
}

fn segments(call: &Call<'_>) -> Result<Vec<Value>, PassError> {
    let nothing = Charged::default();
    let mut found = call.found::<Candidates>(1)?.clone();
    if let Some(l) = look(call, &nothing)?
        && l.scales.ranks_alike()
        && unnamed::main(&l.scales.runs(), &l.pag.structures).is_some()
    {
        // Single addresses have a part of the work that the calls around them show completely.
        let whole = segments::find(l.pag, l.last, l.least);
        let covered = |c: &Candidate| {
            let told = |w: &Candidate| w.after.iter().any(|a| c.after.contains(a));
            c.class == CauseClass::UnevenWork && whole.iter().any(told)
        };
        found.found.retain(|c| !covered(c));
        found.found.extend(whole);
    }
    super::found(found)
}
