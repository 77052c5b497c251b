//! The tables of efficiencies and of causes.

use crate::style::{percent, seconds, shorten};
use comfy_table::{CellAlignment, Table, presets};
use headwater_model::diagnosis::{Cause, Place, ScaleSummary};

/// The mark that efficiencies are held against.
const ACCEPTED: f64 = 0.8;

fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

fn figure(value: Option<f64>) -> String {
    match value {
        Some(v) if v < ACCEPTED => format!("{v:.2} !"),
        Some(v) => format!("{v:.2}  "),
        None => "–  ".to_string(),
    }
}

/// Efficiencies by scale.
pub fn efficiencies(scales: &[ScaleSummary]) -> String {
    let mut table = plain();
    let mut head = vec!["ranks".to_string()];
    head.extend(scales.iter().map(|s| format!("{}  ", s.ranks)));
    table.set_header(head);
    type Get = fn(&ScaleSummary) -> Option<f64>;
    let rows: [(&str, Get); 7] = [
        ("global efficiency", |s| s.efficiencies.global),
        ("  computation scaling", |s| {
            s.efficiencies.computation_scaling
        }),
        ("  parallel efficiency", |s| Some(s.efficiencies.parallel)),
        ("    load balance", |s| Some(s.efficiencies.load_balance)),
        ("    communication efficiency", |s| {
            Some(s.efficiencies.communication)
        }),
        ("      serialisation", |s| s.efficiencies.serialisation),
        ("      transfer", |s| s.efficiencies.transfer),
    ];
    for (name, get) in rows {
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
    if scales.iter().any(|s| s.cores > 0 && s.ranks > s.cores) {
        table.add_row(time("with a core for each rank", |s| {
            seconds(s.model_seconds)
        }));
    }
    table.add_row(time("before MPI_Init returned", |s| {
        seconds(s.startup_seconds)
    }));
    right_align(&mut table);
    lines(&table)
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

/// `file.c:10-20`, or function and address where there are no lines.
pub fn location(place: &Place, width: usize) -> String {
    match &place.file {
        Some(file) if place.first_line > 0 => {
            let base = file.rsplit('/').next().unwrap_or(file);
            let range = if place.last_line > place.first_line {
                format!("{base}:{}-{}", place.first_line, place.last_line)
            } else {
                format!("{base}:{}", place.first_line)
            };
            shorten(&range, width)
        }
        _ => {
            let base = place.module.rsplit('/').next().unwrap_or(&place.module);
            shorten(&format!("{base}+{:#x}", place.address), width)
        }
    }
}

/// All causes, a row each.
pub fn causes(causes: &[Cause]) -> String {
    let mut table = plain();
    table.set_header(vec![
        "",
        "what",
        "where",
        "ranks",
        "costs now",
        "gain if mended",
    ]);
    for (i, c) in causes.iter().enumerate() {
        let all = c.ranks.len() as u32 == c.scale;
        let ranks = if all {
            "all".to_string()
        } else {
            shorten_end(&c.ranks.to_string(), 14)
        };
        table.add_row(vec![
            format!("{}", i + 1),
            c.class.words().to_string(),
            location(&c.place, 26),
            ranks,
            format!("{} {}", seconds(c.cost_seconds), percent(c.cost_share)),
            format!("{} {}", seconds(c.gain_seconds), percent(c.gain_share)),
        ]);
    }
    lines(&table)
}

fn shorten_end(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        text.to_string()
    } else {
        text.chars().take(width - 1).chain(['…']).collect()
    }
}
