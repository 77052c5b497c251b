//! Counters of a place: they show whether ranks that take longer do more work, or run slower.
//!
//! Instructions per second of CPU time come from the samples, which have the growth of each counter. Their product with
//! the exactly measured computation is the instructions of a rank in a place. Equal instructions in more time are equal
//! work that ran slower, because of memory, frequency or placement; cycles and cache misses show which. Without
//! instructions nothing is reported (DESIGN: missing, not guessed), except page faults, which the kernel always counts
//! and which may explain the time by themselves.

use crate::measure::scale::Scale;
use headwater_dataflow::numbers::stats;
use headwater_graph::sum_rows;
use headwater_model::run::CtxId;
use headwater_model::words::seconds as time;

/// Samples that a rank must have in a place before its counters are used.
const SAMPLES: f64 = 16.0;

/// Least share of the excess in time, in logarithms, that instructions must explain for it to be work.
const EXPLAINED: f64 = 0.5;

/// Up to this many ranks, instructions per cycle are listed rank by rank.
const LISTED: u32 = 32;

/// Longest time that a page fault can explain: the kernel takes half a microsecond to clear and map a page, and a few
/// times that on a virtual machine.
const FAULT_SECONDS: f64 = 4e-6;

/// Late ranks must have this many times the page faults of the others.
const FAULTS_MORE: f64 = 3.0;

/// Counters of one place at one scale, by rank. Ranks with too few samples are left out of all figures.
pub struct Counted {
    rows: Vec<(String, Vec<f64>)>,
    /// CPU seconds that the samples represent.
    sampled: Vec<f64>,
    /// Measured computation, seconds.
    busy: Vec<f64>,
    least: f64,
}

impl Counted {
    /// The counters of some keys; `None` where instructions were not counted.
    pub fn new(scale: &Scale, keys: &[u32]) -> Option<Self> {
        let (data, header) = (&scale.view().computation, &scale.run().header);
        let named = header.counters.iter().zip(&data.counters);
        let rows: Vec<(String, Vec<f64>)> = named
            .map(|(name, rows)| (name.clone(), sum_rows(rows, keys, scale.p)))
            .collect();
        let counted =
            |row: &(String, Vec<f64>)| row.0 == "instructions" && stats::max(&row.1) > 0.0;
        rows.iter().any(counted).then(|| Self {
            rows,
            sampled: sum_rows(&data.sampled, keys, scale.p),
            busy: sum_rows(&data.busy, keys, scale.p),
            least: SAMPLES * scale.period,
        })
    }

    /// Growth of one counter divided by that of another (or by CPU seconds where `over` is empty), on each of `ranks`
    /// that has enough samples.
    fn ratio(&self, counter: &str, over: &str, ranks: impl Iterator<Item = usize>) -> Vec<f64> {
        let row = |name: &str| self.rows.iter().find(|r| r.0 == name).map(|r| &r.1);
        let Some(counted) = row(counter) else {
            return Vec::new();
        };
        let under = if over.is_empty() {
            Some(&self.sampled)
        } else {
            row(over)
        };
        let Some(under) = under else {
            return Vec::new();
        };
        ranks
            .filter(|r| self.sampled.get(*r).is_some_and(|s| *s >= self.least))
            .filter_map(|r| Some((counted.get(r)?, under.get(r)?)))
            .filter(|(_, under)| **under > 0.0)
            .map(|(counted, under)| counted / under)
            .collect()
    }

    /// Instructions in the place of the median rank of `ranks`.
    pub fn instructions(&self, ranks: &[u32]) -> Option<f64> {
        let each: Vec<f64> = ranks
            .iter()
            .filter_map(|r| {
                let rate = self.ratio("instructions", "", std::iter::once(*r as usize));
                Some(rate.first()? * self.busy.get(*r as usize)?)
            })
            .filter(|n| *n > 0.0)
            .collect();
        (!each.is_empty()).then(|| stats::median(&each))
    }

