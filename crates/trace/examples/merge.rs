//! What merging the traces of many ranks takes, each of a stencil in two dimensions with an allreduce: along the tree, as
//! its root sees it. In the second table each rank has counts of its own and one of 16 numbers of steps.
use headwater_trace::likeness::Slack;
use headwater_trace::recorder::Recorder;
use headwater_trace::times::Delta;
use headwater_trace::trace::{Frame, Kind, Trace};
use std::time::Instant;

const KINDS: [Kind; 3] = [Kind::Peer, Kind::Comm, Kind::Plain];

fn trace_of(rank: u32, side: i64, distinct: bool) -> Trace {
    let me = i64::from(rank);
    let mut recorder = Recorder::new(6 << 20, Slack::default());
    let (x, y) = (me % side, me / side);
    let neighbours = [
        (x > 0, me - 1),
        (x < side - 1, me + 1),
        (y > 0, me - side),
        (y < side - 1, me + side),
    ];
    // Numbers that follow no rule, so no two ranks have the same values.
    let own =
        |n: i64| ((me * 1000 + n).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 40) & 0xffff;
    let steps = if distinct {
        20 + own(0) as u64 % 16
    } else {
        20
    };
    let count = |n: i64| if distinct { own(n) } else { 1000 };
    for step in 0..steps {
        for (call, name) in ["MPI_Irecv", "MPI_Isend"].into_iter().enumerate() {
            for (i, (is_there, peer)) in (0..).zip(neighbours) {
                let frames = [Frame {
                    module: 1,
                    offset: call as u64 * 100 + i,
                }];
                let signature = recorder.signature(name, &KINDS, &frames);
                if is_there {
                    let delta = Delta {
                        wall: 500 + i,
                        cpu: 500 + i,
                        call: 300,
                    };
                    recorder.event(signature, &[peer, 0, count(1 + i as i64)], delta);
                }
            }
        }
        let signature = recorder.signature("MPI_Allreduce", &KINDS, &[]);
        let delta = Delta {
            wall: 90_000 + step,
            cpu: 90_000 + step,
            call: 9_000,
        };
        recorder.event(signature, &[-8, 0, 8], delta);
    }
    let mut trace = Trace::of_rank(rank, (side * side) as u32);
    trace.add_communicator(0, rank, rank, (side * side) as u32);
    recorder.finish(&mut trace, rank, 0);
    trace
}

/// The trace of the ranks below `rank` in the tree, seconds along its longest way, and the largest trace on the wire.
fn subtree(rank: u32, ranks: u32, side: i64, distinct: bool) -> (Trace, f64, usize) {
    if ranks == 1 {
        return (trace_of(rank, side, distinct), 0.0, 0);
    }
    let (mut mine, before, largest) = subtree(rank, ranks / 2, side, distinct);
    let (theirs, others, wire) = subtree(rank + ranks / 2, ranks / 2, side, distinct);
    let bytes = theirs.to_bytes();
    let began = Instant::now();
    // What is received from the wire does not fail here: it was just written.
    if let Ok(theirs) = Trace::from_bytes(&bytes) {
        mine.merge(theirs);
    }
    let seconds = before.max(others) + began.elapsed().as_secs_f64();
    (mine, seconds, largest.max(wire).max(bytes.len()))
}

fn main() {
    for distinct in [false, true] {
        println!("  ranks    seconds  largest on the wire  file, packed");
        for side in [8, 16, 32, 64, 128, 256] {
            let ranks = side * side;
            let (trace, seconds, largest) = subtree(0, ranks as u32, side, distinct);
            let packed = trace.to_packed_bytes().len();
            println!("{ranks:7} {seconds:10.4} {largest:14} bytes {packed:10} bytes");
        }
    }
}
