//! What one thread does alone, between the regions of its team and beside teams that it made.

use super::hybrid::{CALLS, Hybrid, run};
use super::{diagnosis, of_run, reported};
use headwater_model::diagnosis::CauseClass::{SerialRegion, UnevenWork};

#[test]
fn what_one_thread_does_alone_is_a_serial_region() {
    let d = diagnosis(
        4,
        Hybrid {
            serial: |_| 1.0,
            threads: 4,
            ..Default::default()
        },
    );
    assert_eq!(reported(&d), [(SerialRegion, "0-3".into(), 20, 0.75)]);
    let times = d.causes[0].by_thread.as_ref().expect("threads");
    assert_eq!(
        (&times.concerned[..], &times.seconds[..]),
        (&[0][..], &[1.0, 0.0, 0.0, 0.0][..])
    );
    // A small part of the computation as well.
    let d = diagnosis(
        4,
        Hybrid {
            serial: |_| 0.08,
            threads: 4,
            ..Default::default()
        },
    );
    assert_eq!(reported(&d), [(SerialRegion, "0-3".into(), 20, 0.06)]);
    // What one rank does alone is uneven work between ranks.
    let d = diagnosis(
        4,
        Hybrid {
            serial: |r| if r == 1 { 1.0 } else { 0.0 },
            ..Default::default()
        },
    );
    assert_eq!(reported(&d), [(UnevenWork, "1".into(), 20, 1.0)]);
}

#[test]
fn a_serial_part_shows_beside_teams_that_ran_at_the_same_time() {
    let reported_if = |first_begins_at: u64, second_begins_at: u64, runq: fn(u32, u16) -> f64| {
        let mut made = run(
            1,
            &Hybrid {
                joined: true,
                threads: 4,
                serial: |_| 1.0,
                cores: 2,
                runq,
                ..Default::default()
            },
        );
        for t in made.teams.iter_mut() {
            t.count = 1;
            if t.thread > 2 {
                (t.team, t.from, t.to) = (CALLS[0], CALLS[0], CALLS[0]);
            }
        }
        for t in made.threads.iter_mut().filter(|t| t.thread > 0) {
            t.begin_ns = first_begins_at;
        }
        for t in made.threads.iter_mut().filter(|t| t.thread > 2) {
            (t.made_by, t.begin_ns) = (CALLS[0], second_begins_at);
        }
        let all = reported(&of_run(made)).into_iter();
        let serial = all.filter(|c| c.0 == SerialRegion);
        serial.map(|c| (c.2, c.3)).collect::<Vec<_>>()
    };
    let never = |_: u32, _: u16| 0.0;
    // Two teams of two threads, a second each: with the serial part, two seconds.
    assert_eq!(reported_if(1000, 1000, never), [(20, 0.5)]);
    // On two cores, they wait for cores as long as they compute.
    assert_eq!(reported_if(1000, 1000, |_, _| 1.0), [(20, 0.5)]);
    // If one follows the other, all of the first thread's time is beside them.
    assert_eq!(reported_if(1000, 1_000_001_000, never), []);
    // One that is older than the recording may have been over when the other began.
    assert_eq!(reported_if(0, 1000, never), []);
}
