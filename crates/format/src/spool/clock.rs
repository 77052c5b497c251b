//! One clock for all ranks: what the ranks found of their clocks at the start and at the end, and
//! between the two a straight line.

use super::layout::Alignment;
use headwater_model::run::Header;
use rustc_hash::FxHashMap;

/// Wall clocks of nodes are taken to agree to this, seconds.
const WALL_CLOCK_ERROR: f64 = 0.01;

/// From the ranks' clocks to the common one.
pub(super) struct Clocks(FxHashMap<u32, [Alignment; 2]>);

impl Clocks {
    /// A reading of a rank's clock, nanoseconds, on the common clock.
    pub(super) fn common(&self, rank: u32, ns: u64) -> u64 {
        let Some([start, end]) = self.0.get(&rank) else {
            return ns;
        };
        let drift = end.offset_ns.wrapping_sub(start.offset_ns);
        let passed = ns.wrapping_sub(start.at_ns) as i64;
        let whole = end.at_ns.wrapping_sub(start.at_ns) as i64;
        let part = if whole > 0 {
            (i128::from(drift) * i128::from(passed) / i128::from(whole)) as i64
        } else {
            0
        };
        ns.wrapping_add_signed(start.offset_ns.wrapping_add(part))
    }
}

/// What a rank found of its clock.
pub(super) struct Compared {
    /// The rank.
    pub rank: u32,
    /// Its clock 0 in nanoseconds since 1970.
    pub unix_ns: u64,
    /// How it compares with rank 0's.
    pub found: [Alignment; 2],
}

/// The common clock of a run, and in `header` how good it is.
pub(super) fn common(header: &mut Header, ranks: &[Compared]) -> Clocks {
    if header.nodes.len() < 2 {
        return Clocks(FxHashMap::default());
    }
    let compared = ranks.iter().all(|p| p.found[0].at_ns != 0);
    let base = ranks.first().map_or(0, |p| p.unix_ns);
    let mut error = 0;
    let of = |p: &Compared| {
        let mut found = p.found;
        if !compared {
            found[0].offset_ns = p.unix_ns.wrapping_sub(base) as i64;
        }
        if !compared || found[1].at_ns == 0 {
            found[1] = found[0];
        }
        error = found.iter().map(|a| a.error_ns).fold(error, u64::max);
        (p.rank, found)
    };
    let clocks = Clocks(ranks.iter().map(of).collect());
    header.clock_error_seconds = error as f64 * 1e-9;
    if !compared {
        header.clock_error_seconds = WALL_CLOCK_ERROR;
        header.missing.push(format!(
            "Clocks of the {} nodes were compared by their wall clocks only: waits between nodes are uncertain by some {:.0} ms.",
            header.nodes.len(),
            WALL_CLOCK_ERROR * 1e3
        ));
    }
    clocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_start_and_end_the_clock_drifts_evenly() {
        let alignment = |at_ns, offset_ns| Alignment {
            at_ns,
            offset_ns,
            error_ns: 0,
        };
        let clocks = Clocks(
            [(3, [alignment(1000, -500), alignment(3000, -300)])]
                .into_iter()
                .collect(),
        );
        assert_eq!(clocks.common(3, 1000), 500);
        assert_eq!(clocks.common(3, 2000), 1600);
        assert_eq!(clocks.common(3, 3000), 2700);
        assert_eq!(clocks.common(0, 2000), 2000, "rank 0's is the common one");
    }
}
