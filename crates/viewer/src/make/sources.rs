//! Source text of places, each file's part once.

use super::{Subject, short};
use crate::model::causes::{Source, SourceState};
use headwater_model::diagnosis::Place;
use headwater_model::excerpt::Excerpt;
use headwater_report::SourceLines;

/// Lines shown around a place.
const AROUND: u32 = 4;

/// Lines shown of a place.
const MOST: u32 = 300;

/// Characters of a line.
const WIDEST: usize = 400;

/// The excerpts so far.
pub struct Shelf<'a> {
    subject: &'a Subject,
    lines: &'a dyn SourceLines,
    sources: Vec<Source>,
}

/// First and last line to show: the place and some lines around it, of a long one the lines around its hottest.
fn window(place: &Place) -> (u32, u32) {
    let (first, last) = (place.first_line, place.last_line.max(place.first_line));
    if last - first >= MOST {
        let hot = place.hot_line.clamp(first, last);
        let begin = hot.saturating_sub(MOST / 2).max(1);
        return (begin, begin.saturating_add(MOST));
    }
    (
        first.saturating_sub(AROUND).max(1),
        last.saturating_add(AROUND),
    )
}

impl<'a> Shelf<'a> {
    /// No excerpts yet; `lines` gives the lines that may be shown.
    pub fn new(subject: &'a Subject, lines: &'a dyn SourceLines) -> Self {
        Self {
            subject,
            lines,
            sources: Vec::new(),
        }
    }

    /// The number of the excerpt of a place; `None` where its file or line is not known.
    pub fn put(&mut self, place: &Place) -> Option<u32> {
        let file = place.file.as_ref().filter(|_| place.first_line > 0)?;
        let marked = (place.first_line, place.last_line.max(place.first_line));
        let known = self
            .sources
            .iter()
            .position(|s| s.file == *file && s.module == place.module && s.marked == marked);
        if let Some(known) = known {
            return Some(known as u32);
        }
        let source = self.excerpt(place, file, marked);
        self.sources.push(source);
        Some(self.sources.len() as u32 - 1)
    }

    fn excerpt(&self, place: &Place, file: &str, marked: (u32, u32)) -> Source {
        let (first, last) = window(place);
        let mut out = Source {
            file: file.to_string(),
            module: place.module.clone(),
            state: SourceState::Gone,
            note: None,
            newer: false,
            first_line: first,
            lines: Vec::new(),
            heat_seconds: None,
            marked,
            hot_line: place.hot_line,
        };
        match self.lines.lines(&place.module, file, first, last) {
            Excerpt::Lines { lines, newer } if !lines.is_empty() => {
                out.state = SourceState::Shown;
                out.newer = newer;
                if newer {
                    let note = "The source is newer than the program or library built from it: lines may have moved.";
                    out.note = Some(note.to_string());
                }
                let cut = |line: String| line.chars().take(WIDEST).collect();
                out.heat_seconds = self.heat(place, file, first, lines.len());
                out.lines = lines.into_iter().map(cut).collect();
            }
            Excerpt::Unwanted => {
                out.state = SourceState::LeftOut;
                out.note = Some("Source was left out (--no-source).".to_string());
            }
            Excerpt::Withheld => {
                out.state = SourceState::Withheld;
                let note = "The source is not shown: it is neither with the program nor in the current directory. --source DIR shows source in DIR.";
                out.note = Some(note.to_string());
            }
            Excerpt::Gone | Excerpt::Lines { .. } => {
                out.note = Some("The source file is not there to show.".to_string());
            }
        }
        out
    }

    /// Sampled seconds of the largest scale by line; `None` where no line has any.
    fn heat(&self, place: &Place, file: &str, first: u32, lines: usize) -> Option<Vec<f64>> {
        let run = self.subject.runs().last()?;
        let frames = self.subject.frames();
        // Many vertices share a frame where there are too many.
        let here = |v: u32| {
            let at = frames.of(v).and_then(|f| frames.place(f));
            at.is_some_and(|p| p.file.as_deref() == Some(file) && p.module == place.module)
        };
        let mut out = vec![0.0; lines];
        for (line, seconds) in run.pag().line_seconds(run.index(), here) {
            let slot = line
                .checked_sub(first)
                .and_then(|i| out.get_mut(i as usize));
            if let Some(slot) = slot {
                *slot = short(seconds);
            }
        }
        out.iter().any(|s| *s > 0.0).then_some(out)
    }

    /// All excerpts.
    pub fn into_sources(self) -> Vec<Source> {
        self.sources
    }
}
