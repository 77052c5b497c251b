//! What damaged traces say of a thread.

use super::*;

#[test]
fn no_sum_of_what_a_damaged_trace_says_is_a_panic() {
    let mut thread = Thread::new(true);
    for _ in 0..2 {
        let params = Params {
            bytes: u64::MAX,
            ..Default::default()
        };
        thread.count(0, 0, params, u64::MAX);
    }
    let rows = thread.end(0);
    assert_eq!((rows.calls[0].count, rows.calls[0].bytes), (2, u64::MAX));
    assert_eq!(rows.totals.cpu_ns, u64::MAX);
}

#[test]
fn a_clock_that_jumps_by_years_is_damage() {
    let (regions, sampling) = (RefCell::new(Regions::new("app")), RefCell::default());
    let mut shared = crate::rank::shared(&regions, &sampling, false);
    let mut thread = Thread::new(true);
    thread.advance(&mut shared, u64::MAX / 2);
    assert_eq!(thread.damage(), None, "wherever it begins");
    assert_eq!(
        thread.advance(&mut shared, u64::MAX / 2 + 7),
        u64::MAX / 2 + 7
    );
    thread.advance(&mut shared, u64::MAX);
    assert!(thread.damage().is_some());
}
