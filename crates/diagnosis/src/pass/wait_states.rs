//! Wait states by Scalasca's names (Geimer et al. 2010): where ranks and threads wait, why, and for which other one.
//!
//! | state | what it is |
//! | --- | --- |
//! | late sender | a receive was there before its message was sent |
//! | late receiver | a send was there before its receive was posted |
//! | wait at barrier, wait at n-to-n | until the last rank came to a collective that needs all |
//! | late broadcast, early reduce, early scan | until the root, the first sender or the lower ranks came |
//! | wait at window | until another rank opened or ended its access to a window, or released its lock |
//! | wait at OpenMP barrier | until the last thread of the team came to a barrier, or to the end of the region |
//! | wait at barrier of threads | until the last of the threads that the program made came to `pthread_barrier_wait` |
//! | lock contention | until a holder let a lock go |
//! | wait for a thread | at joins, conditions, semaphores, tasks and ordered loops |
//!
//! A wait at an OpenMP barrier does not include tasks that the thread did meanwhile. Waiting in calls that start or end
//! MPI is left out: it is not part of the run time.

use headwater_dataflow::flow::{Gives, Kind, Pass, PassError};
use headwater_dataflow::pass::location;
use headwater_dataflow::set::Set;
use headwater_graph::view::{Cell, EdgeKind};
use headwater_model::report::{Item, Section, Unit};
use headwater_mpi_abi as abi;
use std::collections::BTreeMap;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "wait-states",
            "Waiting on the set's edges, and at its vertices for nobody known, by its state.",
            |call| Ok(vec![by_state(call.set(0)?, &waits(call.set(0)?)?).into()]),
        )
        .takes("E", Kind::PARALLEL)
        .gives(Gives::Kind(Kind::Section)),
        Pass::new(
            "wait-states-by-call",
            "Waiting as wait-states has it, by the call that waited and the one that was waited for.",
            |call| Ok(vec![by_call(call.set(0)?, &waits(call.set(0)?)?).into()]),
        )
        .takes("E", Kind::PARALLEL)
        .gives(Gives::Kind(Kind::Section)),
    ]
}

const EARLY_REDUCE: &str = "early reduce";

/// Waiting on an edge, or without a known rank or thread that was waited for.
struct Wait<'a> {
    state: &'static str,
    /// The collective that was waited for, which another call may complete.
    collective: Option<&'a str>,
    /// The vertex that waited, and the one that it waited for.
    ends: (u32, Option<u32>),
    seconds: f64,
    count: f64,
}

/// The wait state of an edge of a kind, in words; its later end is in a call of `function`.
fn state(kind: &str, function: &str) -> Option<&'static str> {
    let kind = EdgeKind::WORDS.iter().position(|w| *w == kind)?;
    state_of_kind(kind, function)
}

/// Scalasca's name of the wait along an edge of a kind; its later end is in a call of `function`.
pub fn wait_state(kind: EdgeKind, function: &str) -> Option<&'static str> {
    state_of_kind(kind as usize, function)
}

fn state_of_kind(kind: usize, function: &str) -> Option<&'static str> {
    use abi::Class::*;
    let is = |k: EdgeKind| k as usize == kind;
    let class = abi::by_name(function).map(|f| f.class);
    if is(EdgeKind::PointToPoint) || is(EdgeKind::LateReceiver) {
        // One-sided calls, a fence too, have no sender and no receiver.
        return Some(match class {
            Some(
                Barrier | WinCreate | WinFree | WinPost | WinStart | WinComplete | WinWait
                | WinLock | WinFlush | WinUnlock,
            ) => "wait at window",
            _ if is(EdgeKind::PointToPoint) => "late sender",
            _ => "late receiver",
        });
    }
    if is(EdgeKind::Collective) {
        // Ranks wait for a nonblocking collective in the call that completes it.
        return Some(match class {
            Some(Barrier) => "wait at barrier",
            Some(OneToAll) => "late broadcast",
            Some(AllToOne) => EARLY_REDUCE,
            Some(Scan) => "early scan",
            _ => "wait at n-to-n",
        });
    }
    if is(EdgeKind::Barrier) {
        return Some(match function {
            "pthread_barrier_wait" => "wait at barrier of threads",
            _ => "wait at OpenMP barrier",
        });
    }
    let locks = [
        EdgeKind::Mutex,
        EdgeKind::ReadLock,
        EdgeKind::WriteLock,
        EdgeKind::SpinLock,
        EdgeKind::Critical,
        EdgeKind::Futex,
        EdgeKind::Gil,
    ];
    if locks.into_iter().any(is) {
        return Some("lock contention");
    }
    (kind > EdgeKind::Begin as usize).then_some("wait for a thread")
}

