//! What the diagnosis says of programs whose truth is known because they were made up.

mod support;

use headwater_dataflow::RunError;
use headwater_diagnosis::{DiagnoseError, Options};
use headwater_graph::Structures;
use headwater_model::diagnosis::{CauseClass, Diagnosis, Scaling};
use headwater_model::psg::VertexKind;
use headwater_model::run::{Context, CtxId, MpiCalls, Sample, Segment};
use support::{Piece, diagnose, piece, run, structure, structure_of};

const SCALES: [u32; 4] = [2, 4, 8, 16];

fn diagnosis(pieces: &[Piece]) -> Diagnosis {
    let runs = SCALES.iter().map(|p| run(*p, pieces)).collect();
    diagnose(runs, structure(pieces.len()), &Options::default()).expect("the runs belong together")
}

fn even(ranks: u32) -> f64 {
    8.0 / f64::from(ranks)
}

#[test]
fn even_work_that_shrinks_is_no_finding() {
    let d = diagnosis(&[piece("MPI_Allreduce", |r, p| {
        even(p) * (1.0 + 0.01 * f64::from(r % 3))
    })]);
    assert_eq!(d.causes, vec![]);
    assert_eq!(d.scaling, Scaling::Strong);
    assert!(
        d.headline
            .iter()
            .any(|s| s.contains("No scaling loss found"))
    );
}

#[test]
fn uneven_work_is_found_with_its_loop_ranks_and_price() {
    let d = diagnosis(&[
        piece("MPI_Allreduce", |_, p| even(p)),
        piece("MPI_Allreduce", |r, p| {
            if r % 4 == 0 { 2.0 * even(p) } else { even(p) }
        }),
    ]);
    let c = &d.causes[0];
    assert_eq!(
        (c.class, c.place.first_line, c.place.last_line),
        (CauseClass::UnevenWork, 20, 25)
    );
    assert_eq!(c.ranks.to_string(), "0,4,8,12");
    assert!((c.gain_seconds - 0.5).abs() < 0.05, "{}", c.gain_seconds);
    assert_eq!(c.path.last().map(|s| s.place.first_line), Some(20));
    // Twelve ranks wait half a second each.
    let waiting = c.waiting_seconds.expect("others wait for it");
    assert!((waiting - 6.0).abs() < 0.1, "{waiting}");
    assert_eq!(d.causes.len(), 1, "{:?}", d.causes);
}

#[test]
fn one_rank_that_does_less_is_no_delay_of_all_others() {
    let pieces = |less: f64| {
        [
            piece("MPI_Allreduce", |_, p| even(p)),
            piece("MPI_Barrier", move |r, p| {
                if r == 5 {
                    less * 0.4 * even(p)
                } else {
                    0.4 * even(p)
                }
            }),
        ]
    };
    // Evened out, fifteen ranks would gain a sixteenth of what one has less.
    assert_eq!(diagnosis(&pieces(0.4)).causes, vec![]);
    // Where that is worth it, it is reported at that price.
    let d = diagnosis(&[piece(
        "MPI_Barrier",
        |r, p| {
            if r == 5 { 0.0 } else { even(p) }
        },
    )]);
    let c = &d.causes[0];
    assert_eq!(c.ranks.to_string(), "0-4,6-15");
    assert!(
        (c.gain_share - 1.0 / 16.0).abs() < 0.005,
        "{}",
        c.gain_share
    );
}

#[test]
fn delays_in_different_phases_do_not_cancel() {
    // Each rank has the same total, but they are late in different phases.
    let d = diagnosis(&[
        piece("MPI_Allreduce", |r, p| {
            if r == 0 { 2.0 * even(p) } else { even(p) }
        }),
        piece(
            "MPI_Barrier",
            |r, p| if r == 1 { 2.0 * even(p) } else { even(p) },
        ),
    ]);
    let mut found: Vec<(u32, String)> = d
        .causes
        .iter()
        .map(|c| (c.place.first_line, c.ranks.to_string()))
        .collect();
    found.sort();
    assert_eq!(found, vec![(10, "0".into()), (20, "1".into())]);
}