    /// Instructions per cycle, gigahertz and cache misses per thousand instructions of the median rank
    /// of `ranks`, in words, as far as they were counted.
    pub fn pace(&self, ranks: &[u32]) -> String {
        let figures = [
            ("instructions", "cycles", 1.0, "IPC ", "", 2),
            ("cycles", "", 1e-9, "", " GHz", 2),
            (
                "cache_misses",
                "instructions",
                1e3,
                "",
                " cache misses per 1,000 instructions",
                1,
            ),
        ];
        let said: Vec<String> = figures
            .into_iter()
            .filter_map(|(counter, over, factor, before, behind, digits)| {
                let all = self.ratio(counter, over, ranks.iter().map(|r| *r as usize));
                let middle = stats::median(&all) * factor;
                (!all.is_empty()).then(|| format!("{before}{middle:.digits$}{behind}"))
            })
            .collect();
        said.join(", ")
    }
}

/// Whether a ratio of times is explained by a ratio of instructions.
pub fn is_work(time_ratio: f64, instruction_ratio: f64) -> bool {
    let (time, work) = (
        time_ratio.max(1e-12).ln(),
        instruction_ratio.max(1e-12).ln(),
    );
    work >= EXPLAINED * time
}

/// Compares the counters of `late` ranks with those of all others: whether they do more work, and the figures in words.
/// `None` where the counters do not show it.
pub fn compare(
    scale: &Scale,
    keys: &[u32],
    late: &[u32],
    time_ratio: f64,
) -> Option<(bool, Vec<String>)> {
    let counted = Counted::new(scale, keys)?;
    let others: Vec<u32> = (0..scale.p).filter(|r| !late.contains(r)).collect();
    let ratio = counted.instructions(late)? / counted.instructions(&others)?;
    let words = format!(
        "{ratio:.2} times the instructions of the others in {time_ratio:.2} times their time: {} here, {} there",
        counted.pace(late),
        counted.pace(&others)
    );
    let mut all = vec![words];
    if scale.p <= LISTED {
        let one = |r| counted.ratio("instructions", "cycles", std::iter::once(r as usize));
        let each: Vec<String> = (0..scale.p)
            .map(|r| {
                one(r)
                    .first()
                    .map_or("–".to_string(), |ipc| format!("{ipc:.2}"))
            })
            .collect();
        if each.iter().any(|e| e != "–") {
            all.push(format!("IPC by rank: {}", each.join(" ")));
        }
    }
    Some((is_work(time_ratio, ratio), all))
}

/// Whether page faults explain why `late` ranks take longer after some MPI calls, with the figures.
///
/// Faults are attributed to the place where a sample happens to read them, so whole segments are compared.
pub fn faults(scale: &Scale, after: &[CtxId], late: &[u32]) -> Option<String> {
    let data = &scale.view().computation;
    let named = scale
        .run()
        .header
        .counters
        .iter()
        .position(|c| c == "page_faults")?;
    let keys = data.keys_where(|k| after.contains(&k.after));
    let excess = |row: &[f64]| {
        let (mut here, mut there) = (Vec::new(), Vec::new());
        for (rank, value) in (0..).zip(row) {
            if late.contains(&rank) {
                &mut here
            } else {
                &mut there
            }
            .push(*value);
        }
        (stats::mean(&here), stats::median(&there))
    };
    let (here, there) = excess(&sum_rows(data.counters.get(named)?, &keys, scale.p));
    let (longer, usual) = excess(&sum_rows(&data.busy, &keys, scale.p));
    let each = (longer - usual) / (here - there).max(1.0);
    (here > FAULTS_MORE * there && (0.0..FAULT_SECONDS).contains(&each)).then(|| {
        format!(
            "{here:.0} page faults on each of these ranks, {there:.0} on the others: one for every {} that they take longer",
            time(each)
        )
    })
}

/// Whether instructions were counted in a run at all.
pub fn counts_instructions(scale: &Scale) -> bool {
    Counted::new(scale, &scale.keys()).is_some()
}
