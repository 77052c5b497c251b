//! Moving data that grows with the ranks: more or larger messages, or a collective whose algorithm
//! needs longer for more ranks though nobody is late for it.

use crate::cause::Candidate;
use crate::scale::{Scale, Transfer};
use crate::work::ideal;
use headwater_graph::{Pag, VertexIx};
use headwater_model::diagnosis::{CauseClass, Scaling};
use headwater_model::words::seconds as time;
use headwater_mpi_abi as abi;

/// Growth of bytes or calls per rank, or of a collective's part of the run time, that counts as growing.
const GROWTH: f64 = 1.3;

/// Looks for growing communication between the smallest and the largest scale.
pub fn find(pag: &Pag, scales: &[Scale], scaling: Scaling, least: f64) -> Vec<Candidate> {
    let [first, .., last] = scales else {
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
    let mut out = Vec::new();
    for (_, group) in groups {
        // One rank does not talk: growth is seen from the first scale that does.
        let member = |t: &&Transfer| group.iter().any(|g| g.vertex == t.vertex);
        let talks =
            |s: &&Scale| s.p < last.p && s.transfer.iter().any(|t| member(&t) && t.calls > 0.0);
        let base = scales.iter().find(talks).unwrap_or(first);
        let before = |v: VertexIx| base.transfer.iter().find(|t| t.vertex == v);
        let sum = |f: &dyn Fn(&Transfer) -> f64| group.iter().map(|t| f(t)).sum::<f64>();
        // A sum of nothing is negative zero, which nobody wants to read.
        let old = |f: &dyn Fn(&Transfer) -> f64| {
            group
                .iter()
                .filter_map(|t| before(t.vertex))
                .map(f)
                .fold(0.0, |a, b| a + b)
        };
        let now = sum(&|t| t.seconds);
        let cost = now - ideal(scaling, old(&|t| t.seconds), base.p, last.p);
        if cost < least {
            continue;
        }
        let Some(main) = group
            .iter()
            .copied()
            .reduce(|a, b| if weight(b) > weight(a) { b } else { a })
        else {
            continue;
        };
        let (bytes, bytes_before) = (sum(&|t| t.bytes), old(&|t| t.bytes));
        let (calls, calls_before) = (sum(&|t| t.calls), old(&|t| t.calls));
        let name = last.run().function(main.func);
        let collective = abi::by_name(name).is_some_and(|f| f.is_collective());
        let more_calls = calls > GROWTH * calls_before;
        let files = abi::by_name(name).is_some_and(abi::Function::is_about_files);
        let class = if files && part(now, last) > GROWTH * part(old(&|t| t.seconds), base) {
            CauseClass::SystemCallOrIo
        } else if files {
            continue;
        } else if more_calls || !collective && bytes > GROWTH * bytes_before {
            CauseClass::GrowingCommunication
        } else if collective && part(now, last) > GROWTH * part(old(&|t| t.seconds), base) {
            CauseClass::CollectiveAlgorithm
        } else {
            // The same messages that only take longer, or take as long while work shrinks, do not grow.
            continue;
        };
        out.push(Candidate {
            in_turn: false,
            error: 0.0,
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
            evidence: vec![
                format!(
                    "{:.0} calls and {} per rank on {} ranks, {:.0} calls and {} on {}",
                    calls_before,
                    bytes_words(bytes_before),
                    base.p,
                    calls,
                    bytes_words(bytes),
                    last.p
                ),
                format!(
                    "{} per rank without waiting for anybody on {} ranks, {} on {}",
                    time(old(&|t| t.seconds)),
                    base.p,
                    time(now),
                    last.p
                ),
            ],
        });
    }
    out
}

/// Part of a scale's run time.
fn part(seconds: f64, scale: &Scale) -> f64 {
    seconds / scale.model_seconds().max(f64::MIN_POSITIVE)
}

/// Bytes decide which call of an exchange is named; among equals the longer time.
fn weight(t: &Transfer) -> (u64, u64) {
    (t.bytes as u64, (t.seconds * 1e9) as u64)
}

/// The vertex that stands for the exchange a call belongs to: collectives stand for themselves,
/// point-to-point calls for the function that holds them.
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