#[test]
fn a_cause_with_its_time_spread_over_many_levels_is_not_lost() {
    // Rank 0 alone does something whose time halves from each loop to the one inside: the innermost
    // one is too small to tell, all of it together is most of the run.
    let piece_of =
        |k: i32, call| piece(call, move |r, _| if r == 0 { 0.5f64.powi(k) } else { 0.0 });
    let mut pieces: Vec<Piece> = (1..7).map(|k| piece_of(k, "MPI_Iprobe")).collect();
    pieces.push(piece_of(7, "MPI_Allreduce"));
    pieces.push(piece("MPI_Allreduce", |_, p| even(p)));
    let runs = SCALES.iter().map(|p| run(*p, &pieces)).collect();
    let d = diagnose(runs, structure_of(pieces.len(), true), &Options::default())
        .expect("they belong together");
    assert!(d.causes.iter().all(|c| c.ranks.to_string() == "0"));
    let reported: f64 = d.causes.iter().map(|c| c.gain_seconds).sum();
    assert!(reported > 0.9, "{reported} s of 0.99 s: {:?}", d.causes);
}

#[test]
fn one_late_rank_of_two_is_uneven_work_only() {
    let pieces = [
        piece("MPI_Allreduce", |_, p| 2.0 * even(p)),
        piece(
            "MPI_Barrier",
            |r, p| {
                if r == 1 { 2.0 * even(p) } else { even(p) }
            },
        ),
    ];
    let runs = [1, 2].map(|p| run(p, &pieces)).into();
    let d = diagnose(runs, structure(2), &Options::default()).expect("the runs belong together");
    let found: Vec<CauseClass> = d.causes.iter().map(|c| c.class).collect();
    assert_eq!(found, [CauseClass::UnevenWork]);
}

#[test]
fn places_too_short_to_report_are_reported_with_what_is_around_them() {
    // In one segment of rank 0, eight samples in a loop and eight in another one.
    let pieces = [
        piece("MPI_Allreduce", |r, _| if r == 0 { 0.08 } else { 0.0 }),
        piece("MPI_Allreduce", |_, _| 0.0),
        piece("MPI_Allreduce", |_, p| even(p)),
    ];
    let halved = |p: &u32| {
        let mut run = run(*p, &pieces);
        let mut first = run.samples.remove(0);
        (first.count, first.cpu_ns) = (first.count / 2, first.cpu_ns / 2);
        let other = Sample {
            ctx: CtxId(2),
            ..first.clone()
        };
        run.samples.extend([first, other]);
        run
    };
    let runs = SCALES.iter().map(halved).collect();
    let d =
        diagnose(runs, structure(pieces.len()), &Options::default()).expect("they belong together");
    let reported: f64 = d.causes.iter().map(|c| c.gain_seconds).sum();
    assert!(
        (reported - 0.08).abs() < 0.01,
        "{reported} s: {:?}",
        d.causes
    );
    assert!(d.causes.iter().all(|c| c.ranks.to_string() == "0"));
}

#[test]
fn work_that_stays_is_found_on_all_ranks() {
    let d = diagnosis(&[
        piece("MPI_Allreduce", |_, p| even(p)),
        piece("MPI_Allreduce", |_, _| 0.4),
    ]);
    let c = &d.causes[0];
    assert_eq!(
        (c.class, c.place.first_line),
        (CauseClass::NonShrinkingWork, 20)
    );
    assert_eq!(c.ranks.len(), 16);
    assert!(d.non_scalable.iter().any(|m| m.place.first_line == 20));
}

#[test]
fn sleep_that_no_call_explains_is_sleep_around_the_calls() {
    // Rank 1 joins a thread, say: it is asleep in nothing that was sampled.
    let mut run = run(4, &[piece("MPI_Allreduce", |_, _| 1.0)]);
    for s in run.segments.iter_mut().filter(|s| s.rank == 1) {
        (s.blocked_ns, s.wall_ns) = (1_000_000_000, 2_000_000_000);
    }
    let d = diagnose(vec![run], structure(1), &Options::default()).expect("one run is enough");
    let found: Vec<_> = d
        .causes
        .iter()
        .map(|c| (c.class, c.ranks.to_string(), c.place.first_line))
        .collect();
    assert_eq!(found, [(CauseClass::SystemCallOrIo, "1".to_string(), 2)]);
}

