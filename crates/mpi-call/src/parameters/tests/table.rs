//! Numbers of handles: smallest first, shared handles in order, bounded.

use crate::parameters::table::{Claim, MOST_OBJECTS, Table};
use headwater_mpi_abi::constants::{NULL, UNKNOWN};

#[test]
fn a_loop_that_makes_and_frees_uses_the_same_numbers() {
    let mut table = Table::<()>::new(1024);
    table.fix(0x500, 7);
    for round in 0..1000u64 {
        let handles = [round * 64 + 8, round * 64 + 16];
        assert_eq!(table.add(handles[0], 0, None, ()), 1024);
        assert_eq!(table.add(handles[1], 0, None, ()), 1025);
        assert_eq!(table.number(handles[1]), 1025);
        assert_eq!(table.free(handles[0]), 1024);
        assert_eq!(table.number(handles[0]), UNKNOWN);
        assert_eq!(table.free(handles[1]), 1025);
    }
    assert_eq!((table.number(0x500), table.number(0)), (7, NULL));
    assert_eq!(table.free(0x500), 7);
    assert_eq!(table.number(0x500), 7, "what MPI defines stays");
}

#[test]
fn objects_with_one_handle_are_claimed_one_after_the_other() {
    let mut table = Table::<u8>::new(0);
    for about in 0..5 {
        assert_eq!(table.add(0x99, 0, None, about), i64::from(about));
    }
    let claims: Vec<_> = (0..3).map(|_| table.claim(0x99, 0)).collect();
    assert_eq!(claims.iter().map(|c| c.0).collect::<Vec<_>>(), [0, 1, 2]);
    let claims: Vec<_> = claims.into_iter().filter_map(|c| c.1).collect();
    table.finish(&claims[1]);
    table.release(&claims[2]);
    table.release(&claims[0]);
    table.finish(&claims[1]);
    for expected in [0, 2, 3, 4, UNKNOWN] {
        assert_eq!(table.free(0x99), expected);
    }
    assert_eq!(table.add(0x99, 0, None, 0), 0);
}

/// One thread completes a request while another one already has its handle again.
#[test]
fn a_handle_that_comes_again_too_early_is_another_object() {
    let mut table = Table::<()>::new(0);
    assert_eq!(table.add(0x99, 0, None, ()), 0);
    let (number, old) = table.claim(0x99, 1);
    assert_eq!(number, 1 << 32);
    assert_eq!(table.add(0x99, 1, None, ()), 0);
    table.finish(&old.expect("an object"));
    assert_eq!(table.claim(0x99, 1).0, 0);
    assert_eq!(table.free(0x99), 2 << 32);
}

#[test]
fn memory_is_bounded() {
    let mut table = Table::<()>::new(0);
    for i in 0..MOST_OBJECTS as u64 {
        assert_eq!(table.add(8 * i + 8, 0, None, ()), i as i64);
    }
    assert!(!table.lost);
    assert_eq!(table.add(4, 0, None, ()), UNKNOWN);
    assert!(table.lost);
    assert_eq!(table.number(4), UNKNOWN);
    assert_eq!(table.free(8), 0);
    assert_eq!(table.add(4, 0, None, ()), 0);
}

/// Random numbers, the same each time.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Objects that come and go at random have the numbers that a plain list gives them.
#[test]
fn a_plain_list_gives_the_same_numbers() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for spread in [3, 40, 400] {
        let mut table = Table::<()>::new(0);
        table.fix(8, -5);
        // Handles and numbers, the oldest first.
        let mut list: Vec<(u64, i64)> = Vec::new();
        for _ in 0..2000 {
            let handle = 16 + 8 * (next(&mut state) % spread);
            if next(&mut state) & 1 == 0 {
                let free = (0..)
                    .find(|n| list.iter().all(|o| o.1 != *n))
                    .expect("a number");
                assert_eq!(table.add(handle, 0, None, ()), free);
                list.push((handle, free));
                continue;
            }
            let all: Vec<usize> = (0..list.len()).filter(|i| list[*i].0 == handle).collect();
            let claims: Vec<(i64, Option<Claim<()>>)> =
                all.iter().map(|_| table.claim(handle, 0)).collect();
            let numbers: Vec<i64> = all.iter().map(|i| list[*i].1).collect();
            assert_eq!(claims.iter().map(|c| c.0).collect::<Vec<_>>(), numbers);
            // One of them is done, the others are not.
            let done = next(&mut state) as usize % claims.len().max(1);
            for (i, claim) in claims.iter().enumerate().rev() {
                let claim = claim.1.expect("an object");
                match i == done {
                    true => table.finish(&claim),
                    false => table.release(&claim),
                }
            }
            if let Some(at) = all.get(done) {
                list.remove(*at);
            } else {
                assert_eq!(table.claim(handle, 0).0, UNKNOWN);
            }
            assert_eq!(table.number(8), -5);
        }
    }
}
