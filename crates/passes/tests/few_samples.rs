//! Places told apart by few samples, each of which stands for much of a long run.

mod support;

use headwater_model::run::{CtxId, Sample};
use headwater_passes::Options;
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
