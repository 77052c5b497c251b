//! What one location says of itself: how its numbers become those of the whole archive, and how its clock differs.

use super::bytes::Bytes;
use super::chunks::Chunks;
use crate::ImportError;
use rustc_hash::FxHashMap;
use std::path::Path;

const MAPPING_TABLE: u8 = 5;
const CLOCK_OFFSET: u8 = 6;
const DENSE: u8 = 0;

/// Kinds of numbers that are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Mapped {
    /// Text.
    Text = 0,
    /// Regions.
    Region = 3,
    /// Metrics.
    Metric = 5,
    /// Communicators.
    Comm = 6,
    /// Windows.
    Window = 8,
    /// Call paths.
    Context = 10,
}

/// Kinds there are.
const KINDS: usize = 16;

/// A location's own definitions.
#[derive(Debug, Default)]
pub struct Local {
    maps: [Option<FxHashMap<u64, u64>>; KINDS],
    /// Ticks, what to add there, and how far that may be out, in ticks; by time.
    offsets: Vec<(u64, i64, f64)>,
}

impl Local {
    /// Reads a location's definitions; an archive without mapping tables need not have any.
    ///
    /// # Errors
    /// A damaged file.
    pub fn read(path: &Path, chunk: usize) -> Result<Self, ImportError> {
        let mut this = Self::default();
        if !path.exists() {
            return Ok(this);
        }
        let mut chunks = Chunks::open(path, chunk, "what a location's definitions are")?;
        chunks.each(|kind, bytes| {
            let mut record = bytes.record()?;
            match kind {
                MAPPING_TABLE => this.map(&mut record),
                CLOCK_OFFSET => {
                    let offset = (record.whole_u64()?, record.i64()?, record.f64()?);
                    this.offsets.push(offset);
                    Some(())
                }
                _ => Some(()),
            }
        })?;
        this.offsets.sort_by_key(|o| o.0);
        Ok(this)
    }

    fn map(&mut self, r: &mut Bytes<'_>) -> Option<()> {
        let (kind, n, mode) = (r.u8()?, r.u64()?, r.u8()?);
        let mut map = FxHashMap::default();
        for i in 0..n {
            let from = if mode == DENSE { i } else { r.u64()? };
            map.insert(from, r.u64()?);
        }
        if let Some(slot) = self.maps.get_mut(usize::from(kind)) {
            *slot = Some(map);
        }
        Some(())
    }

    /// The archive's number of what this location calls `id`.
    pub fn global(&self, kind: Mapped, id: u32) -> u32 {
        let map = self.maps.get(kind as usize).and_then(Option::as_ref);
        let found = map.and_then(|m| m.get(&u64::from(id)).copied());
        found.map_or(id, |g| u32::try_from(g).unwrap_or(u32::MAX))
    }

    /// A reading of this location's clock on the archive's, in ticks: between two comparisons a straight line, which
    /// goes on before the first and behind the last.
    pub fn corrected(&self, ticks: u64) -> u64 {
        let after = self.offsets.partition_point(|o| o.0 <= ticks);
        let last = after.clamp(1, self.offsets.len().saturating_sub(1).max(1));
        let (Some(a), b) = (self.offsets.get(last - 1), self.offsets.get(last)) else {
            return ticks;
        };
        let mut offset = i128::from(a.1);
        if let Some(b) = b.filter(|b| b.0 > a.0) {
            let passed = i128::from(ticks) - i128::from(a.0);
            let drift = (i128::from(b.1) - offset).saturating_mul(passed);
            offset = offset.saturating_add(drift / i128::from(b.0 - a.0));
        }
        let corrected = i128::from(ticks).saturating_add(offset).max(0);
        u64::try_from(corrected).unwrap_or(u64::MAX)
    }

    /// How far the clock may be out at the most, ticks.
    pub fn uncertain(&self) -> f64 {
        self.offsets.iter().map(|o| o.2).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_drift_evenly_and_numbers_that_are_not_mapped_stay() {
        let mut local = Local::default();
        assert_eq!(local.corrected(7), 7);
        local.offsets = vec![(1000, -500, 0.5)];
        assert_eq!(local.corrected(2000), 1500);
        local.offsets.push((3000, -300, 2.0));
        assert_eq!(local.corrected(2000), 1600);
        assert_eq!(local.corrected(4000), 3800);
        assert_eq!(local.corrected(0), 0, "before the trace there is nothing");
        assert_eq!(local.uncertain(), 2.0);
        local.offsets = vec![(0, i64::MIN, 0.0), (1, i64::MAX, 0.0)];
        assert_eq!(
            (local.corrected(u64::MAX), local.corrected(0)),
            (u64::MAX, 0)
        );
        local.maps[3] = Some([(0, 7)].into_iter().collect());
        assert_eq!(local.global(Mapped::Region, 0), 7);
        assert_eq!(local.global(Mapped::Region, 1), 1);
        assert_eq!(local.global(Mapped::Comm, 0), 0);
    }
}