#[test]
fn ranks_crowded_on_one_core_are_reported_though_all_cores_have_several() {
    // Four ranks on two cores; each rank waits while the others on its core compute.
    let crowded = |on_first: u32| {
        let mut run = run(4, &[piece("MPI_Allreduce", |_, _| 1.0)]);
        run.header.cores = vec![2];
        for info in &mut run.ranks {
            info.cpus = if info.rank < on_first { "0" } else { "1" }.into();
        }
        for s in &mut run.segments {
            let sharing = if s.rank < on_first {
                on_first
            } else {
                4 - on_first
            };
            s.runq_ns = u64::from(sharing - 1) * 1_000_000_000;
        }
        diagnose(vec![run], structure(1), &Options::default()).expect("one run is enough")
    };
    let d = crowded(3);
    let c = &d.causes[0];
    assert_eq!(
        (c.class, c.ranks.to_string()),
        (CauseClass::Preempted, "0-2".to_string())
    );
    assert!((c.gain_seconds - 1.0).abs() < 0.05, "{}", c.gain_seconds);
    assert!(c.explanation.contains("binding"), "{}", c.explanation);
    // What is shown by rank is the waiting, not the computation.
    assert!((c.by_rank[0] - 2.0).abs() < 0.05, "{:?}", c.by_rank);
    assert!(c.by_rank[3] < 0.05, "{:?}", c.by_rank);
    assert_eq!(crowded(2).causes, vec![]);
}

/// Even work on `p` ranks with a core for each, whose ranks also wait `share(rank)` of their time for it.
fn on_busy_cores(p: u32, share: impl Fn(u32) -> f64) -> headwater_model::run::Run {
    let mut run = run(p, &[piece("MPI_Allreduce", |_, p| even(p))]);
    let queued = |rank: u32| (even(p) * 1e9 * share(rank) / (1.0 - share(rank))) as u64;
    for s in &mut run.segments {
        s.runq_ns = queued(s.rank);
        s.wall_ns += s.runq_ns;
    }
    let longest = (0..p).map(queued).max().unwrap_or(0);
    for c in &mut run.calls {
        c.wall_ns += longest - queued(c.rank);
        c.cpu_ns = c.wall_ns;
    }
    for info in &mut run.ranks {
        info.runq_ns = queued(info.rank);
        info.wall_ns += longest;
    }
    run
}

#[test]
fn a_busy_machine_is_no_communication() {
    let runs = [(1, 0.7), (2, 0.3), (4, 0.0)].map(|(p, share)| on_busy_cores(p, move |_| share));
    let d = diagnose(runs.into(), structure(1), &Options::default()).expect("they belong together");
    assert_eq!(d.causes, vec![]);
    for s in &d.scales {
        let (e, p) = (&s.efficiencies, f64::from(s.ranks));
        assert!(e.communication.is_some_and(|c| c > 0.99), "{s:?}");
        assert!((s.model_seconds * p - 8.0).abs() < 0.01, "{s:?}");
    }
    let reported = |n: &String| n.contains("With 1, 2 ranks") && n.contains("for 70 %, 30 %");
    assert!(d.notes.iter().any(reported), "{:?}", d.notes);
}

