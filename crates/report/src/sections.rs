//! A report of tables as text: each under its heading, as wide as the terminal, the first rows of each.

use crate::style::{Tone, UNKNOWN, harmless, paint, percent, screened, seconds, shorten, wrap};
use headwater_model::report::{Heading, Item, Report, Section, Unit};
use std::collections::BTreeMap;

/// How a report is shown.
#[derive(Clone, Copy, Debug)]
pub struct ReportOptions {
    /// Whether to colour.
    pub color: bool,
    /// Characters in a line.
    pub width: usize,
    /// Rows of each table at the most.
    pub rows: usize,
}

/// Space between columns.
const GAP: usize = 2;

/// A column that is shown only where rows cannot be distinguished without it: it is wide, and mostly says nothing new.
const CALLED_FROM: &str = "called_from";

/// A column that is not shown: the next one is indented by it.
const LEVEL: &str = "level";

/// Nothing is indented by more than this: what is deeper is below it.
const DEEPEST: f64 = 24.0;

/// No column of words is cut below this.
const NARROWEST: usize = 14;

/// The report as text.
pub fn report_text(report: &Report, options: &ReportOptions) -> String {
    let base = report.program.rsplit('/').next().unwrap_or("");
    let mut out = paint(
        &format!("{} of {base}", report.paradigm),
        Tone::Strong,
        options.color,
    ) + "\n";
    for run in &report.runs {
        let ranks = headwater_model::words::count(run.ranks as usize);
        out += &wrap(
            &format!("{}: {ranks}, {}", run.name, seconds(run.wall_seconds)),
            options.width,
            "  ",
        );
    }
    for note in &report.notes {
        out += &wrap(note, options.width, "  ");
    }
    for section in &report.sections {
        out += "\n";
        out += &section_text(section, options);
    }
    screened(&out, options.color)
}

fn section_text(section: &Section, options: &ReportOptions) -> String {
    let mut out = paint(&section.title, Tone::Head, options.color) + "\n";
    if let Some(note) = &section.note {
        let note = wrap(note, options.width, "  ");
        out += &paint(note.trim_end(), Tone::Dim, options.color);
        out += "\n";
    }
    if section.rows.is_empty() {
        return out + "  none\n";
    }
    let shown = &section.rows[..options.rows.min(section.rows.len())];
    let all_differ = !look_alike(section, shown);
    let is_shown =
        |heading: &Heading| heading.name != LEVEL && (heading.name != CALLED_FROM || !all_differ);
    let indent = |i: usize, row: &[Item]| {
        let before = i.checked_sub(1);
        match before.and_then(|b| Some((section.columns.get(b)?, row.get(b)?))) {
            Some((heading, Item::Number(level))) if heading.name == LEVEL => {
                level.clamp(0.0, DEEPEST) as usize
            }
            _ => 0,
        }
    };
    let cells: Vec<Vec<String>> = (section.columns.iter().enumerate())
        .filter(|(_, heading)| is_shown(heading))
        .map(|(i, heading)| {
            let values = shown.iter().map(|row| {
                let text = cell(heading, row.get(i).unwrap_or(&Item::Missing));
                format!("{}{text}", " ".repeat(indent(i, row)))
            });
            std::iter::once(heading.title.clone())
                .chain(values)
                .collect()
        })
        .collect();
    let is_words = |i: usize| {
        let mut items = shown.iter().filter_map(|row| row.get(i));
        items.any(|item| matches!(item, Item::Text(_)))
    };
    let words: Vec<bool> = (0..section.columns.len())
        .filter(|i| is_shown(&section.columns[*i]))
        .map(is_words)
        .collect();
    let widths = widths(&cells, &words, options.width.saturating_sub(2));
    for row in 0..=shown.len() {
        let mut line = String::from(" ");
        for ((column, width), words) in cells.iter().zip(&widths).zip(&words) {
            let text = column.get(row).map_or("", String::as_str);
            let text = shorten(text, *width);
            let fill = " ".repeat(width.saturating_sub(text.chars().count()));
            line += &if *words {
                format!(" {text}{fill} ")
            } else {
                format!(" {fill}{text} ")
            };
        }
        let tone = if row == 0 { Tone::Dim } else { Tone::Plain };
        out += &paint(line.trim_end(), tone, options.color);
        out += "\n";
    }
    let left = section.rows.len() - shown.len();
    if left > 0 {
        let more = format!("  … and {left} more; --rows shows them, --json has all");
        out += &paint(&more, Tone::Dim, options.color);
        out += "\n";
    }
    out
}

/// Whether two of the rows have the same words everywhere but in the column that says where they are called from.
fn look_alike(section: &Section, rows: &[Vec<Item>]) -> bool {
    let Some(from) = (section.columns.iter()).position(|c| c.name == CALLED_FROM) else {
        return false;
    };
    let word = |item: &'_ Item| match item {
        Item::Text(text) => Some(text.clone()),
        _ => None,
    };
    let mut seen: BTreeMap<Vec<Option<String>>, Option<String>> = BTreeMap::new();
    rows.iter().any(|row| {
        let others = (row.iter().enumerate()).filter(|(i, _)| *i != from);
        let own = row.get(from).and_then(word);
        let first = seen
            .entry(others.map(|(_, item)| word(item)).collect())
            .or_insert_with(|| own.clone());
        *first != own
    })
}

