//! The tables of efficiencies and of causes, and how a place is written in them.
//!
//! Both fit the width asked for: scales that do not fit go into further blocks, and a cause takes
//! two lines, its figures and where it is.

use crate::style::{Tone, UNKNOWN, paint, percent, seconds, shorten, wrap};
use comfy_table::{CellAlignment, Table, presets};
use headwater_model::diagnosis::{Cause, Diagnosis, Place, ScaleSummary, Scaling};
use headwater_model::words::{self, ScaleUnit, Subject};

/// The mark that efficiencies are held against.
pub const ACCEPTED: f64 = 0.8;

/// Characters that the names of the efficiencies and one scale take.
const NAMES: usize = 31;
const SCALE: usize = 12;

/// Whether an efficiency is below the mark, judged by the two digits that are shown.
pub fn below(value: f64) -> bool {
    (value * 100.0).round() < ACCEPTED * 100.0
}

fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

fn figure(value: Option<f64>) -> String {
    match value {
        Some(v) if !v.is_finite() => format!("{UNKNOWN}  "),
        Some(v) if below(v) => format!("{v:.2} !"),
        Some(v) => format!("{v:.2}  "),
        None => format!("{UNKNOWN}  "),
    }
}

/// Efficiencies by scale, in as many blocks as `width` needs.
pub fn efficiencies(d: &Diagnosis, width: usize) -> String {
    let fit = (width.saturating_sub(NAMES) / SCALE).max(1);
    let blocks = d.scales.chunks(fit);
    let unit = ScaleSummary::unit(&d.scales);
    let block = |scales| block(scales, unit, d.subject());
    let blocks: Vec<String> = blocks.map(block).collect();
    blocks.join("\n")
}

fn block(scales: &[ScaleSummary], unit: ScaleUnit, subject: Subject) -> String {
    let mut table = plain();
    let mut head = vec![unit.words().to_string()];
    let figures = scales.iter().map(|s| s.figure(unit));
    head.extend(figures.map(|figure| figure + "  "));
    table.set_header(head);
    type Get = fn(&ScaleSummary) -> Option<f64>;
    let rows: [(&str, Get); 14] = [
        ("global efficiency", |s| s.efficiencies.global),
        ("  computation scaling", |s| {
            s.efficiencies.computation_scaling
        }),
        ("    instruction scaling", |s| {
            s.efficiencies.instruction_scaling
        }),
        ("    IPC scaling", |s| s.efficiencies.ipc_scaling),
        ("    frequency scaling", |s| {
            s.efficiencies.frequency_scaling
        }),
        ("  parallel efficiency", |s| s.efficiencies.parallel),
        ("    load balance", |s| s.efficiencies.load_balance),
        ("    communication efficiency", |s| {
            s.efficiencies.communication
        }),
        ("      serialisation", |s| s.efficiencies.serialisation),
        ("      transfer", |s| s.efficiencies.transfer),
        ("thread efficiency", |s| {
            s.efficiencies.threads.map(|t| t.parallel)
        }),
        ("  load balance of threads", |s| {
            s.efficiencies.threads.map(|t| t.load_balance)
        }),
        ("  serial part", |s| {
            s.efficiencies.threads.map(|t| t.serialisation)
        }),
        ("  scheduling and locks", |s| {
            s.efficiencies.threads.map(|t| t.scheduling)
        }),
    ];
    // One process without MPI has nobody to wait for but its threads.
    let between_ranks = [
        "  parallel efficiency",
        "    load balance",
        "    communication efficiency",
        "      serialisation",
        "      transfer",
    ];
    let of_threads = rows[10..].iter().map(|row| row.0).collect::<Vec<_>>();
    let one_process = subject.is_process();
    // Without counters nothing is said of what counters would show.
    let counted = [
        "    instruction scaling",
        "    IPC scaling",
        "    frequency scaling",
    ];
    let known = |get: Get| scales.iter().any(|s| get(s).is_some());
    for (name, get) in rows {
        let optional = counted.contains(&name) || of_threads.contains(&name);
        if optional && !known(get) || one_process && between_ranks.contains(&name) {
            continue;
        }
        let mut row = vec![name.to_string()];
        row.extend(scales.iter().map(|s| figure(get(s))));
        table.add_row(row);
    }
    let time = |name: &str, get: fn(&ScaleSummary) -> String| {
        let mut row = vec![name.to_string()];
        row.extend(scales.iter().map(|s| get(s) + "  "));
        row
    };
    table.add_row(time("wall time", |s| seconds(s.wall_seconds)));
    if scales.iter().any(ScaleSummary::is_crowded) {
        let several = scales.iter().any(|s| s.threads > s.ranks);
        let one = if several { "thread" } else { subject.one() };
        table.add_row(time(&format!("with a core for each {one}"), |s| {
            seconds(s.model_seconds)
        }));
    }
    // Of a program without MPI, that is what its loader takes.
    if !one_process {
        // No process starts in no time: it was not measured.
        table.add_row(time("before MPI_Init returned", |s| {
            match s.startup_seconds > 0.0 {
                true => seconds(s.startup_seconds),
                false => UNKNOWN.to_string(),
            }
        }));
    }
    if scales.iter().any(|s| s.window_share.is_some()) {
        // Chains, serialisation, transfer, moving work and delay cost are known of what is in windows alone.
        table.add_row(time("all events recorded", |s| {
            known_percent(s.window_share)
        }));
        table.add_row(time("  and replayed", |s| known_percent(s.replayed_share)));
    }
    right_align(&mut table);
    lines(&table)
}

