//! Graph algorithms on a generated graph: 10,000,000 vertices and 100,000,000 edges if nothing else is asked for
//! (arguments: vertices, edges for each vertex, a file to write the edges to as pairs of little-endian 32-bit numbers,
//! from which `graphs.py` beside this one makes the same graph). Prints the seconds of each algorithm, of one run.

use headwater_dataflow::algorithm::*;
use headwater_dataflow::set::Direction;
use headwater_graph::view::Adjacency;
use std::io::Write;
use std::time::Instant;

/// How far an edge leads at the most: places that are joined are near each other, as they are in a program.
const FAR: u64 = 1000;

/// A number that looks drawn.
fn drawn(seed: u64) -> u64 {
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 29)
}

/// From each vertex edges go to the next one and to others up to 1000 further on, and from every hundredth one edge
/// goes back; what would lead out of the graph leads to its first vertices or its last.
fn graph(n: u64, each: u64) -> Adjacency {
    let edges = (0..n).flat_map(|v| (0..each).map(move |k| (v, k)));
    let end = |(v, k): (u64, u64)| {
        let far = drawn(v * each + k) % FAR;
        match k {
            0 => v + 1,
            1 if v % 100 == 0 => v.saturating_sub(far),
            _ => v + 1 + far,
        }
        .min(n - 1) as u32
    };
    let src = edges.clone().map(|(v, _)| v as u32).collect();
    Adjacency::new(n as usize, src, edges.map(end).collect()).unwrap_or_default()
}

fn time(name: &str, run: impl FnOnce() -> String) {
    let start = Instant::now();
    let said = run();
    println!("{name:>16}: {:.2} s, {said}", start.elapsed().as_secs_f64());
}

fn write(graph: &Adjacency, path: &str) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    for (a, b) in graph.sources().iter().zip(graph.targets()) {
        file.write_all(&a.to_le_bytes())?;
        file.write_all(&b.to_le_bytes())?;
    }
    file.flush()
}

fn main() {
    let number = |i: usize, default: u64| {
        let given = std::env::args().nth(i).and_then(|a| a.parse().ok());
        given.unwrap_or(default)
    };
    let (n, each) = (number(1, 10_000_000).max(2), number(2, 10));
    let graph = graph(n, each);
    if let Some(path) = std::env::args().nth(3)
        && let Err(e) = write(&graph, &path)
    {
        println!("{path}: {e}");
    }
    println!("{n} vertices, {} edges", graph.edges());
    let all: Counts<'static> = &|_| true;
    let last = n as u32 - 1;
    time("rows both ways", || {
        let (out, into) = (graph.out_edges(0).len(), graph.in_edges(last).len());
        format!("{out} from the first, {into} to the last")
    });
    let (src, dst) = (graph.sources(), graph.targets());
    let forward = |e: u32| src[e as usize] < dst[e as usize];
    let weight = |e: u32| 1.0 + f64::from(e % 7);
    time("breadth first", || {
        let walk = breadth_first(&graph, &[0], Direction::Out, all, NEVER);
        format!("{} reached", walk.order.len())
    });
    time("depth first", || {
        let walk = depth_first(&graph, &[0], Direction::Out, all, NEVER);
        format!("{} reached", walk.order.len())
    });
    time("shortest path", || {
        let path = shortest_path(&graph, 0, last, Direction::Out, weight, all);
        path.map_or("none".into(), |p| format!("{} long", p.length))
    });
    time("longest path", || {
        let path = longest_path(&graph, |_| 1.0, weight, &forward, NEVER);
        path.map_or("none".into(), |p| format!("{} long", p.length))
    });
    time("common ancestor", || {
        let found = lowest_common_ancestor(&graph, last / 2, last / 2 + 7, &forward, NEVER);
        found.map_or("none".into(), |f| format!("vertex {}", f.vertex))
    });
    time("components", || {
        let of = strongly_connected(&graph, all, NEVER);
        format!("{}", of.iter().max().map_or(0, |m| m + 1))
    });
    time("matching", || {
        // A triangle that begins at one vertex of a thousand.
        let edge = |src, dst| PatternEdge {
            src,
            dst,
            fits: &forward,
        };
        let pattern = Pattern {
            vertices: vec![&|v| v % 1000 == 0, all, all],
            edges: vec![edge(0, 1), edge(1, 2), edge(0, 2)],
        };
        let starts: Vec<u32> = (0..=last).collect();
        let found = subgraph_matching(&graph, &pattern, &starts, usize::MAX, NEVER);
        format!("{} triangles", found.len())
    });
    time("communities", || {
        let of = communities(&graph, |_| 1.0, all, NEVER);
        format!("{}", of.iter().max().map_or(0, |m| m + 1))
    });
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|l| l.starts_with("VmHWM"));
    println!("peak memory: {}", peak.unwrap_or("unknown"));
}
