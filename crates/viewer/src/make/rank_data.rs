//! Ranks and threads of a run: groups of like ranks, heat map, messages, teams, locks.

use super::frames::Frames;
use super::near::RANKS as PARALLEL;
use super::{Amounts, short};
use crate::model::ranks::{
    HeatRow, LockRow, Matrix, PerRank, RankData, RankGroup, RankTile, ThreadRow,
};
use headwater_dataflow::Recorded;
use headwater_dataflow::algorithm::{NEVER, clusters};
use headwater_dataflow::pass::communication_matrix;
use headwater_graph::view::{Column, EdgeKind, View, waits};
use headwater_model::RankSet;
use headwater_model::run::ThreadWait;
use headwater_mpi_abi as abi;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Metrics of the heat map.
const HEAT: [&str; 5] = ["time", "busy", "wait", "mpi", "bytes"];

/// Frames by which ranks are compared.
const COMPARED: usize = 24;

/// Clusters of ranks.
const CLUSTERS: usize = 8;

/// Ranks differ if one is farther from the mean than this part of it.
const DIFFER: f64 = 0.02;

/// Ranks that are compared with each other.
const SAMPLE: usize = 4_096;

/// Ranks that are a group of their own each.
const SINGLE: usize = 512;

const NANO: f64 = 1e-9;

/// All that the page has of the ranks of a run.
pub fn rank_data(run: &Recorded, cells: &Cells, frames: &Frames, amounts: Amounts) -> RankData {
    let recorded = run.run();
    let n = recorded.header.ranks;
    let groups = groups(run, frames, amounts);
    let heat = HEAT.iter().filter_map(|metric| {
        let rows = heat(run, frames, metric, &groups, amounts.heat);
        (!rows.is_empty()).then(|| ((*metric).to_string(), rows))
    });
    let heat: BTreeMap<String, Vec<HeatRow>> = heat.collect();
    let all = 0..n;
    let matrix = cells.matrix(all.clone(), all, amounts.bins);
    let mut missing = Vec::new();
    if matrix.is_none() && n > 1 {
        missing.push("No message between ranks was recorded.".to_string());
    }
    RankData {
        ranks: n,
        groups: groups.iter().map(|g| group(g)).collect(),
        heat,
        per_rank: (n as usize <= amounts.ranks).then(|| per_rank(run)),
        matrix,
        threads: threads(run, frames, amounts.table),
        locks: locks(run, frames, amounts.table),
        missing,
    }
}

fn group(ranks: &[u32]) -> RankGroup {
    let set: RankSet = ranks.iter().copied().collect();
    let name = match ranks {
        [one] => format!("rank {one}"),
        all => {
            let text = set.to_string();
            let ranks = if text.len() > 24 {
                format!("ranks {} …", text.chars().take(20).collect::<String>())
            } else {
                format!("ranks {text}")
            };
            format!("{ranks} ({} ranks)", all.len())
        }
    };
    RankGroup {
        name,
        size: ranks.len() as u32,
        ranks: set,
    }
}

/// Frames by their figure of a metric, the largest first.
fn largest(run: &Recorded, frames: &Frames, metric: &str, most: usize) -> Vec<(u32, f64)> {
    let view = run.top_down();
    let Some(column) = view.vertices.get(metric) else {
        return Vec::new();
    };
    let mut sums = vec![0.0; frames.len()];
    for v in 0..column.len() as u32 {
        let figure = column.number(v as usize).unwrap_or(0.0);
        let slot = frames.of(v).and_then(|f| sums.get_mut(f as usize));
        if let Some(slot) = slot {
            *slot += figure;
        }
    }
    let mut all: Vec<(u32, f64)> = (0..).zip(sums).filter(|(_, s)| *s > 0.0).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(most);
    all
}

/// A metric of some frames over all ranks, by frame.
fn rows(run: &Recorded, frames: &Frames, metric: &str, wanted: &[(u32, f64)]) -> Vec<Vec<f64>> {
    let n = run.run().header.ranks as usize;
    let view: &View = run.top_down();
    let mut at = vec![usize::MAX; frames.len()];
    for (i, (frame, _)) in wanted.iter().enumerate() {
        at[*frame as usize] = i;
    }
    let mut out = vec![vec![0.0; n]; wanted.len()];
    let Some(rows) = view.rows.get(metric) else {
        return out;
    };
    for v in rows.keys() {
        let frame = frames.of(v).and_then(|f| at.get(f as usize));
        let slot = frame.and_then(|i| out.get_mut(*i));
        if let (Some(slot), Some(row)) = (slot, rows.row(v)) {
            row.add_to(slot);
        }
    }
    out
}

