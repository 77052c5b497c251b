//! The passes on a generated parallel view: 1,000,000 vertices and 4,000,000 edges if nothing else is asked for
//! (arguments: vertices, edges for each vertex, a file to write the answers to, as JSON, which `passes.py` beside this
//! one compares with those of python-igraph). Prints the seconds of each pass, the best of three runs.

use headwater_dataflow::algorithm::NEVER;
use headwater_dataflow::pass::{self, Compared};
use headwater_dataflow::set::Set;
use headwater_graph::view::{Column, EdgeKind, EdgeType, Table, View, ViewKind};
use headwater_model::run::Header;
use std::sync::Arc;
use std::time::Instant;

/// Ranks of the made-up run.
const RANKS: usize = 1000;

/// A number that looks drawn, from 0 to 1.
fn drawn(seed: usize) -> f64 {
    let mixed = (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed ^ (mixed >> 29)) >> 11) as f64 / (1u64 << 53) as f64
}

fn main() {
    let number = |i: usize, default: usize| {
        let given = std::env::args().nth(i).and_then(|a| a.parse().ok());
        given.unwrap_or(default)
    };
    let (n, each) = (number(1, 1_000_000), number(2, 4));
    let parallel = Set::vertices_of(&Arc::new(parallel(n, each)));
    let tops = [0, 1].map(|run| Set::vertices_of(&Arc::new(top_down(n, run))));
    println!(
        "{n} vertices, {} edges, {} threads",
        parallel.view().graph.edges(),
        rayon::current_num_threads()
    );
    let hot = time("hotspot", || pass::hotspot(&parallel, "time", 100));
    let late = time("imbalance", || {
        pass::imbalance(&parallel, "time", 1.3, 0.001)
    });
    let late = late.unwrap_or_else(|| parallel.top(1000));
    let change = time("differential", || {
        pass::differential(&tops[0], &tops[1], Compared::All)
    });
    println!("  on {} late vertices:", late.vertices().len());
    let behind = time("causal", || pass::causal(&late, 1e-4, NEVER));
    let back = time("backtracking", || pass::backtracking(&late, 1e-4, NEVER));
    let lines = time("contention", || {
        pass::contention(&parallel, "convoy", 1e-4, 1_000_000, NEVER)
    });
    let Some(path) = std::env::args().nth(3) else {
        return;
    };
    let some = |set: &Option<Set>, n: usize| set.as_ref().map(|s| s.top(n).vertices().to_vec());
    let grown = change
        .as_ref()
        .and_then(|c| c.top(100).numbers("time").ok());
    let grown = grown.map(|all| all.into_iter().flatten().collect::<Vec<f64>>());
    let answers = [
        ("late", numbers(some(&Some(late), usize::MAX))),
        ("hotspot", numbers(some(&hot, 100))),
        ("differential", numbers(some(&change, 100))),
        ("growth", numbers(grown)),
        ("causal", numbers(some(&behind, usize::MAX))),
        ("backtracking", numbers(some(&back, usize::MAX))),
        ("ways", numbers(back.map(|b| b.edges().to_vec()))),
        ("contention", numbers(lines.map(|l| vec![l.len()]))),
    ];
    let rows = answers.map(|(name, all)| format!("\"{name}\": {all}"));
    if let Err(e) = std::fs::write(&path, format!("{{{}}}", rows.join(",\n"))) {
        println!("{path}: {e}");
    }
}

/// Figures as JSON.
fn numbers<T: std::fmt::Debug>(all: Option<Vec<T>>) -> String {
    format!("{:?}", all.unwrap_or_default())
}

/// The result of a pass that is counted.
trait Counted {
    fn count(&self) -> usize;
}

impl Counted for Set {
    fn count(&self) -> usize {
        self.len()
    }
}

impl<T> Counted for Vec<T> {
    fn count(&self) -> usize {
        self.len()
    }
}

fn time<T: Counted, E: std::fmt::Display>(name: &str, run: impl Fn() -> Result<T, E>) -> Option<T> {
    let mut best = f64::INFINITY;
    let mut given = None;
    for _ in 0..3 {
        let start = Instant::now();
        let made = run();
        best = best.min(start.elapsed().as_secs_f64());
        given = Some(made);
    }
    let said = match &given {
        Some(Ok(made)) => format!("{} elements", made.count()),
        Some(Err(e)) => e.to_string(),
        None => String::new(),
    };
    println!("{name:>13}: {best:.3} s, {said}");
    given?.ok()
}

