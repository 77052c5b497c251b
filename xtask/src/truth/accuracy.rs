//! The page `docs/ACCURACY.md`: what the bench measured, with every miss and every dropped case.

use super::request::Request;
use super::results::Row;
use super::score::Scored;
use crate::figures::{Measure, median};
use crate::judge::BASELINES;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const HEAD: &str = include_str!("../../truth/ACCURACY.head.md");

/// Lowest true cost, as a share of the run, that the bar of the strict score is for.
const BAR_DOSE: f64 = 0.02;

/// Ends of the ranges of doses in the table, shares of the run.
const DOSES: [f64; 6] = [0.01, 0.02, 0.04, 0.08, 0.16, 10.0];

fn yes(hit: bool) -> f64 {
    f64::from(u8::from(hit))
}

/// A measure over the recordings of some cases.
fn measure(name: &str, rows: &[&Row], value: &dyn Fn(&Row, &Scored) -> Option<f64>) -> Measure {
    let of = |r: &&Row| -> Vec<f64> { r.scored.iter().filter_map(|s| value(r, s)).collect() };
    let values: Vec<Vec<f64>> = rows.iter().map(of).filter(|v| !v.is_empty()).collect();
    let cases = values.len();
    Measure::new(name, &values.concat(), cases)
}

fn share_of(row: &Row) -> f64 {
    let planted = row.manifest.as_ref().and_then(|m| m.planted.as_ref());
    planted.map_or(0.0, |p| p.truth.share)
}

fn strict(_: &Row, s: &Scored) -> Option<f64> {
    Some(yes(s.verdict.strict))
}

/// What the diagnoses of a clean code name, by code.
fn own_causes(rows: &[Row]) -> BTreeMap<&str, Vec<&str>> {
    let mut out: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in rows.iter().filter(|r| r.counts() && r.is_control()) {
        let keys = row.scored.iter().flat_map(|s| &s.keys).map(String::as_str);
        out.entry(&row.code).or_default().extend(keys);
    }
    out
}

/// Whether only causes that the clean code has too are named before the one that is strictly right.
fn strict_beside_own(own: &BTreeMap<&str, Vec<&str>>, row: &Row, s: &Scored) -> bool {
    let Some(before) = s.strict_at.checked_sub(1) else {
        return false;
    };
    let known = own.get(row.code.as_str()).map_or(&[][..], Vec::as_slice);
    s.keys
        .iter()
        .take(before)
        .all(|k| known.contains(&k.as_str()))
}

/// Whether the recordings of a case name the same first cause.
fn agree(row: &Row) -> Option<bool> {
    let (first, rest) = row.scored.split_first()?;
    (!rest.is_empty()).then(|| rest.iter().all(|s| s.first == first.first))
}

/// |stated − ΔT| / ΔT of every recording that states a gain where ΔT is known.
fn gain_errors(rows: &[&Row]) -> Vec<f64> {
    let of = |r: &&Row| -> Vec<f64> {
        let planted = r.manifest.as_ref().and_then(|m| m.planted.as_ref());
        let Some(truth) = planted.map(|p| &p.truth).filter(|t| t.yardstick.exact) else {
            return Vec::new();
        };
        let error = |s: &Scored| Some((s.stated? - truth.seconds).abs() / truth.seconds);
        r.scored.iter().filter_map(error).collect()
    };
    rows.iter().flat_map(of).collect()
}

