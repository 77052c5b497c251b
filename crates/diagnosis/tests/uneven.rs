//! Work that differs between ranks: where it is, on which ranks, what mending it gains, and when it is noise.

#[path = "support/compiled.rs"]
mod compiled;
#[path = "support/parts.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod parts;
mod support;

use headwater_diagnosis::{Options, diagnose};
use headwater_model::diagnosis::CauseClass;
use headwater_model::run::{Context, CtxId, Sample};
use parts::*;
use support::{piece, run, structure};

#[test]
fn ranks_that_run_copies_of_one_line_do_the_same_work() {
    // Rank 0 reaches the loop by one copy of its call, the others by another one. All take a second, and
    // by a little rank 0 is the slowest.
    let d = of_parts(&[
        part(Some(0), SOLVE, 16, |r| if r == 0 { 1.02 } else { 0.0 }),
        part(Some(1), SOLVE, 16, |r| {
            if r == 0 {
                0.0
            } else {
                1.0 + 0.005 * drawn(r, 1)
            }
        }),
    ]);
    assert_eq!(found(&d), []);
}

#[test]
fn late_ranks_of_one_copy_are_priced_by_what_they_measured() {
    // Copies that other ranks run; of those that run the second one, four are late by half a second.
    let d = of_parts(&[
        part(Some(0), SOLVE, 16, |r| if r < 8 { 1.0 } else { 0.0 }),
        part(Some(1), SOLVE, 16, |r| match r {
            0..8 => 0.0,
            8..12 => 1.0,
            _ => 1.5,
        }),
    ]);
    let c = only(&d);
    assert_eq!(
        (c.place.first_line, c.ranks.to_string()),
        (105, "12-15".to_string())
    );
    near(c.gain_seconds, 0.5, 0.02);
    near(c.by_rank[0], 1.0, 0.02);
}

#[test]
fn a_loop_that_five_call_paths_reach_is_one_cause() {
    // Border ranks alone run it, and no path to it has a quarter of its time.
    let border = |r: u32| matches!(r, 0 | 3 | 12 | 15);
    let mut parts: Vec<Part> = (0..5)
        .map(|i| {
            part(
                Some(i),
                SOLVE,
                16,
                move |r| if border(r) { 0.04 } else { 0.0 },
            )
        })
        .collect();
    parts.push(part(None, BESIDE, 16, |_| 1.0));
    let d = of_parts(&parts);
    let c = only(&d);
    assert_eq!(
        (c.place.first_line, c.ranks.to_string()),
        (105, "0,3,12,15".to_string())
    );
    near(c.gain_seconds, 0.2, 0.02);
    let paths = |e: &&headwater_model::diagnosis::Evidence| e.text.contains("5 call paths");
    assert_eq!(
        c.evidence.iter().filter(paths).count(),
        1,
        "{:?}",
        c.evidence
    );
}

#[test]
fn a_shared_kernel_is_named_where_its_callers_differ() {
    let d = of_parts(&[
        part(Some(0), SOLVE, 16, |_| 1.0),
        part(Some(1), SOLVE, 16, |r| if r % 4 == 1 { 0.8 } else { 0.4 }),
    ]);
    let c = only(&d);
    assert_eq!(
        (c.place.first_line, c.ranks.to_string()),
        (210, "1,5,9,13".to_string())
    );
    near(c.gain_seconds, 0.4, 0.03);
    // Where all ways to it differ, it is the kernel, also if one of them has most of it.
    let more = |r: u32, usual: f64| if r % 4 == 1 { 2.0 * usual } else { usual };
    let d = of_parts(&[
        part(Some(0), SOLVE, 16, |r| more(r, 0.9)),
        part(Some(1), SOLVE, 16, |r| more(r, 0.1)),
    ]);
    let c = only(&d);
    assert_eq!(c.place.first_line, 105);
    near(c.gain_seconds, 1.0, 0.03);
}

#[test]
fn a_fifth_more_on_a_quarter_of_the_ranks_is_found() {
    let d = of_pieces(
        16,
        &[piece("MPI_Allreduce", |r, _| {
            let noise = 1.0 + 0.01 * drawn(r, 2);
            if r.is_multiple_of(4) {
                1.2 * noise
            } else {
                noise
            }
        })],
    );
    let c = only(&d);
    assert_eq!(
        (c.class, c.place.first_line, c.ranks.to_string()),
        (CauseClass::UnevenWork, 10, "0,4,8,12".to_string())
    );
    near(c.gain_seconds, 0.2, 0.03);
    let (least, most) = c.gain_range_seconds;
    assert!(
        least < 0.2 && 0.2 < most && most - least < 0.1,
        "{least} to {most}"
    );
}