#[test]
fn a_rank_that_alone_waits_for_its_core_is_reported() {
    let alone = on_busy_cores(4, |r| if r == 3 { 0.5 } else { 0.05 });
    let d = diagnose(vec![alone], structure(1), &Options::default()).expect("one run is enough");
    let c = &d.causes[0];
    assert_eq!(
        (c.class, c.ranks.to_string()),
        (CauseClass::Preempted, "3".to_string())
    );
    assert!((c.gain_seconds - 1.9).abs() < 0.02, "{}", c.gain_seconds);
    assert!((c.gain_share - 1.9 / 3.9).abs() < 0.02, "{}", c.gain_share);
    assert_eq!(d.causes.len(), 1, "{:?}", d.causes);
    // All of them on one core of four: their binding is to blame, however evenly they wait.
    let mut bound = on_busy_cores(4, |_| 0.75);
    bound.ranks.iter_mut().for_each(|i| i.cpus = "0".into());
    let d = diagnose(vec![bound], structure(1), &Options::default()).expect("one run is enough");
    assert_eq!(d.causes[0].ranks.to_string(), "0-3");
}

/// Classes of causes where `call` has the same calls and bytes on 2 and 4 ranks, but takes `longer` on 4,
/// of which each rank spends some in the run queue.
fn with_longer_calls(call: &'static str, longer: u64, queued: fn(u32) -> u64) -> Vec<CauseClass> {
    let pieces = [piece(call, |_, p| even(p))];
    let mut runs = [2, 4].map(|p| run(p, &pieces));
    for c in &mut runs[1].calls {
        (c.wall_ns, c.cpu_ns) = (longer, longer - queued(c.rank));
        c.runq_ns = queued(c.rank);
    }
    for info in &mut runs[1].ranks {
        (info.wall_ns, info.runq_ns) = (info.wall_ns + longer, queued(info.rank));
    }
    let d = diagnose(runs.into(), structure(1), &Options::default()).expect("they belong together");
    d.causes.iter().map(|c| c.class).collect()
}

#[test]
fn communication_that_only_takes_longer_does_not_move_more() {
    assert_eq!(with_longer_calls("MPI_Send", 300_000_000, |_| 0), []);
    assert_eq!(
        with_longer_calls("MPI_Allreduce", 300_000_000, |_| 0),
        [CauseClass::CollectiveAlgorithm]
    );
    // While one rank was without a core, the others waited in the call for it: now this one, now that.
    let queued = |_| 100_000_000;
    assert_eq!(with_longer_calls("MPI_Allreduce", 200_000_000, queued), []);
}

#[test]
fn start_up_is_a_place_of_its_own() {
    // The kernel shrinks as it should; the same loop is gone through once before the first MPI call.
    let pieces = [piece("MPI_Allreduce", |_, p| even(p))];
    let with_start = |p: &u32| {
        let mut run = run(*p, &pieces);
        for rank in 0..*p {
            run.segments.push(Segment {
                rank,
                from: CtxId::NONE,
                to: CtxId(1),
                count: 1,
                wall_ns: 400_000_000,
                cpu_ns: 400_000_000,
                ..Default::default()
            });
            run.samples.push(Sample {
                rank,
                after: CtxId::NONE,
                ctx: CtxId(0),
                count: 80,
                cpu_ns: 400_000_000,
                ..Default::default()
            });
            run.ranks[rank as usize].wall_ns += 400_000_000;
        }
        run.segments.sort_by_key(|s| s.rank);
        run.samples.sort_by_key(|s| s.rank);
        run
    };
    let runs = SCALES.iter().map(with_start).collect();
    let d = diagnose(runs, structure(1), &Options::default()).expect("the runs belong together");
    let c = &d.causes[0];
    assert_eq!(
        (c.class, c.place.first_line),
        (CauseClass::NonShrinkingWork, 10)
    );
    assert!(
        c.call_path[0].name.contains("start-up"),
        "{:?}",
        c.call_path
    );
    assert!((c.by_scale[0].1 - 0.4).abs() < 0.01, "{:?}", c.by_scale);
    assert_eq!(d.causes.len(), 1, "{:?}", d.causes);
}

