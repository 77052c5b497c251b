//! Replays a trace: an example of the library, smaller than the whole command.

use headwater_replay::{Compute, Options, prepare};
use headwater_trace::trace::Trace;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("the file of a trace");
    let compute = match arguments.next().as_deref() {
        Some("none") => Compute::None,
        Some("sleep") => Compute::Sleep,
        _ => Compute::Spin,
    };
    let bytes = std::fs::read(path).expect("a file");
    let trace = Trace::from_bytes(&bytes).expect("a trace");
    let options = Options {
        compute,
        ..Options::default()
    };
    let ready = prepare(&trace, true, options).expect("can be replayed");
    let rank = ready.rank;
    let played = ready.run(&|why| eprintln!("rank {rank}: {why}"));
    if rank == 0 {
        println!("{played:?}");
    }
}
