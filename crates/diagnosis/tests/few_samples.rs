//! Places distinguished by few samples, each of which represents much of a long run.

mod support;

use headwater_diagnosis::Options;
use headwater_model::run::{CtxId, Run, Sample};
use support::{diagnose, piece, run, structure};

#[test]
fn places_that_few_samples_tell_apart_are_not_called_different() {
    // Two loops in one segment that is even. Rank 0 has 28 of 40 samples in the first, the others 20.
    let pieces = [
        piece("MPI_Allreduce", |_, _| 1.6),
        piece("MPI_Allreduce", |_, _| 0.0),
    ];
    let abnormal = |each_stands_for: f64| {
        let divided = |p: &u32| {
            let mut run = run(*p, &pieces);
            let all = (1.6 / each_stands_for).round() as u32;
            for i in 0..run.samples.len() {
                let whole = run.samples[i].clone();
                let first = if whole.rank == 0 { 0.7 } else { 0.5 };
                let part = |share: f64| Sample {
                    count: (f64::from(all) * share) as u32,
                    cpu_ns: (1.6e9 * share) as u64,
                    ..whole.clone()
                };
                run.samples[i] = part(first);
                run.samples.push(Sample {
                    ctx: CtxId(2),
                    ..part(1.0 - first)
                });
            }
            run.samples.sort_by_key(|s| (s.rank, s.ctx));
            run
        };
        let runs = [8, 16].iter().map(divided).collect();
        let d = diagnose(runs, structure(pieces.len()), &Options::default());
        d.expect("they belong together").abnormal.len()
    };
    assert!(abnormal(0.001) > 0, "what many samples say is believed");
    assert_eq!(abnormal(0.04), 0, "what a few of a long run say is not");
}

/// A run with the samples of each rank's first loop divided: `counts` gives how many of `each` nanoseconds are in each
/// loop.
fn divided(mut run: Run, each: u64, counts: impl Fn(&Sample) -> Vec<u32>) -> Run {
    let parts = |s: &Sample| -> Vec<Sample> {
        let of_loops = (0..).zip(counts(s)).filter(|(_, count)| *count > 0);
        let part = |(i, count): (u32, u32)| Sample {
            ctx: CtxId(2 * i),
            count,
            cpu_ns: u64::from(count) * each,
            ..s.clone()
        };
        of_loops.map(part).collect()
    };
    run.samples = run.samples.iter().flat_map(parts).collect();
    run
}

/// A run of 16 ranks with two loops in one segment, 1.6 s, of which the second takes 0.1 s. Rank 3 takes 0.2 s more in
/// the segment; `seen` samples of 40 ms are in the second loop there.
fn late_in_the_second(seen: u32) -> Run {
    const EACH: u64 = 40_000_000;
    let pieces = [
        piece("MPI_Allreduce", |r, _| if r == 3 { 1.8 } else { 1.6 }),
        piece("MPI_Allreduce", |_, _| 0.0),
    ];
    divided(run(16, &pieces), EACH, |s| {
        let (all, second) = if s.rank == 3 {
            (45, seen)
        } else {
            (40, 2 + s.rank % 2)
        };
        vec![all - second, second]
    })
}

#[test]
fn a_place_with_too_few_samples_is_found_and_priced_by_the_phase() {
    let reported = |seen: u32| {
        let d = diagnose(
            vec![late_in_the_second(seen)],
            structure(2),
            &Options::default(),
        );
        let d = d.expect("one run is enough");
        let of = |c: &headwater_model::diagnosis::Cause| {
            let (low, high) = c.gain_range_seconds;
            assert!(low <= 0.2 && high >= 0.19, "{low} to {high}");
            (c.place.first_line, c.ranks.to_string(), c.gain_seconds)
        };
        d.causes.iter().map(of).collect::<Vec<_>>()
    };
    // Seven or eight are to be expected, six are few.
    for seen in [6, 7, 8] {
        let [(line, ranks, gain)] = &reported(seen)[..] else {
            panic!("{seen}: {:?}", reported(seen));
        };
        assert_eq!((*line, ranks.as_str()), (20, "3"), "{seen}");
        assert!((gain - 0.2).abs() < 0.02, "{seen}: {gain}");
    }
    // Of as many samples as the other ranks have there, nobody can say that.
    assert!(reported(3).iter().all(|(line, ..)| *line != 20));
}

/// Eight loops in one segment, of which all ranks have samples but in the second one: there a rank in the middle alone
/// has four. It is the latest, but ranks scatter in the segment by nearly as much.
fn few_on_one_rank(ranks: u32) -> Run {
    const EACH: u64 = 20_000_000;
    let late = ranks / 2 - 1;
    let all = piece("MPI_Allreduce", move |r, _| {
        if r == late {
            1.7
        } else {
            1.58 + 0.02 * f64::from((r * 7 + 3) % 4)
        }
    });
    let mut pieces = vec![all];
    pieces.extend((1..8).map(|_| piece("MPI_Allreduce", |_, _| 0.0)));
    divided(run(ranks, &pieces), EACH, |s| {
        let second = if s.rank == late { 4 } else { 0 };
        let all = (s.cpu_ns / EACH) as u32;
        vec![all - 12 - second, second, 2, 2, 2, 2, 2, 2]
    })
}

#[test]
fn smaller_scales_are_evidence_for_a_place_with_few_samples() {
    let reported = |scales: &[u32]| {
        let runs = scales.iter().map(|p| few_on_one_rank(*p)).collect();
        let options = Options {
            scaling: Some(headwater_model::diagnosis::Scaling::Weak),
            ..Options::default()
        };
        let d = diagnose(runs, structure(8), &options).expect("they belong together");
        let of = |c: &headwater_model::diagnosis::Cause| (c.place.first_line, c.ranks.to_string());
        d.causes.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(reported(&[8]), []);
    assert_eq!(reported(&[2, 4, 8]), [(20, "3".to_string())]);
}