#[test]
fn a_delay_before_the_end_is_exact_though_its_call_repeats() {
    // Rank 3 computes after the last of the calls that the loop repeats; no sample is needed for that.
    let mut run = run(4, &[piece("MPI_Allreduce", |_, _| 1.0)]);
    run.contexts.push(Context {
        parent: CtxId::NONE,
        module: 0,
        offset: 0x181,
        exact: false,
    });
    run.functions.push("MPI_Finalize".into());
    for rank in 0..4 {
        let busy = if rank == 3 { 49_900_000 } else { 100_000 };
        run.segments.push(Segment {
            rank,
            from: CtxId(1),
            to: CtxId(2),
            count: 1,
            wall_ns: busy,
            cpu_ns: busy,
            max_busy_ns: busy,
            ..Default::default()
        });
        run.calls.push(MpiCalls {
            rank,
            ctx: CtxId(2),
            func: 1,
            count: 1,
            ..Default::default()
        });
        run.ranks[rank as usize].wall_ns += 49_900_000;
    }
    run.segments.sort_by_key(|s| s.rank);
    run.calls.sort_by_key(|c| c.rank);
    let d = diagnose(vec![run], structure(2), &Options::default()).expect("one run is enough");
    let c = d.causes.first().expect("rank 3 is late");
    assert_eq!(c.ranks.to_string(), "3");
    assert!(
        (c.gain_seconds - 0.0498).abs() < 0.001,
        "{}",
        c.gain_seconds
    );
    assert_eq!(d.abnormal.len(), 1, "{:?}", d.abnormal);
}

#[test]
fn a_single_pause_is_reported_as_one() {
    let pieces = [piece("MPI_Allreduce", |r, p| {
        even(p) + if r == 3 { 0.4 } else { 0.0 }
    })];
    let mut runs: Vec<_> = SCALES.iter().map(|p| run(*p, &pieces)).collect();
    for segment in runs[3].segments.iter_mut().filter(|s| s.rank == 3) {
        segment.max_busy_ns = 400_000_000;
    }
    let d = diagnose(runs, structure(1), &Options::default()).expect("the runs belong together");
    assert_eq!(
        (d.causes[0].class, d.causes[0].ranks.to_string()),
        (CauseClass::OneOff, "3".to_string())
    );
}

#[test]
fn one_scale_still_shows_what_is_uneven() {
    let pieces = [piece("MPI_Allreduce", |r, p| {
        if r == 5 { 2.0 * even(p) } else { even(p) }
    })];
    let d = diagnose(vec![run(16, &pieces)], structure(1), &Options::default())
        .expect("one run is enough");
    assert_eq!(
        (d.scaling, d.causes[0].ranks.to_string()),
        (Scaling::Single, "5".to_string())
    );
}

#[test]
fn superlinear_speedup_is_reported_and_what_has_no_divisor_is_not() {
    // On 16 ranks the data fit into the caches: a quarter of what the ideal is.
    let faster = [piece("MPI_Allreduce", |_, p| {
        if p == 16 { 0.25 * even(p) } else { even(p) }
    })];
    let d = diagnosis(&faster);
    let e = &d.scales[3].efficiencies;
    let times = d.scales[0].model_seconds / d.scales[3].model_seconds;
    let global = e.global.expect("two scales");
    assert!((e.computation_scaling.expect("two scales") - 4.0).abs() < 0.01);
    assert!((global - times / 8.0).abs() < 0.01, "{global} for {times}");
    let idle = &diagnosis(&[piece("MPI_Allreduce", |_, _| 0.0)]).scales[3].efficiencies;
    assert_eq!((idle.load_balance, idle.computation_scaling), (None, None));
}

#[test]
fn runs_that_do_not_belong_together_are_refused() {
    let pieces = [piece("MPI_Allreduce", |_, p| even(p))];
    let refuse =
        |runs| diagnose(runs, structure(1), &Options::default()).expect_err("must be refused");
    assert!(matches!(refuse(vec![]), DiagnoseError::NoRuns));
    assert!(matches!(
        refuse(vec![run(4, &pieces), run(4, &pieces)]),
        DiagnoseError::Run(RunError::Twice(..))
    ));
    let mut other = run(8, &pieces);
    other.modules[0].build_id = "cd".into();
    assert!(matches!(
        refuse(vec![run(4, &pieces), other]),
        DiagnoseError::Run(RunError::DifferentBuilds(..))
    ));
}

