//! Writes figures, places and ranks in words, in one way for sentences and tables.
//!
//! A figure that is not known is a dash, never zero.

use crate::diagnosis::{Place, SmallStep};
use crate::rank::RankSet;

/// Shown for a figure that is not known.
pub const UNKNOWN: &str = "–";

/// A sentence that begins with a capital letter.
pub fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters
        .next()
        .map_or_else(String::new, |c| c.to_uppercase().chain(letters).collect())
}

/// Who computes in a program: sentences about one process without MPI do not speak of ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subject {
    /// Ranks of an MPI program.
    #[default]
    Ranks,
    /// One process without MPI, and its threads.
    Process,
}

impl Subject {
    /// The subject of a scale; `threads` are those of each rank, where they are a part of the scale.
    pub fn new(ranks: u32, threads: Option<u32>, uses_mpi: bool) -> Self {
        if ranks == 1 && threads.is_some() && !uses_mpi {
            Self::Process
        } else {
            Self::Ranks
        }
    }

    /// Whether it is one process without MPI.
    pub fn is_process(self) -> bool {
        self == Self::Process
    }

    /// What has a core of its own where there are enough of them, and what is added from scale to scale: `rank`.
    pub fn one(self) -> &'static str {
        match self {
            Self::Ranks => "rank",
            Self::Process => "thread",
        }
    }

    /// `the usual rank`, `the program`.
    pub fn usual(self) -> &'static str {
        match self {
            Self::Ranks => "the usual rank",
            Self::Process => "the program",
        }
    }

    /// `ranks 0,4,8` as [`ranks`] writes them, or `the program`.
    pub fn who(self, set: &RankSet, of: u32, width: usize) -> String {
        match self {
            Self::Ranks => ranks(set, of, width),
            Self::Process => "the program".to_string(),
        }
    }

    /// `on rank 3 ` before the rest of a sentence, or nothing.
    pub fn on(self, rank: u32) -> String {
        match self {
            Self::Ranks => format!("on rank {rank} "),
            Self::Process => String::new(),
        }
    }

    /// `2.00 s on rank 3, 5.00 s on all ranks together`, or `2.00 s`.
    pub fn together(self, rank: u32, of_rank: f64, all: f64) -> String {
        match self {
            Self::Ranks => format!(
                "{} on rank {rank}, {} on all ranks together",
                seconds(of_rank),
                seconds(all)
            ),
            Self::Process => seconds(all),
        }
    }
}

/// What a scale is, in words: `4 ranks`, `8 threads`, `2 ranks of 4 threads`. `threads` are those of each rank, where
/// they are a part of the scale.
pub fn scale(ranks: u32, threads: Option<u32>) -> String {
    let of_threads = |n: u32| format!("{n} thread{}", if n == 1 { "" } else { "s" });
    match threads {
        None => count(ranks as usize),
        Some(threads) if ranks == 1 => of_threads(threads),
        Some(threads) => format!("{} of {}", count(ranks as usize), of_threads(threads)),
    }
}

/// By how much a scale is larger than that of one thread: ranks times threads.
pub fn scale_size(ranks: u32, threads: Option<u32>) -> u32 {
    ranks.saturating_mul(threads.unwrap_or(1)).max(1)
}

/// What the figures of scales that are shown together count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScaleUnit {
    /// Ranks.
    #[default]
    Ranks,
    /// Threads of one rank.
    Threads,
    /// Ranks, and threads of each.
    Both,
}

impl ScaleUnit {
    /// What tells some scales apart. Each is its ranks and the threads of each, where they are a part of the scale.
    pub fn of(scales: impl IntoIterator<Item = (u32, Option<u32>)>) -> Self {
        let (mut ranks, mut threads) = (false, false);
        for (of_scale, each) in scales {
            ranks |= of_scale > 1;
            threads |= each.is_some();
        }
        match (ranks, threads) {
            (_, false) => Self::Ranks,
            (false, true) => Self::Threads,
            (true, true) => Self::Both,
        }
    }

    /// A scale as a figure: `4`, `8`, `2×4`.
    pub fn figure(self, ranks: u32, threads: Option<u32>) -> String {
        match (self, threads) {
            (Self::Ranks, _) | (_, None) => ranks.to_string(),
            (Self::Threads, Some(threads)) => threads.to_string(),
            (Self::Both, Some(threads)) => format!("{ranks}×{threads}"),
        }
    }

