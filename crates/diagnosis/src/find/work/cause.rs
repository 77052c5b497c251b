//! The cause that a place becomes whose work does not shrink: how exact its loss is, and what shows it.

use super::{MACHINE, NEW, Search};
use crate::find::candidate::{Candidate, Price, is_certain};
use crate::measure::counted::{self, Counted};
use crate::measure::same_work;
use crate::measure::scale::Scale;
use crate::measure::scaling::ideal;
use headwater_dataflow::numbers::fit;
use headwater_dataflow::numbers::stats::{self, CONFIDENCE};
use headwater_graph::VertexIx;
use headwater_model::diagnosis::{CauseClass, Scaling};
use headwater_model::words::seconds as time;

/// Standard error of the ideal time, as a part of it, where the larger scale has more ranks for each core: they take
/// turns, and find little of their data in the caches when they come back.
const TURNS: f64 = 0.25;

/// Standard error of the ideal time, as a part of it, where the smaller scale left cores idle that the larger one uses:
/// two threads of one core, or all cores of one memory, each run slower together than alone.
const FULLER: f64 = 0.3;

/// Part of its time that a place must lose beyond the machine's own pace.
const REST: f64 = 0.2;

/// Standard error of what the machine's pace adds to the ideal time, as a part of it.
const SURE: f64 = 0.25;

/// How many times the standard error of a mean that of a median is, for what is spread normally.
const OF_MEDIAN: f64 = 1.2533;

/// Distance of the quartiles of a normal distribution in standard deviations.
const QUARTILES: f64 = 1.349;

/// Part of the cores that ranks use, in hundredths.
fn occupied(scale: &Scale) -> u32 {
    match scale.cores {
        0 => 100,
        cores => (100 * scale.size.min(cores)) / cores,
    }
}

/// Whether ranks share cores at the larger scale with more others than at the smaller one.
fn takes_turns(first: &Scale, last: &Scale) -> bool {
    let product = |a: u32, b: u32| u64::from(a) * u64::from(b);
    last.outnumbers() && product(last.threads, first.cores) > product(first.threads, last.cores)
}

