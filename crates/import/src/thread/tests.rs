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
    let mut shared = crate::rank::shared(&regions, &sampling, false, 64);
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

#[test]
fn moments_that_go_backward_are_damage_but_a_few_may_come_late() {
    let (regions, sampling) = (RefCell::new(Regions::new("app")), RefCell::default());
    let mut shared = crate::rank::shared(&regions, &sampling, false, 64);
    let mut damage = |moments: &[u64]| {
        let mut thread = Thread::new(true);
        for ns in moments {
            thread.advance(&mut shared, *ns);
        }
        thread.damage()
    };
    assert_eq!(damage(&[10, 20, 30, 25, 28, 31]), None);
    assert!(damage(&[40, 30, 30, 20, 10]).is_some_and(|d| d.contains("backward")));
}
