//! A part of a strip: some ranks, some time. Where it has too many slices, they are summed up as shares of time.

use super::frames::Frames;
use super::replayed::{Own, Slice, Strip, Track};
use crate::model::timeline::{
    Critical, Density, Messages, Slices, TimeAxis, TimelineRow, TimelineTile,
};
use headwater_dataflow::Recorded;
use headwater_model::RankSet;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Messages of a tile with slices, and of one with densities; of more, those that somebody waited for, then the longest.
const MESSAGES: [usize; 2] = [4_000, 200];

/// What of a strip a tile has.
#[derive(Clone, Debug)]
pub struct Extent {
    /// Time, nanoseconds.
    pub time: Range<u64>,
    /// These ranks; all where nothing is said.
    pub ranks: Option<RankSet>,
    /// Rows at the most.
    pub rows: usize,
    /// Slices at the most.
    pub slices: usize,
    /// Columns where slices are summed up.
    pub columns: usize,
}

/// Whose strip it is.
#[derive(Clone, Copy)]
pub struct Whose<'a> {
    /// The run.
    pub run: &'a Recorded,
    /// Its number.
    pub scale: u32,
    /// The frames of all runs.
    pub frames: &'a Frames,
    /// The time axis.
    pub clock: TimeAxis,
}

fn row(tracks: &[Track]) -> TimelineRow {
    let ranks: RankSet = tracks.iter().map(|t| t.0).collect();
    let thread = tracks.first().map_or(0, |t| t.1);
    let name = match (ranks.as_slice(), tracks) {
        ([one], [_]) if thread > 0 => format!("rank {one} thread {thread}"),
        ([one], _) => format!("rank {one}"),
        _ => format!("ranks {ranks}"),
    };
    TimelineRow {
        name,
        ranks,
        thread: u32::from(thread),
    }
}

/// Cuts a tile.
pub fn tile(strip: &Strip, whose: Whose<'_>, extent: &Extent) -> TimelineTile {
    let end = extent.time.end.min(strip.length.max(1));
    // A client may ask for what is behind the end.
    let time = extent.time.start.min(end)..end;
    let here = |t: Track| extent.ranks.as_ref().is_none_or(|r| r.contains(t.0));
    let chosen: Vec<&Own> = strip.tracks.iter().filter(|t| here(t.track)).collect();
    let tracks: Vec<Track> = chosen.iter().map(|t| t.track).collect();
    // Slices of a track follow one another.
    let part = |own: &Own| -> &[Slice] {
        let all = strip.slices.get(own.slices.clone()).unwrap_or(&[]);
        let from = all.partition_point(|s| s.end <= time.start);
        let to = all.partition_point(|s| s.begin < time.end);
        all.get(from..to).unwrap_or(&[])
    };
    let inside = || chosen.iter().flat_map(|own| part(own));
    let count: usize = chosen.iter().map(|own| part(own).len()).sum();
    let fits = tracks.len() <= extent.rows;
    let size = tracks.len().div_ceil(extent.rows.max(1)).max(1);
    let row_of: FxHashMap<Track, u32> = (0..)
        .zip(&tracks)
        .map(|(i, t): (usize, _)| (*t, (i / size) as u32))
        .collect();
    let rows: Vec<TimelineRow> = tracks.chunks(size).map(row).collect();
    let of = |t: Track| row_of.get(&t).copied();
    let whole = fits && count <= extent.slices;
    let (messages, all) = messages(strip, &time, MESSAGES[usize::from(!whole)], &of);
    TimelineTile {
        scale: whose.scale,
        window: strip.number,
        clock: whose.clock,
        begin_ns: time.start,
        end_ns: time.end,
        slices: whole.then(|| slices(inside(), whose, &of)),
        density: (!whole).then(|| {
            let rows = chosen
                .chunks(size)
                .map(|c| c.iter().map(|own| part(own)).collect());
            density(rows, size, extent.columns, &time)
        }),
        messages,
        critical: critical(strip, &time, &of),
        thinned: !whole || !all,
        rows,
    }
}

/// Numbers texts.
fn number<T: PartialEq>(all: &mut Vec<T>, one: T) -> i32 {
    let known = all.iter().position(|a| *a == one);
    known.unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    }) as i32
}

fn slices<'s>(
    all: impl Iterator<Item = &'s Slice>,
    whose: Whose<'_>,
    row: &dyn Fn(Track) -> Option<u32>,
) -> Slices {
    let run = whose.run.run();
    let mut out = Slices::default();
    let mut functions: Vec<u16> = Vec::new();
    for s in all {
        let Some(row) = row(s.track) else { continue };
        out.row.push(row);
        out.begin_ns.push(s.begin);
        out.length_ns.push(s.end - s.begin);
        out.kind.push(u8::from(s.func.is_some()));
        out.frame.push(whose.frames.of_call(whose.run, s.ctx));
        let function = s.func.map_or(-1, |f| number(&mut functions, f));
        out.function.push(function);
        out.wait_ns
            .push(s.wait.map_or(0, |w| w.0.saturating_sub(s.begin)));
        let state = s.state.map(str::to_string);
        out.state
            .push(state.map_or(-1, |state| number(&mut out.states, state)));
        let partner = s.wait.map(|w| w.1).or(s.peer);
        out.partner.push(partner.map_or(-1, i64::from));
        out.bytes.push(s.bytes);
        out.busy_ns.push(s.busy);
    }
    out.functions = functions
        .iter()
        .map(|f| run.function(*f).to_string())
        .collect();
    out
}

