//! Time before `MPI_Init` returned: a cause if it grows with the ranks, a sentence if the machine may be the reason.
//!
//! The part of the run that efficiencies cover does not contain it. Where ranks outnumber cores, processes that start
//! together wait for a core, so there it is a cause only if CPU time grows as well.

use crate::measure::floor::LEAST_SHARE;
use crate::measure::scale::Scale;
use crate::measure::scales::Scales;
use headwater_dataflow::numbers::stats;
use headwater_model::RankSet;
use headwater_model::diagnosis::{Cause, CauseClass, Clock, Evidence, Place, Step};
use headwater_model::psg::VertexKind;
use headwater_model::words::{self, seconds as time};

const NANO: f64 = 1e-9;

/// Growth below this is usual, seconds: processes and the MPI library need about as long by themselves, and it differs
/// that much between runs.
const USUAL: f64 = 0.5;

/// Growth from which on it is a cause, seconds: on a busy machine less than this can be chance.
const CAUSE: f64 = 1.0;

/// Least part of the growth that must be CPU time where ranks had to wait for cores. Ranks that poll while they wait
/// for others in `MPI_Init` use CPU time as large as their share of the cores, which is half with twice as many ranks.
const MOSTLY: f64 = 0.75;

/// A rank is named if it takes this many times the mean.
const LONGER: f64 = 1.3;

/// The name of the place.
const NAME: &str = "the start-up before MPI_Init returned";

/// Wall time before `MPI_Init` returned by rank, seconds.
fn by_rank(scale: &Scale) -> Vec<f64> {
    let ranks = scale.run().ranks.iter();
    ranks.map(|r| r.before_init_wall_ns as f64 * NANO).collect()
}

/// Wall time before `MPI_Init` returned, mean over ranks, seconds.
pub fn mean_seconds(scale: &Scale) -> f64 {
    stats::mean(&by_rank(scale))
}

fn cpu_seconds(scale: &Scale) -> f64 {
    let ranks = scale.run().ranks.iter();
    let cpu: Vec<f64> = ranks.map(|r| r.before_init_cpu_ns as f64 * NANO).collect();
    stats::mean(&cpu)
}

/// How start-up grew.
struct Growth<'a> {
    first: &'a Scale,
    last: &'a Scale,
    seconds: f64,
    /// The run time including the start-up at the largest scale, seconds.
    whole: f64,
    /// Whether it is more than chance, and caused by the program or its library: ranks had cores, or most of it is CPU
    /// time.
    own: bool,
}

/// The growth between the smallest and the largest scale, if it is more than usual and more than what a cause must
/// cost.
fn growth(scales: &Scales) -> Option<Growth<'_>> {
    let [first, .., last] = scales.compared() else {
        return None;
    };
    let seconds = mean_seconds(last) - mean_seconds(first);
    let whole = last.model_seconds() + mean_seconds(last);
    let cpu = cpu_seconds(last) - cpu_seconds(first);
    let is_reported = seconds >= USUAL && seconds >= LEAST_SHARE * whole;
    is_reported.then(|| Growth {
        first,
        last,
        seconds,
        whole,
        own: seconds >= CAUSE && (!last.is_crowded() || cpu >= MOSTLY * seconds),
    })
}

/// The sentence of the answer if start-up grew but is not a cause.
pub fn sentence(scales: &Scales) -> Option<String> {
    let growth = growth(scales).filter(|g| !g.own)?;
    let at = |s: &Scale| {
        let (wall, cpu) = (mean_seconds(s), cpu_seconds(s));
        let ranks = words::count(s.p as usize);
        format!("{} ({} of it CPU time) with {ranks}", time(wall), time(cpu))
    };
    let why = if growth.last.is_crowded() {
        ", and as ranks had to wait for cores, the machine may be the reason"
    } else {
        ""
    };
    Some(format!(
        "Before MPI_Init returned, a rank took {} and {}: this is outside the figures here{why}.",
        at(growth.first),
        at(growth.last)
    ))
}

/// The start-up as a cause; shares are of the run including its start-up.
pub fn cause(scales: &Scales) -> Option<Cause> {
    let g = growth(scales).filter(|g| g.own)?;
    let (rows, last) = (by_rank(g.last), mean_seconds(g.last));
    let place = Place {
        name: NAME.to_string(),
        ..Place::unknown(VertexKind::Function)
    };
    let least = |row: &[f64]| row.iter().copied().reduce(f64::min).unwrap_or(0.0);
    let before = by_rank(g.first);
    let range = (
        (least(&rows) - stats::max(&before)).clamp(0.0, g.seconds),
        (stats::max(&rows) - least(&before)).max(g.seconds),
    );
    let figures = |of: fn(&Scale) -> f64| {
        let at = |s: &Scale| format!("{} on {}", time(of(s)), s.p);
        let all: Vec<String> = scales.compared().iter().map(at).collect();
        all.join(", ")
    };
    let mut evidence = vec![format!(
        "wall time before MPI_Init returned: {} ranks",
        figures(mean_seconds)
    )];
    // Imported traces do not record it.
    if cpu_seconds(g.last) > 0.0 {
        evidence.push(format!(
            "CPU time of the same: {} ranks",
            figures(cpu_seconds)
        ));
    }
    let longest = (0u32..)
        .zip(&rows)
        .reduce(|a, b| if b.1 > a.1 { b } else { a });
    if let Some((rank, most)) = longest.filter(|(_, most)| **most > LONGER * last) {
        evidence.push(format!("rank {rank} takes longest: {}", time(*most)));
    }
    let ranks = RankSet::all(g.last.p);
    let share = |seconds: f64| (seconds / g.whole).clamp(0.0, 1.0);
    Some(Cause {
        class: CauseClass::Startup,
        explanation: format!(
            "Before MPI_Init returned, a rank takes {} with {}, {} more than with {}. Shares are of the run with its start-up, which the efficiencies do not contain. Look at where the program and its libraries are loaded from, at the launcher, at how the MPI library connects its processes, and at what the program does before it calls MPI_Init.",
            time(last),
            words::count(g.last.p as usize),
            time(g.seconds),
            words::count(g.first.p as usize),
        ),
        call_path: vec![place.clone()],
        called_from: None,
        path: vec![Step {
            what: "start".to_string(),
            ranks: ranks.clone(),
            place: place.clone(),
            seconds: last,
            clock: Clock::Wall,
        }],
        place,
        ranks,
        scale: g.last.p,
        cost_seconds: last,
        cost_share: share(last),
        gain_seconds: g.seconds,
        gain_share: share(g.seconds),
        gain_range_seconds: range,
        waiting_seconds: None,
        by_scale: scales
            .compared()
            .iter()
            .map(|s| (s.size, mean_seconds(s), stats::max(&by_rank(s))))
            .collect(),
        by_rank: rows,
        clock: Clock::Wall,
        by_thread: None,
        evidence: evidence.into_iter().map(Evidence::from).collect(),
        regions: Vec::new(),
        only_if: None,
        repeated: None,
    })
}

/// Puts the start-up among the causes: first if its gain is larger than each of theirs, otherwise last.
pub fn put_among(causes: &mut Vec<Cause>, startup: Option<Cause>) {
    let Some(startup) = startup else { return };
    let outweighs = causes.iter().all(|c| startup.gain_seconds > c.gain_seconds);
    let at = if outweighs { 0 } else { causes.len() };
    causes.insert(at, startup);
}
