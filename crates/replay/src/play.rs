//! Plays the threads of a rank, step by step.

use crate::computation::Clock;
use crate::draws::Draws;
use crate::error::Error;
use crate::player::{Common, Counts, Player};
use crate::probabilistic::{Changes, Receives};
use crate::resolve::{Ahead, Step, Steps, ahead};
use crate::{BAD, OfRank, Played, Ready, played, threads};
use headwater_mpi_abi::{Class, FUNCTIONS};
use std::time::Instant;

impl Ready<'_> {
    pub(crate) fn play(&self, report: &(dyn Fn(&Error) + Sync)) -> Result<Played, Error> {
        let Self {
            mpi, trace, rank, ..
        } = self;
        let threads = threads::of_rank(trace, *rank);
        let aheads = threads.iter().map(|thread| ahead(trace, *rank, *thread));
        let aheads: Vec<Ahead> = aheads.collect();
        let sharing = threads::sharing(trace, *rank, &threads, &aheads);
        if trace.streams.len() > 1
            && let Some(first) = mpi.first(sharing.is_err())
            && first != *rank
        {
            return Err(Error::Elsewhere(first));
        }
        let recorded = aheads.iter().map(|a| a.nanoseconds).fold(0.0, f64::max) / 1e9;
        let common = Common::new(mpi, trace, sharing?, threads.len())?;
        mpi.barrier();
        let began = Instant::now();
        let one = |at: usize, thread: u32, ahead: Ahead| {
            self.play_thread(&common, (at, thread), ahead)
                .inspect_err(|why| {
                    // The other threads may wait for this one.
                    if threads.len() > 1 {
                        report(why);
                        mpi.abort(BAD);
                    }
                })
        };
        // The memory of calls remains until all have ended.
        let played: Vec<(Player, u64)> = std::thread::scope(|scope| {
            let mut all = (0..).zip(threads.iter().copied()).zip(aheads);
            let first = all.next();
            let others: Vec<_> = all
                .map(|((at, thread), ahead)| scope.spawn(move || one(at, thread, ahead)))
                .collect();
            let first = first.map(|((at, thread), ahead)| one(at, thread, ahead));
            let others = others.into_iter().map(|other| {
                let ended = other.join();
                ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            first
                .into_iter()
                .chain(others)
                .collect::<Result<_, Error>>()
        })?;
        let seconds = began.elapsed().as_secs_f64();
        let mut counts = Counts::default();
        played
            .iter()
            .for_each(|(player, _)| counts.add(&player.counts));
        let own = OfRank {
            seconds,
            recorded,
            calls: counts.calls,
            failed: counts.failed,
        };
        let idle = played.iter().map(|(_, idle)| idle).sum();
        let all = played::gather(mpi, trace, own, idle, &counts.left_out);
        common.end(mpi);
        mpi.finalize();
        Ok(all)
    }

    /// Plays one thread. Returns its player, whose memory calls may still use, and the number of idle polls.
    fn play_thread<'p>(
        &'p self,
        common: &'p Common<'p>,
        (at, thread): (usize, u32),
        ahead: Ahead,
    ) -> Result<(Player<'p>, u64), Error> {
        let (trace, options) = (self.trace, self.options);
        let mut player = Player::new(&self.mpi, trace, common, at);
        let mut steps = Steps::new(trace, (self.rank, thread), ahead, options.pace);
        let mut clock = Clock::new(options.compute);
        clock.restart();
        match &self.agreement {
            Some(agreement) => {
                steps = steps.drawing(Draws::new(trace, options.seed));
                let mut receives = Receives::new(&self.mpi, common, agreement);
                play_drawn(&mut player, &mut steps, &mut receives, &mut clock)?;
            }
            None => {
                while let Some(step) = steps.next() {
                    clock.compute(step.computation);
                    player.play(step)?;
                    clock.restart();
                }
            }
        }
        clock.compute(steps.rest());
        common.ended();
        player.complete_sends();
        Ok((player, steps.idle()))
    }
}

/// Plays the steps of a lossy trace: receives follow from the sends of the others.
fn play_drawn(
    player: &mut Player<'_>,
    steps: &mut Steps<'_>,
    receives: &mut Receives<'_>,
    clock: &mut Clock,
) -> Result<(), Error> {
    let mut changes = Changes::default();
    let mut next = Step::default();
    while let Some(step) = steps.next() {
        next.clone_from(step);
        let event = steps.event();
        let change = changes.change(&mut next);
        // Senders need not wait until the computation is over.
        receives.post(event)?;
        clock.compute(next.computation);
        let ends = FUNCTIONS
            .get(usize::from(next.function))
            .is_some_and(|f| f.class == Class::Finalize);
        if ends {
            receives.end_all()?;
        }
        if change.is_made {
            player.play(&next)?;
        }
        if change.receives {
            receives.wait(event);
        }
        clock.restart();
    }
    receives.end_all()
}