/// Nanoseconds of each column of a row. A stretch over many columns costs no more than one over two: what begins in one
/// column and ends in another is kept as the changes from column to column.
struct Sums {
    width: f64,
    own: Vec<f64>,
    changes: Vec<f64>,
}

impl Sums {
    fn new(columns: usize, width: f64) -> Self {
        Self {
            width,
            own: vec![0.0; columns],
            changes: vec![0.0; columns + 1],
        }
    }

    /// Adds a stretch, from the tile's begin.
    fn add(&mut self, from: u64, to: u64) {
        let last = self.own.len() - 1;
        let (from, to) = (from as f64, to as f64);
        let column = |at: f64| ((at / self.width) as usize).min(last);
        let (first, end) = (column(from), column(to));
        if first == end {
            self.own[first] += to - from;
            return;
        }
        self.own[first] += (first + 1) as f64 * self.width - from;
        self.own[end] += to - end as f64 * self.width;
        self.changes[first + 1] += 1.0;
        self.changes[end] -= 1.0;
    }

    /// The sums, which begin anew.
    fn take(&mut self, out: &mut Vec<f64>) {
        let mut whole = 0.0;
        for (own, change) in self.own.iter_mut().zip(&mut self.changes) {
            whole += *change;
            out.push(*own + whole * self.width);
            (*own, *change) = (0.0, 0.0);
        }
        self.changes.fill(0.0);
    }
}

/// Shares of the time of rows; each has the slices of `tracks` tracks.
fn density<'s>(
    rows: impl Iterator<Item = Vec<&'s [Slice]>>,
    tracks: usize,
    columns: usize,
    time: &Range<u64>,
) -> Density {
    let columns = columns.max(1);
    let width = (time.end - time.start).max(1) as f64 / columns as f64;
    // Computing, waiting, calling.
    let mut sums = [(); 3].map(|()| Sums::new(columns, width));
    let mut cells = [(); 3].map(|()| Vec::new());
    for row in rows {
        for s in row.into_iter().flatten() {
            let mut add = |what: usize, from: u64, to: u64| {
                let from = from.max(time.start) - time.start;
                let to = to.min(time.end).saturating_sub(time.start);
                if from < to {
                    sums[what].add(from, to);
                }
            };
            match s.func {
                None => add(0, s.begin, s.end),
                Some(_) => {
                    let waited = s.wait.map_or(s.begin, |w| w.0).min(s.end);
                    add(1, s.begin, waited);
                    add(2, waited, s.end);
                }
            }
        }
        for (sums, cells) in sums.iter_mut().zip(&mut cells) {
            sums.take(cells);
        }
    }
    let most = width * tracks as f64;
    let share = |what: usize| -> Vec<u16> {
        let share = |cell: &f64| (1000.0 * cell / most).round().clamp(0.0, 1000.0) as u16;
        cells[what].iter().map(share).collect()
    };
    Density {
        columns: columns as u32,
        computing: share(0),
        waiting: share(1),
        calling: share(2),
    }
}

/// Messages of the time, and whether these are all.
fn messages(
    strip: &Strip,
    time: &Range<u64>,
    most: usize,
    row: &dyn Fn(Track) -> Option<u32>,
) -> (Messages, bool) {
    let mut all: Vec<_> = strip
        .messages
        .iter()
        .filter(|m| m.sent < time.end && m.received > time.start)
        .filter_map(|m| Some((row(m.from)?, row(m.to)?, m)))
        .collect();
    let whole = all.len() <= most;
    if !whole {
        let weight = |m: &super::replayed::Sent| (m.late, m.received.saturating_sub(m.sent));
        // Of equal ones the first.
        let order = |(_, _, m): &(u32, u32, &super::replayed::Sent)| {
            (std::cmp::Reverse(weight(m)), m.sent, m.from, m.to)
        };
        if most > 0 {
            all.select_nth_unstable_by_key(most - 1, order);
        }
        all.truncate(most);
        all.sort_by_key(|(_, _, m)| (m.sent, m.from, m.to));
    }
    let mut out = Messages::default();
    for (from, to, m) in all {
        out.from_row.push(from);
        out.sent_ns.push(m.sent);
        out.to_row.push(to);
        out.received_ns.push(m.received);
        out.bytes.push(m.bytes);
        out.late.push(u8::from(m.late));
    }
    (out, whole)
}

fn critical(strip: &Strip, time: &Range<u64>, row: &dyn Fn(Track) -> Option<u32>) -> Critical {
    let mut out = Critical::default();
    for c in &strip.critical {
        if c.begin >= time.end || c.end <= time.start {
            continue;
        }
        if let Some(row) = row((c.rank, 0)) {
            out.row.push(row);
            out.begin_ns.push(c.begin);
            out.end_ns.push(c.end);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_divided_over_the_columns_that_it_covers() {
        // 10 columns of 7 ns.
        let mut sums = Sums::new(10, 7.0);
        let stretches = [(0, 70), (3, 5), (6, 8), (14, 14), (13, 64), (69, 70)];
        for (from, to) in stretches {
            sums.add(from, to);
        }
        let mut shown = Vec::new();
        sums.take(&mut shown);
        let inside = |ns: u64| {
            let all = stretches.iter();
            all.filter(|(from, to)| (*from..*to).contains(&ns)).count() as f64
        };
        let columns = (0..10).map(|c| (7 * c..7 * c + 7).map(inside).sum());
        assert_eq!(shown, columns.collect::<Vec<f64>>());
        // The next row begins anew.
        shown.clear();
        sums.take(&mut shown);
        assert_eq!(shown, [0.0; 10]);
    }
}
