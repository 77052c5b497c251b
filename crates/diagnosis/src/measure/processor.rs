//! Splits computation scaling into what the POP project names: instruction scaling, IPC scaling and frequency scaling.
//!
//! Their product is computation scaling: time is instructions × (cycles / instructions) × (time / cycles). The counters
//! are those of the samples, brought from the sampled CPU time to the exactly measured one. As in all efficiencies, the
//! thread that calls MPI represents its rank.

use crate::measure::scale::Scale;
use crate::measure::scaling;
use headwater_dataflow::numbers::stats;
use headwater_graph::sum_rows;
use headwater_model::diagnosis::Scaling;

/// Samples that a run must have before its counters are used.
const SAMPLES: f64 = 16.0;

/// What the processors did, mean over ranks.
struct Counted {
    instructions: f64,
    cycles: Option<f64>,
    /// Useful computation, seconds.
    busy: f64,
}

/// The three factors of computation scaling, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Factors {
    /// Instructions that there should be over those that there are.
    pub instructions: Option<f64>,
    /// Instructions per cycle over those of the base.
    pub ipc: Option<f64>,
    /// Cycles per second over those of the base.
    pub frequency: Option<f64>,
}

/// Growth of a counter over the whole computation, mean over ranks; `None` where it was not counted.
fn counted(scale: &Scale, name: &str) -> Option<f64> {
    let which = scale.run().header.counters.iter().position(|c| c == name)?;
    let (data, keys) = (&scale.view().computation, scale.keys());
    let sum = |column| sum_rows(column, &keys, scale.p);
    let (grown, sampled) = (sum(data.counters.get(which)?), sum(&data.sampled));
    // A rank whose counter does not grow has none.
    let known = grown
        .iter()
        .zip(&sampled)
        .filter(|(grown, _)| **grown > 0.0);
    let (grown, sampled) = known.fold((0.0, 0.0), |sum, (g, s)| (sum.0 + g, sum.1 + s));
    if sampled < SAMPLES * scale.period {
        return None;
    }
    let measured = sum(&data.busy).iter().sum::<f64>() - sum(&data.blocked).iter().sum::<f64>();
    Some(grown / sampled * measured / f64::from(scale.p.max(1)))
}

impl Counted {
    fn new(scale: &Scale) -> Option<Self> {
        Some(Self {
            instructions: counted(scale, "instructions").filter(|n| *n > 0.0)?,
            cycles: counted(scale, "cycles").filter(|n| *n > 0.0),
            busy: stats::mean(&scale.busy()),
        })
    }
}

/// The factors of a scale's computation scaling against `base`; those that both runs have the counters for.
pub fn factors(scale: &Scale, base: &Scale, scaling: Scaling) -> Factors {
    let (Some(here), Some(there)) = (Counted::new(scale), Counted::new(base)) else {
        return Factors::default();
    };
    let ratio = |a: f64, b: f64| (b > 0.0 && a > 0.0).then(|| a / b);
    let should = scaling::ideal(scaling, there.instructions, base.size, scale.size);
    let cycles = here.cycles.zip(there.cycles);
    let per_cycle = |c: &Counted, cycles: f64| ratio(c.instructions, cycles);
    let per_second = |c: &Counted, cycles: f64| ratio(cycles, c.busy);
    let over_base = |of: &dyn Fn(&Counted, f64) -> Option<f64>| {
        let (mine, base) = cycles?;
        ratio(of(&here, mine)?, of(&there, base)?)
    };
    Factors {
        instructions: ratio(should, here.instructions),
        ipc: over_base(&per_cycle),
        frequency: over_base(&per_second),
    }
}
