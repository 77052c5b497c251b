//! Graph and detection on a generated profile: 1,024 ranks × 5,000 vertices at the largest of four scales, with
//! messages, collectives and a window of events. Prints seconds and the peak of memory; arguments: ranks, vertices.
//! With a directory as the third, it writes the four runs there instead, for `headwater view`.

use headwater_graph::Structures;
use headwater_model::psg::{Function, ModuleStructure, Vertex, VertexKind};
use headwater_model::run::*;
use std::time::Instant;

/// Address range of a vertex.
const SIZE: u64 = 0x40;

/// Loops per function; each function is called from the time loop and ends with a collective.
const LOOPS: u64 = 50;

fn main() {
    let number = |i: usize, default: u32| {
        std::env::args()
            .nth(i)
            .and_then(|a| a.parse().ok())
            .unwrap_or(default)
    };
    let (ranks, vertices) = (number(1, 1024), u64::from(number(2, 5000)));
    let runs: Vec<Run> = [8, 4, 2, 1]
        .iter()
        .map(|d| run((ranks / d).max(2), vertices))
        .collect();
    if let Some(dir) = std::env::args_os().nth(3) {
        for run in &runs {
            let at = std::path::Path::new(&dir).join(&run.header.name);
            match headwater_format::write_run(&at, run) {
                Ok(()) => println!("wrote {}", at.display()),
                Err(e) => println!("refused: {e}"),
            }
        }
        return;
    }
    let structures = structure(vertices);
    let start = Instant::now();
    let found =
        headwater_diagnosis::diagnose(runs, structures, &headwater_diagnosis::Options::default());
    let seconds = start.elapsed().as_secs_f64();
    match found {
        Ok(d) => println!(
            "{ranks} ranks × {vertices} vertices: {seconds:.3} s, {} causes, first: {:?}",
            d.causes.len(),
            d.headline.get(1)
        ),
        Err(e) => println!("refused: {e}"),
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!(
        "peak memory: {}",
        status
            .lines()
            .find(|l| l.starts_with("VmHWM"))
            .unwrap_or("unknown")
    );
}

fn module() -> Module {
    Module {
        path: "/home/u/app".into(),
        build_id: "ab".into(),
    }
}

fn structure(vertices: u64) -> Structures {
    let functions = (0..vertices / LOOPS).map(|f| {
        let start = 0x10_0000 + f * LOOPS * SIZE;
        let vertex = |kind, parent, line, address| Vertex {
            kind,
            parent,
            name: None,
            file: Some(1),
            first_line: line,
            last_line: line + 5,
            address,
        };
        let mut all = vec![vertex(VertexKind::Function, None, 1, start)];
        let mut owners = Vec::new();
        for l in 0..LOOPS {
            let at = start + l * SIZE;
            let call = l + 1 == LOOPS;
            all.push(vertex(
                if call {
                    VertexKind::MpiCall
                } else {
                    VertexKind::Loop
                },
                Some(0),
                10 * l as u32,
                at,
            ));
            owners.push((at, at + SIZE, l as u32 + 1));
        }
        Function {
            name: 0,
            symbol: None,
            ranges: vec![(start, start + LOOPS * SIZE)],
            vertices: all,
            owners,
        }
    });
    let structure = ModuleStructure {
        path: "/home/u/app".into(),
        functions: functions.collect(),
        strings: vec!["step".into(), "app.c".into()],
        ..Default::default()
    };
    Structures::new([(module(), structure)])
}

/// Calls of a rank in the window of events.
const IN_WINDOW: u64 = 40;

/// Keeps a window of events of a rank: an exchange around the ring before each reduction.
fn window(run: &mut Run, rank: u32, functions: u64) {
    let ranks = run.header.ranks;
    let left = (rank + ranks - 1) % ranks;
    for f in 0..IN_WINDOW.min(functions) {
        let ctx = CtxId((f * LOOPS + LOOPS - 1) as u32);
        let link = |from: u32| 1 + f as u32 * (ranks + 1) + from;
        let late = if f == 3 && rank.is_multiple_of(16) {
            2
        } else {
            1
        };
        let busy = late * 10_000_000 + scatter(rank, f);
        let each = [
            (EventKind::Send, link(rank), busy),
            (EventKind::Recv, link(left), 0),
            (EventKind::Collective, link(ranks), 1000),
        ];
        run.events.extend(each.map(|(kind, link, busy_ns)| Event {
            rank,
            ctx,
            kind,
            first_of_call: true,
            link,
            peer: u32::MAX,
            bytes: 8,
            busy_ns,
            ..Default::default()
        }));
    }
}

/// Up to 150 µs, by rank and vertex.
fn scatter(rank: u32, vertex: u64) -> u64 {
    let mixed = (u64::from(rank) << 32 ^ vertex).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) % 150_000
}