#[test]
fn a_loss_without_a_cause_is_not_denied() {
    // Half of the run is in nothing that was recorded.
    let mut run = run(16, &[piece("MPI_Allreduce", |_, p| even(p))]);
    run.ranks.iter_mut().for_each(|i| i.wall_ns *= 2);
    let d = diagnose(vec![run], structure(1), &Options::default()).expect("one run is enough");
    assert_eq!(d.causes, vec![]);
    let said = d.headline.join(" ");
    assert!(said.contains("At 16 ranks 50 % is lost"), "{said}");
    assert!(said.contains("50 % is unknown"), "{said}");
}

#[test]
fn a_program_that_is_gone_is_reported_first() {
    let pieces = [piece("MPI_Allreduce", |_, p| even(p))];
    let runs = SCALES.iter().map(|p| run(*p, &pieces)).collect();
    let d = diagnose(runs, Structures::default(), &Options::default())
        .expect("the runs belong together");
    assert!(
        d.headline[0].contains("cannot be named"),
        "{:?}",
        d.headline
    );
    assert!(
        d.headline[0].contains("before rebuilding"),
        "{:?}",
        d.headline
    );
    let said = d.headline.join(" ");
    assert!(!said.contains("No scaling loss"), "{said}");
}

#[test]
fn uneven_segments_of_a_program_that_is_gone_are_located_by_their_calls() {
    let pieces = [
        piece("MPI_Barrier", |_, p| even(p)),
        piece("MPI_Allreduce", |r, p| {
            if r == 3 { 2.0 * even(p) } else { even(p) }
        }),
    ];
    let runs = vec![run(8, &pieces)];
    let d = diagnose(runs, Structures::default(), &Options::default()).expect("one run is enough");
    let c = &d.causes[0];
    assert_eq!(
        (c.class, c.ranks.to_string()),
        (CauseClass::UnevenWork, "3".to_string())
    );
    assert!(
        c.explanation
            .contains("before the MPI_Allreduce at app+0x180"),
        "{}",
        c.explanation
    );
    assert!((c.by_rank[3] - 2.0).abs() < 0.01, "{:?}", c.by_rank);
    assert_eq!(d.causes.len(), 1, "{:?}", d.causes);
}

#[test]
fn threads_that_were_not_recorded_are_reported() {
    let reported = |more: f64| {
        let mut run = run(2, &[piece("MPI_Allreduce", |_, _| 1.0)]);
        for info in &mut run.ranks {
            info.cpu_ns = Some((more * 1e9) as u64);
        }
        let d = diagnose(vec![run], structure(1), &Options::default()).expect("one run is enough");
        d.missing.join(" ").contains("recorded threads only")
    };
    assert!(reported(2.0));
    assert!(!reported(1.05));
}

#[test]
fn a_call_of_foreign_code_is_reported_as_the_loop_around_it() {
    let plain = structure(1);
    let (module, mut own) = plain
        .iter()
        .next()
        .map(|(m, s)| (m.clone(), s.clone()))
        .expect("one module");
    own.strings.push("sin".into());
    let function = &mut own.functions[0];
    let mut call = function.vertices[2].clone();
    (call.kind, call.parent, call.name) = (VertexKind::ExternalCall, Some(2), Some(2));
    (call.first_line, call.last_line) = (12, 12);
    function.owners[0].2 = function.vertices.len() as u32;
    function.vertices.push(call);
    let pieces = [piece("MPI_Allreduce", |r, p| {
        if r == 3 { 2.0 * even(p) } else { even(p) }
    })];
    let structures = Structures::new([(module, own)]);
    let d = diagnose(vec![run(8, &pieces)], structures, &Options::default())
        .expect("one run is enough");
    let c = &d.causes[0];
    assert_eq!((c.place.kind, c.place.first_line), (VertexKind::Loop, 10));
    assert!(
        c.evidence.iter().any(|e| e.text == "mostly in sin"),
        "{:?}",
        c.evidence
    );
}
