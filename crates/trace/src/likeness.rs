//! Which call paths count as one (ScalaTrace II, section 3.3).

use crate::trace::Frame;
use std::fmt;
use std::str::FromStr;

/// How alike call paths must be to be one signature.
#[derive(Clone, Debug, Default)]
pub struct Slack {
    /// Call paths that differ in fewer frames are one; 0 and 1 mean equal paths only.
    pub frames: usize,
    /// All frames in one of these ranges are the same.
    pub ranges: Vec<Range>,
}

/// Addresses in a module's file. As text: `app:0x1200-0x1400`, or `libx.so` for all of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The name of the module's file, without directories.
    pub module: String,
    /// The first address, as a disassembler of the file shows it.
    pub from: u64,
    /// One past the last address.
    pub to: u64,
}

/// More ranges than this are refused: each new call path is compared with all of them.
pub const MOST_RANGES: usize = 64;

/// Between ranges in one text.
const SEPARATOR: char = ',';

impl Slack {
    /// Whether two call paths are one signature.
    pub(crate) fn allows(&self, a: &[Frame], b: &[Frame]) -> bool {
        a.len() == b.len() && a.iter().zip(b).filter(|(a, b)| a != b).count() < self.frames
    }

    /// The frame itself, or that of the first address of the range that its call is in. `path` is that of its module.
    pub fn in_range(&self, frame: Frame, path: &str) -> Frame {
        let name = path.rsplit('/').next().unwrap_or(path);
        // A frame is where the call returns to: the call is before it.
        let call = frame.offset.wrapping_sub(1);
        let range = self
            .ranges
            .iter()
            .find(|range| range.module == name && (range.from..range.to).contains(&call));
        range.map_or(frame, |range| Frame {
            offset: range.from.saturating_add(1),
            ..frame
        })
    }

    /// Ranges that were written by [`Slack::write_ranges`]; those that cannot be read are left out.
    pub fn read_ranges(text: &str) -> Vec<Range> {
        let ranges = text.split(SEPARATOR).take(MOST_RANGES);
        ranges.filter_map(|range| range.parse().ok()).collect()
    }

    /// Ranges as one text.
    pub fn write_ranges(ranges: &[Range]) -> String {
        let ranges: Vec<String> = ranges.iter().map(Range::to_string).collect();
        ranges.join(&SEPARATOR.to_string())
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.from, self.to) {
            (0, u64::MAX) => f.write_str(&self.module),
            (from, to) => write!(f, "{}:{from:#x}-{to:#x}", self.module),
        }
    }
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (module, addresses) = match text.rsplit_once(':') {
            Some((module, addresses)) => (module, Some(addresses)),
            None => (text, None),
        };
        if module.is_empty() || module.contains(['/', SEPARATOR]) {
            return Err(format!(
                "`{module}` is not the name of a file without directories and commas"
            ));
        }
        let (from, to) = match addresses {
            None => (0, u64::MAX),
            Some(addresses) => addresses
                .split_once('-')
                .and_then(|(from, to)| Some((address(from)?, address(to)?)))
                .ok_or("a range of addresses looks like 0x1200-0x1400")?,
        };
        if from >= to {
            return Err(format!("no address is in {from:#x}-{to:#x}"));
        }
        Ok(Self {
            module: module.to_owned(),
            from,
            to,
        })
    }
}

/// Call paths of a recursive function are the same at every depth: frames that come again at once are left out.
pub fn without_recursion(frames: &[Frame]) -> Vec<Frame> {
    let mut folded: Vec<Frame> = Vec::with_capacity(frames.len());
    for frame in frames {
        folded.push(*frame);
        while let Some(m) = (1..=folded.len() / 2).find(|m| {
            let (before, last) = folded.split_at(folded.len() - m);
            before.ends_with(last)
        }) {
            folded.truncate(folded.len() - m);
        }
    }
    folded.shrink_to_fit();
    folded
}

/// An address as disassemblers write it: hexadecimal, with `0x` or without.
fn address(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_they_are_written() {
        let ranges: Vec<Range> = ["app:0x1200-0x1400", "libx.so.1", "a:b:10-ff"]
            .map(|text| text.parse().expect(text))
            .to_vec();
        assert_eq!(ranges[0].to, 0x1400);
        assert_eq!(ranges[2].module, "a:b");
        assert_eq!(Slack::read_ranges(&Slack::write_ranges(&ranges)), ranges);
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in [
            "",
            ":1-2",
            "/usr/lib/x.so",
            "a,b",
            "app:",
            "app:12",
            "app:2-1",
            "app:5-5",
            "app:+1-2",
            "app:0x-0x1",
            "app:1-10000000000000000",
        ] {
            assert!(text.parse::<Range>().is_err(), "{text}");
        }
        assert_eq!(Slack::read_ranges("x,/y,z:1-2").len(), 2);
    }

    #[test]
    fn frames_in_a_range_are_the_same() {
        let slack = Slack {
            frames: 0,
            ranges: Slack::read_ranges("app:0x10-0x20,libx.so"),
        };
        let frame = |offset| Frame { module: 7, offset };
        let placed = |offset, path| slack.in_range(frame(offset), path).offset;
        // What a call before the range returns to.
        assert_eq!(placed(0x10, "/bin/app"), 0x10);
        assert_eq!(placed(0x15, "/bin/app"), 0x11);
        // What the last call in the range returns to.
        assert_eq!(placed(0x20, "/bin/app"), 0x11);
        assert_eq!(placed(0x21, "/bin/app"), 0x21);
        assert_eq!(placed(0x1f, "/bin/other"), 0x1f);
        assert_eq!(placed(0x99, "libx.so"), 1);
    }
}