/// Ranks that are compared with each other: all, or evenly spaced ones and those at the ends of each row.
fn sample(rows: &[Vec<f64>], n: usize) -> Vec<usize> {
    if n <= SAMPLE {
        return (0..n).collect();
    }
    let mut out: BTreeSet<usize> = (0..n).step_by(n.div_ceil(SAMPLE)).collect();
    for row in rows {
        let ends = |a: (usize, f64), b: (usize, f64), more: bool| match (b.1 > a.1) == more {
            true => b,
            false => a,
        };
        let all = || row.iter().copied().enumerate();
        out.extend(all().reduce(|a, b| ends(a, b, true)).map(|e| e.0));
        out.extend(all().reduce(|a, b| ends(a, b, false)).map(|e| e.0));
    }
    out.into_iter().collect()
}

/// Groups of ranks that behave alike, by their time in the frames with the most time; groups that follow one another are
/// of one cluster.
fn groups(run: &Recorded, frames: &Frames, amounts: Amounts) -> Vec<Vec<u32>> {
    let n = run.run().header.ranks as usize;
    let wanted = largest(run, frames, "time", COMPARED);
    let all = rows(run, frames, "time", &wanted);
    let vector = |rank: usize| all.iter().map(|row| row[rank]).collect::<Vec<f64>>();
    let vectors: Vec<Vec<f64>> = (0..n).map(vector).collect();
    // Of very many ranks some are compared, those with the largest and smallest values among them.
    let sample = sample(&all, n);
    let few: Vec<Vec<f64>> = sample
        .iter()
        .filter_map(|r| vectors.get(*r).cloned())
        .collect();
    let found = clusters(&few, CLUSTERS, DIFFER, &NEVER);
    let nearest = |v: &Vec<f64>| {
        let far = |c: &Vec<f64>| c.iter().zip(v).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let all = (0u32..).zip(found.centres.iter().map(far));
        let best = all.reduce(|a, b| if b.1 < a.1 { b } else { a });
        best.map_or(0, |b| b.0)
    };
    let of_rank: Vec<u32> = match sample.len() == n {
        true => found.of_rank.clone(),
        false => vectors.iter().map(nearest).collect(),
    };
    let of = |rank: &u32| of_rank.get(*rank as usize).copied().unwrap_or(0);
    let mut ranks: Vec<u32> = (0..n as u32).collect();
    ranks.sort_by_key(|rank| (of(rank), *rank));
    let single = n <= SINGLE.min(amounts.groups.max(64));
    let size = if single {
        1
    } else {
        n.div_ceil(amounts.groups.max(1))
    };
    let clusters = ranks.chunk_by(|a, b| of(a) == of(b));
    clusters
        .flat_map(|c| c.chunks(size).map(<[u32]>::to_vec))
        .collect()
}

/// The rows of a heat map. Rows whose largest value is in one group stand together.
fn heat(
    run: &Recorded,
    frames: &Frames,
    metric: &str,
    groups: &[Vec<u32>],
    most: usize,
) -> Vec<HeatRow> {
    let wanted = largest(run, frames, metric, most);
    let all = rows(run, frames, metric, &wanted);
    let mut out: Vec<(usize, HeatRow)> = wanted
        .iter()
        .zip(&all)
        .map(|((frame, _), row)| {
            let mean = |group: &Vec<u32>| {
                let sum: f64 = group.iter().filter_map(|r| row.get(*r as usize)).sum();
                sum / group.len().max(1) as f64
            };
            let values: Vec<f64> = groups.iter().map(mean).collect();
            let all = values.iter().enumerate();
            let peak = all
                .fold((0, 0.0), |a, (i, v)| if *v > a.1 { (i, *v) } else { a })
                .0;
            let values = values.into_iter().map(|v| Some(short(v))).collect();
            let frame = *frame;
            (peak, HeatRow { frame, values })
        })
        .collect();
    out.sort_by_key(|(peak, _)| *peak);
    out.into_iter().map(|(_, row)| row).collect()
}

/// The heat map of some ranks in the order of ranks.
pub fn rank_tile(
    (run, scale): (&Recorded, u32),
    frames: &Frames,
    metric: &str,
    ranks: Range<u32>,
    columns: usize,
) -> RankTile {
    let all: Vec<u32> = ranks.collect();
    let size = all.len().div_ceil(columns.max(1)).max(1);
    let groups: Vec<Vec<u32>> = all.chunks(size).map(<[u32]>::to_vec).collect();
    RankTile {
        scale,
        metric: metric.to_string(),
        rows: heat(run, frames, metric, &groups, Amounts::USUAL.heat),
        groups: groups.iter().map(|g| group(g)).collect(),
    }
}

