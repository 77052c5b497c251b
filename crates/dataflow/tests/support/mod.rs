//! Runs made by hand: a program of phases, each a loop with given seconds on each rank, so that tests
//! state what ranks do and check what an analysis says.

use headwater_graph::Structures;
use headwater_model::psg::{Function, LineRow, ModuleStructure, Vertex, VertexKind};
use headwater_model::run::*;

/// A loop of the made-up program, followed by an MPI call.
pub struct Piece {
    /// Seconds of computation of each rank, all repetitions together.
    pub seconds: Box<dyn Fn(u32, u32) -> f64>,
    /// MPI function called after it.
    pub call: &'static str,
}

/// A loop with `seconds(rank, ranks)` before a call of `call`.
pub fn piece(call: &'static str, seconds: impl Fn(u32, u32) -> f64 + 'static) -> Piece {
    Piece {
        seconds: Box::new(seconds),
        call,
    }
}

const SIZE: u64 = 0x100;

/// `main` with a time loop (lines 1-99) around one loop (lines 10k..10k+5) and call per piece.
pub fn structure(pieces: usize) -> Structures {
    structure_of(pieces, false)
}

/// The same; `nested`, each piece's loop is inside the loop of the piece before.
pub fn structure_of(pieces: usize, nested: bool) -> Structures {
    let mut vertices = vec![
        vertex(VertexKind::Function, None, 1, 99, 0),
        vertex(VertexKind::Loop, Some(0), 2, 98, 0),
    ];
    let mut owners = Vec::new();
    for k in 0..pieces {
        let (at, line) = (k as u64 * SIZE, 10 * (k as u32 + 1));
        let id = vertices.len() as u32;
        let around = if nested && k > 0 { id - 2 } else { 1 };
        let last = if nested { 95 } else { line + 5 };
        vertices.push(vertex(VertexKind::Loop, Some(around), line, last, at));
        vertices.push(vertex(
            VertexKind::MpiCall,
            Some(1),
            line + 7,
            line + 7,
            at + 0x80,
        ));
        owners.push((at, at + 0x80, id));
        owners.push((at + 0x80, at + SIZE, id + 1));
    }
    let end = pieces as u64 * SIZE;
    let function = Function {
        name: 0,
        symbol: Some(0),
        ranges: vec![(0, end)],
        vertices,
        owners,
    };
    let lines = vec![LineRow {
        address: 0,
        file: Some(1),
        line: 1,
    }];
    let structure = ModuleStructure {
        path: "/home/u/app".into(),
        build_id: "ab".into(),
        functions: vec![function],
        lines,
        strings: vec!["main".into(), "app.c".into()],
        ..Default::default()
    };
    Structures::new([(module(), structure)])
}

fn vertex(kind: VertexKind, parent: Option<u32>, first: u32, last: u32, address: u64) -> Vertex {
    Vertex {
        kind,
        parent,
        name: None,
        file: Some(1),
        first_line: first,
        last_line: last,
        address,
    }
}

/// The module of the made-up program.
pub fn module() -> Module {
    Module {
        path: "/home/u/app".into(),
        build_id: "ab".into(),
    }
}

/// A run of the made-up program on `ranks` ranks, 100 repetitions, a core for each rank.
pub fn run(ranks: u32, pieces: &[Piece]) -> Run {
    let mut run = Run {
        header: Header {
            name: format!("app.{ranks}"),
            program: "/home/u/app".into(),
            command: vec!["./app".into()],
            ranks,
            nodes: vec!["n0".into()],
            cores: vec![ranks],
            sampling_hz: 200.0,
            ..Default::default()
        },
        modules: vec![module()],
        comms: vec![Comm {
            hash: 1,
            size: ranks,
        }],
        ..Default::default()
    };
    for (k, piece) in pieces.iter().enumerate() {
        let at = k as u64 * SIZE;
        run.contexts.push(Context {
            parent: CtxId::NONE,
            module: 0,
            offset: at + 0x10,
            exact: true,
        });
        run.contexts.push(Context {
            parent: CtxId::NONE,
            module: 0,
            offset: at + 0x81,
            exact: false,
        });
        if !run.functions.iter().any(|f| f == piece.call) {
            run.functions.push(piece.call.into());
        }
    }
    let n = pieces.len();
    let call_ctx = |k: usize| CtxId(2 * k as u32 + 1);
    for rank in 0..ranks {
        let own: Vec<f64> = pieces.iter().map(|p| (p.seconds)(rank, ranks)).collect();
        let mut wall = 0.0;
        for (k, piece) in pieces.iter().enumerate() {
            let slowest = (0..ranks)
                .map(|r| (piece.seconds)(r, ranks))
                .fold(0.0, f64::max);
            let (busy, after) = ((own[k] * 1e9) as u64, call_ctx((k + n - 1) % n));
            wall += slowest;
            run.segments.push(Segment {
                rank,
                from: after,
                to: call_ctx(k),
                count: 100,
                wall_ns: busy,
                cpu_ns: busy,
                max_busy_ns: busy / 100,
                ..Default::default()
            });
            let count = (own[k] * 200.0).round() as u32;
            if count > 0 {
                run.samples.push(Sample {
                    rank,
                    after,
                    ctx: CtxId(2 * k as u32),
                    count,
                    cpu_ns: busy,
                    ..Default::default()
                });
            }
            let func = run
                .functions
                .iter()
                .position(|f| f == piece.call)
                .unwrap_or(0) as u16;
            run.calls.push(MpiCalls {
                rank,
                ctx: call_ctx(k),
                func,
                peer: peer::NONE,
                tag: i32::MIN,
                size_class: 4,
                count: 100,
                bytes: 800,
                wall_ns: ((slowest - own[k]) * 1e9) as u64 + 1000,
                cpu_ns: ((slowest - own[k]) * 1e9) as u64 + 1000,
                ..Default::default()
            });
        }
        run.ranks.push(RankInfo {
            rank,
            complete: true,
            wall_ns: (wall * 1e9) as u64,
            cpus_allowed: ranks,
            ..Default::default()
        });
    }
    run
}