#[test]
fn one_rank_with_a_twentieth_more_is_found_where_the_machine_is_quiet() {
    let with = |scatter: f64| {
        of_pieces(
            16,
            &[piece("MPI_Allreduce", move |r, _| {
                let noise = 1.0 + scatter * drawn(r, 3);
                if r == 6 { 1.05 } else { noise }
            })],
        )
    };
    let d = with(0.001);
    assert_eq!(only(&d).ranks.to_string(), "6");
    near(only(&d).gain_seconds, 0.05, 0.005);
    assert_eq!(found(&with(0.04)), []);
}

#[test]
fn even_work_with_scatter_is_no_finding() {
    for seed in 0..40 {
        for ranks in [4, 16, 64] {
            // The sum of three has the shape of scatter that machines have, with a deviation of 2 %.
            let noise = move |r: u32, k: u32| {
                let rows = [0, 1, 2].map(|i| drawn(r, 100 * seed + 10 * k + i));
                1.0 + 0.02 * rows.iter().sum::<f64>()
            };
            let d = of_pieces(
                ranks,
                &[
                    piece("MPI_Allreduce", move |r, _| 0.6 * noise(r, 1)),
                    piece("MPI_Barrier", move |r, _| 0.4 * noise(r, 2)),
                ],
            );
            assert_eq!(found(&d), [], "seed {seed}, {ranks} ranks");
        }
    }
}

#[test]
fn a_gradient_over_ranks_is_uneven_work() {
    let d = of_pieces(
        16,
        &[piece("MPI_Allreduce", |r, _| {
            1.0 + 0.02 * f64::from(r) + 0.002 * drawn(r, 4)
        })],
    );
    let c = only(&d);
    assert_eq!(
        (c.class, c.ranks.to_string()),
        (CauseClass::UnevenWork, "8-15".to_string())
    );
    // Evened out, the slowest takes what the mean rank takes.
    near(c.gain_seconds, 0.15, 0.02);
    let rises = |e: &&headwater_model::diagnosis::Evidence| e.text.contains("rises with the rank");
    assert_eq!(
        c.evidence.iter().filter(rises).count(),
        1,
        "{:?}",
        c.evidence
    );
}

#[test]
fn scatter_among_late_ranks_does_not_divide_them() {
    // Rain on every fourth rank, on slow cores on 8 and 12; ice on the upper half, in another phase.
    let rain = |r: u32, _| match r {
        0 => 0.55,
        4 => 0.57,
        8 => 1.43,
        12 => 1.45,
        _ => 0.0,
    };
    let d = of_pieces(
        16,
        &[
            piece("MPI_Waitall", |r, _| 0.75 + 0.02 * drawn(r, 5)),
            piece("MPI_Allreduce", rain),
            piece("MPI_Barrier", |r, _| {
                if r >= 8 {
                    0.5 + 0.03 * drawn(r, 6)
                } else {
                    0.0
                }
            }),
        ],
    );
    let mut all = found(&d);
    all.sort_by_key(|f| f.1);
    assert_eq!(
        all,
        [
            (CauseClass::UnevenWork, 20, "0,4,8,12".to_string()),
            (CauseClass::UnevenWork, 30, "8-15".to_string()),
        ]
    );
}

