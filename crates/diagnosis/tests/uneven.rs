//! Work that differs between ranks: where it is, who has it, what mending it gains, and when it is noise.

mod support;

use headwater_diagnosis::{Options, diagnose};
use headwater_graph::Structures;
use headwater_model::diagnosis::{Cause, CauseClass, Diagnosis};
use headwater_model::psg::{Function, ModuleStructure, Vertex, VertexKind};
use headwater_model::run::{Context, CtxId, Run, Sample};
use proptest::prelude::*;
use support::{Piece, module, piece, run, structure};

/// Where the calls of `solve` begin in `main`, and how far they are apart; call `i` is line `200 + 10 i`.
const SITES: u64 = 0x1000;
const SITE: u64 = 0x100;

/// The most calls of `solve` that a test has.
const MOST_SITES: u64 = 8;

/// The loop in `solve`, line 105; that in `main` beside the calls, line 50; the time loop around all of them, line 2.
const SOLVE: u64 = 0x10000;
const BESIDE: u64 = 0x300;
const STEP: u64 = 0;

/// A vertex: kind, parent, first line (the last is five lines on), and the addresses that it owns.
type Row = (VertexKind, Option<u32>, u32, (u64, u64));

/// `main` with a time loop around a loop, calls of `solve` and the reduction; and `solve` with a loop.
fn structures() -> Structures {
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
    let structure = ModuleStructure {
        path: "/home/u/app".into(),
        build_id: "ab".into(),
        functions: vec![
            function(0, &main, (0, 0x8000)),
            function(1, solve, (SOLVE, SOLVE + 0x1000)),
        ],
        strings: vec!["main".into(), "solve".into(), "app.c".into()],
        ..Default::default()
    };
    Structures::new([(module(), structure)])
}

/// The context of the reduction, and of the first that a test adds.
const REDUCTION: CtxId = CtxId(1);
const FIRST: u32 = 2;

/// Seconds of each rank at an address, which call site `via` reaches where there is one.
#[derive(Clone, Debug)]
struct Part {
    via: Option<u64>,
    at: u64,
    seconds: Vec<f64>,
}

fn part(via: Option<u64>, at: u64, ranks: u32, seconds: impl Fn(u32) -> f64) -> Part {
    Part {
        via,
        at,
        seconds: (0..ranks).map(seconds).collect(),
    }
}

