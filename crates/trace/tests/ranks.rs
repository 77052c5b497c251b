//! Sets of ranks against plain sets, and sets that are far larger than their blocks.

use headwater_trace::ranks::{Block, Ranks};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

fn block(start: u32, dims: &[(u32, u32)]) -> Block {
    Block {
        start,
        dims: dims.to_vec(),
    }
}

/// Blocks with nested dimensions.
fn some_block() -> impl Strategy<Value = Block> {
    let dims = prop::collection::vec((2..5_u32, 0..4_u32), 0..4);
    (0..60_u32, dims).prop_map(|(start, dims)| {
        let mut reach = 0;
        let nested = dims.into_iter().map(|(iters, gap)| {
            let stride = reach + 1 + gap;
            reach += (iters - 1) * stride;
            (iters, stride)
        });
        let dims = nested.collect();
        Block { start, dims }
    })
}

fn plain(block: &Block) -> BTreeSet<u32> {
    let one = Ranks::from_blocks(vec![block.clone()], 1 << 20).unwrap();
    one.to_vec().into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]
    #[test]
    fn blocks_are_compared_as_their_ranks_are(a in some_block(), b in some_block()) {
        let (x, y) = (plain(&a), plain(&b));
        let (one, other) = ([&a, &b]).map(|b| Ranks::from_blocks(vec![b.clone()], 1 << 20).unwrap()).into();
        prop_assert_eq!(one.overlaps(&other), !x.is_disjoint(&y));
        prop_assert_eq!(one.contains_all(&other), x.is_superset(&y));
        prop_assert_eq!(one == other, x == y);
        let mut both = vec![a, b];
        both.sort();
        let both = Ranks::from_blocks(both, 1 << 20);
        prop_assert_eq!(both.is_some(), x.is_disjoint(&y));
        if let Some(both) = both {
            prop_assert!(both.contains_all(&one) && both.contains_all(&other));
            prop_assert_eq!(&both, &both.canonical());
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn irregular_sets_are_compared_as_their_ranks_are(a in prop::collection::btree_set(0..4096_u32, 1..500), b in prop::collection::btree_set(0..4096_u32, 1..500)) {
        let set = |of: &BTreeSet<u32>| {
            let blocks = of.iter().map(|rank| block(*rank, &[])).collect();
            Ranks::from_blocks(blocks, 4096).unwrap()
        };
        prop_assert_eq!(set(&a).overlaps(&set(&b)), !a.is_disjoint(&b));
        prop_assert!(!set(&a).contains_all(&set(&b)) || a.is_superset(&b));
        prop_assert_eq!(&set(&a).canonical(), &set(&a));
        let both: BTreeSet<u32> = a.union(&b).copied().collect();
        prop_assert!(set(&both).contains_all(&set(&a)));
    }
}

#[test]
fn large_sets_are_compared_at_once() {
    let began = Instant::now();
    const SIZE: u32 = headwater_trace::ranks::MOST_RANKS;
    let set = |blocks: &[Block]| Ranks::from_blocks(blocks.to_vec(), SIZE).unwrap();
    let all = set(&[block(0, &[(SIZE, 1)])]);
    let grid = set(&[block(0, &[(1 << 12, 1), (1 << 12, 1 << 12)])]);
    let [even, odd] = [0, 1].map(|first| set(&[block(first, &[(SIZE / 2, 2)])]));
    let halves = set(&[block(0, &[(SIZE / 2, 2)]), block(1, &[(SIZE / 2, 2)])]);
    assert!(all == grid && all == halves && grid == halves);
    assert!(even != odd && !even.overlaps(&odd) && all.contains_all(&odd));
    assert!(!even.contains_all(&all));
    assert!(Ranks::from_blocks(vec![block(0, &[(1 << 31, 1)])], u32::MAX).is_none());
    assert!(Ranks::from_blocks(vec![block(0, &[(SIZE, 1)]), block(7, &[])], SIZE).is_none());
    assert!(began.elapsed() < Duration::from_secs(1));
}