/// Widths of the columns: what they hold, but columns of words give way, the widest first.
fn widths(cells: &[Vec<String>], words: &[bool], room: usize) -> Vec<usize> {
    let longest = |column: &Vec<String>| column.iter().map(|c| c.chars().count()).max();
    let mut widths: Vec<usize> = cells.iter().map(|c| longest(c).unwrap_or(0)).collect();
    while widths.iter().map(|w| w + GAP).sum::<usize>() > room {
        let wide = (0..widths.len()).filter(|i| words[*i] && widths[*i] > NARROWEST);
        match wide.reduce(|a, b| if widths[b] > widths[a] { b } else { a }) {
            Some(widest) => widths[widest] -= 1,
            None => break,
        }
    }
    widths
}

fn cell(heading: &Heading, item: &Item) -> String {
    match item {
        Item::Missing => UNKNOWN.to_string(),
        Item::Text(text) => harmless(text, usize::MAX),
        Item::Number(x) if !x.is_finite() => UNKNOWN.to_string(),
        Item::Number(x) => match heading.unit {
            Unit::Seconds if *x < 0.0 => format!("-{}", seconds(-x)),
            Unit::Seconds => seconds(*x),
            Unit::Share => percent(*x),
            Unit::Ratio => format!("{x:.2}"),
            Unit::Bytes => bytes(*x),
            Unit::Count | Unit::None => plain(*x),
        },
    }
}

/// A figure as it is, with no more digits than say something.
fn plain(x: f64) -> String {
    let size = x.abs();
    match size {
        _ if x.fract() == 0.0 => format!("{x:.0}"),
        // Three digits that are not 0, whatever the size: of a figure without a unit nobody knows what is small.
        _ if size < 1e-4 => format!("{x:.2e}"),
        _ if size < 0.1 => format!("{x:.*}", (2.0 - size.log10().floor()) as usize),
        _ => format!("{x:.2}"),
    }
}

/// Bytes with three figures and the unit that fits; units are powers of 1024.
fn bytes(x: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = x;
    let mut unit = 0;
    while value.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match value {
        v if unit == 0 && v.fract() == 0.0 => format!("{v:.0} B"),
        v if v.abs() >= 100.0 => format!("{v:.0} {}", UNITS[unit]),
        v if v.abs() >= 10.0 => format!("{v:.1} {}", UNITS[unit]),
        v => format!("{v:.2} {}", UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::report::Analysed;

    fn report() -> Report {
        let columns = [
            ("call", "call", Unit::None),
            ("location", "where", Unit::None),
            ("rank", "task", Unit::None),
            ("time_seconds", "time", Unit::Seconds),
            ("bytes", "total", Unit::Bytes),
            ("mpi_share", "MPI", Unit::Share),
            ("cov", "COV", Unit::Ratio),
        ];
        let mut section = Section::new("sites", "Call sites", &columns);
        section.note = Some("What must be known.".into());
        let place = "/a/very/long/way/to/a/file/that/is/cut.c:12";
        for (rank, time) in [(0.0, 1.25), (1.0, f64::NAN), (2.0, 0.5)] {
            section.rows.push(vec![
                "MPI_Send".into(),
                place.into(),
                rank.into(),
                time.into(),
                (1536.0 * (rank + 1.0)).into(),
                0.5.into(),
                (rank / 3.0).into(),
            ]);
        }
        Report {
            schema: 1,
            paradigm: "mpi-profile".into(),
            program: "/home/u/app".into(),
            runs: vec![Analysed {
                name: "app.3".into(),
                ranks: 3,
                wall_seconds: 2.0,
            }],
            notes: vec![],
            sections: vec![section, Section::new("none", "Nothing", &columns)],
        }
    }

    #[test]
    fn tables_fit_the_width_and_tell_what_they_leave_out() {
        let options = ReportOptions {
            color: false,
            width: 76,
            rows: 2,
        };
        let text = report_text(&report(), &options);
        assert!(text.lines().all(|l| l.chars().count() <= 76), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn small_figures_without_a_unit_keep_their_digits() {
        let shown = [12.0, 12.345, 0.5, 0.0123, -0.000_456_7, 1.5e-7].map(plain);
        assert_eq!(
            shown,
            ["12", "12.35", "0.50", "0.0123", "-0.000457", "1.50e-7"]
        );
    }

    #[test]
    fn where_rows_are_called_from_is_shown_where_they_look_alike() {
        let columns = [
            ("name", "name", Unit::None),
            ("called_from", "called from", Unit::None),
            ("time_seconds", "time", Unit::Seconds),
        ];
        let text = |rows: &[(&str, &str, f64)]| {
            let mut section = Section::new("hot", "Hot", &columns);
            let row = |r: &(&str, &str, f64)| vec![r.0.into(), r.1.into(), r.2.into()];
            section.rows = rows.iter().map(row).collect();
            let options = ReportOptions {
                color: false,
                width: 76,
                rows: 10,
            };
            section_text(&section, &options)
        };
        let shown = text(&[
            ("MPI_Wait", "main (b.c:69)", 2.0),
            ("MPI_Send", "main (b.c:71)", 1.0),
        ]);
        assert!(!shown.contains("b.c:69"), "{shown}");
        let alike = text(&[
            ("MPI_Wait", "main (b.c:69)", 2.0),
            ("MPI_Wait", "main (b.c:71)", 1.0),
        ]);
        assert!(
            alike.contains("called from") && alike.contains("b.c:71"),
            "{alike}"
        );
    }

    #[test]
    fn json_has_a_field_for_each_column() {
        let json = crate::report_json(&report());
        let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let row = &value["sections"][0]["rows"][1];
        assert_eq!(row["rank"], 1);
        assert_eq!(row["bytes"], 3072);
        assert!(row["time_seconds"].is_null());
    }
}