fn header() -> Arc<Header> {
    Arc::new(Header {
        name: "generated".into(),
        ranks: RANKS as u32,
        wall_seconds: 10.0,
        ..Header::default()
    })
}

/// Every rank has a flow of places one after the other; besides, places pass locks on to others on ranks nearby, and
/// a tenth of these is waited for. On every hundredth place ten ranks are late.
fn parallel(n: usize, each: usize) -> View {
    let places = (n / RANKS).max(1);
    let place = |v: usize| v % places;
    let rank = |v: usize| v / places;
    let names: Vec<String> = (0..places).map(|p| format!("place_{p}")).collect();
    let late = |v: usize| place(v) % 100 == 7 && rank(v) % 100 == 3;
    let time = |v: usize| 0.01 + 0.001 * drawn(v) + if late(v) { 0.05 } else { 0.0 };
    let vertices = Table::new(n)
        .with(
            "name",
            Column::coded(&names, (0..n).map(|v| Some(place(v) as i32))),
        )
        .with(
            "vertex",
            Column::known((0..n).map(|v| place(v) as f64).collect()),
        )
        .with(
            "rank",
            Column::known((0..n).map(|v| rank(v) as f64).collect()),
        )
        .with("time", Column::known((0..n).map(time).collect()));
    let (mut src, mut dst, mut kinds, mut types, mut wait) =
        (vec![], vec![], vec![], vec![], vec![]);
    for v in 0..n {
        for k in 0..each {
            let flow = k == 0;
            let to = if flow {
                v + 1
            } else {
                (v + k * places + 1) % n
            };
            if to >= n || flow && rank(to) != rank(v) {
                continue;
            }
            src.push(v as u32);
            dst.push(to as u32);
            let (label, kind) = if flow {
                (EdgeType::IntraProcedural, EdgeKind::DataFlow)
            } else {
                (EdgeType::InterThread, EdgeKind::Mutex)
            };
            types.push(Some(label as i32));
            kinds.push(Some(kind as i32));
            let waited = !flow && drawn(v * 31 + k) < 0.1;
            wait.push((!flow).then_some(if waited { 0.01 } else { 0.0 }));
        }
    }
    let edges = Table::new(src.len())
        .with("type", Column::coded(&EdgeType::WORDS, types))
        .with("kind", Column::coded(&EdgeKind::WORDS, kinds))
        .with("wait", Column::numbers(wait));
    let made = View::made(vertices, src, dst, edges).unwrap_or_default();
    View {
        kind: ViewKind::Parallel,
        header: header(),
        ..made
    }
}

/// A tree of places with ten metrics, of which the second run has other lines, as another build would.
fn top_down(n: usize, run: usize) -> View {
    let names: Vec<String> = (0..1000).map(|p| format!("place_{p}")).collect();
    let parent = |v: usize| v.checked_sub(1).map(|v| (v / 4) as f64);
    let mut vertices = Table::new(n)
        .with(
            "name",
            Column::coded(&names, (0..n).map(|v| Some((v % 1000) as i32))),
        )
        .with(
            "type",
            Column::coded(&["loop", "comp"], (0..n).map(|v| Some((v % 2) as i32))),
        )
        .with("parent", Column::numbers((0..n).map(parent)))
        .with(
            "first_line",
            Column::known((0..n).map(|v| (v + run) as f64).collect()),
        );
    for m in 0..10 {
        let name = [
            "time", "busy", "mpi", "wait", "count", "bytes", "m6", "m7", "m8", "m9",
        ][m];
        let values = (0..n).map(|v| drawn(v * 16 + m + run * 7)).collect();
        vertices.set(name, Column::known(values));
    }
    let (src, dst) = (1..n).map(|v| ((v - 1) as u32 / 4, v as u32)).unzip();
    let edges = Table::new(n.saturating_sub(1));
    let made = View::made(vertices, src, dst, edges).unwrap_or_default();
    View {
        kind: ViewKind::TopDown,
        header: header(),
        ..made
    }
}
