//! One cause in full: explanation, path, bars, evidence, source.
//!
//! The path is a chain from where the time shows down to where it comes from (ScalAna,
//! Algorithm 1 backtracks in that order), with the source line of each step.

use crate::bars::{bar, columns, marks, per_column};
use crate::source::source;
use crate::style::{Tone, hang, paint, seconds, wrap};
use crate::tables::location;
use crate::text::TextOptions;
use headwater_model::diagnosis::{Cause, CauseClass, Clock, Diagnosis, Place, ScaleSummary};
use headwater_model::words::{ScaleUnit, Subject};

/// Columns that a bar of ranks has at the most.
const WIDEST: usize = 64;

/// Threads that are listed one by one, at the most; of more the one with the most time and the one with the
/// least.
const LISTED: usize = 8;

/// Where bars begin.
const INDENT: &str = "             ";

fn title(place: &Place, width: usize) -> String {
    let kind = if place.kind.is_loop() { "loop in " } else { "" };
    let within = if place.kind.is_call() && !place.function.is_empty() {
        format!(" in {}", place.function)
    } else {
        String::new()
    };
    if place.module.is_empty() {
        return place.name.clone();
    }
    format!("{kind}{}{within} ({})", place.name, location(place, width))
}

/// The regions of the program's own that a cause is in, in words.
fn in_regions(regions: &[String]) -> String {
    match regions {
        [] => String::new(),
        [one] => format!(", in region {one}"),
        several => format!(", in regions {}", several.join(", ")),
    }
}

/// What a report calls a cause: its class and its place.
pub fn cause_title(c: &Cause) -> String {
    let title = title(&c.place, usize::MAX / 2);
    format!("{}: {title}{}", c.class.words(), in_regions(&c.regions))
}

/// The text of cause number `number` of a diagnosis.
pub fn cause(c: &Cause, number: usize, d: &Diagnosis, options: &TextOptions<'_>) -> String {
    let subject = d.subject();
    // The scale that its figures are of.
    let run = d.scale_of(c);
    let crowded = run.is_some_and(ScaleSummary::is_crowded);
    let (width, colour) = (options.width, options.color);
    let head = format!(
        "{number}. {}: {}",
        c.class.words(),
        title(&c.place, width / 2)
    ) + &in_regions(&c.regions);
    let mut out = paint(
        hang(&head, width, "", "   ").trim_end(),
        Tone::Strong,
        colour,
    ) + "\n";
    out += &wrap(&c.explanation, width, "   ");
    out += &path(c, subject, crowded, options);
    out += &called_by(c, width);
    out += &by_rank(c, subject, crowded, width);
    out += &by_thread(c, subject, width);
    out += &by_scale(c, &d.scales, width);
    for e in &c.evidence {
        out += &hang(&e.text, width, "   · ", "     ");
    }
    out + &source(&c.place, options)
}

/// The chain from the symptom to the cause.
fn path(c: &Cause, subject: Subject, crowded: bool, options: &TextOptions<'_>) -> String {
    let (width, colour) = (options.width, options.color);
    let Some(end) = c.path.len().checked_sub(1).filter(|end| *end > 0) else {
        return String::new();
    };
    let has = |clock: Clock| c.path.iter().any(|s| s.clock == clock);
    let caption = if crowded && has(Clock::Wall) {
        "from where it shows to where it comes from; waits include those for a core"
    } else if crowded && has(Clock::Virtual) {
        match subject {
            Subject::Ranks => {
                "from where it shows to where it comes from; waits as if each rank had a core"
            }
            Subject::Process => {
                "from where it shows to where it comes from; waits as if each thread had a core"
            }
        }
    } else {
        "from where it shows to where it comes from"
    };
    let mut out = paint(wrap(caption, width, "   ").trim_end(), Tone::Dim, colour) + "\n";
    for (i, step) in c.path.iter().enumerate() {
        let (first, rest) = match i {
            0 => ("   ┌ ", "   │   "),
            i if i == end => ("   └▶ ", "      "),
            _ => ("   │ ", "   │   "),
        };
        let text = format!(
            "{} {}: {} at {}",
            subject.who(&step.ranks, c.scale, 40),
            step.what,
            seconds(step.seconds),
            location(&step.place, width / 2)
        );
        let tone = if i == end { Tone::Bad } else { Tone::Plain };
        out += &(paint(hang(&text, width, first, rest).trim_end(), tone, colour) + "\n");
    }
    out
}

fn called_by(c: &Cause, width: usize) -> String {
    if c.call_path.len() < 2 {
        return String::new();
    }
    let names: Vec<String> = c
        .call_path
        .iter()
        .map(|p| match (p.kind.is_loop(), p.first_line) {
            (true, 0) => "loop".to_string(),
            (true, line) => format!("loop:{line}"),
            _ => p.name.clone(),
        })
        .collect();
    hang(
        &format!("called by {}", names.join(" › ")),
        width,
        "   ",
        "     ",
    )
}

