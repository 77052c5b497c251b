//! Finds moving of data that grows with the ranks: more or larger messages, also those of collectives; or a collective
//! whose algorithm takes longer with more ranks, although no rank is late for it and its data do not grow.
//!
//! Calls and bytes are counted exactly; time is measured only where ranks do not share cores. Where they do, the price
//! is an estimate. A part of the cost of growing data is certain: the time that the fastest machine takes to move them.
//! If this part is less than a cause must cost, a note replaces the cause.

use crate::find::candidate::{Candidate, Price};
use crate::find::finder::{Does, Finder};
use crate::measure::scale::Scale;
use crate::measure::scaling::ideal;
use crate::measure::transfer::Transfer;
use headwater_dataflow::numbers::stats::CONFIDENCE;
use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::diagnosis::{CauseClass, Scaling};
use headwater_model::words::{self, location, seconds as time};
use headwater_mpi_abi as abi;

/// Factor from which on bytes or calls per rank, or a collective's part of the run time, count as growing.
const GROWTH: f64 = 1.3;

/// Least seconds per byte to move data: a core copies no more than 10 GB/s through memory.
const FASTEST: f64 = 1e-10;

/// Where time is not measured, a collective that only its algorithm makes slower must cost this many times what a cause
/// must cost: it is unknown which algorithm the library uses.
const BY_ALGORITHM: f64 = 2.0;

/// The finder.
pub const FINDER: Finder = Finder {
    name: "growing-communication",
    about: "Messages that grow with the ranks, and collectives that do by their algorithm.",
    needs_alike: false,
    needs_charged: false,
    does: Does::Finds(|l| find(l.pag, l.scales.compared(), l.scales.scaling, l.least)),
};

/// Looks for communication that grows from the smallest scale that makes the calls to the largest scale.
fn find(pag: &Pag, scales: &[Scale], scaling: Scaling, least: f64) -> Vec<Candidate> {
    let [_, .., last] = scales else {
        return Vec::new();
    };
    // Calls of one loop belong together: the sends, receives and waits of an exchange are one cause.
    let mut groups: Vec<(VertexIx, Vec<&Transfer>)> = Vec::new();
    for t in &last.transfer {
        let key = exchange_of(pag, last, t);
        let collective = key == t.vertex;
        let same = |g: VertexIx| g == key || collective && pag.top.is_same_place(g, key);
        match groups.iter_mut().find(|g| same(g.0)) {
            Some(group) => group.1.push(t),
            None => groups.push((key, vec![t])),
        }
    }
    let one = |(_, group): (VertexIx, Vec<&Transfer>)| growing(pag, scales, scaling, least, &group);
    let mut found: Vec<Candidate> = groups.into_iter().filter_map(one).collect();
    // Calls of one place may be in several groups, of which the same is to be said.
    let mut said: Vec<String> = Vec::new();
    found.retain(|c| match &c.price {
        Price::Note(note) if said.contains(note) => false,
        Price::Note(note) => {
            said.push(note.clone());
            true
        }
        _ => true,
    });
    found
}

/// Sums of some transfers of a scale.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    seconds: f64,
    /// The part of the seconds that the amount of data explains.
    by_bytes: f64,
    variance: f64,
    calls: f64,
    bytes: f64,
}

impl Sums {
    fn new<'t>(transfers: impl IntoIterator<Item = &'t Transfer>) -> Self {
        let mut this = Self::default();
        for t in transfers {
            this.seconds += t.seconds;
            this.by_bytes += t.by_bytes;
            this.variance += t.error * t.error;
            this.calls += t.calls;
            this.bytes += t.bytes;
        }
        this
    }

    fn words(&self, ranks: u32) -> String {
        // Calls that move no data themselves have no bytes to report.
        match self.bytes >= 0.5 {
            true => format!(
                "{:.0} calls and {} on {}",
                self.calls,
                bytes_words(self.bytes),
                words::count(ranks as usize)
            ),
            false => format!(
                "{:.0} calls on {}",
                self.calls,
                words::count(ranks as usize)
            ),
        }
    }
}