fn run(ranks: u32, vertices: u64) -> Run {
    let header = Header {
        name: format!("app.{ranks}"),
        program: "/home/u/app".into(),
        ranks,
        cores: vec![ranks],
        sampling_hz: 200.0,
        ..Default::default()
    };
    let mut run = Run {
        header,
        modules: vec![module()],
        functions: vec!["MPI_Allreduce".into()],
        comms: vec![Comm {
            hash: 1,
            size: ranks,
        }],
        ..Default::default()
    };
    let functions = vertices / LOOPS;
    for v in 0..vertices {
        let call = v % LOOPS + 1 == LOOPS;
        run.contexts.push(Context {
            parent: CtxId::NONE,
            module: 0,
            offset: 0x10_0000 + v * SIZE + 8,
            exact: !call,
        });
    }
    let call_ctx = |f: u64| CtxId((f * LOOPS + LOOPS - 1) as u32);
    for rank in 0..ranks {
        for f in 0..functions {
            let after = call_ctx((f + functions - 1) % functions);
            let late = if f == 3 && rank % 16 == 0 { 2 } else { 1 };
            let mut busy = 0;
            for l in 0..LOOPS - 1 {
                let count = late * (1 + 8192 / ranks);
                // Scatter of 3 %, so that no two rows are equal, as no two of a clock are.
                let cpu_ns = u64::from(count) * (5_000_000 + scatter(rank, f * LOOPS + l));
                busy += cpu_ns;
                run.samples.push(Sample {
                    rank,
                    after,
                    ctx: CtxId((f * LOOPS + l) as u32),
                    count,
                    cpu_ns,
                    ..Default::default()
                });
            }
            run.segments.push(Segment {
                rank,
                from: after,
                to: call_ctx(f),
                count: 100,
                wall_ns: busy,
                cpu_ns: busy,
                max_busy_ns: busy / 100,
                ..Default::default()
            });
            run.calls.push(MpiCalls {
                rank,
                ctx: call_ctx(f),
                func: 0,
                comm: 0,
                peer: peer::NONE,
                tag: i32::MIN,
                count: 100,
                bytes: 800,
                wall_ns: 1_000_000,
                ..Default::default()
            });
        }
        for f in 0..functions {
            run.messages.push(MessageEdge {
                src: rank,
                dst: (rank + 1) % ranks,
                send_ctx: call_ctx(f),
                post_ctx: call_ctx(f),
                recv_ctx: call_ctx(f),
                sampled: 10,
                bytes: 80_000,
                late_sender_ns: scatter(rank, f),
                ..Default::default()
            });
            run.collectives.push(CollectiveWait {
                rank,
                ctx: call_ctx(f),
                sampled: 10,
                wait_ns: scatter(rank, f + 1),
                last: u64::from(rank == 16),
                ..Default::default()
            });
        }
        window(&mut run, rank, functions);
        run.ranks.push(RankInfo {
            rank,
            complete: true,
            wall_ns: 60_000_000_000,
            ..Default::default()
        });
    }
    run
}
