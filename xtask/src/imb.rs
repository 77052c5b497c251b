//! Intel's MPI benchmarks, bare and recorded: the same ones complete, and their figures are printed beside each other.

use crate::figures::median;
use crate::mpi::Mpi;
use crate::setup;
use crate::shell::{Done, output, within};
use crate::wheels;
use std::collections::BTreeMap;

/// Programs and their arguments: as many repetitions as are significant on a machine that is also used by
/// others. The wheel has no IMB-EXT and no IMB-IO; what is for graphics processors is left out.
const PROGRAMS: [(&str, &[&str]); 5] = [
    ("IMB-MPI1", &SHORT),
    ("IMB-NBC", &SHORT),
    ("IMB-RMA", &SHORT),
    ("IMB-P2P", &["-iter", "200", "-msglog", "0:16"]),
    (
        "IMB-MT",
        &[
            "-thread_level",
            "multiple",
            "-repeat",
            "200",
            "-count",
            "1,64,1024,16384",
        ],
    ),
];
const SHORT: [&str; 10] = [
    "-npmin",
    "2",
    "-iter",
    "200",
    "-iter_policy",
    "off",
    "-time",
    "60",
    "-msglog",
    "0:16",
];

/// Pairs of runs, bare and recorded in turn.
const PAIRS: usize = 3;

/// Seconds that a program may take.
const PATIENCE: u32 = 240;

/// Microseconds by benchmark, mode and message size, in the order of the output.
type Figures = BTreeMap<(String, usize), f64>;

/// Runs all programs on two ranks.
pub fn imb() -> Done {
    let place = wheels::intel()?;
    let spool = setup::target().join("suite-spool");
    println!(
        "benchmark: rows; recorded over bare, median of rows (median of {PAIRS} pairs each); a message's or call's bare microseconds, median of rows"
    );
    for (program, arguments) in PROGRAMS {
        let run = |recorded: bool| -> Result<Figures, String> {
            let mut command = within(PATIENCE, &Mpi::Intel.mpirun(2)?);
            if recorded {
                setup::recorded(&mut command, &spool);
            }
            command.arg(place.join("bin").join(program)).args(arguments);
            let text = output(&mut command)?;
            figures(&text).ok_or(format!("{program} did not complete its benchmarks"))
        };
        let mut pairs = Vec::new();
        for _ in 0..PAIRS {
            pairs.push((run(false)?, run(true)?));
        }
        let Some((first, _)) = pairs.first() else {
            continue;
        };
        let same = |f: &Figures| f.keys().eq(first.keys());
        if !pairs.iter().all(|(bare, with)| same(bare) && same(with)) {
            return Err(format!(
                "{program} does not complete the same benchmarks when it is recorded"
            ));
        }
        let mut rows: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for key in first.keys() {
            let of = |f: &Figures| f.get(key).copied().unwrap_or(f64::NAN);
            let ratios: Vec<f64> = pairs
                .iter()
                .map(|(bare, with)| of(with) / of(bare))
                .collect();
            let bare: Vec<f64> = pairs.iter().map(|(bare, _)| of(bare)).collect();
            let row = (median(&ratios), median(&bare));
            // A row that bare took no time has no ratio.
            if row.0.is_finite() {
                rows.entry(&key.0).or_default().push(row);
            }
        }
        for (benchmark, rows) in rows {
            let ratios: Vec<f64> = rows.iter().map(|r| r.0).collect();
            let bare: Vec<f64> = rows.iter().map(|r| r.1).collect();
            println!(
                "{program} {benchmark}: {}; {:.2}; {:.2}",
                rows.len(),
                median(&ratios),
                median(&bare)
            );
        }
    }
    Ok(())
}

/// The figures of an output; `None` where there are none or a benchmark ran out of time.
fn figures(text: &str) -> Option<Figures> {
    let mut out = Figures::new();
    let (mut benchmark, mut column) = (String::new(), None);
    for line in text.lines() {
        if line.contains("time-out") {
            return None;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(name) = line.strip_prefix("# Benchmarking ") {
            (benchmark, column) = (name.trim().to_string(), None);
        } else if let Some(mode) = line.trim().strip_prefix("#    MODE: ") {
            benchmark = format!(
                "{} {}",
                benchmark.split(' ').next().unwrap_or_default(),
                mode.trim().to_lowercase()
            );
        } else if line.contains("[usec]") || line.contains("Msg/sec") {
            let names = [
                "t_avg[usec]",
                "t_ovrl[usec]",
                "t[usec]",
                "t_pure[usec]",
                "Msg/sec",
            ];
            let at = names
                .iter()
                .find_map(|n| Some((words.iter().position(|w| w == n)?, *n == "Msg/sec")));
            column = at;
        } else if let Some((at, rate)) = column
            && words.iter().all(|w| w.parse::<f64>().is_ok())
            && let Some(value) = words.get(at).and_then(|w| w.parse::<f64>().ok())
        {
            let next = out
                .range((benchmark.clone(), 0)..=(benchmark.clone(), usize::MAX))
                .count();
            let microseconds = if rate { 1e6 / value } else { value };
            out.insert((benchmark.clone(), next), microseconds);
        }
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_column_that_says_how_long() {
        let text = "# Benchmarking PingPong \n  #bytes #repetitions  t[usec]  Mbytes/sec\n 0 10 0.5 0.0\n 4 10 0.7 1.0\n\n\
            # Benchmarking Uniband\n #bytes #repetitions Mbytes/sec Msg/sec\n 4 10 3.0 500000\n";
        let all: Vec<_> = figures(text).expect("figures").into_iter().collect();
        let of = |name: &str, n, value| ((name.to_string(), n), value);
        assert_eq!(
            all,
            [
                of("PingPong", 0, 0.5),
                of("PingPong", 1, 0.7),
                of("Uniband", 0, 2.0)
            ]
        );
        assert_eq!(figures("# Benchmarking A\n 0 time-out.; Time limit"), None);
    }
}
