//! Work that differs between ranks, in random programs: no gain beyond the loss, whatever the numbers of the ranks are.

#[path = "support/parts.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod parts;
mod support;

use headwater_model::diagnosis::{CauseClass, Diagnosis};
use parts::*;
use proptest::prelude::*;

/// Parts of a random program: what each rank spends in the loop beside the calls and, by calls, in `solve`.
fn programs() -> impl Strategy<Value = Vec<Part>> {
    (2u32..24).prop_flat_map(|ranks| {
        let row = prop::collection::vec(
            prop_oneof![Just(0.0), 0.01..1.0f64, Just(0.5)],
            ranks as usize,
        );
        let place = prop_oneof![
            Just((None, STEP)),
            Just((None, BESIDE)),
            (0..MOST_SITES).prop_map(|i| (Some(i), SOLVE)),
        ];
        let part = (place, row).prop_map(|((via, at), seconds)| Part { via, at, seconds });
        prop::collection::vec(part, 1..7)
    })
}

/// What a run loses because its ranks differ: how much later the slowest rank is than what is usual.
fn loss(parts: &[Part]) -> (f64, Vec<f64>) {
    let ranks = parts.first().map_or(0, |p| p.seconds.len());
    let totals: Vec<f64> = (0..ranks)
        .map(|r| parts.iter().map(|p| p.seconds[r]).sum())
        .collect();
    let slowest = totals.iter().copied().fold(0.0, f64::max);
    let least = totals.iter().copied().fold(f64::INFINITY, f64::min);
    (slowest - least, totals)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn causes_gain_no_more_than_ranks_spent_or_than_is_lost(parts in programs()) {
        let d = of_parts(&parts);
        let (lost, totals) = loss(&parts);
        let uneven = d.causes.iter().filter(|c| c.class == CauseClass::UnevenWork);
        let gains: f64 = uneven.clone().map(|c| c.gain_seconds).sum();
        prop_assert!(gains <= lost + 1e-3, "{gains} of {lost}: {:?} {totals:?}", d.causes.iter().map(|c| (c.gain_seconds, c.ranks.to_string(), c.place.first_line, &c.evidence)).collect::<Vec<_>>());
        for c in uneven {
            let (least, most) = c.gain_range_seconds;
            prop_assert!(least <= c.gain_seconds && c.gain_seconds <= most);
            let spent = (0..).zip(&totals).filter(|(r, _)| c.ranks.contains(*r)).map(|t| *t.1).fold(0.0, f64::max);
            prop_assert!(c.cost_seconds <= spent + 1e-3, "{} of {spent}", c.cost_seconds);
            prop_assert!(c.ranks.len() < totals.len());
        }
    }

    #[test]
    fn other_numbers_of_the_ranks_give_the_same_causes(parts in programs(), turn in 1usize..23) {
        let turned: Vec<Part> = parts
            .iter()
            .map(|p| {
                let mut seconds = p.seconds.clone();
                let by = turn % seconds.len();
                seconds.rotate_right(by);
                Part { seconds, ..p.clone() }
            })
            .collect();
        let ranks = parts.first().map_or(0, |p| p.seconds.len());
        let causes = |d: &Diagnosis, by: usize| {
            let mut all: Vec<(u32, Vec<usize>, i64)> = d
                .causes
                .iter()
                .map(|c| {
                    let mut own: Vec<usize> =
                        (0..ranks).filter(|r| c.ranks.contains(*r as u32)).map(|r| (r + by) % ranks).collect();
                    own.sort_unstable();
                    (c.place.first_line, own, (1e3 * c.gain_seconds).round() as i64)
                })
                .collect();
            all.sort();
            all
        };
        let (a, b) = (causes(&of_parts(&parts), turn % ranks), causes(&of_parts(&turned), 0));
        prop_assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(&b) {
            prop_assert_eq!((a.0, &a.1), (b.0, &b.1));
            prop_assert!((a.2 - b.2).abs() <= 2, "{:?} {:?}", a, b);
        }
    }

    #[test]
    fn copies_of_a_place_gain_what_the_place_gains(
        late in prop::collection::vec(any::<bool>(), 4..20),
        more in 0.2..1.0f64,
        by in prop::collection::vec(0..MOST_SITES, 4..20),
        seed in 0u32..1000,
    ) {
        let ranks = late.len() as u32;
        let more = |r: u32| if late[r as usize] { more } else { 0.0 };
        let row: Vec<f64> = (0..ranks).map(|r| 0.5 + more(r) + 0.005 * drawn(r, seed)).collect();
        let whole = part(Some(0), SOLVE, ranks, |r| row[r as usize]);
        let beside = part(None, BESIDE, ranks, |_| 0.5);
        // Each rank has its way to the loop.
        let copies = (0..MOST_SITES).map(|site| part(Some(site), SOLVE, ranks, |r| {
            if by[r as usize % by.len()] == site { row[r as usize] } else { 0.0 }
        }));
        let mut divided: Vec<Part> = copies.collect();
        divided.push(beside.clone());
        let (a, b) = (of_parts(&[whole, beside]), of_parts(&divided));
        let gain = |d: &Diagnosis| d.causes.iter().map(|c| c.gain_seconds).sum::<f64>();
        prop_assert!((gain(&a) - gain(&b)).abs() < 0.02, "{:?} {:?}", found(&a), found(&b));
        let ranks = |d: &Diagnosis| d.causes.iter().map(|c| c.ranks.to_string()).collect::<Vec<_>>();
        prop_assert_eq!(ranks(&a), ranks(&b));
    }

    #[test]
    fn even_programs_have_no_causes(
        rows in prop::collection::vec(0.1..1.0f64, 1..6),
        sites in prop::collection::vec(0..MOST_SITES, 16..17),
        seed in 0u32..1000,
    ) {
        // Each rank reaches the loop by a call of its own, and all take as long but for half a per cent.
        let mut parts: Vec<Part> = (0..MOST_SITES)
            .map(|site| part(Some(site), SOLVE, 16, |r| {
                let own = sites[r as usize] == site;
                if own { rows[0] * (1.0 + 0.005 * drawn(r, seed)) } else { 0.0 }
            }))
            .collect();
        parts.push(part(None, BESIDE, 16, |r| rows[rows.len() - 1] * (1.0 + 0.005 * drawn(r, seed + 1))));
        let d = of_parts(&parts);
        prop_assert_eq!(found(&d), []);
    }
}
