//! Ranks that compute in turn, and programs that only look so.

mod support;

use headwater_diagnosis::Options;
use headwater_model::diagnosis::{Cause, CauseClass};
use headwater_model::psg::VertexKind;
use headwater_model::run::{CtxId, Event, EventKind, Run};
use support::{diagnose, piece, run, structure};

/// A row of a call: context, kind, message or instance, partner, microseconds of computation before it.
type Row = (u32, EventKind, u32, u32, u64);

/// The program of these tests: a loop and MPI_Recv, a loop and MPI_Send, a loop and MPI_Allreduce.
fn program(ranks: u32, seconds: f64, share: [f64; 3]) -> Run {
    let at = |i: usize| move |_: u32, _: u32| seconds * share[i];
    let mut run = run(
        ranks,
        &[
            piece("MPI_Recv", at(0)),
            piece("MPI_Send", at(1)),
            piece("MPI_Allreduce", at(2)),
        ],
    );
    run.header.cores = vec![2];
    // On two cores all ranks together take half of their computation, and wait in MPI for the rest.
    let wall = (seconds * f64::from(ranks).max(4.0) / 2.0 * 1e9) as u64;
    run.ranks.iter_mut().for_each(|r| r.wall_ns = wall);
    let calls = run.calls.len() as u64 / u64::from(ranks);
    let waits = wall.saturating_sub((seconds * 1e9) as u64) / calls.max(1);
    run.calls.iter_mut().for_each(|c| c.wall_ns = waits);
    run
}

fn add(run: &mut Run, rank: u32, (ctx, kind, link, peer, busy): Row) {
    let function = ["MPI_Recv", "MPI_Send", "MPI_Allreduce"][ctx as usize / 2];
    let func = run.functions.iter().position(|f| f == function);
    run.events.push(Event {
        rank,
        ctx: CtxId(ctx),
        func: func.unwrap_or(0) as u16,
        kind,
        link,
        peer,
        busy_ns: busy * 1000,
        first_of_call: true,
        ..Default::default()
    });
}

/// Adds epochs in which each rank computes `parallel(rank, epoch)` µs, then `turn(epoch)` µs after the rank before,
/// and reduces. A turn of nothing is no turn.
fn add_turns(
    run: &mut Run,
    epochs: u32,
    parallel: impl Fn(u32, u32) -> u64,
    turn: impl Fn(u32) -> u64,
) {
    let p = run.header.ranks;
    for rank in 0..p {
        for epoch in 0..epochs {
            let link = |from: u32| 1 + epoch * (p + 1) + from;
            let own = turn(epoch);
            let mut before = parallel(rank, epoch);
            if own > 0 && rank > 0 {
                let receive = (1, EventKind::Recv, link(rank - 1), rank - 1, before);
                add(run, rank, receive);
                before = 0;
            }
            before += own;
            if own > 0 && rank + 1 < p {
                let send = (3, EventKind::Send, link(rank), rank + 1, before);
                add(run, rank, send);
                before = 0;
            }
            let reduce = (5, EventKind::Collective, link(p), u32::MAX, before);
            add(run, rank, reduce);
        }
    }
}

/// Scatter between 0 and 1 that is the same every time.
fn scatter(rank: u32, step: u32) -> f64 {
    let mixed = (u64::from(rank) << 32 | u64::from(step)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 40) as f64 / (1u64 << 24) as f64
}

fn chains(run: Run) -> Vec<Cause> {
    let d = diagnose(vec![run], structure(3), &Options::default()).expect("one run is enough");
    let is_chain = |c: &Cause| c.class == CauseClass::LateSenderChain;
    d.causes.into_iter().filter(is_chain).collect()
}