fn waits(set: &Set) -> Result<Vec<Wait<'_>>, PassError> {
    let view = set.view();
    let edges = &view.edges;
    let column = |name: &str| {
        edges.get(name).ok_or_else(|| {
            let what = format!("its edges have no {name}; give elements of a run's parallel view");
            PassError::Argument("E".to_string(), what)
        })
    };
    let (kinds, wait, count) = (column("kind")?, column("wait")?, column("count")?);
    let collective = edges.get("collective");
    // Ranks wait for a nonblocking collective in a call whose name does not show it.
    let state_of = |kind: Option<&str>, collective: Option<&str>, at: u32| {
        if set.cell("class", at) == Cell::Text("start-or-end") {
            return None;
        }
        let call = match set.cell("name", at) {
            Cell::Text(name) => name,
            _ => "",
        };
        state(kind?, collective.unwrap_or(call))
    };
    let mut out = Vec::new();
    for &e in set.edges() {
        let i = e as usize;
        let (from, to) = (view.graph.sources()[i], view.graph.targets()[i]);
        let collective = collective.and_then(|c| c.text(i));
        let Some(state) = state_of(kinds.text(i), collective, to) else {
            continue;
        };
        // A reduction is early until the first of the others comes; the root's later wait for the others is none of
        // Scalasca's states.
        let first = edges.get("first").and_then(|f| f.number(i));
        let seconds = first
            .filter(|_| state == EARLY_REDUCE)
            .or_else(|| wait.number(i));
        if let Some(seconds) = seconds.filter(|s| *s > 0.0) {
            out.push(Wait {
                state,
                collective,
                ends: (to, Some(from)),
                seconds,
                count: count.number(i).unwrap_or(0.0),
            });
        }
    }
    let mut in_set = vec![false; view.graph.vertices()];
    set.vertices()
        .iter()
        .for_each(|v| in_set[*v as usize] = true);
    let Some(unheld) = view.table("unheld") else {
        return Ok(out);
    };
    let figure = |name: &str, row| unheld.get(name).and_then(|c| c.number(row));
    let word = |name: &str, row| unheld.get(name).and_then(|c| c.text(row));
    for row in 0..unheld.len() {
        let at = figure("vertex", row).unwrap_or(0.0) as u32;
        let collective = word("collective", row);
        let state = state_of(word("kind", row), collective, at);
        if let Some(state) = state.filter(|_| in_set.get(at as usize) == Some(&true)) {
            out.push(Wait {
                state,
                collective,
                ends: (at, None),
                seconds: figure("wait", row).unwrap_or(0.0),
                count: figure("count", row).unwrap_or(0.0),
            });
        }
    }
    Ok(out)
}

/// Seconds of all ranks together.
fn rank_seconds(set: &Set) -> f64 {
    let ranks = set.view().table("ranks").and_then(|t| t.get("wall"));
    ranks.map_or(0.0, |wall| {
        (0..wall.len()).filter_map(|r| wall.number(r)).sum()
    })
}

fn share(seconds: f64, all: f64) -> Item {
    Item::from((all > 0.0).then(|| seconds / all))
}

