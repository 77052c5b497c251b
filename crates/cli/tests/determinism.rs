//! The same runs give the same bytes: whatever the number of threads, and the order they are named in.
//!
//! The runs are made up: more ranks than one task takes, scatter on every figure, and two causes that
//! cost exactly the same, so that ties and sums over ranks would show a difference.

mod support;

use headwater_model::run::*;
use std::path::{Path, PathBuf};
use support::{built, headwater, said};

/// Two alike functions with a loop each, called from a time loop.
const PROGRAM: &str = r"
volatile double x;
__attribute__((noinline)) void red(int n) { for (int i = 0; i < n; i++) x = x * 0.5 + i; }
__attribute__((noinline)) void blue(int n) { for (int i = 0; i < n; i++) x = x * 0.5 + i; }
int main(int argc, char **argv) {
    for (int step = 0; step < 100; step++) {
        red(argc);
        blue(argc);
    }
    return 0;
}
";

const NAMES: [&str; 5] = [
    "MPI_Irecv",
    "MPI_Send",
    "MPI_Wait",
    "MPI_Allreduce",
    "MPI_Barrier",
];

/// A number that looks drawn, from 0 to `below`.
fn drawn(seed: u64, below: u64) -> u64 {
    (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % below.max(1)
}

/// A run on `ranks` ranks: work in `red`, an exchange around a ring and a reduction, then work in `blue`
/// and a barrier. Ranks divisible by 5 are late in `red`, their neighbours in `blue`.
fn made_up(program: &Path, ranks: u32) -> Run {
    let structure =
        headwater_structure::analyse(program, &Default::default()).expect("an ELF file");
    let address = |name: &str| {
        let named = |f: &&headwater_model::psg::Function| structure.string(f.name) == name;
        let function = structure.functions.iter().find(named).expect("a function");
        let owners = function.owners.iter();
        let last = owners.max_by_key(|o| (o.2, o.0)).expect("code");
        last.0
    };
    let module = Module {
        path: program.display().to_string(),
        build_id: structure.build_id.clone(),
    };
    let mut run = Run {
        modules: vec![module],
        functions: NAMES.map(String::from).into(),
        comms: vec![Comm {
            hash: 1,
            size: ranks,
        }],
        ..Default::default()
    };
    run.header = Header {
        name: format!("app.{ranks}"),
        program: program.display().to_string(),
        ranks,
        nodes: vec!["n0".into()],
        cores: vec![2],
        sampling_hz: 200.0,
        counters: vec!["page_faults".into()],
        ..Default::default()
    };
    let context = |offset, exact| Context {
        parent: CtxId::NONE,
        module: 0,
        offset,
        exact,
    };
    let calls = [0, 1, 2, 3, 4];
    run.contexts = calls.map(|i| context(address("main") + i, false)).into();
    run.contexts
        .extend(["red", "blue"].map(|f| context(address(f), true)));
    let even = 4_000_000_000 / u64::from(ranks);
    let wave = |rank: u32, seed: u64| drawn(u64::from(rank) * 7919 + seed, even / 50);
    for rank in 0..ranks {
        let late = |which: u32| if rank % 5 == which { even / 2 } else { 0 };
        let work = [
            even + late(0) + wave(rank, 0),
            even + late(1) + wave(rank, 0),
        ];
        for (from, to, busy) in [
            (0, 1, 0),
            (1, 2, 0),
            (2, 3, 0),
            (3, 4, work[1]),
            (4, 0, work[0]),
        ] {
            run.segments.push(Segment {
                rank,
                from: CtxId(from),
                to: CtxId(to),
                count: 100,
                wall_ns: busy,
                cpu_ns: busy,
                runq_ns: wave(rank, 2),
                max_busy_ns: busy / 100,
                ..Default::default()
            });
            run.calls.push(MpiCalls {
                rank,
                ctx: CtxId(from),
                func: from as u16,
                comm: if from > 2 { 0 } else { u16::MAX },
                peer: if from > 2 { peer::NONE } else { 1 },
                tag: 7,
                count: 100,
                bytes: 800,
                wall_ns: 1_000_000 + wave(rank, u64::from(from)),
                cpu_ns: 500_000,
                ..Default::default()
            });
        }
        for (after, ctx, busy) in [(3, 6, work[1]), (4, 5, work[0])] {
            run.samples.push(Sample {
                rank,
                after: CtxId(after),
                ctx: CtxId(ctx),
                count: (busy / 5_000_000) as u32,
                cpu_ns: busy - busy % 5_000_000,
                counters: vec![wave(rank, 9)],
                ..Default::default()
            });
        }
        run.ranks.push(RankInfo {
            rank,
            complete: true,
            cpus_allowed: 2,
            cpus: "0-1".into(),
            wall_ns: 3 * even,
            ..Default::default()
        });
        let before = (rank + ranks - 1) % ranks;
        for epoch in 0..4 {
            let link = |from: u32| 1 + epoch * (ranks + 2) + from;
            let event = |ctx: u32, kind, link, busy_ns| Event {
                rank,
                ctx: CtxId(ctx),
                func: ctx as u16,
                kind,
                first_of_call: true,
                link,
                peer: u32::MAX,
                bytes: 8,
                busy_ns,
                ..Default::default()
            };
            run.events.extend([
                event(0, EventKind::RecvPost, link(before), work[0] / 100),
                event(1, EventKind::Send, link(rank), 0),
                event(2, EventKind::Recv, link(before), 0),
                event(3, EventKind::Collective, link(ranks), 0),
                event(4, EventKind::Collective, link(ranks + 1), work[1] / 100),
            ]);
        }
    }
    run
}

fn diagnosis(dir: &Path, threads: &str, runs: &[&PathBuf], json: bool) -> String {
    given(dir, threads, &["diagnose"], runs, json)
}

/// What a command prints about runs.
fn given(dir: &Path, threads: &str, what: &[&str], runs: &[&PathBuf], json: bool) -> String {
    let mut command = headwater(dir);
    command.env("RAYON_NUM_THREADS", threads).args(what);
    if json {
        command.arg("--json");
    }
    let out = command.args(runs).output().expect("runs");
    assert!(out.status.success(), "{}", said(&out));
    String::from_utf8(out.stdout).expect("text")
}

#[test]
fn the_same_runs_give_the_same_bytes() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(program) = built("cc", dir.path(), "app", PROGRAM, &[]) else {
        return;
    };
    let runs: Vec<PathBuf> = [33, 66, 132]
        .into_iter()
        .map(|ranks| {
            let path = dir.path().join(format!("p{ranks}"));
            headwater_format::write_run(&path, &made_up(&program, ranks)).expect("writes a run");
            path
        })
        .collect();
    let [a, b, c] = &runs[..] else {
        panic!("three runs")
    };
    for json in [true, false] {
        let first = diagnosis(dir.path(), "1", &[a, b, c], json);
        assert!(first.contains("red") && first.contains("blue"), "{first}");
        for (threads, order) in [("2", [a, b, c]), ("1", [c, a, b]), ("2", [b, c, a])] {
            let again = diagnosis(dir.path(), threads, &order, json);
            assert!(
                again == first,
                "{threads} threads, {order:?}:\n{first}\n{again}"
            );
        }
    }
    for format in headwater_export::ALL {
        let taken = match format.takes {
            headwater_export::Takes::Scales => vec![a, b],
            _ => vec![a],
        };
        let out = |threads: &str| {
            let file = dir.path().join(format!("{threads}.{}", format.extension));
            let to = file.display().to_string();
            let what = ["export", format.name, "-o", &to];
            given(dir.path(), threads, &what, &taken, false);
            std::fs::read(file).expect("what was exported")
        };
        assert!(out("1") == out("2"), "{}", format.name);
    }
    for paradigm in headwater_diagnosis::paradigm::ALL {
        let what = ["analyse", paradigm.name];
        let taken = match paradigm.takes {
            headwater_diagnosis::paradigm::Takes::One => vec![a],
            headwater_diagnosis::paradigm::Takes::Two => vec![a, b],
            headwater_diagnosis::paradigm::Takes::Several => vec![a, b, c],
        };
        for json in [true, false] {
            let first = given(dir.path(), "1", &what, &taken, json);
            let again = given(dir.path(), "2", &what, &taken, json);
            assert!(again == first, "{}:\n{first}\n{again}", paradigm.name);
        }
    }
}
