//! How long threads that compute and then take a lock need if each has a core: a replay of one stretch of their team.
//!
//! The order within a stretch matters. Threads that take a lock now and then while they compute get out of each other's
//! way after the first time, so that they wait only where the lock is held longer than one of them computes. Threads
//! that compute first and then all want the lock wait for one another each time. So the replay divides the time in
//! which each thread computes and holds the lock into as many rounds as it takes the lock, and passes the lock to the
//! thread that came first.

/// What one thread does in a stretch, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Works {
    /// Without the lock.
    pub compute: f64,
    /// With it.
    pub hold: f64,
}

/// At most this many rounds are replayed: more of them make no difference.
pub const MOST_ROUNDS: usize = 64;

/// Seconds until the last thread has finished, if each takes the lock `rounds` times. Of threads that come at the same
/// time, the first one in the slice gets it.
pub fn longest(threads: &[Works], rounds: usize) -> f64 {
    let rounds = rounds.clamp(1, MOST_ROUNDS);
    let part = 1.0 / rounds as f64;
    let mut next: Vec<(f64, usize)> = threads.iter().map(|t| (t.compute * part, 0)).collect();
    let (mut free, mut last) = (0.0f64, 0.0f64);
    for _ in 0..rounds * threads.len() {
        let waiting = (0..).zip(&next).filter(|(_, n)| n.1 < rounds);
        let first = waiting.reduce(|a, b| if b.1.0 < a.1.0 { b } else { a });
        let Some((at, (arrives, done))) = first.map(|(at, n)| (at as usize, *n)) else {
            break;
        };
        let (Some(works), Some(slot)) = (threads.get(at), next.get_mut(at)) else {
            break;
        };
        // A thread that does not want the lock does not wait.
        let end = if works.hold > 0.0 {
            free = arrives.max(free) + works.hold * part;
            free
        } else {
            arrives
        };
        last = last.max(end);
        *slot = (end + works.compute * part, done + 1);
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(threads: usize, compute: f64, hold: f64) -> Vec<Works> {
        vec![Works { compute, hold }; threads]
    }

    #[test]
    fn threads_that_compute_and_then_queue_wait_for_one_another() {
        let all = longest(&alike(4, 0.8, 0.2), 1);
        assert!((all - 1.6).abs() < 1e-9, "{all}");
        // In many rounds they get out of each other's way.
        let all = longest(&alike(4, 0.8, 0.2), 64);
        assert!(all < 1.02, "{all}");
        // A thread that comes later finds the lock free.
        let [a, b] = [(0.5, 0.1), (0.7, 0.2)].map(|(compute, hold)| Works { compute, hold });
        assert!((longest(&[a, b], 1) - 0.9).abs() < 1e-9);
        assert_eq!(longest(&[], 1), 0.0);
    }

    #[test]
    fn no_stretch_is_shorter_than_its_longest_thread_or_than_all_hold_the_lock() {
        let mut random = 7u64;
        let mut next = || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 40) as f64 / (1u64 << 24) as f64
        };
        for case in 0..300 {
            let works = |compute, hold| Works { compute, hold };
            let threads: Vec<Works> = (0..1 + case % 7).map(|_| works(next(), next())).collect();
            let own = |t: &Works| t.compute + t.hold;
            let slowest = threads.iter().map(own).fold(0.0, f64::max);
            let held: f64 = threads.iter().map(|t| t.hold).sum();
            for rounds in [1, 2, 9, 64] {
                let all = longest(&threads, rounds);
                assert!(all >= slowest - 1e-9 && all >= held - 1e-9);
                assert!(all <= slowest + held + 1e-9);
            }
        }
    }
}
