//! A made-up program in which several call paths lead to one loop, and what a diagnosis says of it.

use super::support::{Piece, module, piece, run, structure};
use headwater_diagnosis::{Options, diagnose};
use headwater_graph::Structures;
use headwater_model::diagnosis::{Cause, CauseClass, Diagnosis};
use headwater_model::psg::{Function, ModuleStructure, Vertex, VertexKind};
use headwater_model::run::{Context, CtxId, Run, Sample};

/// Where the calls of `solve` begin in `main`, and how far they are apart; call `i` is line `200 + 10 i`.
pub const SITES: u64 = 0x1000;
pub const SITE: u64 = 0x100;

/// The most calls of `solve` that a test has.
pub const MOST_SITES: u64 = 8;

/// The loop in `solve`, line 105; that in `main` beside the calls, line 50; the time loop around all of them, line 2.
pub const SOLVE: u64 = 0x10000;
pub const BESIDE: u64 = 0x300;
pub const STEP: u64 = 0;

/// A vertex: kind, parent, first line (the last is five lines on), and the addresses that it owns.
pub type Row = (VertexKind, Option<u32>, u32, (u64, u64));

/// `main` with a time loop around a loop, calls of `solve` and the reduction; and `solve` with a loop.
pub fn structures() -> Structures {
    Structures::new([(module(), whole())])
}

/// The structure behind it.
pub fn whole() -> ModuleStructure {
    use VertexKind::{Call, Function as Whole, Loop, MpiCall};
    let mut main: Vec<Row> = vec![
        (Whole, None, 1, (0, 0)),
        (Loop, Some(0), 2, (0, 0x80)),
        (MpiCall, Some(1), 40, (0x80, 0x100)),
        (Loop, Some(1), 50, (BESIDE, BESIDE + 0x100)),
    ];
    for i in 0..MOST_SITES {
        let at = SITES + i * SITE;
        main.push((Call, Some(1), 200 + 10 * i as u32, (at, at + SITE)));
    }
    let solve: &[Row] = &[
        (Whole, None, 100, (0, 0)),
        (Loop, Some(0), 105, (SOLVE, SOLVE + 0x100)),
    ];
    let vertex = |&(kind, parent, first, (address, _)): &Row| Vertex {
        kind,
        parent,
        name: None,
        file: Some(2),
        first_line: first,
        last_line: first + 5,
        address,
    };
    let function = |name: u32, rows: &[Row], range: (u64, u64)| Function {
        name,
        symbol: Some(name),
        ranges: vec![range],
        vertices: rows.iter().map(vertex).collect(),
        owners: (0..)
            .zip(rows)
            .map(|(i, r)| (r.3.0, r.3.1, i))
            .filter(|o| o.1 > o.0)
            .collect(),
    };
    ModuleStructure {
        path: "/home/u/app".into(),
        build_id: "ab".into(),
        functions: vec![
            function(0, &main, (0, 0x8000)),
            function(1, solve, (SOLVE, SOLVE + 0x1000)),
        ],
        strings: vec!["main".into(), "solve".into(), "app.c".into()],
        ..Default::default()
    }
}

/// The context of the reduction, and of the first that a test adds.
pub const REDUCTION: CtxId = CtxId(1);
pub const FIRST: u32 = 2;

/// Seconds of each rank at an address, which call site `via` reaches where there is one.
#[derive(Clone, Debug)]
pub struct Part {
    pub via: Option<u64>,
    pub at: u64,
    pub seconds: Vec<f64>,
}

pub fn part(via: Option<u64>, at: u64, ranks: u32, seconds: impl Fn(u32) -> f64) -> Part {
    Part {
        via,
        at,
        seconds: (0..ranks).map(seconds).collect(),
    }
}

/// A run whose time between two reductions is `parts`, with `rate` samples a second.
pub fn recorded(parts: &[Part], rate: f64) -> Run {
    let ranks = parts.first().map_or(0, |p| p.seconds.len()) as u32;
    let totals: Vec<f64> = (0..ranks as usize)
        .map(|r| parts.iter().map(|p| p.seconds[r]).sum())
        .collect();
    let mut run = run(
        ranks,
        &[piece("MPI_Allreduce", move |r, _| totals[r as usize])],
    );
    run.header.sampling_hz = rate;
    run.samples.clear();
    for (k, part) in (0..).zip(parts) {
        let context = |parent, offset, exact| Context {
            parent,
            module: 0,
            offset,
            exact,
        };
        let site = part.via.map_or(0, |i| SITES + i * SITE);
        run.contexts.push(context(CtxId::NONE, site + 1, false));
        let parent = part.via.map_or(CtxId::NONE, |_| CtxId(FIRST + 2 * k));
        run.contexts.push(context(parent, part.at + 0x10, true));
    }
    for rank in 0..ranks {
        for (k, part) in (0..).zip(parts) {
            let seconds = part.seconds[rank as usize];
            if seconds > 0.0 {
                run.samples.push(Sample {
                    rank,
                    after: REDUCTION,
                    ctx: CtxId(FIRST + 2 * k + 1),
                    count: (seconds * rate).ceil() as u32,
                    cpu_ns: (seconds * 1e9) as u64,
                    ..Default::default()
                });
            }
        }
    }
    run
}

pub fn of_parts(parts: &[Part]) -> Diagnosis {
    from(Options::default().least_share, parts)
}

/// Causes that cost at least this share of the run time.
pub fn from(least_share: f64, parts: &[Part]) -> Diagnosis {
    let run = recorded(parts, 2000.0);
    let options = Options {
        least_share,
        ..Options::default()
    };
    diagnose(vec![run], structures(), &options).expect("one run is enough")
}

pub fn of_pieces(ranks: u32, pieces: &[Piece]) -> Diagnosis {
    let run = run(ranks, pieces);
    diagnose(vec![run], structure(pieces.len()), &Options::default()).expect("one run is enough")
}

/// Class, first line and ranks of all causes.
pub fn found(d: &Diagnosis) -> Vec<(CauseClass, u32, String)> {
    let found = d.causes.iter();
    found
        .map(|c| (c.class, c.place.first_line, c.ranks.to_string()))
        .collect()
}

pub fn only(d: &Diagnosis) -> &Cause {
    match &d.causes[..] {
        [one] => one,
        _ => panic!("{:#?}", found(d)),
    }
}

pub fn near(value: f64, expected: f64, by: f64) {
    assert!((value - expected).abs() <= by, "{value} for {expected}");
}

/// Figures from -1 to 1 that look drawn, by rank and row.
pub fn drawn(rank: u32, row: u32) -> f64 {
    let mut x = u64::from(rank) << 32 | u64::from(row) << 8 | 1;
    for _ in 0..3 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x = x.wrapping_mul(0x2545_F491_4F6C_DD1D);
    }
    (x >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}
