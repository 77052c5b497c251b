//! Delay cost as a graph of places, in which each place is joined with those that wait because of it, and as a table.

use crate::measure::scale::Scale;
use crate::price::delay_cost::{self, Delay};
use headwater_dataflow::algorithm::Interrupted;
use headwater_dataflow::flow::{Call, Gives, Kind, Pass, PassError, Value};
use headwater_dataflow::pass::{location, of_one_program, whole};
use headwater_dataflow::run::{Recorded, threads};
use headwater_dataflow::set::Set;
use headwater_graph::view::{Cell, Column, EdgeType, Table, View};
use headwater_model::diagnosis::Clock;
use headwater_model::rank::RankSet;
use headwater_model::report::{Item, Section, Unit};
use std::sync::Arc;

/// A rank is named if it causes at least this part of the seconds of the rank that causes most.
const CONCERNED: f64 = 0.5;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "largest",
            "The run with the most ranks and threads, of several such the last.",
            largest,
        )
        .takes("run", Kind::Run)
        .and_more()
        .gives(Gives::Kind(Kind::Run)),
        Pass::new(
            "delay-cost",
            "Places that let others wait, with delay, and places that wait because of them, with waited: an edge from each to each, with wait, late_ranks and via, the largest first.",
            |call| Ok(vec![delay_cost(call.run(0)?, call.number("least"), call.interrupted())?.into()]),
        )
        .takes("run", Kind::Run)
        .with(
            "least",
            1e-3,
            "smallest waiting time of all ranks for which a place is reported, as a share of all rank time",
        )
        .figure_from(0.0)
        .gives(Gives::Kind(Kind::MADE)),
        Pass::new(
            "delay-costs",
            "Edges of delay cost as a table: where it is waited, because of what, by which way.",
            |call| Ok(vec![table(call.set(0)?).into()]),
        )
        .takes("E", Kind::MADE)
        .gives(Gives::Kind(Kind::Section)),
    ]
}

fn largest(call: &Call<'_>) -> Result<Vec<Value>, PassError> {
    let mut most = call.run(0)?;
    for i in 1..call.inputs().len() {
        let run = call.run(i)?;
        of_one_program(&most.run().header, &run.run().header, "run")?;
        if threads::scale(run.run()) >= threads::scale(most.run()) {
            most = run;
        }
    }
    Ok(vec![most.clone().into()])
}

