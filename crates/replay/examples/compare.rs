//! Prints the first difference between two traces.

use headwater_trace::trace::Trace;

fn main() {
    let read = |path: String| {
        let bytes = std::fs::read(path).expect("a file");
        Trace::from_bytes(&bytes).expect("a trace")
    };
    let traces: Vec<Trace> = std::env::args().skip(1).map(read).collect();
    let difference = headwater_replay::compare::difference(&traces[0], &traces[1]);
    println!("{}", difference.unwrap_or_else(|| "the same".to_owned()));
}
