//! A small run made by hand: two ranks, a helper thread, a message, a reduction, two windows of events.

use headwater_export::Recorded;
use headwater_graph::Structures;
use headwater_model::psg::{Function, LineRow, ModuleStructure, Vertex, VertexKind};
use headwater_model::run::*;

const MS: u64 = 1_000_000;

fn vertex(kind: VertexKind, parent: Option<u32>, name: Option<u32>, lines: (u32, u32)) -> Vertex {
    Vertex {
        kind,
        parent,
        name,
        file: Some(0),
        first_line: lines.0,
        last_line: lines.1,
        address: 0,
    }
}

fn function(name: u32, at: u64, vertices: Vec<Vertex>, owners: &[u32]) -> Function {
    let owners: Vec<(u64, u64, u32)> = (0..)
        .zip(owners)
        .map(|(i, v)| (at + 0x10 * i, at + 0x10 * (i + 1), *v))
        .collect();
    let mut vertices = vertices;
    for (from, _, v) in owners.iter().rev() {
        vertices[*v as usize].address = *from;
    }
    Function {
        name,
        symbol: Some(name),
        ranges: vec![(at, at + 0x100)],
        vertices,
        owners,
    }
}

/// `main` with a time loop around `solve`, a message and a reduction; `solve` has an inlined kernel with a loop, and
/// calls `exp`.
fn structure() -> ModuleStructure {
    use VertexKind::*;
    let main = vec![
        vertex(Function, None, None, (1, 40)),
        vertex(Loop, Some(0), None, (10, 20)),
        vertex(Call, Some(1), Some(3), (12, 12)),
        vertex(MpiCall, Some(1), None, (14, 14)),
        vertex(MpiCall, Some(1), None, (15, 15)),
        vertex(MpiCall, Some(1), None, (18, 18)),
    ];
    let solve = vec![
        vertex(Function, None, None, (50, 70)),
        vertex(Inlined, Some(0), Some(4), (30, 35)),
        vertex(Loop, Some(1), None, (31, 33)),
        vertex(ExternalCall, Some(0), Some(5), (60, 60)),
    ];
    let line = |address, line| LineRow {
        address,
        file: Some(0),
        line,
    };
    ModuleStructure {
        path: module().path,
        build_id: module().build_id,
        functions: vec![
            function(2, 0, main, &[0, 1, 2, 3, 4, 5]),
            function(3, 0x100, solve, &[0, 2, 3]),
        ],
        lines: vec![line(0, 1), line(0x110, 32), line(0x120, 60)],
        strings: [
            "/home/u/app.cpp",
            "",
            "main",
            "ns::solve(int; long)",
            "kernel<double>",
            "exp",
        ]
        .map(String::from)
        .into(),
        ..Default::default()
    }
}

fn module() -> Module {
    Module {
        path: "/home/u/app".into(),
        build_id: "ab12".into(),
    }
}

fn event(window: u32, rank: u32, ctx: u32, kind: EventKind, link: u32) -> Event {
    Event {
        window,
        rank,
        ctx: CtxId(ctx),
        func: ctx as u16 - 3,
        kind,
        first_of_call: true,
        link,
        peer: u32::MAX,
        bytes: 80,
        ..Default::default()
    }
}

/// A window in which rank 1 waits for a message of rank 0, and rank 0 for rank 1 in the reduction.
fn window(number: u32, run: &mut Run) {
    let at = |e: Event, enter: u64, mpi: u64, busy: u64| Event {
        enter_ns: enter * 1000,
        mpi_ns: mpi * 1000,
        busy_ns: busy * 1000,
        ..e
    };
    let send = Event {
        peer: 1,
        ..event(number, 0, 3, EventKind::Send, 1)
    };
    let receive = Event {
        peer: 0,
        ..event(number, 1, 4, EventKind::Recv, 1)
    };
    let reduce = |rank| event(number, rank, 5, EventKind::Collective, 2);
    // In the first window there is one message more, behind the reduction; its sender waits for nobody.
    let again = |e: Event| Event { link: 3, ..e };
    let more = |e: Event| (number == 0).then_some(e);
    run.events
        .extend([at(send, 100, 5, 95), at(reduce(0), 110, 53, 4)]);
    run.events.extend(more(at(again(send), 263, 5, 100)));
    run.events
        .extend([at(receive, 40, 70, 40), at(reduce(1), 160, 4, 48)]);
    run.events.extend(more(at(again(receive), 270, 2, 100)));
}