fn per_rank(run: &Recorded) -> PerRank {
    let recorded = run.run();
    let view = run.top_down();
    let n = recorded.header.ranks as usize;
    let sum = |metric: &str| {
        let mut out = vec![0.0; n];
        let rows = view.rows.get(metric);
        for row in rows
            .into_iter()
            .flat_map(|r| r.keys().filter_map(|v| r.row(v)))
        {
            row.add_to(&mut out);
        }
        out
    };
    let (busy, wait) = (sum("busy"), sum("wait"));
    let mut out = PerRank::default();
    for r in &recorded.ranks {
        let at = |of: &[f64]| short(of.get(r.rank as usize).copied().unwrap_or(0.0));
        out.rank.push(r.rank);
        let node = r.node as usize;
        let known = node < recorded.header.nodes.len();
        out.node.push(if known { node as i32 } else { -1 });
        out.wall_seconds.push(short(r.wall_ns as f64 * NANO));
        out.computation_seconds.push(at(&busy));
        out.mpi_seconds.push(short(r.mpi_wall_ns as f64 * NANO));
        out.wait_seconds.push(at(&wait));
        out.without_core_seconds
            .push(short(r.runq_ns as f64 * NANO));
        out.startup_seconds
            .push(short(r.before_init_wall_ns as f64 * NANO));
        out.complete.push(r.complete);
    }
    out
}

/// Ranges of at most `most` bins, and the size of each but the last.
fn bins(ranks: &Range<u32>, most: usize) -> (Vec<RankSet>, u32) {
    let n = ranks.len();
    let size = n.div_ceil(most.max(1)).max(1) as u32;
    let all: Vec<u32> = ranks.clone().collect();
    let bins = all
        .chunks(size as usize)
        .map(|c| c.iter().copied().collect());
    (bins.collect(), size)
}

/// Sender and receiver: messages, bytes, seconds of late senders, of late receivers, and in collectives.
type Cell = ((u32, u32), [f64; 5]);

/// Messages and waits from rank to rank.
#[derive(Debug, Default)]
pub struct Cells {
    ranks: u32,
    all: Vec<Cell>,
}

impl Cells {
    /// Those of a run.
    pub fn new(run: &Recorded) -> Self {
        let ranks = run.run().header.ranks;
        let all = match ranks > PARALLEL {
            true => cells_of_many(run),
            false => cells(run).unwrap_or_default(),
        };
        Self { ranks, all }
    }

    /// Some ranks to others, in at most `most` bins each way; `None` if there is nothing at all.
    pub fn matrix(&self, from: Range<u32>, to: Range<u32>, most: usize) -> Option<Matrix> {
        if self.all.is_empty() {
            return None;
        }
        let ((from_bins, from_size), (to_bins, to_size)) = (bins(&from, most), bins(&to, most));
        let mut sums: BTreeMap<(u32, u32), [f64; 5]> = BTreeMap::new();
        let inside = |ends: (u32, u32)| from.contains(&ends.0) && to.contains(&ends.1);
        for ((src, dst), figures) in self.all.iter().filter(|c| inside(c.0)) {
            let at = ((src - from.start) / from_size, (dst - to.start) / to_size);
            let sum = sums.entry(at).or_default();
            sum.iter_mut().zip(figures).for_each(|(s, x)| *s += x);
        }
        let mut out = Matrix {
            ranks: self.ranks,
            to_bins: (from != to).then_some(to_bins),
            bins: from_bins,
            ..Matrix::default()
        };
        for ((src, dst), [count, bytes, late_sender, late_receiver, collective]) in sums {
            out.from.push(src);
            out.to.push(dst);
            out.count.push(short(count));
            out.bytes.push(short(bytes));
            out.late_sender_seconds.push(short(late_sender));
            out.late_receiver_seconds.push(short(late_receiver));
            out.collective_seconds.push(short(collective));
        }
        Some(out)
    }
}