/// All measures, in the order of the table.
pub fn measures(rows: &[Row]) -> Vec<Measure> {
    let counted = |control: bool| -> Vec<&Row> {
        rows.iter()
            .filter(|r| r.counts() && r.is_control() == control)
            .collect()
    };
    let (planted, controls) = (counted(false), counted(true));
    let bar: Vec<&Row> = planted
        .iter()
        .copied()
        .filter(|r| share_of(r) >= BAR_DOSE)
        .collect();
    let all: Vec<&Row> = rows.iter().filter(|r| r.counts()).collect();
    let same: Vec<f64> = all.iter().filter_map(|r| agree(r)).map(yes).collect();
    let own = own_causes(rows);
    let position = |s: &Scored| s.verdict.position;
    let mut out = vec![
        measure(
            "strict first cause (line, ranks, class), doses of 2 % and more",
            &bar,
            &strict,
        ),
        measure("strict first cause, all doses", &planted, &strict),
        measure(
            "strict, causes that the clean program has too set aside",
            &planted,
            &|r, s| Some(yes(strict_beside_own(&own, r, s))),
        ),
        measure("line of the first cause", &planted, &|_, s| {
            Some(yes(s.verdict.line))
        }),
        measure("line among the first three", &planted, &|_, s| {
            Some(yes((1..=3).contains(&position(s))))
        }),
        measure("mean reciprocal rank of the line", &planted, &|_, s| {
            Some(if position(s) > 0 {
                1.0 / position(s) as f64
            } else {
                0.0
            })
        }),
        measure("symptom named as first cause", &planted, &|_, s| {
            Some(yes(s.symptom))
        }),
        measure("no cause named", &planted, &|_, s| Some(yes(s.none))),
        measure("true cost within the stated range", &planted, &|_, s| {
            s.in_range.map(yes)
        }),
        measure("clean programs with a false finding", &controls, &|_, s| {
            Some(yes(!s.unsupported.is_empty()))
        }),
        Measure::new(
            "two recordings name the same first cause",
            &same,
            same.len(),
        ),
        measure("diagnoses with an impossible figure", &all, &|_, s| {
            Some(yes(!s.impossible.is_empty()))
        }),
        measure(
            "windows with 30 % of the run time or 4096 events of a rank",
            &all,
            &|_, s| windows_cover(s).map(yes),
        ),
    ];
    for (i, name) in BASELINES.iter().enumerate() {
        out.push(measure(
            &format!("baseline by line: {name}"),
            &planted,
            &|_, s| s.verdict.baselines.get(i).copied().map(yes),
        ));
    }
    out.push(measure(
        "baseline by line: delay cost alone",
        &planted,
        &|_, s| Some(yes(s.delay_cost)),
    ));
    out
}

/// The lower end of the lowest range of doses from which on at least half of the cases are found.
fn smallest_dose(planted: &[&Row]) -> Option<f64> {
    let mut smallest = None;
    for range in DOSES.windows(2).rev() {
        let [low, high] = range else { continue };
        let of = in_range(planted, *low, *high);
        let found = measure("", &of, &strict).share;
        match found {
            Some(share) if share >= 0.5 => smallest = Some(*low),
            Some(_) => break,
            None => {}
        }
    }
    smallest
}

fn in_range<'a>(planted: &[&'a Row], low: f64, high: f64) -> Vec<&'a Row> {
    let of = planted.iter().copied();
    of.filter(|r| (low..high).contains(&share_of(r))).collect()
}

/// Prints the measures.
pub fn print(rows: &[Row]) {
    measures(rows).iter().for_each(Measure::print);
    let planted: Vec<&Row> = rows
        .iter()
        .filter(|r| r.counts() && !r.is_control())
        .collect();
    let errors = gain_errors(&planted);
    if !errors.is_empty() {
        println!(
            "|stated gain − ΔT| / ΔT: {:.1} % (median of {})",
            100.0 * median(&errors),
            errors.len()
        );
    }
    if let Some(dose) = smallest_dose(&planted) {
        println!(
            "smallest dose found in half of the cases: {:.0} %",
            100.0 * dose
        );
    }
    for (code, [share, median, events, _]) in windows_by_code(rows) {
        println!(
            "windows of {code}: {:.0} % of the run time (median {:.0} %), {events:.0} events of a rank",
            100.0 * share,
            100.0 * median
        );
    }
    let dropped = rows.iter().filter(|r| !r.counts()).count();
    println!(
        "{} planted, {} dropped, of {}",
        planted.len(),
        dropped,
        rows.len()
    );
}

fn cells(m: &Measure) -> String {
    match (m.share, m.interval) {
        (Some(share), Some((low, high))) => format!(
            "{:.1} of {} | {:.1} % | {:.0} to {:.0} %",
            m.hits,
            m.runs,
            100.0 * share,
            100.0 * low,
            100.0 * high
        ),
        _ => "– | – | –".into(),
    }
}

fn table(out: &mut String, head: &str, measures: &[Measure]) {
    let _ = writeln!(
        out,
        "\n| {head} | hits | share | 95 % interval |\n| --- | --- | --- | --- |"
    );
    for m in measures {
        let _ = writeln!(out, "| {} | {} |", m.name, cells(m));
    }
}

/// Strict hits by a property of the case.
fn by(planted: &[&Row], of: &dyn Fn(&Row) -> String) -> Vec<Measure> {
    let mut groups: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in planted {
        groups.entry(of(row)).or_default().push(row);
    }
    groups
        .iter()
        .map(|(name, rows)| measure(name, rows, &strict))
        .collect()
}

/// A variant's name without its figures, as JSON has it.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(serde_json::Value::Object(map)) => map.keys().next().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}

