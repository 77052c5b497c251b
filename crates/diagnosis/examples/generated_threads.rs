//! Detection on a generated profile of a hybrid program: 64 ranks × 16 threads × 500 parallel regions, each with a
//! lock of its own and some uneven. Prints seconds and the peak of memory; arguments: ranks, threads, regions,
//! 1 for crowded cores.

use headwater_graph::Structures;
use headwater_model::psg::{Function, ModuleStructure, Vertex, VertexKind};
use headwater_model::run::*;
use std::time::Instant;

/// Addresses of a region's step, from where it is called.
const STEP: u64 = 0x1000;

/// Where the code of regions begins.
const OUTLINED: u64 = 0x1000_0000;

/// Contexts of a region: the call that begins it, its kernel, the lock, where it is held, what one thread does
/// around it, and the allocator.
const EACH: u32 = 6;

/// Regions between two MPI calls.
const BETWEEN: u32 = 10;

/// What is generated.
#[derive(Clone, Copy)]
struct Size {
    ranks: u32,
    threads: u16,
    regions: u32,
    crowded: bool,
}

fn main() {
    let number = |i: usize, default: u32| {
        let given = std::env::args().nth(i).and_then(|a| a.parse().ok());
        given.unwrap_or(default)
    };
    let size = Size {
        ranks: number(1, 64).max(2),
        threads: number(2, 16).clamp(2, 1024) as u16,
        regions: number(3, 500).max(1),
        crowded: number(4, 0) > 0,
    };
    let runs: Vec<Run> = [2, 1]
        .iter()
        .map(|d| size.ranks / d)
        .map(|ranks| run(Size { ranks, ..size }))
        .collect();
    let structures = structure(size.regions);
    let start = Instant::now();
    let found =
        headwater_diagnosis::diagnose(runs, structures, &headwater_diagnosis::Options::default());
    let seconds = start.elapsed().as_secs_f64();
    match found {
        Ok(d) => println!(
            "{} ranks × {} threads × {} regions: {seconds:.3} s, {} causes, first: {:?}",
            size.ranks,
            size.threads,
            size.regions,
            d.causes.len(),
            d.headline.get(1)
        ),
        Err(e) => println!("refused: {e}"),
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|l| l.starts_with("VmHWM"));
    println!("peak memory: {}", peak.unwrap_or("unknown"));
}

fn module() -> Module {
    Module {
        path: "/home/u/app".into(),
        build_id: "ab".into(),
    }
}

fn vertex(
    kind: VertexKind,
    parent: Option<u32>,
    name: Option<u32>,
    line: u32,
    address: u64,
) -> Vertex {
    Vertex {
        kind,
        parent,
        name,
        file: Some(1),
        first_line: line,
        last_line: line + 5,
        address,
    }
}

/// A function whose vertices own `0x100` bytes each, in their order.
fn function(name: u32, start: u64, vertices: Vec<Vertex>) -> Function {
    let owners = (1..vertices.len() as u64).map(|i| {
        let at = start + i * 0x100;
        (at, at + 0x100, i as u32)
    });
    Function {
        name,
        symbol: None,
        ranges: vec![(start, start + STEP)],
        owners: owners.collect(),
        vertices,
    }
}

fn structure(regions: u32) -> Structures {
    use VertexKind::{ExternalCall, LockCall, Loop, MpiCall, ThreadCall};
    let mut functions = Vec::new();
    for r in 0..regions {
        let (line, start) = (100 * r, u64::from(r) * STEP);
        let step = vec![
            vertex(VertexKind::Function, None, None, line, start),
            vertex(ThreadCall, Some(0), Some(3), line + 10, start + 0x100),
            vertex(Loop, Some(0), None, line + 20, start + 0x200),
            vertex(MpiCall, Some(0), None, line + 30, start + 0x300),
        ];
        functions.push(function(0, start, step));
    }
    for r in 0..regions {
        let (line, start) = (100 * r + 50, OUTLINED + u64::from(r) * STEP);
        let work = vec![
            vertex(VertexKind::Function, None, None, line, start),
            vertex(Loop, Some(0), None, line + 10, start + 0x100),
            vertex(LockCall, Some(0), Some(4), line + 20, start + 0x200),
            vertex(Loop, Some(0), None, line + 21, start + 0x300),
            vertex(ExternalCall, Some(0), Some(5), line + 26, start + 0x400),
            vertex(ExternalCall, Some(1), Some(6), line + 12, start + 0x500),
        ];
        functions.push(function(2, start, work));
    }
    let strings = [
        "step",
        "app.c",
        "work",
        "GOMP_parallel",
        "pthread_mutex_lock",
        "pthread_mutex_unlock",
        "malloc",
    ];
    let structure = ModuleStructure {
        path: "/home/u/app".into(),
        functions,
        strings: strings.map(String::from).to_vec(),
        ..Default::default()
    };
    Structures::new([(module(), structure)])
}

/// Contexts, `EACH` for a region and one for the MPI call behind it.
fn contexts(regions: u32) -> Vec<Context> {
    let context = |parent, offset, exact| Context {
        parent,
        module: 0,
        offset,
        exact,
    };
    let of_region = |r: u32| {
        let team = CtxId(r * EACH);
        let (step, work) = (u64::from(r) * STEP, OUTLINED + u64::from(r) * STEP);
        [
            context(CtxId::NONE, step + 0x101, false),
            context(team, work + 0x110, true),
            context(team, work + 0x201, false),
            context(team, work + 0x310, true),
            context(CtxId::NONE, step + 0x210, true),
            context(team, work + 0x501, false),
        ]
    };
    let mut all: Vec<Context> = (0..regions).flat_map(of_region).collect();
    let calls = (0..regions).map(|r| context(CtxId::NONE, u64::from(r) * STEP + 0x301, false));
    all.extend(calls);
    all
}

