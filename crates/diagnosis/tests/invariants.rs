//! What holds for every diagnosis, whatever ranks do: over random programs on random numbers of ranks.

mod support;

use headwater_diagnosis::{Options, diagnose};
use headwater_model::diagnosis::{CauseClass, Clock, Diagnosis};
use headwater_model::run::{CtxId, Event, EventKind, Run};
use proptest::prelude::*;
use support::{Piece, piece, run, structure};

/// Rounding of seconds to nanoseconds, over all calls.
const ROUNDING: f64 = 1e-4;

/// Scatter between 0 and 1 that is the same every time.
fn scatter(seed: u64, rank: u32, step: u32) -> f64 {
    let mixed = seed ^ (u64::from(rank) << 32 | u64::from(step));
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 40) as f64 / (1u64 << 24) as f64
}

/// What random programs are made of.
#[derive(Clone, Debug)]
struct Program {
    seed: u64,
    /// Seconds of each of its three loops on one rank, and the part of them that does not shrink.
    loops: [(f64, f64); 3],
    /// Part by which ranks differ.
    noise: f64,
    ranks: Vec<u32>,
    /// Cores that the ranks share; as many as ranks where there is none.
    cores: Option<u32>,
    epochs: u32,
    /// Whether the second loop is done in turn.
    chained: bool,
    /// Whether neighbours exchange messages without a synchronisation.
    exchange: bool,
}

fn programs() -> impl Strategy<Value = Program> {
    let a_loop = || (0.0..8.0f64, 0.0..0.3f64);
    let scales = prop::sample::subsequence(vec![1u32, 2, 4, 8, 12], 1..4);
    let shape = (0..40u32, any::<bool>(), any::<bool>());
    let loops = [a_loop(), a_loop(), a_loop()];
    (
        any::<u64>(),
        loops,
        0.0..0.5f64,
        scales,
        prop::option::of(1..4u32),
        shape,
    )
        .prop_map(
            |(seed, loops, noise, ranks, cores, (epochs, chained, exchange))| Program {
                seed,
                loops,
                noise,
                ranks,
                cores,
                epochs,
                chained,
                exchange: exchange && !chained,
            },
        )
}

impl Program {
    fn seconds(&self, of: usize, rank: u32, p: u32) -> f64 {
        let (divided, stays) = self.loops[of];
        let noise = 1.0 + self.noise * scatter(self.seed, rank, of as u32);
        (divided / f64::from(p) + stays) * noise
    }

    /// The run at a scale: totals, and windows that hold a hundredth of them in each epoch.
    fn run(&self, p: u32) -> Run {
        let of = |k: usize| {
            let this = self.clone();
            move |rank: u32, p: u32| this.seconds(k, rank, p)
        };
        let pieces: [Piece; 3] = [
            piece("MPI_Recv", of(0)),
            piece("MPI_Send", of(1)),
            piece("MPI_Allreduce", of(2)),
        ];
        let mut run = run(p, &pieces);
        run.header.cores = vec![self.cores.unwrap_or(p)];
        for rank in 0..p {
            for epoch in 0..self.epochs {
                self.add_epoch(&mut run, rank, epoch);
            }
        }
        if self.chained && p > 1 {
            // What is done in turn makes the run the longer.
            let longer = self.seconds(1, 0, p) * f64::from(p - 1) * 1.6;
            let longer = (longer * 1e9) as u64;
            run.ranks.iter_mut().for_each(|r| r.wall_ns += longer);
            run.calls.iter_mut().for_each(|c| c.wall_ns += longer / 3);
        }
        run
    }