    /// What a figure counts.
    pub fn words(self) -> &'static str {
        match self {
            Self::Ranks => "ranks",
            Self::Threads => "threads",
            Self::Both => "ranks × threads",
        }
    }
}

/// Seconds with three digits and the unit that fits.
pub fn seconds(value: f64) -> String {
    let (value, unit) = match value {
        v if !v.is_finite() => return UNKNOWN.to_string(),
        v if v <= 0.0 => return "0 s".to_string(),
        v if v >= 1.0 => (v, "s"),
        v if v >= 1e-3 => (v * 1e3, "ms"),
        v if v >= 1e-6 => (v * 1e6, "µs"),
        _ => return "< 1 µs".to_string(),
    };
    match value {
        v if v >= 100.0 => format!("{v:.0} {unit}"),
        v if v >= 10.0 => format!("{v:.1} {unit}"),
        v => format!("{v:.2} {unit}"),
    }
}

/// A share in per cent with its range, if one is known and visible: `36 %`, `36 % (31–40 %)`.
pub fn share(share: f64, range: Option<(f64, f64)>) -> String {
    if !share.is_finite() {
        return UNKNOWN.to_string();
    }
    let percent = |share: f64| format!("{:.0}", share * 100.0);
    let range = range.map(|(least, most)| (percent(least), percent(most)));
    match range.filter(|(least, most)| least != most) {
        Some((least, most)) => format!("{} % ({least}–{most} %)", percent(share)),
        None => format!("{} %", percent(share)),
    }
}

/// `file.c:10-20`, or `module+0x1234` if there are no lines, or the name of a place that is in no file.
pub fn location(place: &Place) -> String {
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_string();
    match &place.file {
        Some(file) if place.first_line > 0 && place.last_line > place.first_line => {
            format!("{}:{}-{}", base(file), place.first_line, place.last_line)
        }
        Some(file) if place.first_line > 0 => format!("{}:{}", base(file), place.first_line),
        // The program as a whole, its start-up and its end are not places in a file.
        _ if place.module.is_empty() => place.name.clone(),
        _ => format!("{}+{:#x}", base(&place.module), place.address),
    }
}

/// `1 rank`, `3 ranks`.
pub fn count(ranks: usize) -> String {
    format!("{ranks} rank{}", if ranks == 1 { "" } else { "s" })
}

/// `1 of 4 ranks takes 2.00 s`, `3 of 4 ranks take 170 ms`.
pub fn takers(ranks: usize, of: u32, each: f64) -> String {
    doers(ranks, of, ["takes", "take"], each)
}

/// `1 of 4 ranks sleeps 2.00 s`, `3 of 4 ranks sleep 170 ms`.
pub fn sleepers(ranks: usize, of: u32, each: f64) -> String {
    doers(ranks, of, ["sleeps", "sleep"], each)
}

fn doers(ranks: usize, of: u32, [one, several]: [&str; 2], each: f64) -> String {
    let does = if ranks == 1 { one } else { several };
    format!("{ranks} of {of} ranks {does} {}", seconds(each))
}

/// `rank 3`, `ranks 0,4,8`, `both ranks`, `all 16 ranks`; a set longer than `width` characters is shown by its size
/// and, if that fits, its first ranks.
pub fn ranks(set: &RankSet, of: u32, width: usize) -> String {
    let text = set.to_string();
    match set.len() as u32 {
        1 => format!("rank {text}"),
        2 if of == 2 => "both ranks".to_string(),
        n if n == of => format!("all {of} ranks"),
        n if text.len() > width => {
            let first: Vec<String> = set.as_slice().iter().take(4).map(u32::to_string).collect();
            let size = format!("{n} of {of} ranks");
            let begin = format!("{size} ({} …)", first.join(", "));
            if begin.chars().count() <= width {
                begin
            } else {
                size
            }
        }
        _ => format!("ranks {text}"),
    }
}

/// A frame of a call path.
pub fn frame(p: &Place) -> String {
    if p.kind.is_loop() {
        format!("the loop in {} at {}", p.function, location(p))
    } else {
        p.name.clone()
    }
}