/// The whole page.
pub fn page(request: &Request, commit: &str, rows: &[Row]) -> String {
    let planted: Vec<&Row> = rows
        .iter()
        .filter(|r| r.counts() && !r.is_control())
        .collect();
    let controls: Vec<&Row> = rows
        .iter()
        .filter(|r| r.counts() && r.is_control())
        .collect();
    let dropped: Vec<&Row> = rows.iter().filter(|r| !r.counts()).collect();
    let mut out = HEAD.trim_end().to_string();
    let beside = if request.load {
        ", beside two busy loops and a disk writer"
    } else {
        ""
    };
    let _ = writeln!(
        out,
        "\n\n## Figures\n\nSeed `{:#x}`, commit `{commit}`{beside}: {} cases, of which {} planted, {} controls, {} dropped.",
        request.seed,
        rows.len(),
        planted.len(),
        controls.len(),
        dropped.len()
    );
    let _ = writeln!(
        out,
        "Hits count recordings, two of each case; intervals are Wilson's, with cases as trials."
    );
    if request.repeat > 1 {
        let _ = writeln!(
            out,
            "Each scale is recorded {} times for a recording, as `headwater run --repeat {}` does. The second table has the same with each scale recorded once.",
            request.repeat, request.repeat
        );
    }
    table(&mut out, "what", &measures(rows));
    if request.repeat > 1 {
        let once: Vec<Row> = rows.iter().map(Row::recorded_once).collect();
        table(&mut out, "each scale recorded once", &measures(&once));
    }
    let errors = gain_errors(&planted);
    let within = errors.iter().filter(|e| **e <= 0.15).count();
    if !errors.is_empty() {
        let _ = writeln!(
            out,
            "\nStated gain against the true cost, |stated − ΔT| / ΔT: median {:.1} % over {} recordings; {within} within 15 %.",
            100.0 * median(&errors),
            errors.len()
        );
    }
    if let Some(dose) = smallest_dose(&planted) {
        let _ = writeln!(
            out,
            "\nFrom {:.0} % of the run time on, at least half of the cases are found.",
            100.0 * dose
        );
    }
    let manifest = |r: &Row, f: &dyn Fn(&super::manifest::Manifest) -> String| {
        r.manifest.as_ref().map(f).unwrap_or_default()
    };
    let class = |r: &Row| {
        let planted = r.manifest.as_ref().and_then(|m| m.planted.as_ref());
        planted.map(|p| p.class.clone()).unwrap_or_default()
    };
    let method = |r: &Row| {
        let planted = r.manifest.as_ref().and_then(|m| m.planted.as_ref());
        planted.map(|p| word(&p.method)).unwrap_or_default()
    };
    table(&mut out, "strict, by class", &by(&planted, &class));
    table(&mut out, "by how it is made", &by(&planted, &method));
    table(
        &mut out,
        "by ranks",
        &by(&planted, &|r| manifest(r, &|m| word(&m.wish.who))),
    );
    table(
        &mut out,
        "by kind of place",
        &by(&planted, &|r| manifest(r, &|m| word(&m.wish.place))),
    );
    table(&mut out, "by code", &by(&planted, &|r| r.code.clone()));
    let ranges: Vec<Measure> = std::iter::once((0.0, DOSES[0]))
        .chain(DOSES.windows(2).map(|w| (w[0], w[1])))
        .map(|(low, high)| {
            let name = if high > 1.0 {
                format!("{:.0} % and more", 100.0 * low)
            } else {
                format!("{:.0} to {:.0} %", 100.0 * low, 100.0 * high)
            };
            measure(&name, &in_range(&planted, low, high), &strict)
        })
        .collect();
    table(&mut out, "by true cost, share of the run time", &ranges);
    misses(&mut out, &planted, &controls, &own_causes(rows));
    let _ = writeln!(out, "\n## Dropped before the tool saw them\n");
    for row in &dropped {
        let why = row.dropped.as_deref().unwrap_or("");
        let short: String = why.chars().take(300).collect();
        let _ = writeln!(
            out,
            "* case {}, {}: {}",
            row.number,
            row.code,
            short.replace('\n', " ")
        );
    }
    if dropped.is_empty() {
        let _ = writeln!(out, "None.");
    }
    windows(&mut out, rows);
    out
}