/// Time by rank as a row of columns, the ranks concerned marked, with the range.
fn by_rank(c: &Cause, subject: Subject, crowded: bool, width: usize) -> String {
    let mut sorted: Vec<f64> = c
        .by_rank
        .iter()
        .copied()
        .filter(|v| v.is_finite())
        .collect();
    sorted.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (sorted.first(), sorted.last()) else {
        return String::new();
    };
    if *most <= 0.0 {
        return String::new();
    }
    let room = width.saturating_sub(INDENT.len()).clamp(8, WIDEST);
    let bucket = per_column(c.by_rank.len(), room);
    if subject.is_process() {
        let of_threads = c.class.is_of_threads();
        let what = match c.class {
            CauseClass::LockContention | CauseClass::AllocatorContention => {
                "; waits of all threads, as recorded"
            }
            _ if of_threads => "; all threads together",
            _ => "",
        };
        return wrap(&format!("in all {}{what}", seconds(*most)), width, "   ");
    }
    let mut out = format!("   by rank   {}\n", columns(&c.by_rank, bucket).trim_end());
    let marked = marks(&c.ranks, c.by_rank.len(), bucket);
    if let Some(line) = &marked {
        out += &format!("{INDENT}{line}\n");
    }
    let mut said = format!(
        "least {}, median {}, most {}",
        seconds(*least),
        seconds(median(&sorted)),
        seconds(*most)
    );
    if marked.is_some() {
        said += "; ^ these ranks";
    }
    match c.clock {
        _ if c.class == CauseClass::Preempted => said += "; ready to run, but without a core",
        _ if matches!(
            c.class,
            CauseClass::LockContention | CauseClass::AllocatorContention
        ) =>
        {
            said += "; waits of all threads of a rank, as recorded";
        }
        _ if c.class.is_of_threads() => said += "; all threads of a rank together",
        Clock::Wall if crowded => {
            said += "; wall time in the call, waiting for a core included";
        }
        Clock::Virtual => said += "; waiting in the call, with a core for each rank",
        Clock::Cpu | Clock::Wall => {}
    }
    if bucket > 1 {
        said += &format!("; a column shows the largest of {bucket} ranks");
    }
    out + &wrap(&said, width, INDENT)
}

/// Time by thread on the rank that loses most, the threads concerned marked.
fn by_thread(c: &Cause, subject: Subject, width: usize) -> String {
    let Some(times) = c.by_thread.as_ref().filter(|t| t.seconds.len() > 1) else {
        return String::new();
    };
    let room = width.saturating_sub(INDENT.len()).clamp(8, WIDEST);
    let bucket = per_column(times.seconds.len(), room);
    let bars = columns(&times.seconds, bucket);
    if bars.is_empty() {
        return String::new();
    }
    let mut out = format!("   by thread {}\n", bars.trim_end());
    let numbers = times.threads.iter();
    let places = (0..)
        .zip(numbers)
        .filter(|(_, t)| times.concerned.contains(t));
    let marked = marks(&places.map(|p| p.0).collect(), times.seconds.len(), bucket);
    if let Some(line) = &marked {
        out += &format!("{INDENT}{line}\n");
    }
    let each = |i: usize| {
        let thread = times.threads.get(i).copied().unwrap_or_default();
        let time = times.seconds.get(i).copied().unwrap_or(f64::NAN);
        format!("thread {thread} {}", seconds(time))
    };
    let list = if times.seconds.len() <= LISTED {
        (0..times.seconds.len()).map(each).collect()
    } else {
        let order = |a: &usize, b: &usize| {
            let at = |i: &usize| times.seconds.get(*i).copied().unwrap_or(0.0);
            at(b).total_cmp(&at(a)).then(a.cmp(b))
        };
        let mut all: Vec<usize> = (0..times.seconds.len()).collect();
        all.sort_by(order);
        let ends = [all.first(), all.last()].into_iter().flatten();
        ends.map(|i| each(*i)).collect::<Vec<_>>()
    };
    let what = match c.class {
        CauseClass::LockContention | CauseClass::AllocatorContention => "waited",
        _ => "computed",
    };
    let on = match subject {
        Subject::Ranks => format!("on rank {}, ", times.rank),
        Subject::Process => String::new(),
    };
    let mut said = format!("{on}{what}: {}", list.join(", "));
    if marked.is_some() {
        said += "; ^ these threads";
    }
    out + &wrap(&said, width, INDENT)
}

/// The middle of sorted values.
fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
    if sorted.len() % 2 == 1 {
        at(half)
    } else {
        (at(half.wrapping_sub(1)) + at(half)) / 2.0
    }
}

/// A bar for each scale.
fn by_scale(c: &Cause, scales: &[ScaleSummary], width: usize) -> String {
    let most = c.by_scale.iter().map(|s| s.1).fold(0.0, f64::max);
    let room = width.saturating_sub(56).clamp(4, 20);
    let counted = ScaleSummary::unit(scales);
    let unit = counted.words();
    let mut out = String::new();
    for (i, (size, mean, largest)) in c.by_scale.iter().enumerate() {
        let label = if i == 0 { "by scale" } else { "" };
        // A place that was not seen at a scale has no bar there, and no zero.
        let figures = if *largest > 0.0 {
            format!("mean {}, most {}", seconds(*mean), seconds(*largest))
        } else {
            "not seen".to_string()
        };
        // Scales that cannot be compared with the last one are left out.
        let all = scales.len() == c.by_scale.len();
        let figure = match scales.get(i).filter(|_| all) {
            Some(scale) => scale.figure(counted),
            None => size.to_string(),
        };
        let unit = match *size {
            1 if counted != ScaleUnit::Both => unit.trim_end_matches('s'),
            _ => unit,
        };
        let (bar, column) = (bar(*mean, most, room), counted.words().chars().count());
        out += &format!("   {label:<9} {figure:>6} {unit:<column$} {bar:<room$} {figures}\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[1.0, 2.0, 9.0]), 2.0);
        assert_eq!(median(&[1.0, 3.0]), 2.0);
        assert!(median(&[]).is_nan());
    }
}
