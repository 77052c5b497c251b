//! The windows of a run, made at their first use, and what a page has of them at first.

use super::replayed::{Strip, Strips};
use super::tile::{Extent, Whose, tile};
use super::whole;
use super::{Amounts, Subject};
use crate::model::causes::CauseDetail;
use crate::model::timeline::{Alike, ScaleTimeline, TimeAxis, TimelineTile, WindowInfo};
use headwater_dataflow::Recorded;
use headwater_trace::trace::Trace;
use std::sync::OnceLock;

/// Columns of a summary.
const COLUMNS: usize = 160;

/// Windows of a run that have a detailed stretch.
const DETAILED: usize = 3;

/// Where in a window the causes are seen, as parts of its length.
#[derive(Clone, Copy, Debug)]
pub struct Focus {
    /// In recorded time.
    pub wall: f64,
    /// In virtual time.
    pub replayed: f64,
}

impl Focus {
    /// Where the pictures of causes are; the middle where there are none.
    pub fn new(subject: &Subject, causes: &[CauseDetail]) -> Self {
        let of = |clock: TimeAxis| {
            let mut all = causes.iter().flat_map(|c| &c.pictures);
            let picture = all.find(|p| p.clock == clock)?;
            let windows = subject.windows(picture.scale as usize)?;
            let length = windows.strip(picture.window, clock)?.length;
            let middle = (picture.tile.begin_ns + picture.tile.end_ns) as f64 / 2.0;
            Some((middle / length.max(1) as f64).clamp(0.0, 1.0))
        };
        Self {
            wall: of(TimeAxis::Wall).unwrap_or(0.5),
            replayed: of(TimeAxis::Virtual).unwrap_or(0.5),
        }
    }
}

/// The windows of a run.
pub struct Windows {
    run: Recorded,
    strips: OnceLock<Strips>,
    /// The trace of the whole run.
    trace: Option<Trace>,
    /// Its strip, or why there is none.
    whole: OnceLock<Result<Strip, String>>,
}

impl Windows {
    /// The windows of `run`, and the whole run if there is a trace of it.
    pub fn new(run: &Recorded, trace: Option<Trace>) -> Self {
        Self {
            run: run.clone(),
            strips: OnceLock::new(),
            trace,
            whole: OnceLock::new(),
        }
    }

    /// All of them, on both time axes.
    pub fn strips(&self) -> &Strips {
        self.strips.get_or_init(|| Strips::new(&self.run))
    }

    /// The whole run, which has the number after the last window, or why it is not shown; `None` without a trace.
    fn whole(&self) -> Option<Result<&Strip, &String>> {
        let trace = self.trace.as_ref()?;
        let made = self.whole.get_or_init(|| {
            let last = self.strips().wall.iter().map(|s| s.number).max();
            whole::strip(&self.run, trace, last.map_or(0, |n| n.saturating_add(1)))
        });
        Some(made.as_ref())
    }

    /// A window by its number.
    pub fn strip(&self, number: u32, clock: TimeAxis) -> Option<&Strip> {
        let strips = self.strips();
        let Some(at) = strips.wall.iter().position(|s| s.number == number) else {
            let whole = self.whole()?.ok()?;
            return (clock == TimeAxis::Virtual && whole.number == number).then_some(whole);
        };
        match clock {
            TimeAxis::Wall => strips.wall.get(at),
            TimeAxis::Virtual => strips.replayed.get(at)?.as_ref(),
        }
    }

    /// A tile of a window.
    pub fn tile(
        &self,
        subject: &Subject,
        (scale, number, clock): (u32, u32, TimeAxis),
        extent: &Extent,
    ) -> Option<TimelineTile> {
        let strip = self.strip(number, clock)?;
        let whose = Whose {
            run: &self.run,
            scale,
            frames: subject.frames(),
            clock,
        };
        Some(tile(strip, whose, extent))
    }