fn by_state(set: &Set, waits: &[Wait<'_>]) -> Section {
    let columns = [
        ("state", "state", Unit::None),
        ("wait_seconds", "waiting", Unit::Seconds),
        ("time_share", "of all rank time", Unit::Share),
        ("count", "messages, collectives, locks", Unit::Count),
    ];
    let mut section = Section::new("wait_states", "Wait states", &columns);
    section.note = Some(
        "Seconds of all ranks and threads together, from what both ends sampled, extrapolated to all messages and collectives, at most to the time in the call.".into(),
    );
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for w in waits {
        let sum = sums.entry(w.state).or_default();
        (sum.0, sum.1) = (sum.0 + w.seconds, sum.1 + w.count);
    }
    let all = rank_seconds(set);
    let mut rows: Vec<(&str, (f64, f64))> = sums.into_iter().collect();
    rows.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    for (state, (seconds, count)) in rows {
        let row = vec![
            state.into(),
            seconds.into(),
            share(seconds, all),
            count.into(),
        ];
        section.rows.push(row);
    }
    section
}

fn by_call(set: &Set, waits: &[Wait<'_>]) -> Section {
    let columns = [
        ("state", "state", Unit::None),
        ("call", "waits in", Unit::None),
        ("location", "where", Unit::None),
        ("on_call", "for", Unit::None),
        ("on_location", "where", Unit::None),
        ("wait_seconds", "waiting", Unit::Seconds),
        ("time_share", "of all rank time", Unit::Share),
        ("longest_rank", "most on task", Unit::None),
        ("on_rank", "for task", Unit::None),
    ];
    let title = "Wait states by call";
    let mut section = Section::new("wait_states_by_call", title, &columns);
    let place = |v: u32| match set.cell("site", v) {
        Cell::Number(site) => site as u64,
        _ => u64::from(v),
    };
    // By state, collective and both places: seconds, and the longest wait with its ends.
    type Key<'a> = (&'a str, Option<&'a str>, u64, Option<u64>);
    type Sum = (f64, (f64, (u32, Option<u32>)));
    let mut sums: BTreeMap<Key<'_>, Sum> = BTreeMap::new();
    for w in waits {
        let key = (w.state, w.collective, place(w.ends.0), w.ends.1.map(place));
        let sum = sums.entry(key).or_insert((0.0, (0.0, w.ends)));
        sum.0 += w.seconds;
        if w.seconds > sum.1.0 {
            sum.1 = (w.seconds, w.ends);
        }
    }
    let all = rank_seconds(set);
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    let text = |v: u32| match set.cell("name", v) {
        Cell::Text(name) => Item::from(name),
        _ => Item::Missing,
    };
    let rank = |v: u32| match set.cell("rank", v) {
        Cell::Number(rank) => Item::Number(rank),
        _ => Item::Missing,
    };
    let at = |v: u32| location(set, v).map_or(Item::Missing, Item::from);
    for ((state, collective, _, _), (seconds, (_, (to, on)))) in rows {
        let known = |of: &dyn Fn(u32) -> Item| on.map_or(Item::Missing, of);
        // A nonblocking collective has its own name, at the call that completes it, where ranks wait.
        let text = |v: u32| collective.map_or_else(|| text(v), Item::from);
        section.rows.push(vec![
            state.into(),
            text(to),
            at(to),
            known(&text),
            known(&at),
            seconds.into(),
            share(seconds, all),
            rank(to),
            known(&rank),
        ]);
    }
    section
}

#[cfg(test)]
mod tests {
    use super::{by_state, state, waits};
    use headwater_dataflow::set::Set;
    use headwater_graph::view::{Column, Table, View};
    use headwater_model::report::Item;
    use std::sync::Arc;

    #[test]
    fn waiting_to_end_mpi_is_no_part_of_the_run_time() {
        let edges = Table::new(2)
            .with("kind", Column::texts([Some("collective"); 2]))
            .with("wait", Column::known(vec![1.0, 2.0]))
            .with("count", Column::known(vec![1.0; 2]));
        let calls = ["MPI_Allreduce", "MPI_Allreduce", "MPI_Finalize"].map(Some);
        let classes = ["collective", "collective", "start-or-end"].map(Some);
        let vertices = Table::new(3)
            .with("name", Column::texts(calls))
            .with("class", Column::texts(classes));
        let view = View::made(vertices, vec![0, 0], vec![1, 2], edges).expect("a graph");
        let set = Set::edges_of(&Arc::new(view));
        let table = by_state(&set, &waits(&set).expect("has waits"));
        let seconds = table.column("wait_seconds").expect("a column");
        assert_eq!(seconds, [&Item::Number(1.0)]);
    }

    #[test]
    fn who_waits_for_access_to_a_window_waits_for_no_sender() {
        let cases = [
            ("point-to-point", "MPI_Recv", "late sender"),
            ("late-receiver", "MPI_Send", "late receiver"),
            ("point-to-point", "MPI_Win_wait", "wait at window"),
            ("point-to-point", "MPI_Win_fence", "wait at window"),
            ("collective", "MPI_Win_fence", "wait at barrier"),
            ("point-to-point", "MPI_Win_start", "wait at window"),
            ("late-receiver", "MPI_Win_complete", "wait at window"),
        ];
        for (kind, function, said) in cases {
            assert_eq!(state(kind, function), Some(said), "{kind} {function}");
        }
    }
}