/// The calls of an exchange as a cause, if they grow.
fn growing(
    pag: &Pag,
    scales: &[Scale],
    scaling: Scaling,
    least: f64,
    group: &[&Transfer],
) -> Option<Candidate> {
    let [first, .., last] = scales else {
        return None;
    };
    // One rank does not communicate: growth is measured from the first scale that does.
    let member = |t: &&Transfer| group.iter().any(|g| g.vertex == t.vertex);
    let talks = |s: &&Scale| s.p < last.p && s.transfer.iter().any(|t| member(&t) && t.calls > 0.0);
    let base = scales.iter().find(talks).unwrap_or(first);
    let main = (group.iter().copied()).reduce(|a, b| if weight(b) > weight(a) { b } else { a })?;
    let own = Sums::new(group.iter().copied());
    let before = Sums::new(base.transfer.iter().filter(member));
    // Where the smaller scale uses other calls for the same purpose, only the place around both shows what grows.
    let compared = match before.calls > 0.0 {
        true => (own, before),
        false => around(pag, [base, last], main),
    };
    let (now, before) = compared;
    let (p, base_p) = (last.p, base.p);
    let grows_by = |of: fn(&Sums) -> f64| of(&now) - ideal(scaling, of(&before), base_p, p);
    let mut cost = grows_by(|s| s.seconds).min(own.seconds);
    let name = last.run().function(main.func);
    let function = abi::by_name(name);
    let collective = function.is_some_and(|f| f.is_collective());
    let files = function.is_some_and(abi::Function::is_about_files);
    let more = now.calls > GROWTH * before.calls || now.bytes > GROWTH * before.bytes;
    let more_time = part(now.seconds, last) > GROWTH * part(before.seconds, base);
    // Of a profile of another tool, which has the time in calls alone.
    let uncounted = now.calls <= 0.0;
    let class = match (files, more) {
        _ if uncounted && !more_time => return None,
        (false, _) if uncounted => CauseClass::GrowingCommunication,
        (true, _) if more_time => CauseClass::SystemCallOrIo,
        (true, _) => return None,
        (false, true) => CauseClass::GrowingCommunication,
        (false, false) if collective && more_time => CauseClass::CollectiveAlgorithm,
        // If the same messages only take longer, or take as long while work shrinks, communication does not grow.
        (false, false) => return None,
    };
    let unmeasured = last.shares_cores() && !files;
    let by_algorithm = unmeasured && class == CauseClass::CollectiveAlgorithm;
    if by_algorithm {
        // Where cores are shared, nothing shows how long a call takes without the scheduler; only its data are known.
        cost = cost.min(grows_by(|s| s.by_bytes));
    }
    let floor = if by_algorithm {
        BY_ALGORITHM * least
    } else {
        least
    };
    if cost < floor {
        return None;
    }
    // Where nothing measures the cost, its error is as large as the cost itself.
    let scaled = ideal(scaling, 1.0, base_p, p);
    let error = (own.variance + scaled * scaled * before.variance).sqrt();
    let error = if unmeasured { cost.max(error) } else { error };
    let mut evidence = vec![
        format!("per rank {}, {}", before.words(base_p), now.words(p)),
        format!(
            "{} per rank without waiting for anybody on {}, {} on {p}",
            time(before.seconds),
            words::count(base_p as usize),
            time(now.seconds),
        ),
    ];
    if unmeasured {
        evidence.push(
            "ranks share cores here: what these calls cost is not measured but estimated from their number and data"
                .to_string(),
        );
    }
    let certain = FASTEST * grows_by(|s| s.bytes).max(0.0);
    let mut price = match unmeasured && !by_algorithm {
        true => Price::AtLeast(certain),
        false => Price::Measured,
    };
    if price != Price::Measured && certain < least {
        let most = (cost + CONFIDENCE * error).min(last.model_seconds());
        price = Price::Note(format!(
            "{name} at {} {} as ranks are added: per rank {}, {}. Ranks share cores, so what this costs cannot be measured; estimated from calls and data, it is between {} and {} of run time.",
            location(&pag.place(main.vertex)),
            if grows_by(|s| s.bytes) > 0.0 {
                "moves more"
            } else {
                "is called more often"
            },
            before.words(base_p),
            now.words(p),
            time(certain),
            time(most)
        ));
    }
    if uncounted {
        price = Price::Note(format!(
            "{name} at {} takes a larger part of the time with more ranks: {} of each rank on {base_p} ranks, {} on {p}. Calls, bytes and waits are not known, so this may be waiting for late ranks, more data, or the algorithm.",
            location(&pag.place(main.vertex)),
            time(before.seconds),
            time(now.seconds),
        ));
    }
    Some(Candidate {
        in_turn: false,
        price,
        error,
        team: None,
        twins: (group.iter().map(|t| t.vertex))
            .filter(|v| *v != main.vertex && pag.top.is_same_place(*v, main.vertex))
            .collect(),
        class,
        vertex: main.vertex,
        ranks: (0..last.p).collect(),
        cost,
        gain: cost,
        after: Vec::new(),
        evidence,
    })
}

/// All calls of one kind, collective or not, in the smallest place around a call that also has such calls at the base:
/// their sums at the largest scale, and at the base.
fn around(pag: &Pag, [base, last]: [&Scale; 2], main: &Transfer) -> (Sums, Sums) {
    let collective = |s: &Scale, t: &Transfer| {
        abi::by_name(s.run().function(t.func)).is_some_and(|f| f.is_collective())
    };
    let kind = collective(last, main);
    let inside = |s: &Scale, v: VertexIx| {
        let of_kind = |t: &&Transfer| collective(s, t) == kind && pag.top.contains(v, t.vertex);
        Sums::new(s.transfer.iter().filter(of_kind))
    };
    let has_calls = |v: &VertexIx| inside(base, *v).calls > 0.0;
    let place = pag.top.ancestors(main.vertex).find(has_calls);
    let place = place.unwrap_or(TopDown::ROOT);
    (inside(last, place), inside(base, place))
}

/// Part of a scale's run time.
fn part(seconds: f64, scale: &Scale) -> f64 {
    seconds / scale.model_seconds().max(f64::MIN_POSITIVE)
}

/// The call with the most bytes gives an exchange its name; among equals, the one with the longer time.
fn weight(t: &Transfer) -> (u64, u64) {
    (t.bytes as u64, (t.seconds * 1e9) as u64)
}

/// The vertex that represents the exchange of a call: a collective represents itself; a point-to-point call belongs to
/// the function that contains it.
fn exchange_of(pag: &Pag, scale: &Scale, t: &Transfer) -> VertexIx {
    let name = scale.run().function(t.func);
    if abi::by_name(name).is_none_or(|f| f.is_collective()) {
        return t.vertex;
    }
    let function = |v: &VertexIx| {
        pag.top.get(*v).psg == 0
            && pag.top.get(*v).kind == headwater_model::psg::VertexKind::Function
    };
    pag.top
        .ancestors(t.vertex)
        .find(function)
        .unwrap_or(t.vertex)
}

/// A number of bytes for people.
pub fn bytes_words(bytes: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    if unit == 0 {
        format!("{value:.0} B")
    } else {
        format!("{value:.1} {}", units[unit])
    }
}