    /// What a page has of them.
    pub fn timeline(
        &self,
        scale: u32,
        subject: &Subject,
        focus: Focus,
        amounts: Amounts,
    ) -> ScaleTimeline {
        let header = &self.run.run().header;
        let strips = self.strips();
        // The windows of a run share what a page has of it.
        let slices = amounts.slices / strips.wall.len().clamp(1, DETAILED);
        let whole = |strip: &Strip, clock| {
            let whose = Whose {
                run: &self.run,
                scale,
                frames: subject.frames(),
                clock,
            };
            let extent = Extent {
                time: 0..strip.length,
                ranks: None,
                rows: amounts.rows,
                slices,
                columns: COLUMNS,
            };
            tile(strip, whose, &extent)
        };
        let detail = |strip: &Strip, clock, at: f64| -> Option<TimelineTile> {
            let whose = Whose {
                run: &self.run,
                scale,
                frames: subject.frames(),
                clock,
            };
            // More tracks than rows are summed up, however short the stretch is.
            if strip.tracks.len() > amounts.rows {
                return None;
            }
            let middle = (at * strip.length as f64) as u64;
            let mut half = strip.length / 2;
            while half > 0 {
                let extent = Extent {
                    time: middle.saturating_sub(half)..middle.saturating_add(half),
                    ranks: None,
                    rows: amounts.rows,
                    slices,
                    columns: 1,
                };
                let cut = tile(strip, whose, &extent);
                if cut.slices.is_some() {
                    return Some(cut);
                }
                half = half * 2 / 3;
            }
            None
        };
        // The tile of each strip, and the detailed stretches of those that are summed up.
        let tiles = |strips: &[(&Strip, TimeAxis, f64)], is_detailed: bool| {
            let tiles: Vec<TimelineTile> = strips.iter().map(|s| whole(s.0, s.1)).collect();
            let summed = strips.iter().zip(&tiles);
            let summed = summed.filter(|(_, t)| is_detailed && t.slices.is_none());
            let details = summed.filter_map(|((strip, clock, at), _)| detail(strip, *clock, *at));
            let details: Vec<TimelineTile> = details.collect();
            (tiles.into_iter(), details)
        };
        let window = |(index, (wall, replayed)): (usize, (&Strip, &Option<Strip>))| {
            let replay = replayed.as_ref();
            let virtual_strip = replay.map(|s| (s, TimeAxis::Virtual, focus.replayed));
            let own = [Some((wall, TimeAxis::Wall, focus.wall)), virtual_strip];
            let own: Vec<_> = own.into_iter().flatten().collect();
            let (mut tiles, detail) = tiles(&own, index < DETAILED);
            let said = header.windows.get(wall.number as usize);
            WindowInfo {
                window: wall.number,
                begin_seconds: said.map(|w| w.begin_ns as f64 * 1e-9),
                whole: false,
                length_ns: wall.length,
                virtual_length_ns: replay.map(|s| s.length),
                calls: wall.calls,
                wall: tiles.next(),
                replayed: tiles.next(),
                detail,
                alike: self.alike(scale, wall, subject),
            }
        };
        let all = strips.wall.iter().zip(&strips.replayed).enumerate();
        let mut windows: Vec<WindowInfo> = all.map(window).collect();
        let mut missing = windows.is_empty().then(|| {
            "No window of this run was recorded: there is no event of which the time is known."
                .to_string()
        });
        match self.whole() {
            Some(Ok(run)) => {
                let (mut tiles, detail) = tiles(&[(run, TimeAxis::Virtual, 0.5)], true);
                windows.push(WindowInfo {
                    window: run.number,
                    begin_seconds: None,
                    whole: true,
                    length_ns: 0,
                    virtual_length_ns: Some(run.length),
                    calls: run.calls,
                    wall: None,
                    replayed: tiles.next(),
                    detail,
                    alike: Self::alike_runs(scale, subject),
                });
                missing = None;
            }
            Some(Err(why)) => missing = Some(why.clone()),
            None => {}
        }
        ScaleTimeline {
            ranks: header.ranks,
            windows,
            missing,
        }
    }

    /// The whole runs of other scales, from their begins.
    fn alike_runs(scale: u32, subject: &Subject) -> Vec<Alike> {
        let others = (0u32..).zip(subject.runs()).filter(|(s, _)| *s != scale);
        let alike = |(other, _)| {
            let theirs = subject.windows(other as usize)?.whole()?.ok()?;
            Some(Alike {
                scale: other,
                window: theirs.number,
                begin_ns: 0,
                their_begin_ns: 0,
            })
        };
        others.filter_map(alike).collect()
    }

    /// Windows of other runs that show the same call of the program, with the times of its first call on the first rank.
    fn alike(&self, scale: u32, strip: &Strip, subject: &Subject) -> Vec<Alike> {
        let calls = |windows: &Self, strip: &Strip| -> Vec<(i32, u64)> {
            let first = strip.slices.first().map(|s| s.track);
            let own = strip.slices.iter().take_while(|s| Some(s.track) == first);
            let calls = own.filter(|s| s.func.is_some());
            let frame = |s: &super::replayed::Slice| {
                let frame = subject.frames().of_call(&windows.run, s.ctx);
                (frame, s.begin)
            };
            calls.map(frame).collect()
        };
        let own = calls(self, strip);
        let mut out = Vec::new();
        for (other, runs) in (0..).zip(subject.runs()) {
            let Some(windows) = subject.windows(other).filter(|_| other as u32 != scale) else {
                continue;
            };
            if runs.run().events.is_empty() {
                continue;
            }
            let theirs = &windows.strips().wall;
            // The window of the same number first.
            let mut order: Vec<&Strip> = theirs.iter().collect();
            order.sort_by_key(|s| s.number != strip.number);
            let same = order.into_iter().find_map(|candidate| {
                let all = calls(windows, candidate);
                let (frame, at) = own.iter().find(|(f, _)| all.iter().any(|a| a.0 == *f))?;
                let there = all.iter().find(|a| a.0 == *frame)?;
                Some(Alike {
                    scale: other as u32,
                    window: candidate.number,
                    begin_ns: *at,
                    their_begin_ns: there.1,
                })
            });
            out.extend(same);
        }
        out
    }
}