/// Delay cost of a run as a graph. Its vertices are places of the top-down view, with their attributes and the seconds
/// that ranks wait because of them (`delay`) and in them (`waited`). Its edges lead from the late place to the waiting
/// one, with `wait`, the late ranks and the calls that pass the delay on. `least` is a share of all rank time.
///
/// # Errors
/// If the run's places cannot be put on a graph, which would be a bug, or if it is interrupted.
pub fn delay_cost(
    run: &Recorded,
    least: f64,
    interrupted: Interrupted<'_>,
) -> Result<Set, PassError> {
    let (pag, scale) = (run.pag(), Scale::new(run, interrupted));
    let found = delay_cost::of_run(pag, &scale, interrupted);
    let (mut delays, clock) = whole(found, interrupted)?;
    let least = least * scale.model_seconds() * f64::from(scale.p);
    delays.retain(|d| d.seconds() >= least);
    let mut places: Vec<u32> = delays.iter().flat_map(|d| [d.cause, d.waits]).collect();
    places.sort_unstable();
    places.dedup();
    let index = |v: u32| places.partition_point(|p| *p < v) as u32;
    let sums = |end: fn(&Delay) -> u32| {
        let mut sums: Vec<Option<f64>> = vec![None; places.len()];
        for d in &delays {
            *sums[index(end(d)) as usize].get_or_insert(0.0) += d.seconds();
        }
        Column::numbers(sums)
    };
    let top = run.top_down();
    let mut vertices = top.vertices.take(&places);
    let of_place = places.iter().map(|p| f64::from(*p)).collect();
    vertices.set("vertex", Column::known(of_place));
    vertices.set("delay", sums(|d| d.cause));
    vertices.set("waited", sums(|d| d.waits));
    let late = |d: &Delay| {
        let most = d.by_rank.values().copied().fold(0.0, f64::max);
        let late = d.by_rank.iter().filter(|(_, s)| **s >= CONCERNED * most);
        late.map(|(rank, _)| *rank).collect::<RankSet>().to_string()
    };
    let via = |d: &Delay| {
        let names = d.via.iter().map(|v| {
            let place = pag.place(*v);
            format!(
                "{} ({})",
                place.name,
                headwater_model::words::location(&place)
            )
        });
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then(|| names.join(" → "))
    };
    let of = |word: &dyn Fn(&Delay) -> Option<String>| Column::texts(delays.iter().map(word));
    let clock = match clock {
        Clock::Virtual => "virtual",
        Clock::Cpu => "cpu",
        Clock::Wall => "wall",
    };
    let edges = Table::new(delays.len())
        .with(
            "type",
            of(&|_| Some(EdgeType::InterProcess.words().to_string())),
        )
        .with("kind", of(&|_| Some("delay".to_string())))
        .with(
            "wait",
            Column::known(delays.iter().map(Delay::seconds).collect()),
        )
        .with("clock", of(&|_| Some(clock.to_string())))
        .with("late_ranks", of(&|d| Some(late(d))))
        .with("via", of(&via));
    let src = delays.iter().map(|d| index(d.cause)).collect();
    let dst = delays.iter().map(|d| index(d.waits)).collect();
    let made = View::made(vertices, src, dst, edges);
    let made = made.ok_or_else(|| PassError::Failed("an edge without an end".to_string()))?;
    let view = View {
        header: top.header.clone(),
        tables: top.tables.clone(),
        ..made
    };
    let (v, e) = (view.graph.vertices() as u32, view.graph.edges() as u32);
    Ok(Set::new(Arc::new(view), (0..v).collect(), (0..e).collect()))
}

fn table(set: &Set) -> Section {
    let columns = [
        ("call", "waits in", Unit::None),
        ("location", "where", Unit::None),
        ("cause", "because of", Unit::None),
        ("cause_location", "where", Unit::None),
        ("late_ranks", "on ranks", Unit::None),
        ("wait_seconds", "waiting", Unit::Seconds),
        ("time_share", "of all rank time", Unit::Share),
        ("via", "passed on in", Unit::None),
    ];
    let title = "What waiting is due to (delay cost)";
    let mut section = Section::new("delay_cost", title, &columns);
    let view = set.view();
    let word = |name: &str, e: u32| match view.edges.cell(name, e as usize) {
        Cell::Text(text) => Item::from(text),
        _ => Item::Missing,
    };
    let clock = set.edges().first().map(|e| word("clock", *e));
    let how = match clock {
        Some(Item::Text(clock)) if clock == "virtual" => {
            "in the run played again with a core for each rank, from the windows in which every event was recorded"
        }
        _ => "by what the slowest rank of each phase computes longer than the others",
    };
    section.note = Some(format!(
        "Seconds of all ranks together, {how}. What waits were passed on by calls in between is counted at its origin."
    ));
    let walls = view.table("ranks").and_then(|t| t.get("wall"));
    let all: f64 = walls.map_or(0.0, |w| (0..w.len()).filter_map(|r| w.number(r)).sum());
    let name = |v: u32| match set.cell("name", v) {
        Cell::Text(name) => Item::from(name),
        _ => Item::Missing,
    };
    let at = |v: u32| location(set, v).map_or(Item::Missing, Item::from);
    for &e in set.edges() {
        let i = e as usize;
        let (cause, waits) = (view.graph.sources()[i], view.graph.targets()[i]);
        let seconds = view.edges.get("wait").and_then(|w| w.number(i));
        section.rows.push(vec![
            name(waits),
            at(waits),
            name(cause),
            at(cause),
            word("late_ranks", e),
            seconds.into(),
            seconds.filter(|_| all > 0.0).map(|s| s / all).into(),
            word("via", e),
        ]);
    }
    section
}
