//! One cause in full: explanation, path, bars, evidence, source.

use crate::bars::{bar, columns};
use crate::style::{Tone, paint, seconds, wrap};
use crate::tables::location;
use crate::text::{Excerpt, TextOptions};
use headwater_model::diagnosis::{Cause, Place};
use headwater_model::rank::RankSet;

/// Source lines shown at the most.
const LINES: u32 = 8;

/// `rank 3`, `ranks 0-3`, `all ranks`.
fn who(set: &RankSet, of: u32) -> String {
    match set.len() as u32 {
        n if n == of && n > 1 => "all ranks".to_string(),
        1 => format!("rank {set}"),
        n if set.to_string().len() > 40 => format!("{n} of {of} ranks"),
        _ => format!("ranks {set}"),
    }
}

fn title(place: &Place) -> String {
    let kind = if place.kind.is_loop() { "loop in " } else { "" };
    format!("{kind}{} ({})", place.name, location(place, 60))
}

/// The text of cause number `number`.
pub fn cause(c: &Cause, number: usize, options: &TextOptions<'_>) -> String {
    let colour = options.color;
    let mut out = paint(
        &format!("{number}. {}: {}", c.class.words(), title(&c.place)),
        Tone::Strong,
        colour,
    ) + "\n";
    out += &wrap(&c.explanation, options.width, "   ");
    if c.path.len() > 1 {
        out += &paint(
            "   from where it shows to where it comes from\n",
            Tone::Dim,
            colour,
        );
        for (i, step) in c.path.iter().enumerate() {
            let last = i + 1 == c.path.len();
            let mark = if i == 0 {
                "   ┌"
            } else if last {
                "   └▶"
            } else {
                "   │"
            };
            let line = format!(
                "{mark} {} {}  {}  {}",
                who(&step.ranks, c.scale),
                step.what,
                location(&step.place, 40),
                seconds(step.seconds)
            );
            out += &(if last {
                paint(&line, Tone::Bad, colour)
            } else {
                line
            });
            out.push('\n');
        }
    }
    if c.call_path.len() > 1 {
        let names: Vec<String> = c
            .call_path
            .iter()
            .map(|p| {
                if p.kind.is_loop() {
                    format!("loop:{}", p.first_line)
                } else {
                    p.name.clone()
                }
            })
            .collect();
        out += &wrap(
            &format!("called by {}", names.join(" › ")),
            options.width,
            "   ",
        );
    }
    if c.by_rank.iter().any(|v| *v > 0.0) {
        let (least, most) = c
            .by_rank
            .iter()
            .fold((f64::INFINITY, 0.0f64), |m, v| (m.0.min(*v), m.1.max(*v)));
        out += &format!(
            "   by rank   {}  {} to {}\n",
            columns(&c.by_rank),
            seconds(least),
            seconds(most)
        );
    }
    let most = c.by_scale.iter().map(|s| s.2).fold(0.0, f64::max);
    for (i, (ranks, mean, largest)) in c.by_scale.iter().enumerate() {
        let label = if i == 0 { "by scale" } else { "" };
        out += &format!(
            "   {label:<9} {ranks:>6} ranks {:<20} mean {}, largest {}\n",
            bar(*mean, most, 20),
            seconds(*mean),
            seconds(*largest)
        );
    }
    for e in &c.evidence {
        out += &wrap(&format!("· {}", e.text), options.width, "   ");
    }
    out + &source(&c.place, options)
}

fn source(place: &Place, options: &TextOptions<'_>) -> String {
    let Some(file) = place.file.as_ref().filter(|_| place.first_line > 0) else {
        return String::new();
    };
    let hot = if place.hot_line >= place.first_line {
        place.hot_line
    } else {
        place.first_line
    };
    let first = place.first_line.max(hot.saturating_sub(LINES / 2));
    let last = place.last_line.max(place.first_line).min(first + LINES - 1);
    match options.source.lines(file, first, last) {
        Excerpt::Gone => paint(
            &format!("   (source {file} is not there to show)\n"),
            Tone::Dim,
            options.color,
        ),
        Excerpt::Lines { lines, newer } => {
            let mut out = String::new();
            if newer {
                out += &paint(
                    "   (the source is newer than the program: lines may have moved)\n",
                    Tone::Dim,
                    options.color,
                );
            }
            for (number, line) in (first..).zip(lines) {
                let mark = if number == hot { '>' } else { ' ' };
                let text: String = line
                    .replace('\t', "    ")
                    .chars()
                    .take(options.width.saturating_sub(12))
                    .collect();
                out += &format!("   {mark}{number:>5} | {text}\n");
            }
            out
        }
    }
}