#[test]
fn a_chain_in_every_fourth_step_is_found() {
    let mut run = program(8, 4.0, [0.0, 1.0, 0.0]);
    let noisy = |rank, epoch| 5_000 + (500.0 * scatter(rank, epoch)) as u64;
    add_turns(&mut run, 40, noisy, |epoch| match epoch % 4 {
        0 => 5_000,
        _ => 0,
    });
    let found = chains(run);
    let c = found.first().expect("ten of forty steps are in turn");
    assert_eq!(
        (c.place.kind, c.place.first_line, c.ranks.len()),
        (VertexKind::Loop, 20, 8)
    );
    // Each rank computes for 5.25 ms a step and 5 ms more in each fourth, in which seven others wait.
    let truth = 4.0 * (7.0 * 5.0 / 4.0) / (5.25 + 5.0 / 4.0);
    let (low, high) = c.gain_range_seconds;
    assert!(low < truth && truth < high, "{truth}: {low} to {high}");
    assert!(low > 0.0);
}

#[test]
fn short_turns_of_many_ranks_are_found() {
    // 16 ranks compute for 100 ms each, and for 0.5 ms in turn: 15 times that is 7 % of the run.
    let mut run = program(16, 2.0, [0.0, 1.0, 0.0]);
    let noisy = |rank, epoch| 99_800 + (400.0 * scatter(rank, epoch)) as u64;
    add_turns(&mut run, 20, noisy, |_| 500);
    let found = chains(run);
    let c = found.first().expect("a turn each step");
    let truth = 2.0 * (15.0 * 0.5) / 100.5;
    let off = (c.gain_seconds - truth).abs() / truth;
    assert!(off < 0.2, "{} for {truth}", c.gain_seconds);
    // The first ranks hardly wait, but pass it on as the others do.
    assert_eq!(c.ranks.len(), 16);
}

#[test]
fn the_work_that_passes_it_on_is_the_cause_however_much_there_is_beside() {
    // 10 ms in the first loop, all ranks at the same time, and then 0.5 ms in the second one in turn.
    let mut run = program(8, 2.0, [0.95, 0.05, 0.0]);
    let noisy = |rank, epoch| 10_000 + (40.0 * scatter(rank, epoch)) as u64;
    add_turns(&mut run, 20, noisy, |_| 500);
    let found = chains(run);
    let c = found.first().expect("a turn each step");
    assert_eq!((c.place.kind, c.place.first_line), (VertexKind::Loop, 20));
}

/// 5 ms before the turn of 0.5 ms and 5 ms behind it, which all ranks compute at the same time.
fn work_behind_the_turn() -> Run {
    let mut run = program(8, 2.0, [0.48, 0.04, 0.48]);
    // The last rank does not send, so that the third loop follows its receive; and the first one does not receive.
    for s in run.segments.iter_mut() {
        s.from = match (s.rank, s.from) {
            (7, CtxId(3)) => CtxId(1),
            (0, CtxId(1)) => CtxId(5),
            (_, from) => from,
        };
    }
    for s in run.samples.iter_mut() {
        s.after = match (s.rank, s.after) {
            (7, CtxId(3)) => CtxId(1),
            (0, CtxId(1)) => CtxId(5),
            (_, after) => after,
        };
    }
    run.samples.sort_by_key(|s| (s.rank, s.after, s.ctx));
    let link = |epoch: u32, from: u32| 1 + epoch * 9 + from;
    for rank in 0..8u32 {
        for epoch in 0..20u32 {
            let mut before = 5_000 + (40.0 * scatter(rank, epoch)) as u64;
            if rank > 0 {
                let receive = (1, EventKind::Recv, link(epoch, rank - 1), rank - 1, before);
                add(&mut run, rank, receive);
                before = 0;
            }
            before += 500;
            if rank < 7 {
                let send = (3, EventKind::Send, link(epoch, rank), rank + 1, before);
                add(&mut run, rank, send);
                before = 0;
            }
            let reduce = (
                5,
                EventKind::Collective,
                link(epoch, 8),
                u32::MAX,
                before + 5_000,
            );
            add(&mut run, rank, reduce);
        }
    }
    run
}

#[test]
fn what_follows_the_receive_of_the_last_rank_is_not_passed_on() {
    let found = chains(work_behind_the_turn());
    let c = found.first().expect("a turn each step");
    assert_eq!((c.place.kind, c.place.first_line), (VertexKind::Loop, 20));
}

