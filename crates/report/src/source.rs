//! The source lines of a place, as far as the caller has them.
//!
//! A file that is gone, or was changed after the program or library was built, is said to be; lines are never
//! shown as those of the program without that word.

use crate::style::{Tone, harmless, paint, shorten, wrap};
use crate::text::TextOptions;
use headwater_model::diagnosis::Place;
use headwater_model::excerpt::Excerpt;

/// Source lines shown at the most.
const LINES: u32 = 8;

/// First and last line to show: around the hot line, inside the place.
fn window(place: &Place) -> (u32, u32) {
    let end = place.last_line.max(place.first_line);
    let hot = hot(place);
    let first = place
        .first_line
        .max(hot.saturating_sub(LINES / 2))
        // Near the end of the place the window moves up instead of shrinking.
        .min(end.saturating_sub(LINES - 1).max(place.first_line));
    (first, end.min(first.saturating_add(LINES - 1)))
}

/// The line with the most time, or the first where that is not known.
fn hot(place: &Place) -> u32 {
    let inside = place.first_line..=place.last_line.max(place.first_line);
    if inside.contains(&place.hot_line) {
        place.hot_line
    } else {
        place.first_line
    }
}

/// The lines of `place`, the hot one marked; nothing where no lines are known.
pub fn source(place: &Place, options: &TextOptions<'_>) -> String {
    let Some(file) = place.file.as_ref().filter(|_| place.first_line > 0) else {
        return String::new();
    };
    let dim = |text: &str| paint(text, Tone::Dim, options.color);
    let (first, last) = window(place);
    let why_not = match options.source.lines(&place.module, file, first, last) {
        Excerpt::Unwanted => return String::new(),
        Excerpt::Withheld => {
            "are not shown: they lie neither with the program nor in the current directory; --source DIR shows what lies in DIR"
        }
        Excerpt::Lines { lines, newer } if !lines.is_empty() => {
            return excerpt(place, file, &lines, newer, options);
        }
        Excerpt::Gone | Excerpt::Lines { .. } => "are not there to show",
    };
    let note = format!("(lines {first}-{last} of {file} {why_not})");
    dim(wrap(&note, options.width, "   ").trim_end()) + "\n"
}

/// The file, a warning where it is `newer`, and its lines.
fn excerpt(
    place: &Place,
    file: &str,
    lines: &[String],
    newer: bool,
    options: &TextOptions<'_>,
) -> String {
    let dim = |text: &str| paint(text, Tone::Dim, options.color);
    let (first, last) = window(place);
    let mut out = dim(&format!(
        "   {}",
        shorten(file, options.width.saturating_sub(3))
    )) + "\n";
    if newer {
        let note = "(the source is newer than the file built from it: lines may have moved)";
        out += &(dim(wrap(note, options.width, "   ").trim_end()) + "\n");
    }
    let wanted = (last - first + 1) as usize;
    for (number, line) in (first..).zip(lines.iter().take(wanted)) {
        let at = number == hot(place);
        let mark = if at { '>' } else { ' ' };
        let text = harmless(line, options.width.saturating_sub(12));
        let shown = format!("   {mark}{number:>5} | {text}");
        out += shown.trim_end();
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::psg::VertexKind;

    fn lines(first: u32, last: u32, hot: u32) -> Place {
        Place {
            first_line: first,
            last_line: last,
            hot_line: hot,
            ..Place::unknown(VertexKind::Loop)
        }
    }

    #[test]
    fn the_window_holds_the_hot_line_and_stays_inside() {
        assert_eq!(window(&lines(10, 12, 11)), (10, 12));
        assert_eq!(window(&lines(10, 100, 50)), (46, 53));
        assert_eq!(window(&lines(10, 100, 100)), (93, 100));
        assert_eq!(window(&lines(10, 100, 0)), (10, 17));
        assert_eq!(window(&lines(10, 0, 0)), (10, 10));
        assert_eq!(hot(&lines(10, 12, 99)), 10);
        let end = u32::MAX;
        assert_eq!(window(&lines(end, end, end)), (end, end));
    }
}
