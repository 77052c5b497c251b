//! How many calls of a trace are simulated in a second: an exchange on a ring.

use headwater_mpi_abi::constants::ABSENT;
use headwater_mpi_abi::{Kind as Meaning, fields, id_of};
use headwater_simulate::{Network, Options, simulate};
use headwater_trace::likeness::Slack;
use headwater_trace::recorder::Recorder;
use headwater_trace::times::Delta;
use headwater_trace::trace::{Frame, Kind, Trace};
use headwater_virtual_run::Recorded;
use std::time::Instant;

const RANKS: u32 = 16;
const STEPS: u32 = 20_000;

fn signature(recorder: &mut Recorder, function: &str) -> (u32, usize) {
    let id = id_of(function).map_or(0, |id| id.0);
    let kind = |k: Meaning| match k {
        Meaning::Peer => Kind::Peer,
        Meaning::Comm => Kind::Comm,
        k if k.is_list() => Kind::List,
        _ => Kind::Plain,
    };
    let kinds: Vec<Kind> = fields(id).iter().map(|f| kind(f.kind)).collect();
    let frame = Frame {
        module: 1,
        offset: u64::from(id),
    };
    (recorder.signature(function, &kinds, &[frame]), kinds.len())
}

fn trace(rank: u32) -> Trace {
    let mut recorder = Recorder::new(usize::MAX, Slack::default());
    let (receive, _) = signature(&mut recorder, "MPI_Irecv");
    let (send, _) = signature(&mut recorder, "MPI_Isend");
    let (wait, fields) = signature(&mut recorder, "MPI_Waitall");
    let requests = recorder.list(&[0, 1]);
    let delta = Delta {
        wall: 1000,
        cpu: 1000,
        call: 500,
    };
    let (left, right) = ((rank + RANKS - 1) % RANKS, (rank + 1) % RANKS);
    let mut waits = vec![2, requests];
    waits.resize(fields, ABSENT);
    for _ in 0..STEPS {
        recorder.event(receive, &[0, 10, 0x209, i64::from(left), 1, 0, 0], delta);
        recorder.event(send, &[0, 10, 0x209, i64::from(right), 1, 0, 1], delta);
        recorder.event(wait, &waits, delta);
    }
    let mut trace = Trace::of_rank(rank, RANKS);
    trace.add_communicator(0, rank, rank, RANKS);
    recorder.finish(&mut trace, rank, 0);
    trace
}

fn main() {
    let traces = (0..RANKS).map(trace);
    let Some(trace) = traces.reduce(|mut all, one| {
        all.merge(one);
        all
    }) else {
        return;
    };
    let begin = Instant::now();
    let Ok(recorded) = Recorded::of(&trace) else {
        return;
    };
    println!("survey: {:?}", begin.elapsed());
    for critical_path in [true, false] {
        let begin = Instant::now();
        let options = Options { critical_path };
        let outcome = simulate(recorded.program(), &Network::Ideal, options, ());
        let calls: u64 = outcome.map_or(0, |o| o.streams.iter().map(|s| s.calls).sum());
        let million = calls as f64 / begin.elapsed().as_secs_f64() / 1e6;
        println!("critical path {critical_path}: {calls} calls, {million:.2} million a second");
    }
}