#[test]
fn nor_is_it_on_ranks_without_a_sample_there() {
    let mut run = work_behind_the_turn();
    run.samples
        .retain(|s| s.after != CtxId(1) || [3, 7].contains(&s.rank));
    let found = chains(run);
    let c = found.first().expect("a turn each step");
    assert_eq!((c.place.kind, c.place.first_line), (VertexKind::Loop, 20));
}

#[test]
fn all_ranks_that_take_part_are_named_and_no_others() {
    // Ranks 2 to 7 compute in turn, 0 and 1 only reduce with them.
    let mut run = program(8, 2.0, [0.0, 1.0, 0.0]);
    for rank in 0..8u32 {
        for epoch in 0..20u32 {
            let link = |from: u32| 1 + epoch * 9 + from;
            let mut before = 10_000 + (40.0 * scatter(rank, epoch)) as u64;
            if rank > 2 {
                let receive = (1, EventKind::Recv, link(rank - 1), rank - 1, before);
                add(&mut run, rank, receive);
                before = 0;
            }
            if rank >= 2 {
                before += 200;
            }
            if (2..7).contains(&rank) {
                let send = (3, EventKind::Send, link(rank), rank + 1, before);
                add(&mut run, rank, send);
                before = 0;
            }
            let reduce = (5, EventKind::Collective, link(8), u32::MAX, before);
            add(&mut run, rank, reduce);
        }
    }
    let found = chains(run);
    let c = found.first().expect("a turn each step");
    assert_eq!(c.ranks.to_string(), "2-7");
}

#[test]
fn a_chain_of_two_hundredths_of_the_run_is_found() {
    // 8 ranks compute for 100 ms each, and for 0.32 ms in turn.
    let mut run = program(8, 2.0, [0.0, 1.0, 0.0]);
    let noisy = |rank, epoch| 99_900 + (200.0 * scatter(rank, epoch)) as u64;
    add_turns(&mut run, 20, noisy, |_| 320);
    let found = chains(run);
    let c = found.first().expect("a turn each step");
    let truth = 2.0 * (7.0 * 0.32) / 100.32;
    let off = (c.gain_seconds - truth).abs() / truth;
    assert!(off < 0.05, "{} for {truth}", c.gain_seconds);
    assert_eq!(c.ranks.len(), 8);
}

/// Adds one window in which neighbours exchange messages in each of `steps`, and nobody synchronises all ranks.
/// With `sides` a step has two loops, each before an exchange.
fn add_exchange(run: &mut Run, steps: u32, sides: u32, busy: impl Fn(u32, u32) -> u64) {
    let p = run.header.ranks;
    for rank in 0..p {
        for step in 0..steps * sides {
            let link = |from: u32, to: u32| 1 + (step * p + from) * p + to;
            let mut before = busy(rank, step);
            let near = [rank.checked_sub(1), Some(rank + 1).filter(|r| *r < p)];
            for to in near.into_iter().flatten() {
                let row = (3, EventKind::Send, link(rank, to), to, before);
                add(run, rank, row);
                before = 0;
            }
            for from in near.into_iter().flatten() {
                add(run, rank, (1, EventKind::Recv, link(from, rank), from, 0));
            }
        }
    }
}

#[test]
fn neighbours_that_wait_for_one_another_by_chance_are_no_chain() {
    for steps in [1, 2, 7, 60] {
        for noise in [100.0, 2_000.0] {
            let mut run = program(8, 4.0, [0.0, 1.0, 0.0]);
            let busy = |r, s| 10_000 + (noise * scatter(r, s)) as u64;
            add_exchange(&mut run, steps, 1, busy);
            assert_eq!(chains(run), vec![], "{steps} steps, noise of {noise} µs");
        }
    }
    // Nor is it where a rank is late every time.
    let mut run = program(8, 4.0, [0.0, 1.0, 0.0]);
    let busy = |r, s| 10_000 + u64::from(r == 3) * 4_000 + (500.0 * scatter(r, s)) as u64;
    add_exchange(&mut run, 40, 1, busy);
    assert_eq!(chains(run), vec![]);
}