/// The same of very many ranks, for which the parallel view is too large to make: messages are those of calls that name
/// their partner.
fn cells_of_many(run: &Recorded) -> Vec<Cell> {
    let mut cells: BTreeMap<(u32, u32), [f64; 5]> = BTreeMap::new();
    let view = run.top_down();
    if let Some(peers) = view.table("peers") {
        let figure = |name: &str, row| peers.get(name).and_then(|c| c.number(row)).unwrap_or(0.0);
        for row in 0..peers.len() {
            let ends = (figure("rank", row) as u32, figure("peer", row) as u32);
            let messages = figure("messages", row);
            if messages > 0.0 {
                let cell = cells.entry(ends).or_default();
                cell[0] += messages;
                cell[1] += figure("sent", row);
            }
        }
    }
    let class = |v: u32| view.vertices.get("class").and_then(|c| c.text(v as usize));
    // A vertex has as many waits as ranks.
    let mut known: FxHashMap<u32, bool> = FxHashMap::default();
    let mut sends = |v: u32| {
        *known.entry(v).or_insert_with(|| {
            let name = view.vertices.get("name").and_then(|c| c.text(v as usize));
            let function = name.and_then(abi::by_name);
            function.is_some_and(|f| matches!(f.class, abi::Class::Send))
        })
    };
    for wait in waits(run.run(), run.on_graph()) {
        let ((at, rank), (_, on)) = (wait.at, wait.on);
        // From the rank that sends, or that the other one waits for in a collective.
        let (ends, which) = match class(at) {
            Some("collective") => ((on, rank), 4),
            _ if sends(at) => ((rank, on), 3),
            _ => ((on, rank), 2),
        };
        cells.entry(ends).or_default()[which] += wait.seconds;
    }
    cells.into_iter().collect()
}

fn cells(run: &Recorded) -> Option<Vec<Cell>> {
    let set = communication_matrix(run).ok()?;
    let view = set.view();
    let column = |name: &str| view.edges.get(name);
    let (source, target) = (column("from")?, column("to")?);
    let names = [
        "messages",
        "bytes",
        "late_sender",
        "late_receiver",
        "collective_wait",
    ];
    let columns = names.map(column);
    let cell = |edge: &u32| {
        let number = |c: &Column| c.number(*edge as usize);
        let ends = (number(source)? as u32, number(target)? as u32);
        let figures = columns.map(|c| c.and_then(number).unwrap_or(0.0));
        Some((ends, figures))
    };
    Some(set.edges().iter().filter_map(cell).collect())
}

/// Threads by team, those with the most time first.
fn threads(run: &Recorded, frames: &Frames, most: usize) -> Vec<ThreadRow> {
    let mut sums: BTreeMap<(u32, u16, i32), [f64; 6]> = BTreeMap::new();
    for t in &run.run().teams {
        let team = frames.of_call(run, t.team);
        let sum = sums.entry((t.rank, t.thread, team)).or_default();
        let busy = t.cpu_ns + t.blocked_ns.saturating_sub(t.locked_ns);
        let own = [t.wall_ns, t.cpu_ns, busy, t.wait_ns, t.locked_ns, t.runq_ns];
        sum.iter_mut()
            .zip(own)
            .for_each(|(s, x)| *s += x as f64 * NANO);
    }
    let mut out: Vec<ThreadRow> = sums
        .into_iter()
        .map(|((rank, thread, team), sum)| {
            let [wall, cpu, busy, barrier, lock, runq] = sum.map(short);
            ThreadRow {
                rank,
                thread: u32::from(thread),
                team,
                wall_seconds: wall,
                cpu_seconds: cpu,
                busy_seconds: busy,
                barrier_seconds: barrier,
                lock_seconds: lock,
                without_core_seconds: runq,
            }
        })
        .collect();
    if out.len() > most {
        out.sort_by(|a, b| b.wall_seconds.total_cmp(&a.wall_seconds));
        out.truncate(most);
    }
    out.sort_by_key(|t| (t.rank, t.team, t.thread));
    out
}

/// Waits between threads, the longest first.
fn locks(run: &Recorded, frames: &Frames, most: usize) -> Vec<LockRow> {
    let row = |w: &ThreadWait| LockRow {
        rank: w.rank,
        kind: EdgeKind::from(w.kind).words().replace('-', " "),
        waiter: u32::from(w.thread),
        waiter_frame: frames.of_call(run, w.ctx),
        holder: match w.holder {
            u16::MAX => -1,
            holder => i32::from(holder),
        },
        holder_frame: frames.of_call(run, w.holder_ctx),
        count: w.count,
        wait_seconds: short(w.wait_ns as f64 * NANO),
        longest_seconds: short(w.max_ns as f64 * NANO),
    };
    let mut waits: Vec<&ThreadWait> = run.run().waits.iter().filter(|w| w.wait_ns > 0).collect();
    waits.sort_by_key(|w| std::cmp::Reverse(w.wait_ns));
    waits.into_iter().take(most).map(row).collect()
}