/// Why a recording missed, as far as the bench knows.
fn reason(row: &Row, s: &Scored) -> &'static str {
    let v = &s.verdict;
    let share = share_of(row);
    match v.position {
        _ if s.none && share < BAR_DOSE => "no cause named; the dose is below 2 %",
        _ if s.none => "no cause named",
        0 if s.symptom => "a call in MPI is named, and the place is not among the causes",
        0 => "the place is not among the causes",
        1 if v.found == 0 => "right place, other class",
        1 => "right place and class, other ranks or threads",
        _ => "another cause is named before it",
    }
}

fn misses(out: &mut String, planted: &[&Row], controls: &[&Row], own: &BTreeMap<&str, Vec<&str>>) {
    let _ = writeln!(out, "\n## Every miss\n");
    let mut any = false;
    for row in planted {
        let Some((m, p)) = row
            .manifest
            .as_ref()
            .and_then(|m| Some((m, m.planted.as_ref()?)))
        else {
            continue;
        };
        for (i, s) in row
            .scored
            .iter()
            .enumerate()
            .filter(|(_, s)| !s.verdict.strict)
        {
            any = true;
            let scale = if m.of_threads {
                Some(&1)
            } else {
                m.scales.last()
            };
            let ranks = scale.and_then(|n| p.ranks.get(&n.to_string()));
            let at = match s.verdict.position {
                0 => "not in the list".to_string(),
                n => format!("number {n} in the list"),
            };
            let _ = writeln!(
                out,
                "* case {}, {}, recording {}: {}. Planted: {} at {}:{}-{} on ranks {}, {:.4} s ({:.1} %). Named first: {}. The place is {at}.",
                row.number,
                row.code,
                i + 1,
                if strict_beside_own(own, row, s) {
                    "a cause that the clean program has too is named before it"
                } else {
                    reason(row, s)
                },
                p.class,
                p.file,
                p.lines[0],
                p.lines[1],
                ranks.map_or("", String::as_str),
                p.truth.seconds,
                100.0 * p.truth.share,
                s.said.first().map_or("nothing", String::as_str)
            );
        }
        for failure in &row.failures {
            any = true;
            let _ = writeln!(out, "* case {}, {}: {failure}", row.number, row.code);
        }
    }
    for row in controls {
        for finding in row.scored.iter().flat_map(|s| &s.unsupported) {
            any = true;
            let _ = writeln!(
                out,
                "* case {}, {}, clean: {finding}, which its own figures do not support.",
                row.number, row.code
            );
        }
    }
    for row in planted.iter().chain(controls) {
        for figure in row.scored.iter().flat_map(|s| &s.impossible) {
            any = true;
            let _ = writeln!(
                out,
                "* case {}, {}: impossible figure: {figure}.",
                row.number, row.code
            );
        }
    }
    if !any {
        let _ = writeln!(out, "None.");
    }
}

/// Part of a run's time that windows of events must cover, or else the events of a rank that they must have.
const WINDOWS: (f64, f64) = (0.30, 4096.0);

/// Whether the windows of a diagnosis cover enough; `None` where it has none.
fn windows_cover(s: &Scored) -> Option<bool> {
    let (share, events) = (s.window_share?, s.window_events.unwrap_or(0.0));
    Some(share >= WINDOWS.0 || events >= WINDOWS.1)
}

/// What the windows of events cover of the largest runs, by code: least and median share, least and median events.
fn windows_by_code(rows: &[Row]) -> BTreeMap<&str, [f64; 4]> {
    let mut by_code: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for row in rows {
        let known = row.scored.iter();
        let known = known.filter_map(|s| Some((s.window_share?, s.window_events?)));
        by_code.entry(&row.code).or_default().extend(known);
    }
    by_code.retain(|_, v| !v.is_empty());
    let of = |v: Vec<(f64, f64)>| {
        let (shares, events): (Vec<f64>, Vec<f64>) = v.into_iter().unzip();
        let least = |v: &[f64]| v.iter().copied().fold(f64::INFINITY, f64::min);
        [
            least(&shares),
            median(&shares),
            least(&events),
            median(&events),
        ]
    };
    by_code.into_iter().map(|(code, v)| (code, of(v))).collect()
}

fn windows(out: &mut String, rows: &[Row]) {
    let by_code = windows_by_code(rows);
    if by_code.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\n## Windows of events\n\nWhat the windows cover of the run on the most ranks, as the diagnoses state it.\n\n\
         | code | share of run time, least | median | events of a rank, least | median |\n\
         | --- | --- | --- | --- | --- |"
    );
    for (code, [share, share_median, events, events_median]) in by_code {
        let _ = writeln!(
            out,
            "| {code} | {:.0} % | {:.0} % | {events:.0} | {events_median:.0} |",
            100.0 * share,
            100.0 * share_median
        );
    }
}