#[test]
fn noise_between_synchronisations_is_no_chain_whatever_their_number() {
    for epochs in [1, 2, 5, 50] {
        let mut run = program(8, 4.0, [0.0, 1.0, 0.0]);
        let busy = |r, e| 8_000 + (6_000.0 * scatter(r, e)) as u64;
        add_turns(&mut run, epochs, busy, |_| 0);
        assert_eq!(chains(run), vec![], "{epochs} epochs");
    }
}

#[test]
fn one_turn_alone_is_no_chain() {
    let mut run = program(8, 4.0, [0.0, 1.0, 0.0]);
    add_turns(&mut run, 1, |_, _| 0, |_| 10_000);
    assert_eq!(chains(run), vec![]);
}

#[test]
fn a_chain_of_few_steps_is_found_where_all_of_them_were_seen() {
    // Two steps of five are in turn, in a run of as many: nothing is extrapolated.
    let seconds = (5 * 40_000 + 2 * 10_000) as f64 * 1e-6;
    let make = |seconds: f64| {
        let mut run = program(8, seconds, [0.0, 1.0, 0.0]);
        let turn = |step| if step % 3 == 0 { 10_000 } else { 0 };
        add_turns(&mut run, 5, |_, _| 40_000, turn);
        chains(run)
    };
    let found = make(seconds);
    let c = found.first().expect("two turns");
    let truth = 7.0 * 2.0 * 10e-3;
    let off = (c.gain_seconds - truth).abs() / truth;
    assert!(off < 0.2, "{} for {truth}", c.gain_seconds);
    // Five steps of five hundred say little about the others.
    assert_eq!(make(100.0 * seconds), vec![]);
}

#[test]
fn a_pipeline_that_nothing_synchronises_is_found() {
    // Forth and back, as in a symmetric relaxation: each rank computes after its neighbour, 40 times.
    let mut run = program(6, 4.0, [0.0, 1.0, 0.0]);
    for rank in 0..6u32 {
        for sweep in 0..40u32 {
            let forth = sweep % 2 == 0;
            let link = |from: u32| 1 + sweep * 6 + from;
            let left = rank.checked_sub(1);
            let right = Some(rank + 1).filter(|r| *r < 6);
            let (from, to) = if forth { (left, right) } else { (right, left) };
            let mut before = 0;
            if let Some(from) = from {
                add(&mut run, rank, (1, EventKind::Recv, link(from), from, 0));
            }
            before += 1_000 + (50.0 * scatter(rank, sweep)) as u64;
            if let Some(to) = to {
                add(&mut run, rank, (3, EventKind::Send, link(rank), to, before));
                before = 0;
            }
            if before > 0 {
                let alone = (5, EventKind::Local, 0, u32::MAX, before);
                add(&mut run, rank, alone);
            }
        }
    }
    let found = chains(run);
    let c = found.first().expect("nobody computes beside another one");
    assert_eq!((c.place.first_line, c.ranks.len()), (20, 6));
}

#[test]
fn ranks_that_meet_after_different_numbers_of_steps_are_no_chain() {
    // In each step two ranks exchange messages, drawn anew, and the others go on; after each 20 steps all reduce.
    // Between two messages, a rank has done one step or many, and all ranks as many in the end.
    let (ranks, steps) = (8u32, 300u32);
    let pair = |step: u32| {
        let one = (scatter(1, step) * f64::from(ranks)) as u32;
        let other = (scatter(2, step) * f64::from(ranks - 1)) as u32;
        (one, if other < one { other } else { other + 1 })
    };
    let mut run = program(ranks, 4.0, [0.0, 1.0, 0.0]);
    for rank in 0..ranks {
        let mut before = 0;
        for step in 0..steps {
            before += 1_000;
            let (one, other) = pair(step);
            let link = |from: u32| 1 + step * (ranks + 1) + from;
            if rank == one || rank == other {
                let with = if rank == one { other } else { one };
                add(
                    &mut run,
                    rank,
                    (3, EventKind::Send, link(rank), with, before),
                );
                add(&mut run, rank, (1, EventKind::Recv, link(with), with, 0));
                before = 0;
            }
            if step % 20 == 19 {
                let all = (5, EventKind::Collective, link(ranks), u32::MAX, before);
                add(&mut run, rank, all);
                before = 0;
            }
        }
    }
    assert_eq!(chains(run), vec![]);
}
