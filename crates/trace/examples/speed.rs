//! How long an event takes to compress: a halo exchange, and one with an allreduce in every tenth step.
use headwater_trace::likeness::Slack;
use headwater_trace::recorder::Recorder;
use headwater_trace::times::Delta;
use headwater_trace::trace::{Frame, Kind};
use std::time::Instant;

fn main() {
    for every in [0, 10] {
        let mut recorder = Recorder::new(6 << 20, Slack::default());
        let frames: Vec<Frame> = (0..6)
            .map(|i| Frame {
                module: 1,
                offset: i,
            })
            .collect();
        let kinds = [
            Kind::Plain,
            Kind::Plain,
            Kind::Plain,
            Kind::Peer,
            Kind::Plain,
            Kind::Comm,
            Kind::Plain,
        ];
        let calls = [
            "MPI_Irecv",
            "MPI_Irecv2",
            "MPI_Isend",
            "MPI_Isend2",
            "MPI_Waitall",
            "MPI_Allreduce",
        ];
        let calls = calls.map(|name| recorder.signature(name, &kinds, &frames));
        let (steps, began) = (400_000, Instant::now());
        let mut events = 0_u64;
        for step in 0..steps {
            for (i, call) in calls.iter().enumerate() {
                if i == 5 && (every == 0 || step % every != 0) {
                    continue;
                }
                let delta = Delta {
                    wall: 100 + step % 50,
                    cpu: 100 + step % 50,
                    call: 300 + step % 7,
                };
                recorder.event(*call, &[0, 700, 532, 1, 5, 0, 0], delta);
                events += 1;
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "{every}: {:.0} ns an event, {} bytes",
            1e9 * seconds / events as f64,
            recorder.memory()
        );
    }
}