/// Up to 100 µs, by rank, thread and region.
fn scatter(rank: u32, thread: u16, region: u32) -> u64 {
    let mixed = (u64::from(rank) << 40 | u64::from(thread) << 32 | u64::from(region))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) % 100_000
}

fn run(size: Size) -> Run {
    let (ranks, threads) = (size.ranks, size.threads);
    let cores = if size.crowded {
        2
    } else {
        ranks * u32::from(threads)
    };
    let mut run = Run {
        header: Header {
            name: format!("app.{ranks}"),
            program: "/home/u/app".into(),
            ranks,
            cores: vec![cores],
            sampling_hz: 200.0,
            ..Default::default()
        },
        modules: vec![module()],
        functions: vec!["MPI_Allreduce".into()],
        comms: vec![Comm {
            hash: 1,
            size: ranks,
        }],
        contexts: contexts(size.regions),
        ..Default::default()
    };
    for rank in 0..ranks {
        add_rank(&mut run, rank, size);
    }
    run
}

/// Adds what one rank does.
fn add_rank(run: &mut Run, rank: u32, size: Size) {
    let groups = size.regions.div_ceil(BETWEEN);
    let call = |group: u32| CtxId(size.regions * EACH + (group % groups) * BETWEEN);
    let mut all = 0;
    let mut of_thread = vec![0; usize::from(size.threads)];
    for group in 0..groups {
        let after = call(group + groups - 1);
        let (mut wall, mut own, mut asleep) = (0, 0, 0);
        for r in group * BETWEEN..size.regions.min((group + 1) * BETWEEN) {
            let ctx = |i: u32| CtxId(r * EACH + i);
            let sample = |thread: u16, ctx, cpu_ns, blocked_ns| Sample {
                rank,
                thread,
                after: if thread == 0 { after } else { CtxId::NONE },
                ctx,
                count: (cpu_ns / 5_000_000) as u32,
                cpu_ns,
                blocked_ns,
                ..Default::default()
            };
            // The first region is a quarter of all; the last thread of every fifth has twice the work.
            let weight = if r == 0 {
                u64::from(size.regions / 3).max(1)
            } else {
                1
            };
            let late = |t: u16| t + 1 == size.threads && r % 5 == 0;
            let busy =
                |t: u16| weight * (20_000_000 + scatter(rank, t, r)) * (1 + u64::from(late(t)));
            let locked = |t: u16| {
                if late(t) {
                    0
                } else {
                    weight * (5_000_000 + scatter(rank, t, r + 1))
                }
            };
            let longest = (0..size.threads).map(|t| busy(t) + locked(t)).max();
            let longest = longest.unwrap_or(0);
            for t in 0..size.threads {
                let (busy, locked) = (busy(t), locked(t));
                of_thread[usize::from(t)] += busy;
                run.teams.push(TeamWork {
                    rank,
                    thread: t,
                    team: ctx(0),
                    from: ctx(0),
                    to: ctx(0),
                    count: 100,
                    wall_ns: busy + locked,
                    cpu_ns: busy,
                    runq_ns: 0,
                    blocked_ns: locked,
                    locked_ns: locked,
                    wait_ns: longest - busy - locked,
                });
                run.samples.push(sample(t, ctx(1), busy / 2, 0));
                run.samples.push(sample(t, ctx(3), busy / 2 - busy / 8, 0));
                run.samples.push(sample(t, ctx(5), busy / 8, 0));
                if t == 0 {
                    run.samples.push(sample(t, ctx(2), 0, locked));
                    run.samples
                        .push(sample(t, ctx(0), 0, longest - busy - locked));
                    own += busy;
                    asleep += longest - busy;
                }
                if locked > 0 {
                    run.waits.push(ThreadWait {
                        rank,
                        thread: t,
                        ctx: ctx(2),
                        kind: WaitKind::Mutex,
                        holder: (t + 1) % size.threads,
                        holder_ctx: ctx(2),
                        count: 100,
                        wait_ns: locked,
                        brief_ns: locked,
                        max_ns: locked / 50,
                        locks: 1 << (r % 64),
                    });
                }
            }
            let serial = 2_000_000 + scatter(rank, 0, r + 2);
            run.samples.push(sample(0, ctx(4), serial, 0));
            own += serial;
            wall += longest + serial;
        }
        run.segments.push(Segment {
            rank,
            from: after,
            to: call(group),
            count: 100,
            wall_ns: wall,
            cpu_ns: own,
            blocked_ns: asleep,
            max_busy_ns: wall / 100,
            ..Default::default()
        });
        run.calls.push(MpiCalls {
            rank,
            ctx: call(group),
            peer: peer::NONE,
            tag: i32::MIN,
            count: 100,
            bytes: 800,
            wall_ns: 1_000_000,
            ..Default::default()
        });
        all += wall;
    }
    for (thread, cpu_ns) in (0..).zip(of_thread) {
        run.threads.push(ThreadInfo {
            rank,
            thread,
            made_by: if thread == 0 { CtxId::NONE } else { CtxId(0) },
            wall_ns: all,
            cpu_ns,
            ..Default::default()
        });
    }
    run.ranks.push(RankInfo {
        rank,
        complete: true,
        wall_ns: all,
        ..Default::default()
    });
}
