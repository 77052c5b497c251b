//! Fits a network to the times of the calls in a trace.
//!
//! The shortest call of a kind waited for nobody. In a barrier or a short reduction to all, this is the call of the rank
//! that came last: it takes 2o + L + (k - 1)G for each round of the collective. The
//! shortest blocking sends of each length show the overhead and G. What a ping-pong shows is better known
//! (`headwater calibrate`): lengths that a program does not send are not measured.

use crate::recorded::Recorded;
use headwater_simulate::{Fit, Kind, Measured, Mode, Op, Program, Sample, calibrate};
use std::collections::BTreeMap;

/// The longest data of a reduction that is taken for messages of one algorithm, and of a send that is taken for short.
const SHORT: u64 = 2048;

/// Why no network can be fitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotFitted {
    /// Nothing shows the latency.
    #[error("a fit needs a barrier or a short MPI_Allreduce in the trace, which show the latency")]
    NoLatency,
    /// Times are wrong.
    #[error("{0}")]
    Times(#[from] headwater_simulate::NoFit),
}

/// The shortest times, nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Of a round of a collective, by bytes.
    rounds: BTreeMap<u64, f64>,
    /// Of a blocking send, by bytes.
    sends: BTreeMap<u64, f64>,
}

impl Seen {
    /// A call that is one operation; `members` of the communicator if it is a collective.
    pub(crate) fn add(&mut self, op: &Op, shortest: u64, members: impl Fn(u32) -> u32) {
        let mut lower = |bytes: u64, sends: bool, time: f64| {
            let all = if sends {
                &mut self.sends
            } else {
                &mut self.rounds
            };
            let least = all.entry(bytes.max(1)).or_insert(f64::INFINITY);
            *least = least.min(time.max(1.0));
        };
        match *op {
            Op::Send {
                bytes,
                mode: Mode::Standard,
                request: None,
                ..
            } => lower(bytes, true, shortest as f64),
            Op::Collective {
                comm,
                kind: Kind::Barrier | Kind::AllReduce,
                bytes,
                request: None,
                ..
            } if bytes <= SHORT => {
                let members = members(comm);
                let rounds = members.max(1).next_power_of_two().trailing_zeros();
                if rounds > 0 {
                    lower(bytes, false, shortest as f64 / f64::from(rounds));
                }
            }
            _ => {}
        }
    }
}

impl Recorded<'_> {
    /// Fits a network to the shortest times of the calls.
    ///
    /// # Errors
    /// No call shows the latency.
    pub fn fit(&self) -> Result<Fit, NotFitted> {
        let mut program = self.program();
        program.seen = Some(Seen::default());
        for stream in 0..self.streams.len() as u32 {
            while program.next(stream).is_some() {}
        }
        let seen = program.seen.take().unwrap_or_default();
        let (_, round) = seen.rounds.first_key_value().ok_or(NotFitted::NoLatency)?;
        let sample = |(bytes, ns): (u64, f64)| Sample {
            bytes,
            seconds: ns * 1e-9,
        };
        let overhead = seen.sends.first_key_value();
        let overhead = overhead.filter(|(bytes, _)| **bytes <= SHORT);
        let mut times = seen.rounds.clone();
        if let Some((_, overhead)) = overhead {
            for (bytes, send) in &seen.sends {
                let time = round + (send - overhead).max(0.0);
                times.entry(*bytes).or_insert(time);
            }
        }
        let send: Vec<Sample> = overhead
            .map(|(b, t)| sample((*b, *t)))
            .into_iter()
            .collect();
        // Lengths between two that were seen take the time between theirs.
        let all: Vec<(u64, f64)> = times.into_iter().collect();
        let ping_pong: Vec<Sample> = match all[..] {
            [(bytes, time)] => [0, 1, 2]
                .map(|i| (bytes.saturating_add(i), time))
                .map(sample)
                .to_vec(),
            [a, b] => {
                let middle = (u64::midpoint(a.0, b.0), 0.5 * (a.1 + b.1));
                [a, middle, b].map(sample).to_vec()
            }
            _ => all.into_iter().map(sample).collect(),
        };
        Ok(calibrate(Measured {
            ping_pong: &ping_pong,
            send: &send,
            burst: &[],
        })?)
    }
}
