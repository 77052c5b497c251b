//! The share of vector instructions in the arithmetic of hot loops, from the machine code.
//!
//! The instructions of a loop are counted once each, as they are in the binary, without those of the loops inside it. A
//! loop weighs as much as it takes computation.

use super::counted::{begin, section};
use crate::run::Recorded;
use headwater_graph::Pag;
use headwater_model::psg::{Function, ModuleStructure, VertexId};
use headwater_model::report::{Item, Section, Unit};
use headwater_model::words;
use std::collections::BTreeMap;

/// Loops of a run that have a row of their own.
const LOOPS: usize = 10;

/// A loop: module, function, vertex.
type Key = (u32, u32, VertexId);

/// The innermost loop around a vertex of a function, or itself. A call is in a loop, but what it does is elsewhere.
fn loop_of(function: &Function, vertex: VertexId) -> Option<VertexId> {
    let mut at = Some(vertex);
    // A parent comes before what it contains; where that is damaged, the way ends.
    let mut before = VertexId::MAX;
    while let Some(id) = at.filter(|id| *id < before) {
        let here = function.vertices.get(id as usize)?;
        if here.kind.is_loop() {
            return Some(id);
        }
        (before, at) = (id, here.parent);
    }
    None
}

/// Arithmetic instructions of a loop: all, and packed ones.
fn arithmetic(structure: &ModuleStructure, key: Key) -> (f64, f64) {
    let Some(function) = structure.functions.get(key.1 as usize) else {
        return (0.0, 0.0);
    };
    let own = structure.arithmetic(key.1).iter();
    let own = own.filter(|a| loop_of(function, a.vertex) == Some(key.2));
    own.fold((0.0, 0.0), |sum, a| {
        (sum.0 + f64::from(a.all), sum.1 + f64::from(a.packed))
    })
}

/// Computation of a loop, and a vertex of the graph that shows where it is.
struct Heat {
    seconds: f64,
    shown: u32,
}

/// Seconds of computation by loop, and of all.
fn heat(recorded: &Recorded) -> (BTreeMap<Key, Heat>, f64) {
    let (pag, view) = (recorded.pag(), recorded.top_down());
    let of = |name: &str, v: usize| view.vertices.get(name).and_then(|c| c.number(v));
    let (mut out, mut all): (BTreeMap<Key, Heat>, f64) = (BTreeMap::new(), 0.0);
    for (v, vertex) in (0u32..).zip(&pag.top.vertices) {
        let row = v as usize;
        let awake = of("busy", row).unwrap_or(0.0) - of("blocked", row).unwrap_or(0.0);
        let seconds = awake.max(0.0) + of("workers", row).unwrap_or(0.0);
        all += seconds;
        if seconds == 0.0 || vertex.kind.is_call() {
            continue;
        }
        let structure = pag.structures.get(vertex.module).map(|m| m.1);
        let function = structure.and_then(|s| s.functions.get(vertex.function as usize));
        let Some(of_loop) = function.and_then(|f| loop_of(f, vertex.psg)) else {
            continue;
        };
        let key = (vertex.module, vertex.function, of_loop);
        let heat = out.entry(key).or_insert(Heat {
            seconds: 0.0,
            shown: v,
        });
        heat.seconds += seconds;
        // What is in the loop may show another line.
        if vertex.psg == of_loop && pag.top.get(heat.shown).psg != of_loop {
            heat.shown = v;
        }
    }
    (out, all)
}

/// The loop's function, and where it is.
fn place(pag: &Pag, key: Key, shown: u32) -> (String, String) {
    // The vertex may be something in the loop: then the loop is around it.
    let same = |v: &u32| {
        let vertex = pag.top.get(*v);
        (vertex.module, vertex.function, vertex.psg) == key
    };
    let at = pag.top.ancestors(shown).find(same).unwrap_or(shown);
    let place = pag.place(at);
    (place.function.clone(), words::location(&place))
}

/// Whether the structure of any module says what it calculates.
pub fn is_known(recorded: &Recorded) -> bool {
    let mut all = recorded.pag().structures.iter();
    all.any(|(_, structure)| !structure.arithmetic.is_empty())
}

/// Loops by run.
pub fn vectors(runs: &[&Recorded]) -> Section {
    let note = "Arithmetic is that of floating-point numbers and of packed integers; integers in general registers are left out, because such instructions also count and address. Each instruction of a loop counts once, as it is in the binary, without the loops inside it: a vectorised loop may have scalar instructions for the rest of its iterations. \"all loops\" weighs loops with arithmetic by their computation.";
    let columns = [
        ("function", "function", Unit::None),
        ("location", "loop", Unit::None),
        ("time_seconds", "computation", Unit::Seconds),
        ("time_share", "share", Unit::Share),
        ("arithmetic", "arithmetic", Unit::Count),
        ("packed", "packed", Unit::Count),
        ("vector_share", "vector share", Unit::Share),
    ];
    let title = "Vector instructions in hot loops";
    let mut section = section(runs, "vectors", title, note, columns);
    for recorded in runs {
        let pag = recorded.pag();
        let (loops, all) = heat(recorded);
        let mut known: Vec<(Key, Heat, (f64, f64))> = (loops.into_iter())
            .filter_map(|(key, heat)| {
                let structure = pag.structures.get(key.0)?.1;
                let counts = arithmetic(structure, key);
                (counts.0 > 0.0).then_some((key, heat, counts))
            })
            .collect();
        known.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
        let seconds: f64 = known.iter().map(|k| k.1.seconds).sum();
        if seconds <= 0.0 {
            continue;
        }
        let share = |seconds: f64| Item::from((all > 0.0).then(|| seconds / all));
        let weighted: f64 = known
            .iter()
            .map(|(_, heat, (all, packed))| heat.seconds * packed / all)
            .sum();
        let mut row = begin(runs, recorded.run());
        row.extend([
            "all loops".into(),
            Item::Missing,
            seconds.into(),
            share(seconds),
        ]);
        row.extend([Item::Missing, Item::Missing, (weighted / seconds).into()]);
        section.rows.push(row);
        for (key, heat, (arithmetic, packed)) in known.into_iter().take(LOOPS) {
            let (function, location) = place(pag, key, heat.shown);
            let mut row = begin(runs, recorded.run());
            row.extend([function.into(), location.into()]);
            row.extend([heat.seconds.into(), share(heat.seconds)]);
            row.extend([arithmetic, packed, packed / arithmetic].map(Item::from));
            section.rows.push(row);
        }
    }
    section
}