impl Search<'_> {
    /// Notes a place as a cause, if its loss is beyond its error.
    pub(super) fn note(&mut self, place: u32, loss: f64) -> bool {
        let ([first, last], scaling) = (self.ends, self.scaling);
        let vertices = self.places.vertices(place).to_vec();
        let usual = self.usual(&vertices);
        let now = self.at_ends(&vertices).1;
        // What is uncertain of the place by which it is compared is uncertain of its loss.
        let by = self.compared_by(&vertices);
        let by = by.unwrap_or_else(|| vertices.clone());
        let (before, now_there) = self.at_ends(&by);
        let at_pace = self.ideal(before);
        let should = self.pace.factor * at_pace;
        let counts = instructions(self.ends, scaling, &self.all_keys(&by));
        // Scales that do something else in its stead say nothing of it.
        let points = self.scales.iter().zip(&usual).filter(|p| *p.1 >= NEW * now);
        let points: Vec<(f64, f64)> = points.map(|(s, u)| (f64::from(s.size), *u)).collect();
        let heaviest = self.heaviest(&vertices);
        let (crowded, machine) = match counts {
            Some(_) => (0.0, 0.0),
            None => self.errors_of_ideal(&by, should, now_there),
        };
        let possible = self.most_in_functions(&vertices).min(loss);
        let to_last = self.ideal(1.0);
        let together = |errors: &[f64]| errors.iter().map(|e| e * e).sum::<f64>().sqrt();
        let by_chance = together(&[
            self.error(last, &vertices),
            self.error(first, &by) * to_last,
            fit::scatter(&points) * now.hypot(should),
            crowded,
        ]);
        let error = together(&[by_chance, machine, SURE * (should - at_pace)]);
        let seconds: Vec<String> = (self.scales.iter().zip(&usual))
            .map(|(s, u)| format!("{} on {}", time(*u), s.figure()))
            .collect();
        let mut evidence = vec![format!(
            "{}: {} {}",
            last.subject().usual(),
            seconds.join(", "),
            last.unit()
        )];
        if vertices.len() > 1 {
            evidence.push(format!("all {} ways to it together", vertices.len()));
        }
        if self.pace.is_slower() {
            evidence.push(format!(
                "{:.0} % of the computation takes {:.2} times as long on {} as on {} for the same work, which is taken for the speed of the machine; this place takes longer than that",
                100.0 * self.pace.agrees,
                self.pace.factor,
                last.words(),
                first.figure()
            ));
        }
        let mut class = CauseClass::NonShrinkingWork;
        if let Some((ratio, words)) = counts {
            evidence.push(words);
            if !counted::is_work(now_there / should, ratio) {
                class = CauseClass::SlowerWork;
            }
        }
        if stats::is_above(loss, possible) {
            evidence.push(format!(
                "this place takes {} more than ideal, but the function in which most of this time is takes only {} more in all places that call it. On {} it does the same work for another place, so only that is counted",
                time(loss),
                time(possible),
                first.words()
            ));
        }
        let found = Candidate {
            in_turn: false,
            price: Price::default(),
            error: error.max((loss - possible) / CONFIDENCE),
            team: None,
            twins: vertices
                .iter()
                .copied()
                .filter(|v| *v != heaviest)
                .collect(),
            class,
            vertex: heaviest,
            ranks: (0..last.p).collect(),
            cost: possible,
            gain: possible,
            after: last.afters(&self.keys(last, &vertices)),
            evidence,
        };
        let much = !self.pace.is_slower() || loss >= REST * now;
        let known = is_certain(possible, by_chance) && found.range().0 > 0.0;
        let certain = much && possible >= self.least && known;
        if certain {
            self.out.push(found);
        }
        certain
    }

    /// Standard errors of the ideal time `should` of a place that takes `now` seconds, without counters: by chance, and by
    /// the machine. Crowding differs between recordings, so it counts as chance; the machine's effect does not.
    fn errors_of_ideal(&self, vertices: &[VertexIx], should: f64, now: f64) -> (f64, f64) {
        let [first, last] = self.ends;
        let crowding = if occupied(last) > occupied(first) {
            FULLER
        } else if takes_turns(first, last) {
            TURNS
        } else {
            return (0.0, MACHINE * should);
        };
        if self.surely_stays(vertices) {
            // Divided work would take this long at the speed that the larger scale shows. The machine's error is how far that
            // is from what the smaller scale predicts.
            let there = self.ideal(now);
            return (0.0, (there - should).abs().max(MACHINE * should));
        }
        (crowding * should, 0.0)
    }

    /// Whether the compiler knows that the work of a place, which should be divided, is the same on any number of ranks.
    fn surely_stays(&self, vertices: &[VertexIx]) -> bool {
        self.scaling == Scaling::Strong && same_work::stays(self.pag, self.ends, vertices)
    }

    fn all_keys(&self, vertices: &[VertexIx]) -> [Vec<u32>; 2] {
        self.ends.map(|s| self.keys(s, vertices))
    }

    /// Standard error of the usual rank's time in some vertices at a scale: of sampling, or of how ranks differ.
    fn error(&self, scale: &Scale, vertices: &[VertexIx]) -> f64 {
        let row = self.row(scale, vertices);
        let all: Vec<u32> = (0..scale.p).collect();
        let sampling = scale.sampling_noise(self.pag, &self.keys(scale, vertices), &all);
        let spread = (stats::quantile(&row, 0.75) - stats::quantile(&row, 0.25)) / QUARTILES;
        OF_MEDIAN * sampling.max(spread) / f64::from(scale.p.max(1)).sqrt()
    }
}

/// Instructions of the median rank over what they should be, and how fast they ran, where they were
/// counted at both ends: time that stays though the instructions shrink is not work that stays.
fn instructions(
    [first, last]: [&Scale; 2],
    scaling: Scaling,
    [at_first, at_last]: &[Vec<u32>; 2],
) -> Option<(f64, String)> {
    let at = |s: &Scale, keys: &[u32]| {
        let all: Vec<u32> = (0..s.p).collect();
        let counted = Counted::new(s, keys)?;
        Some((counted.instructions(&all)?, counted.pace(&all)))
    };
    let (before, pace) = at(first, at_first)?;
    let (now, pace_now) = at(last, at_last)?;
    let ratio = now / ideal(scaling, before, first.size, last.size);
    let words = format!(
        "{ratio:.2} times the instructions that there should be on {}: {pace} on {}, {pace_now} on {}",
        last.figure(),
        first.words(),
        last.figure()
    );
    Some((ratio, words))
}