/// A run whose time between two reductions is `parts`, with `rate` samples a second.
fn recorded(parts: &[Part], rate: f64) -> Run {
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

fn of_parts(parts: &[Part]) -> Diagnosis {
    from(Options::default().least_share, parts)
}

/// Causes that cost at least this share of the run time.
fn from(least_share: f64, parts: &[Part]) -> Diagnosis {
    let run = recorded(parts, 2000.0);
    let options = Options {
        least_share,
        ..Options::default()
    };
    diagnose(vec![run], structures(), &options).expect("one run is enough")
}

fn of_pieces(ranks: u32, pieces: &[Piece]) -> Diagnosis {
    let run = run(ranks, pieces);
    diagnose(vec![run], structure(pieces.len()), &Options::default()).expect("one run is enough")
}

/// Class, first line and ranks of all causes.
fn found(d: &Diagnosis) -> Vec<(CauseClass, u32, String)> {
    let found = d.causes.iter();
    found
        .map(|c| (c.class, c.place.first_line, c.ranks.to_string()))
        .collect()
}

fn only(d: &Diagnosis) -> &Cause {
    match &d.causes[..] {
        [one] => one,
        _ => panic!("{:#?}", found(d)),
    }
}

fn near(value: f64, expected: f64, by: f64) {
    assert!((value - expected).abs() <= by, "{value} for {expected}");
}

/// Figures from -1 to 1 that look drawn, by rank and row.
fn drawn(rank: u32, row: u32) -> f64 {
    let mut x = u64::from(rank) << 32 | u64::from(row) << 8 | 1;
    for _ in 0..3 {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x = x.wrapping_mul(0x2545_F491_4F6C_DD1D);
    }
    (x >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

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
fn several_causes_of_one_phase_are_told_apart() {
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

/// Parts of a random program: what each rank spends in the loop beside the calls and, by calls, in `solve`.
fn programs() -> impl Strategy<Value = Vec<Part>> {
    (2u32..24).prop_flat_map(|ranks| {
        let row = prop::collection::vec(
            prop_oneof![Just(0.0), 0.01..1.0f64, Just(0.5)],
            ranks as usize,
        );
        let place = prop_oneof![
            Just((None, STEP)),
            Just((None, BESIDE)),
            (0..MOST_SITES).prop_map(|i| (Some(i), SOLVE)),
        ];
        let part = (place, row).prop_map(|((via, at), seconds)| Part { via, at, seconds });
        prop::collection::vec(part, 1..7)
    })
}

/// What a run loses because its ranks differ: how much later the slowest rank is than what is usual.
fn loss(parts: &[Part]) -> (f64, Vec<f64>) {
    let ranks = parts.first().map_or(0, |p| p.seconds.len());
    let totals: Vec<f64> = (0..ranks)
        .map(|r| parts.iter().map(|p| p.seconds[r]).sum())
        .collect();
    let slowest = totals.iter().copied().fold(0.0, f64::max);
    let least = totals.iter().copied().fold(f64::INFINITY, f64::min);
    (slowest - least, totals)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn causes_gain_no_more_than_ranks_spent_or_than_is_lost(parts in programs()) {
        let d = of_parts(&parts);
        let (lost, totals) = loss(&parts);
        let uneven = d.causes.iter().filter(|c| c.class == CauseClass::UnevenWork);
        let gains: f64 = uneven.clone().map(|c| c.gain_seconds).sum();
        prop_assert!(gains <= lost + 1e-3, "{gains} of {lost}: {:?} {totals:?}", d.causes.iter().map(|c| (c.gain_seconds, c.ranks.to_string(), c.place.first_line, &c.evidence)).collect::<Vec<_>>());
        for c in uneven {
            let (least, most) = c.gain_range_seconds;
            prop_assert!(least <= c.gain_seconds && c.gain_seconds <= most);
            let spent = (0..).zip(&totals).filter(|(r, _)| c.ranks.contains(*r)).map(|t| *t.1).fold(0.0, f64::max);
            prop_assert!(c.cost_seconds <= spent + 1e-3, "{} of {spent}", c.cost_seconds);
            prop_assert!(c.ranks.len() < totals.len());
        }
    }

    #[test]
    fn other_numbers_of_the_ranks_give_the_same_causes(parts in programs(), turn in 1usize..23) {
        let turned: Vec<Part> = parts
            .iter()
            .map(|p| {
                let mut seconds = p.seconds.clone();
                let by = turn % seconds.len();
                seconds.rotate_right(by);
                Part { seconds, ..p.clone() }
            })
            .collect();
        let ranks = parts.first().map_or(0, |p| p.seconds.len());
        let told = |d: &Diagnosis, by: usize| {
            let mut all: Vec<(u32, Vec<usize>, i64)> = d
                .causes
                .iter()
                .map(|c| {
                    let mut own: Vec<usize> =
                        (0..ranks).filter(|r| c.ranks.contains(*r as u32)).map(|r| (r + by) % ranks).collect();
                    own.sort_unstable();
                    (c.place.first_line, own, (1e3 * c.gain_seconds).round() as i64)
                })
                .collect();
            all.sort();
            all
        };
        let (a, b) = (told(&of_parts(&parts), turn % ranks), told(&of_parts(&turned), 0));
        prop_assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(&b) {
            prop_assert_eq!((a.0, &a.1), (b.0, &b.1));
            prop_assert!((a.2 - b.2).abs() <= 2, "{:?} {:?}", a, b);
        }
    }

    #[test]
    fn copies_of_a_place_gain_what_the_place_gains(
        late in prop::collection::vec(any::<bool>(), 4..20),
        more in 0.2..1.0f64,
        by in prop::collection::vec(0..MOST_SITES, 4..20),
        seed in 0u32..1000,
    ) {
        let ranks = late.len() as u32;
        let more = |r: u32| if late[r as usize] { more } else { 0.0 };
        let row: Vec<f64> = (0..ranks).map(|r| 0.5 + more(r) + 0.005 * drawn(r, seed)).collect();
        let whole = part(Some(0), SOLVE, ranks, |r| row[r as usize]);
        let beside = part(None, BESIDE, ranks, |_| 0.5);
        // Each rank has its way to the loop.
        let copies = (0..MOST_SITES).map(|site| part(Some(site), SOLVE, ranks, |r| {
            if by[r as usize % by.len()] == site { row[r as usize] } else { 0.0 }
        }));
        let mut divided: Vec<Part> = copies.collect();
        divided.push(beside.clone());
        let (a, b) = (of_parts(&[whole, beside]), of_parts(&divided));
        let gain = |d: &Diagnosis| d.causes.iter().map(|c| c.gain_seconds).sum::<f64>();
        prop_assert!((gain(&a) - gain(&b)).abs() < 0.02, "{:?} {:?}", found(&a), found(&b));
        let ranks = |d: &Diagnosis| d.causes.iter().map(|c| c.ranks.to_string()).collect::<Vec<_>>();
        prop_assert_eq!(ranks(&a), ranks(&b));
    }

    #[test]
    fn even_programs_have_no_causes(
        rows in prop::collection::vec(0.1..1.0f64, 1..6),
        sites in prop::collection::vec(0..MOST_SITES, 16..17),
        seed in 0u32..1000,
    ) {
        // Each rank reaches the loop by a call of its own, and all take as long but for half a per cent.
        let mut parts: Vec<Part> = (0..MOST_SITES)
            .map(|site| part(Some(site), SOLVE, 16, |r| {
                let own = sites[r as usize] == site;
                if own { rows[0] * (1.0 + 0.005 * drawn(r, seed)) } else { 0.0 }
            }))
            .collect();
        parts.push(part(None, BESIDE, 16, |r| rows[rows.len() - 1] * (1.0 + 0.005 * drawn(r, seed + 1))));
        let d = of_parts(&parts);
        prop_assert_eq!(found(&d), []);
    }
}