#[test]
fn a_place_late_by_little_in_many_phases_is_priced_in_all() {
    // One loop before ten reductions, each of which gains less than is worth reporting.
    let mut run = run(
        8,
        &[piece(
            "MPI_Allreduce",
            |r, _| if r == 2 { 1.1 } else { 1.0 },
        )],
    );
    let (segments, samples, calls) = (run.segments.clone(), run.samples.clone(), run.calls.clone());
    (run.segments, run.samples, run.calls) = Default::default();
    for k in 0..10u32 {
        run.contexts.push(Context {
            parent: CtxId::NONE,
            module: 0,
            offset: 0x100 + 0x81 + 8 * u64::from(k),
            exact: false,
        });
    }
    let call = |k: u32| CtxId(2 + k % 10);
    for k in 0..10 {
        run.segments.extend(segments.iter().map(|s| {
            let part = |ns: u64| ns / 10;
            headwater_model::run::Segment {
                from: call(k + 9),
                to: call(k),
                wall_ns: part(s.wall_ns),
                cpu_ns: part(s.cpu_ns),
                max_busy_ns: part(s.max_busy_ns),
                ..s.clone()
            }
        }));
        run.samples.extend(samples.iter().map(|s| Sample {
            after: call(k + 9),
            cpu_ns: s.cpu_ns / 10,
            count: s.count / 10,
            ..s.clone()
        }));
        run.calls
            .extend(calls.iter().map(|c| headwater_model::run::MpiCalls {
                ctx: call(k),
                wall_ns: c.wall_ns / 10,
                cpu_ns: c.cpu_ns / 10,
                ..c.clone()
            }));
    }
    run.segments.sort_by_key(|s| s.rank);
    run.samples.sort_by_key(|s| (s.rank, s.after));
    run.calls.sort_by_key(|c| c.rank);
    let d = diagnose(vec![run], structure(2), &Options::default()).expect("one run is enough");
    let c = only(&d);
    assert_eq!(
        (c.place.first_line, c.ranks.to_string()),
        (10, "2".to_string())
    );
    near(c.gain_seconds, 0.1, 0.01);
}

#[test]
fn several_causes_of_one_phase_are_distinguished() {
    // The same rank in two loops of a step; and other ranks, that rank among them, in a third one.
    let d = of_parts(&[
        part(None, STEP, 16, |_| 0.5),
        part(None, BESIDE, 16, |r| if r == 3 { 0.9 } else { 0.4 }),
        part(Some(0), SOLVE, 16, |r| if r < 8 { 0.6 } else { 0.2 }),
    ]);
    let mut all = found(&d);
    all.sort_by_key(|f| f.1);
    assert_eq!(
        all,
        [
            (CauseClass::UnevenWork, 50, "3".to_string()),
            (CauseClass::UnevenWork, 105, "0-7".to_string()),
        ]
    );
    let gains: f64 = d.causes.iter().map(|c| c.gain_seconds).sum();
    near(gains, 0.9, 0.03);
}

#[test]
fn ranks_that_two_causes_make_latest_do_not_hide_the_others() {
    // Rain on every fourth rank, ice on the upper half: 8 and 12 have both, and all before one reduction.
    let d = of_parts(&[
        part(None, STEP, 16, |_| 0.5),
        part(None, BESIDE, 16, |r| if r % 4 == 0 { 1.0 } else { 0.0 }),
        part(Some(0), SOLVE, 16, |r| if r >= 8 { 0.2 } else { 0.0 }),
    ]);
    let mut all = found(&d);
    all.sort_by_key(|f| f.1);
    assert_eq!(
        all,
        [
            (CauseClass::UnevenWork, 50, "0,4,8,12".to_string()),
            (CauseClass::UnevenWork, 105, "8-15".to_string()),
        ]
    );
}

#[test]
fn a_cause_that_is_too_small_to_report_does_not_lower_the_others() {
    // Rank 5 is late by less than is worth reporting, and the last to come once rank 3 is not late any more.
    let d = of_parts(&[
        part(None, BESIDE, 16, |r| if r == 3 { 0.6 } else { 0.4 }),
        part(Some(0), SOLVE, 16, |r| if r == 5 { 0.61 } else { 0.6 }),
    ]);
    let c = only(&d);
    assert_eq!(
        (c.place.first_line, c.ranks.to_string()),
        (50, "3".to_string())
    );
    near(c.gain_seconds, 0.19, 0.002);
}

#[test]
fn ranks_in_no_good_line_are_as_late_with_other_numbers() {
    // Once ranks 2 and 3 are mended, the times happen to fall with the rank, but are far from a line.
    let solve = [0.17, 0.5, 0.5, 0.0, 0.0, 0.0];
    let step = [0.5, 0.17, 0.5, 0.97, 0.5, 0.5];
    for turn in 0..6 {
        let of = |row: [f64; 6]| move |r: u32| row[(r as usize + turn) % 6];
        let d = from(
            0.03,
            &[
                part(Some(1), SOLVE, 6, of(solve)),
                part(None, STEP, 6, of(step)),
            ],
        );
        let late = (0..6).filter(|r| only(&d).ranks.contains(*r));
        let mut late: Vec<usize> = late.map(|r| (r as usize + turn) % 6).collect();
        late.sort_unstable();
        assert_eq!(late, [2, 3], "{turn}");
        near(only(&d).gain_seconds, 0.416, 0.002);
    }
}
