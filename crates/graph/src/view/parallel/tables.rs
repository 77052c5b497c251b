//! The tables of the parallel view: a row for each of its vertices, of its edges, and of the waits without an edge.

use super::{Builder, Edge, Spot, Unheld};
use crate::topdown::VertexIx;
use crate::view::View;
use crate::view::column::{Column, Table};
use crate::view::known::{EdgeKind, EdgeType};
use headwater_model::psg::VertexKind;
use headwater_model::run::Run;
use rustc_hash::FxHashMap;

impl Builder<'_> {
    /// Figures of the edges, one row each.
    pub(super) fn edge_table(&self, run: &Run) -> Table {
        let of = |figure: fn(&Edge) -> Option<f64>| Column::numbers(self.edges.iter().map(figure));
        let types = self.edges.iter().map(|e| Some(e.label as i32));
        let kinds = self.edges.iter().map(|e| Some(e.kind as i32));
        let collectives = (self.edges.iter()).map(|e| e.collective.map(i32::from));
        Table::new(self.edges.len())
            .with("type", Column::coded(&EdgeType::WORDS, types))
            .with("kind", Column::coded(&EdgeKind::WORDS, kinds))
            .with("back", of(|e| Some(f64::from(u8::from(e.back)))))
            .with("count", of(|e| Some(e.count as f64)))
            .with("bytes", of(|e| e.bytes.map(|b| b as f64)))
            .with("time", of(|e| e.time))
            .with(
                "wait",
                of(|e| match e.kind {
                    EdgeKind::LateReceiver => e.late_receiver,
                    _ => e.late_sender,
                }),
            )
            .with("late_sender", of(|e| e.late_sender))
            .with("late_receiver", of(|e| e.late_receiver))
            .with("first", of(|e| e.first))
            .with("collective", Column::coded(&run.functions, collectives))
    }

    /// The rows of `unheld` that have any waiting.
    pub(super) fn unheld_table(&self, run: &Run) -> Table {
        let all: Vec<&Unheld> = self.unheld.iter().filter(|u| u.wait > 0.0).collect();
        let of =
            |figure: fn(&Unheld) -> f64| Column::known(all.iter().map(|u| figure(u)).collect());
        let kinds = all.iter().map(|u| Some(u.kind as i32));
        let collectives = all.iter().map(|u| u.collective.map(i32::from));
        Table::new(all.len())
            .with("vertex", of(|u| f64::from(u.at)))
            .with("kind", Column::coded(&EdgeKind::WORDS, kinds))
            .with("collective", Column::coded(&run.functions, collectives))
            .with("wait", of(|u| u.wait))
            .with("count", of(|u| u.count as f64))
    }

    /// Figures of the vertices, one row each.
    pub(super) fn vertex_table(&self, top: &View) -> Table {
        let of_spot: Vec<VertexIx> = (self.spots.iter())
            .map(|s| self.vertex.get(s.2 as usize).copied().unwrap_or(0))
            .collect();
        let mut out = Table::new(self.spots.len());
        for (name, column) in top.vertices.columns() {
            if matches!(name, "total" | "before" | "parent") || top.rows.contains_key(name) {
                continue;
            }
            out.set(name, column.take(&of_spot));
        }
        out.set(
            "vertex",
            Column::known(of_spot.iter().map(|v| f64::from(*v)).collect()),
        );
        let ids = |get: fn(&Spot) -> f64| Column::known(self.spots.iter().map(get).collect());
        out.set("rank", ids(|s| f64::from(s.0)));
        out.set("thread", ids(|s| f64::from(s.1)));
        // The time of threads that call no MPI, by spot.
        let mut worked: FxHashMap<u32, (f64, f64)> = FxHashMap::default();
        for t in &self.view.threads.times {
            let thread = self.flow(t.rank, t.thread);
            if let Some(at) = self.at(t.rank, thread, t.vertex).filter(|_| thread > 0) {
                let sum = worked.entry(at).or_default();
                (sum.0, sum.1) = (sum.0 + t.cpu, sum.1 + t.blocked);
            }
        }
        let mut waited: FxHashMap<u32, f64> = FxHashMap::default();
        for e in &self.view.parallel.threads {
            if let Some(at) = self.at(e.rank, self.flow(e.rank, e.thread), e.at) {
                *waited.entry(at).or_default() += e.wait;
            }
        }
        for name in top.vertices.names() {
            let Some(rows) = top.rows.get(name).filter(|_| name != "before") else {
                continue;
            };
            let counts = matches!(name, "count" | "bytes" | "sent" | "longest");
            let values = (0..).zip(&self.spots).zip(&of_spot).map(|((i, spot), v)| {
                let row = rows.row(*v).filter(|_| spot.1 == 0);
                let own = row.map_or(0.0, |r| r.at(spot.0));
                let (cpu, blocked) = worked.get(&i).copied().unwrap_or_default();
                let calls = self.pag.top.get(*v).kind == VertexKind::MpiCall;
                match name {
                    _ if counts && !calls => None,
                    // Not counted on any rank.
                    _ if counts && rows.row(*v).is_none() => None,
                    // Threads have vertices of their own here.
                    "time" => {
                        let rows = top.rows.get("workers").and_then(|w| w.row(*v));
                        let others = rows.filter(|_| spot.1 == 0).map_or(0.0, |r| r.at(spot.0));
                        Some((own - others).max(0.0) + cpu)
                    }
                    "workers" => Some(cpu),
                    "blocked" => Some(own + blocked),
                    "wait" => Some(own + waited.get(&i).copied().unwrap_or(0.0)),
                    _ => Some(own),
                }
            });
            out.set(name, Column::numbers(values));
        }
        out
    }
}

/// What the places of a top-down view are, and which place encloses each.
pub(super) fn places(top: &View) -> Table {
    let names = ["type", "name", "file", "first_line", "parent"];
    let columns = names
        .into_iter()
        .filter_map(|n| Some((n, top.vertices.get(n)?)));
    columns.fold(Table::new(top.graph.vertices()), |table, (name, column)| {
        table.with(name, column.clone())
    })
}