/// In place of the windows one in which both ranks post a reduction, rank 1 late, and complete it in another call.
pub fn nonblocking(run: &mut Run) {
    run.functions
        .extend(["MPI_Iallreduce", "MPI_Wait"].map(String::from));
    let at = |rank, kind, func, enter: u64, mpi: u64| Event {
        func,
        enter_ns: enter * 1000,
        mpi_ns: mpi * 1000,
        busy_ns: 9000,
        ..event(0, rank, 5, kind, 1)
    };
    run.events = vec![
        at(0, EventKind::CollectivePost, 3, 10, 1),
        at(0, EventKind::Collective, 4, 20, 35),
        at(1, EventKind::CollectivePost, 3, 50, 1),
        at(1, EventKind::Collective, 4, 90, 1),
    ];
}

/// The run on `ranks` ranks: even ranks send to the next one, which waits for them.
pub fn run(ranks: u32) -> Run {
    let context = |parent, offset, exact| Context {
        parent,
        module: 0,
        offset,
        exact,
    };
    let mut run = Run {
        header: Header {
            name: format!("app.{ranks}"),
            program: module().path,
            build_id: module().build_id,
            command: vec!["./app".into()],
            ranks,
            nodes: vec!["n0".into()],
            cores: vec![4],
            sampling_hz: 200.0,
            wall_seconds: 1.2,
            started_unix: 1_700_000_000.0,
            ..Default::default()
        },
        modules: vec![module()],
        contexts: vec![
            context(CtxId::NONE, 0x29, false),
            context(CtxId(0), 0x118, true),
            context(CtxId(0), 0x128, true),
            context(CtxId::NONE, 0x39, false),
            context(CtxId::NONE, 0x49, false),
            context(CtxId::NONE, 0x59, false),
        ],
        functions: ["MPI_Send", "MPI_Recv", "MPI_Allreduce"]
            .map(String::from)
            .into(),
        comms: vec![Comm {
            hash: 1,
            size: ranks,
        }],
        ..Default::default()
    };
    for rank in 0..ranks {
        let sends = rank % 2 == 0;
        let point = if sends { CtxId(3) } else { CtxId(4) };
        let busy = if sends { 1000 * MS } else { 500 * MS };
        for (from, to, busy) in [(CtxId(5), point, busy), (point, CtxId(5), 0)] {
            run.segments.push(Segment {
                rank,
                from,
                to,
                count: 10,
                wall_ns: busy,
                cpu_ns: busy,
                max_busy_ns: busy / 10,
                ..Default::default()
            });
        }
        for (ctx, share) in [(1, 4), (2, 1)] {
            run.samples.push(Sample {
                rank,
                after: CtxId(5),
                ctx: CtxId(ctx),
                count: 20 * share as u32,
                cpu_ns: busy / 5 * share,
                ..Default::default()
            });
        }
        for (ctx, wall) in [(point, if sends { 10 } else { 500 }), (CtxId(5), 20)] {
            let collective = ctx == CtxId(5);
            run.calls.push(MpiCalls {
                rank,
                ctx,
                func: ctx.0 as u16 - 3,
                comm: 0,
                peer: match (collective, sends) {
                    (true, _) => peer::NONE,
                    (_, true) => 1,
                    (_, false) => -1,
                },
                tag: if collective { tag::NONE } else { 7 },
                size_class: 7,
                count: 10,
                bytes: 800,
                wall_ns: wall * MS,
                cpu_ns: wall * MS / 2,
                max_wall_ns: wall * MS / 5,
                ..Default::default()
            });
        }
        run.collectives.push(CollectiveWait {
            rank,
            ctx: CtxId(5),
            func: 2,
            comm: 0,
            sampled: 10,
            wait_ns: if sends { 15 * MS } else { 0 },
            last: if sends { 0 } else { 10 },
            after_last_ns: MS,
            ..Default::default()
        });
        run.ranks.push(RankInfo {
            rank,
            complete: true,
            cpus_allowed: 4,
            wall_ns: 1200 * MS,
            cpu_ns: Some(1100 * MS),
            ..Default::default()
        });
        if !sends {
            run.messages.push(MessageEdge {
                src: rank - 1,
                dst: rank,
                send_ctx: CtxId(3),
                post_ctx: CtxId(4),
                recv_ctx: CtxId(4),
                sampled: 10,
                bytes: 800,
                late_sender_ns: 450 * MS,
                late_senders: 10,
                ..Default::default()
            });
        }
    }
    // A thread that calls no MPI.
    run.samples.push(Sample {
        thread: 1,
        ctx: CtxId(1),
        count: 60,
        cpu_ns: 300 * MS,
        ..Default::default()
    });
    run.samples.sort_by_key(|s| (s.rank, s.thread, s.ctx));
    if ranks == 2 {
        window(0, &mut run);
        window(1, &mut run);
    }
    run
}

/// Runs joined.
pub fn recorded(runs: Vec<Run>) -> Vec<Recorded> {
    let structures = Structures::new([(module(), structure())]);
    Recorded::join(runs, structures).expect("runs that can be analysed")
}