/// As [`frame`], with the location also of a function that was found in a module.
pub fn frame_at(p: &Place) -> String {
    if p.kind.is_loop() || p.module.is_empty() {
        frame(p)
    } else {
        format!("{} at {}", p.name, location(p))
    }
}

/// The sentence about the steps of the program that hold a good part of many small losses; empty if there are none.
pub fn steps(steps: &[SmallStep]) -> String {
    let said = steps.iter().enumerate().map(|(n, step)| {
        let are = if n == 0 { " are" } else { "" };
        let without = match step.without.as_slice() {
            [] => String::new(),
            names => format!(", without those in {}", names.join(" and ")),
        };
        let place = frame_at(&step.place);
        format!(
            "{}{are} in {place} and its callees{without}",
            share(step.share, None)
        )
    });
    let said: Vec<String> = said.collect();
    match said.is_empty() {
        true => String::new(),
        false => format!("Of these small losses together, {}.", said.join("; ")),
    }
}

/// Says that the disk was full and which ranks lost records, as the rest of a sentence.
pub fn disk_full(set: &RankSet, of: u32, width: usize) -> String {
    format!(
        "the disk was full: records of {} were lost",
        ranks(set, of, width)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_says_what_is_counted_in_others() {
        let step = |name: &str, share, without: &[&str]| SmallStep {
            place: Place {
                name: name.into(),
                ..Place::unknown(crate::psg::VertexKind::Function)
            },
            share,
            without: without.iter().map(|name| name.to_string()).collect(),
        };
        let said = steps(&[step("clock", 0.25, &[]), step("transform", 0.3, &["clock"])]);
        assert_eq!(
            said,
            "Of these small losses together, 25 % are in clock and its callees; 30 % in transform and its callees, \
             without those in clock."
        );
        assert_eq!(steps(&[]), "");
    }

    #[test]
    fn times_have_a_unit_that_fits() {
        let said = [2.3456, 0.1702, 33.8e-6, 1e-9, 0.0, f64::NAN].map(seconds);
        assert_eq!(said, ["2.35 s", "170 ms", "33.8 µs", "< 1 µs", "0 s", "–"]);
    }

    #[test]
    fn scales_of_a_grid_are_all_written_as_pairs() {
        let figures = |scales: &[(u32, Option<u32>)]| -> Vec<String> {
            let unit = ScaleUnit::of(scales.iter().copied());
            let figures = scales.iter().map(|s| unit.figure(s.0, s.1));
            figures.chain([unit.words().to_string()]).collect()
        };
        assert_eq!(figures(&[(1, None), (4, None)]), ["1", "4", "ranks"]);
        assert_eq!(
            figures(&[(1, Some(1)), (1, Some(8))]),
            ["1", "8", "threads"]
        );
        let grid = [(1, Some(2)), (2, Some(1)), (2, Some(2))];
        assert_eq!(figures(&grid), ["1×2", "2×1", "2×2", "ranks × threads"]);
    }

    #[test]
    fn a_share_shows_its_range_where_that_says_more() {
        let said = [
            share(0.36, Some((0.31, 0.4))),
            share(0.36, Some((0.359, 0.361))),
            share(0.05, None),
            share(f64::NAN, None),
        ];
        assert_eq!(said, ["36 % (31–40 %)", "36 %", "5 %", "–"]);
    }

    #[test]
    fn ranks_are_written_as_short_as_they_can_be() {
        let one: RankSet = [3].into_iter().collect();
        let fourth: RankSet = (0..1024).step_by(4).collect();
        let said = [
            ranks(&one, 8, 40),
            ranks(&RankSet::all(2), 2, 40),
            ranks(&RankSet::all(8), 8, 40),
            ranks(&RankSet::all(3), 8, 40),
            ranks(&fourth, 1024, 40),
            ranks(&fourth, 1024, 24),
        ];
        let expected = [
            "rank 3",
            "both ranks",
            "all 8 ranks",
            "ranks 0-2",
            "256 of 1024 ranks (0, 4, 8, 12 …)",
            "256 of 1024 ranks",
        ];
        assert_eq!(said, expected);
        assert_eq!([count(1), count(2)], ["1 rank", "2 ranks"]);
        assert_eq!(takers(1, 4, 2.0), "1 of 4 ranks takes 2.00 s");
        assert_eq!(takers(3, 4, 0.17), "3 of 4 ranks take 170 ms");
    }
}
