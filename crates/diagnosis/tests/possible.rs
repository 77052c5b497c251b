//! Whatever was recorded, a diagnosis says nothing impossible: random runs of a made-up program.

#[allow(dead_code, reason = "the made-up program of the other tests")]
mod support;

use headwater_diagnosis::Options;
use headwater_model::run::{Run, Segment};
use proptest::prelude::*;
use support::{Piece, diagnose, piece, run, structure_of};

const CALLS: [&str; 5] = [
    "MPI_Allreduce",
    "MPI_Barrier",
    "MPI_Send",
    "MPI_Wait",
    "MPI_Bcast",
];

/// A loop: the call after it, seconds, how they scale, which ranks take how much more, noise.
#[derive(Clone, Copy, Debug)]
struct Shape {
    call: usize,
    seconds: f64,
    exponent: f64,
    every: u32,
    more: f64,
    noise: f64,
    seed: u32,
}

fn shape() -> impl Strategy<Value = Shape> {
    let scaled = prop_oneof![Just(-1.0), Just(0.0), -1.3..0.4f64];
    let more = prop_oneof![Just(0.0), 0.0..3.0f64];
    let numbers = (0..CALLS.len(), 0.0..4.0f64, scaled, 1..5u32, more);
    (numbers, 0.0..0.3f64, any::<u32>()).prop_map(
        |((call, seconds, exponent, every, more), noise, seed)| Shape {
            call,
            seconds,
            exponent,
            every,
            more,
            noise,
            seed,
        },
    )
}

/// A number from 0 to 1 that looks random.
fn scatter(seed: u32, rank: u32, ranks: u32) -> f64 {
    let mixed = seed
        .wrapping_add(rank.wrapping_mul(0x9E37_79B9))
        .wrapping_add(ranks.wrapping_mul(0x85EB_CA6B));
    let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x2C1B_3C6D);
    f64::from(mixed >> 8) / f64::from(1u32 << 24)
}

fn pieces(shapes: &[Shape]) -> Vec<Piece> {
    let of = |s: &Shape| {
        let s = *s;
        piece(CALLS[s.call], move |r, p| {
            let even = s.seconds * f64::from(p).powf(s.exponent);
            let late = if r.is_multiple_of(s.every) {
                s.more
            } else {
                0.0
            };
            even * (1.0 + late + s.noise * scatter(s.seed, r, p))
        })
    };
    shapes.iter().map(of).collect()
}

/// What happens to a run besides: cores, waiting for them, sleep, calls that take longer, start-up.
#[derive(Clone, Copy, Debug)]
struct Around {
    cores: u32,
    queued: f64,
    asleep: f64,
    longer: f64,
    lost: f64,
    startup: f64,
}

fn around() -> impl Strategy<Value = Around> {
    let often_none = || prop_oneof![Just(0.0), 0.0..1.5f64];
    let parts = (often_none(), often_none(), often_none(), often_none());
    (1..17u32, parts, 0.0..3.0f64).prop_map(|(cores, (queued, asleep, longer, lost), startup)| {
        Around {
            cores,
            queued,
            asleep,
            longer,
            lost,
            startup,
        }
    })
}

fn recorded(ranks: u32, shapes: &[Shape], around: Around) -> Run {
    let mut run = run(ranks, &pieces(shapes));
    run.header.cores = vec![around.cores];
    let ns = |seconds: f64| (seconds * 1e9) as u64;
    let some = |rank: u32| scatter(7, rank, ranks);
    for s in &mut run.segments {
        let extend = |s: &mut Segment, more: u64| s.wall_ns += more;
        s.runq_ns = (s.cpu_ns as f64 * around.queued * some(s.rank)) as u64;
        s.blocked_ns = (s.cpu_ns as f64 * around.asleep * some(s.rank + 1)) as u64;
        let more = s.runq_ns + s.blocked_ns;
        extend(s, more);
    }
    for c in &mut run.calls {
        c.wall_ns += ns(around.longer * some(c.rank) * 0.1);
    }
    let wall = |rank: u32| -> u64 {
        let segments = run.segments.iter().filter(|s| s.rank == rank);
        let calls = run.calls.iter().filter(|c| c.rank == rank);
        segments.map(|s| s.wall_ns).sum::<u64>() + calls.map(|c| c.wall_ns).sum::<u64>()
    };
    let walls: Vec<u64> = (0..ranks).map(wall).collect();
    let longest = walls.iter().copied().max().unwrap_or(0);
    for info in &mut run.ranks {
        info.wall_ns = longest + ns(around.lost);
        info.before_init_wall_ns = ns(around.startup * f64::from(ranks).log2());
        info.before_init_cpu_ns = info.before_init_wall_ns / 2;
    }
    run
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_diagnosis_says_the_impossible(
        shapes in prop::collection::vec(shape(), 1..7),
        around in around(),
        scales in prop_oneof![Just(vec![8]), Just(vec![2, 8]), Just(vec![1, 4, 16]), Just(vec![4, 4, 4])],
        nested in any::<bool>(),
    ) {
        let runs: Vec<Run> = (0u32..).zip(&scales).map(|(i, p)| {
            let mut own = shapes.clone();
            own.iter_mut().for_each(|s| s.seed = s.seed.wrapping_add(i));
            own[0].seconds += 0.001 * f64::from(i + 1);
            let mut run = recorded(*p, &own, around);
            run.header.name = format!("app.{p}.{i}");
            run
        }).collect();
        let structures = structure_of(shapes.len(), nested);
        let d = diagnose(runs, structures, &Options::default()).expect("they belong together");
        let parts: f64 = d.account.parts.iter().map(|p| p.seconds).sum();
        prop_assert!((parts - d.account.loss_seconds).abs() <= 1e-6 * (1.0 + parts));
        let mut sorted = d.causes.iter().map(|c| c.gain_seconds.is_finite());
        prop_assert!(sorted.all(|finite| finite));
    }
}