    fn add_epoch(&self, run: &mut Run, rank: u32, epoch: u32) {
        let p = run.header.ranks;
        let busy = |k: usize| {
            let noise = 1.0 + self.noise * scatter(self.seed, rank, 100 + epoch);
            (self.seconds(k, rank, p) * noise * 1e7) as u64
        };
        let func = |name: &str| run.functions.iter().position(|f| f == name).unwrap_or(0) as u16;
        let functions = [func("MPI_Recv"), func("MPI_Send"), func("MPI_Allreduce")];
        let mut add = |of: usize, kind, link, peer, busy_ns| {
            run.events.push(Event {
                rank,
                ctx: CtxId(2 * of as u32 + 1),
                func: functions[of],
                kind,
                link,
                peer,
                busy_ns,
                first_of_call: true,
                ..Default::default()
            });
        };
        let link = |from: u32, to: u32| 1 + (epoch * (p + 1) + from) * (p + 1) + to;
        let (left, right) = (rank.checked_sub(1), Some(rank + 1).filter(|r| *r < p));
        let mut before = busy(0);
        if self.exchange {
            for to in [left, right].into_iter().flatten() {
                add(1, EventKind::Send, link(rank, to), to, before);
                before = 0;
            }
            for from in [left, right].into_iter().flatten() {
                add(0, EventKind::Recv, link(from, rank), from, 0);
            }
        } else if self.chained {
            if let Some(from) = left {
                add(0, EventKind::Recv, link(from, rank), from, before);
                before = 0;
            }
            before += busy(1);
            if let Some(to) = right {
                add(1, EventKind::Send, link(rank, to), to, before);
                before = 0;
            }
        }
        if !self.exchange {
            before += busy(2);
            add(2, EventKind::Collective, link(p, p), u32::MAX, before);
        }
    }

    fn diagnosis(&self) -> Diagnosis {
        let runs: Vec<Run> = self.ranks.iter().map(|p| self.run(*p)).collect();
        diagnose(runs, structure(3), &Options::default()).expect("the runs belong together")
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_cause_costs_more_than_ranks_spent_there(program in programs()) {
        let d = program.diagnosis();
        for c in &d.causes {
            let spent: f64 = c.by_rank.iter().sum();
            prop_assert!(c.cost_seconds <= spent + ROUNDING, "{spent}: {c:?}");
            let (low, high) = c.gain_range_seconds;
            prop_assert!(low <= c.gain_seconds && c.gain_seconds <= high, "{c:?}");
        }
    }

    #[test]
    fn gains_together_are_no_more_than_the_run_lost(program in programs()) {
        let d = program.diagnosis();
        let last = d.scales.last().expect("one scale at the least");
        // Uneven work may gain more: mended, late ranks do no more than the others do now.
        let own = d.causes.iter().filter(|c| c.class != CauseClass::UnevenWork);
        let gains: f64 = own.map(|c| c.gain_seconds).sum();
        // What the run would take if all ranks computed all the time, and for as long as the smallest scale says.
        let e = &last.efficiencies;
        let ideal = [e.parallel, e.global].into_iter().flatten().fold(1.0, f64::min);
        let lost = last.model_seconds * (1.0 - ideal);
        // The usual rank is not the mean one.
        prop_assert!(gains <= 1.02 * lost + ROUNDING, "{gains} of {lost}: {:?}", d.causes);
    }

    #[test]
    fn no_wait_and_no_step_is_longer_than_the_run(program in programs()) {
        let d = program.diagnosis();
        let last = d.scales.last().expect("one scale at the least");
        let run = last.model_seconds.max(last.wall_seconds) + ROUNDING;
        for c in &d.causes {
            prop_assert!(c.gain_seconds <= run && c.cost_seconds <= run, "{run}: {c:?}");
            for step in c.path.iter().filter(|s| s.clock != Clock::Cpu) {
                prop_assert!(step.seconds <= run, "{run}: {step:?}");
            }
        }
    }

    #[test]
    fn without_a_chain_there_is_none(program in programs()) {
        let even = Program { chained: false, ..program };
        let d = even.diagnosis();
        let chains = d.causes.iter().filter(|c| c.class == CauseClass::LateSenderChain);
        prop_assert_eq!(chains.count(), 0, "{:?}", d.causes);
    }
}
