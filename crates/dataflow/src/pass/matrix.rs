//! The communication matrix: which rank sends how much to which, and which rank waits for which.
//!
//! The matrix is a graph: ranks are its vertices, and an edge leads from each rank to one that it sends to or makes
//! wait. Messages and bytes are those of calls that name their partner. For calls that start several requests at once
//! they are extrapolated from sampled messages, and so is waiting. If no message was sampled, the waiting is unknown:
//! it is missing, not zero.

use crate::flow::{Gives, Kind, Pass, PassError};
use crate::run::Recorded;
use crate::set::Set;
use headwater_graph::view::{Column, EdgeKind, Table, View};
use headwater_model::run::Run;
use headwater_mpi_abi::{self as abi, Class, Role};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "communication-matrix",
            "Ranks as vertices, and an edge between each two that exchange messages or wait: messages, bytes, late_sender, late_receiver, collective_wait, wait.",
            |call| Ok(vec![communication_matrix(call.run(0)?)?.into()]),
        )
        .takes("run", Kind::Run)
        .gives(Gives::Kind(Kind::MADE)),
    ]
}

/// Messages and waiting from one rank to another.
#[derive(Clone, Copy, Default)]
struct Cell {
    messages: f64,
    bytes: f64,
    /// Seconds that the receiver waits for the sender, and the sender for the receiver; unknown if no message was
    /// sampled.
    late_sender: Option<f64>,
    late_receiver: Option<f64>,
    /// Seconds that the second waits for the first in collectives.
    collective: f64,
}

impl Cell {
    /// If a rank sends nothing to the other, there is no waiting for messages.
    fn of_messages(&self, wait: Option<f64>) -> Option<f64> {
        wait.or((self.messages == 0.0).then_some(0.0))
    }
}

/// Whether calls of a function start several requests, whose partners are not recorded.
fn starts_several(name: &str) -> bool {
    let function = abi::by_name(name).filter(|f| f.class == Class::Start);
    function.is_some_and(|f| f.position(Role::N).is_some())
}

/// Whether ranks call any collective, in which they could wait for one another.
fn has_collectives(run: &Run) -> bool {
    let of = |name: &String| abi::by_name(name).is_some_and(|f| f.is_collective());
    let is: Vec<bool> = run.functions.iter().map(of).collect();
    run.calls
        .iter()
        .any(|c| is.get(usize::from(c.func)) == Some(&true))
}

/// The edges of a run's communication matrix, by their ranks. The ranks are the vertices of its view, with `rank`,
/// `name`, `node`, `wall`, `mpi` and what else is known of each. Edges have `from` and `to` (ranks), `messages` and
/// `bytes` sent, `late_sender` (seconds that `to` waits for messages of `from`), `late_receiver` (that `from` waits
/// until `to` receives), `collective_wait` (that `to` waits for `from` in collectives) and `wait`, the sum of the
/// three. What was not measured is missing: waiting for messages between ranks for which none was sampled, and waiting
/// in collectives in a run in which none was sampled; then `wait` is missing too.
///
/// # Errors
/// Only errors of the set.
pub fn communication_matrix(run: &Recorded) -> Result<Set, PassError> {
    let mut cells: BTreeMap<(u32, u32), Cell> = BTreeMap::new();
    let n = run.run().header.ranks;
    if let Some(peers) = run.top_down().table("peers") {
        let figure = |name: &str, row| peers.get(name).and_then(|c| c.number(row)).unwrap_or(0.0);
        for row in 0..peers.len() {
            let (messages, bytes) = (figure("messages", row), figure("sent", row));
            if messages > 0.0 {
                let ends = (figure("rank", row) as u32, figure("peer", row) as u32);
                let cell = cells.entry(ends).or_default();
                cell.messages += messages;
                cell.bytes += bytes;
            }
        }
    }
    let view = run.parallel();
    let edges = &view.edges;
    let figure = |name: &str, e: usize| edges.get(name).and_then(|c| c.number(e)).unwrap_or(0.0);
    let rank = |v: u32| {
        let ranks = view.vertices.get("rank");
        ranks.and_then(|r| r.number(v as usize)).map(|r| r as u32)
    };
    for e in 0..view.graph.edges() {
        let (src, dst) = (view.graph.sources()[e], view.graph.targets()[e]);
        let kind = edges.get("kind").and_then(|k| k.text(e));
        let message = kind == Some(EdgeKind::PointToPoint.words());
        let collective = kind == Some(EdgeKind::Collective.words());
        let (Some(from), Some(to)) = (rank(src), rank(dst)) else {
            continue;
        };
        let waited = collective && figure("wait", e) > 0.0;
        if !message && !waited {
            continue;
        }
        let cell = cells.entry((from, to)).or_default();
        if collective {
            cell.collective += figure("wait", e);
            continue;
        }
        let call = view.vertices.get("name").and_then(|c| c.text(src as usize));
        if call.is_some_and(starts_several) {
            cell.messages += figure("count", e);
            cell.bytes += figure("bytes", e);
        }
        *cell.late_sender.get_or_insert(0.0) += figure("late_sender", e);
        *cell.late_receiver.get_or_insert(0.0) += figure("late_receiver", e);
    }
    cells.retain(|(from, to), _| *from.max(to) < n);
    // In a run without collectives no rank waits in one.
    let collectives = !run.run().collectives.is_empty() || !has_collectives(run.run());
    let collective = |c: &Cell| collectives.then_some(c.collective);
    let of = |f: fn(&Cell) -> f64| Column::known(cells.values().map(f).collect());
    let maybe = |f: &dyn Fn(&Cell) -> Option<f64>| Column::numbers(cells.values().map(f));
    let ends = |f: fn(&(u32, u32)) -> u32| -> Vec<u32> { cells.keys().map(f).collect() };
    let (src, dst) = (ends(|e| e.0), ends(|e| e.1));
    let numbers = |all: &[u32]| Column::known(all.iter().map(|r| f64::from(*r)).collect());
    let table = Table::new(cells.len())
        .with("from", numbers(&src))
        .with("to", numbers(&dst))
        .with("messages", of(|c| c.messages))
        .with("bytes", of(|c| c.bytes))
        .with("late_sender", maybe(&|c| c.of_messages(c.late_sender)))
        .with("late_receiver", maybe(&|c| c.of_messages(c.late_receiver)))
        .with("collective_wait", maybe(&collective))
        .with(
            "wait",
            maybe(&|c| {
                let late = c.of_messages(c.late_sender)? + c.of_messages(c.late_receiver)?;
                Some(late + collective(c)?)
            }),
        );
    let all: Vec<u32> = (0..n).collect();
    let mut vertices = Table::new(all.len()).with("rank", numbers(&all)).with(
        "name",
        Column::texts(all.iter().map(|r| Some(format!("rank {r}")))),
    );
    if let Some(ranks) = run.top_down().table("ranks") {
        // A rank whose data are lost has no row there.
        let mut row: Vec<u32> = vec![u32::MAX; all.len()];
        for i in 0..ranks.len() {
            let rank = ranks
                .get("rank")
                .and_then(|r| r.number(i))
                .map(|r| r as usize);
            if let Some(slot) = rank.and_then(|r| row.get_mut(r)) {
                *slot = i as u32;
            }
        }
        for (name, column) in ranks.columns().filter(|c| c.0 != "rank") {
            vertices.set(name, column.take(&row));
        }
    }
    let made = View::made(vertices, src, dst, table).unwrap_or_default();
    let made = View {
        header: view.header.clone(),
        ..made
    };
    Ok(Set::edges_of(&Arc::new(made)))
}