/// A share as a whole number of per cent; a dash where it is not known.
fn known_percent(share: Option<f64>) -> String {
    share.map_or(UNKNOWN.to_string(), |share| {
        format!("{:.0} %", 100.0 * share)
    })
}

fn right_align(table: &mut Table) {
    table
        .column_iter_mut()
        .skip(1)
        .for_each(|c| c.set_cell_alignment(CellAlignment::Right));
}

fn lines(table: &Table) -> String {
    let mut out: String = table
        .to_string()
        .lines()
        .map(|l| format!(" {}\n", l.trim_end()))
        .collect();
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// Where a place is, in at most `width` characters: a path loses its beginning, a name its end.
pub fn location(place: &Place, width: usize) -> String {
    let text = words::location(place);
    if place.module.is_empty() && place.file.is_none() {
        shorten_end(&text, width)
    } else {
        shorten(&text, width)
    }
}

/// The location and the function that holds it: `file.c:10-20 in solve`.
pub fn whereabouts(place: &Place, width: usize) -> String {
    let location = location(place, width);
    let room = width.saturating_sub(location.chars().count() + 4);
    if place.function.is_empty() || room < 4 {
        location
    } else {
        format!("{location} in {}", shorten_end(&place.function, room))
    }
}

/// All causes: number, class and figures on one line, where and which ranks on the next.
pub fn causes(causes: &[Cause], subject: Subject, width: usize, colour: bool) -> String {
    let row = |number: &str, class: &str, cost: &str, gain: &str| {
        let used = 2 * COST + 6;
        let name = width.saturating_sub(used).clamp(12, 40);
        let class = shorten_end(class, name);
        format!(" {number:>3}  {class:<name$}{cost:>COST$}{gain:>COST$}")
    };
    let what = match subject {
        Subject::Ranks => "what, where, ranks",
        Subject::Process => "what, where",
    };
    let head = row("", what, "costs now", "gain if mended");
    let mut out = paint(head.trim_end(), Tone::Dim, colour) + "\n";
    for (i, c) in causes.iter().enumerate() {
        let price = |s: f64, share: f64| format!("{} {:>5}", seconds(s), percent(share));
        out += &row(
            &(i + 1).to_string(),
            c.class.words(),
            &price(c.cost_seconds, c.cost_share),
            &price(c.gain_seconds, c.gain_share),
        );
        let who = match subject {
            Subject::Ranks => format!(", {}", words::ranks(&c.ranks, c.scale, 24)),
            Subject::Process => String::new(),
        };
        let room = width.saturating_sub(6 + who.chars().count());
        out += &format!("\n      {}{who}\n", whereabouts(&c.place, room));
        if let Some(from) = &c.called_from {
            let from = shorten_end(from, width.saturating_sub(18));
            out += &format!("      called from {from}\n");
        }
        let remarks = remarks(c);
        if !remarks.is_empty() {
            out += &wrap(&remarks, width, "      ");
        }
    }
    out
}

/// What limits the gain of a cause: its range, the kind of scaling that it depends on, and repetitions without it.
fn remarks(c: &Cause) -> String {
    let mut parts = Vec::new();
    if let Some((least, most)) = c.gain_range_share() {
        let digits = |share: f64| format!("{:.0}", share * 100.0);
        let (least, most) = (digits(least), digits(most));
        if least != most {
            parts.push(format!("the gain is likely {least}–{most} %"));
        }
    }
    parts.extend(c.only_if.map(|scaling| match scaling {
        Scaling::Weak => "only under weak scaling".to_string(),
        Scaling::Strong | Scaling::Single => "only under strong scaling".to_string(),
    }));
    parts.extend(c.repeated.map(|r| {
        format!(
            "found in {} of {} diagnoses with one recording left out",
            r.found, r.of
        )
    }));
    parts.join("; ")
}

/// Characters of a price in the table of causes.
const COST: usize = 17;

fn shorten_end(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        text.to_string()
    } else {
        text.chars()
            .take(width.saturating_sub(1))
            .chain(['…'])
            .collect()
    }
}
