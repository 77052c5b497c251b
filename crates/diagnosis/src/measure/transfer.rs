//! The time that moving data takes in each MPI call, without waiting for other ranks.

use crate::measure::scale::Scale;
use crate::measure::traffic::Traffic;
use headwater_dataflow::numbers::stats;
use headwater_graph::VertexIx;
use headwater_mpi_abi as abi;
use rustc_hash::FxHashMap;

/// Time that ranks spent in a call without waiting for another rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// The MPI call.
    pub vertex: VertexIx,
    /// Seconds per rank.
    pub seconds: f64,
    /// Standard error of the seconds. It is as large as the seconds where ranks share cores: there the amount of data
    /// limits the time, and nothing measures it.
    pub error: f64,
    /// The part of the seconds that the amount of data explains, without the number of calls.
    pub by_bytes: f64,
    /// Calls per rank, mean.
    pub calls: f64,
    /// Bytes that a rank sends and receives: for a collective, those of the rank with the most, otherwise the mean.
    pub bytes: f64,
    /// Index into the run's functions.
    pub func: u16,
}

const NANO: f64 = 1e-9;

/// Limit for the seconds of a call where its CPU time is mostly polling: a start-up time, and the slower of two ways to
/// move the bytes through memory. A collective has as many stages as the logarithm of the ranks.
const STARTUP_SECONDS: f64 = 2e-6;
const SECONDS_PER_BYTE: f64 = 1.5e-9;

/// If waits exceed a call's time by this part of it, they are not used.
const DOUBT: f64 = 0.25;

/// The time of each call without waiting for other ranks.
///
/// The rank that arrives last does not wait, so the smallest time over the ranks is moving data, minus the time in
/// which one of them was without a core in the call: the others may have waited for it so long. If the last rank is not
/// always the same, all of them wait: the known part of that is subtracted. Where ranks share cores the time is CPU
/// time, limited to what the moved bytes can explain: the rest is polling while others have the core.
pub fn transfers(scale: &Scale) -> Vec<Transfer> {
    struct Sum {
        seconds: Vec<f64>,
        calls: Vec<f64>,
        runq: Vec<f64>,
        func: u16,
    }
    let ranks = scale.p as usize;
    let over = scale.shares_cores();
    let mut sums: FxHashMap<VertexIx, Sum> = FxHashMap::default();
    for c in &scale.run().calls {
        let name = scale.run().function(c.func);
        if abi::by_name(name).is_none_or(abi::Function::is_start_or_end) {
            continue;
        }
        let (Some(vertex), r) = (scale.view().vertex(c.ctx), c.rank as usize) else {
            continue;
        };
        let sum = sums.entry(vertex).or_insert_with(|| Sum {
            seconds: vec![0.0; ranks],
            calls: vec![0.0; ranks],
            runq: vec![0.0; ranks],
            func: c.func,
        });
        if r < ranks {
            let time = if over {
                c.cpu_ns
            } else {
                c.wall_ns.saturating_sub(c.runq_ns)
            };
            sum.seconds[r] += time as f64 * NANO;
            sum.calls[r] += c.count as f64;
            sum.runq[r] += c.runq_ns as f64 * NANO;
        }
    }
    // CPU time contains no waiting that must be subtracted.
    let waits = if over {
        FxHashMap::default()
    } else {
        scale.waits.unlimited_rows()
    };
    let traffic = Traffic::new(scale.run(), scale.view());
    let mut out: Vec<Transfer> = sums
        .into_iter()
        .map(|(vertex, sum)| {
            let calls = stats::mean(&sum.calls);
            let over_ranks = |of: &dyn Fn(u32) -> f64| (0..scale.p).map(of).collect::<Vec<f64>>();
            let moved = stats::mean(&over_ranks(&|r| traffic.moved(vertex, r)));
            let asked = over_ranks(&|r| traffic.asked(vertex, r));
            let name = scale.run().function(sum.func);
            let collective = abi::by_name(name).is_some_and(|f| f.is_collective());
            let (bytes, stages) = if collective {
                (stats::max(&asked), f64::from(scale.p.max(2)).log2())
            } else {
                (stats::mean(&asked), 1.0)
            };
            let mut seconds = stats::quantile(&sum.seconds, 0.0);
            let spent = seconds;
            // In a gather, the bytes are what the other ranks have, whatever the algorithm.
            let by_bytes = match name.contains("ather") {
                true => moved * SECONDS_PER_BYTE,
                false => moved * SECONDS_PER_BYTE * stages,
            };
            if over {
                seconds = seconds.min(calls * STARTUP_SECONDS * stages + by_bytes);
            } else {
                let waits = waits.get(&vertex).map_or(&[][..], |row| row);
                let differences: Vec<f64> = (sum.seconds.iter().enumerate())
                    .map(|(r, s)| s - waits.get(r).copied().unwrap_or(0.0))
                    .collect();
                // Waits from windows that are less even than the run are no evidence about the run.
                let usual = stats::quantile(&differences, 0.5);
                if usual > -DOUBT * stats::quantile(&sum.seconds, 0.5) {
                    seconds = seconds.min(usual);
                }
                seconds = (seconds - stats::max(&sum.runq)).max(0.0);
            }
            Transfer {
                vertex,
                seconds,
                // A measured time is as uncertain as what was subtracted from it.
                error: if over {
                    seconds
                } else {
                    0.5 * (spent - seconds)
                },
                by_bytes: seconds.min(by_bytes),
                calls,
                bytes,
                func: sum.func,
            }
        })
        .collect();
    out.sort_by_key(|t| t.vertex);
    out
}
