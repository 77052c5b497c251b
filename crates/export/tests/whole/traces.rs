//! Traces of small programs, written down call by call.

use headwater_mpi_abi::constants::ABSENT;
use headwater_mpi_abi::{Kind as Meaning, fields, id_of};
use headwater_trace::likeness::Slack;
use headwater_trace::recorder::Recorder;
use headwater_trace::times::Delta;
use headwater_trace::trace::{Frame, Kind, Trace};

/// The number of `MPI_BYTE` in traces.
pub const BYTE: i64 = 0x247;

/// Ranks of the programs.
pub const RANKS: u32 = 5;

/// A call: function, values by field name, and microseconds of computation before it.
pub struct Call(pub &'static str, pub Vec<(&'static str, i64)>, pub u64);

/// A call.
pub fn call(function: &'static str, values: &[(&'static str, i64)], before: u64) -> Call {
    Call(function, values.to_vec(), before)
}

/// The trace of a program whose ranks are member (number, own rank, size) of further communicators and make calls.
/// A list is given as the number of one of `lists`.
pub fn program(
    size: u32,
    comms: impl Fn(u32) -> Vec<(i64, u32, u32)>,
    lists: &[&[i64]],
    calls: impl Fn(u32) -> Vec<Call>,
) -> Trace {
    let of = |rank| of_rank(rank, size, &comms(rank), &calls(rank), lists);
    let all = (0..size).map(of).reduce(|mut a, b| {
        a.merge(b);
        a
    });
    all.expect("a rank")
}

fn of_rank(
    rank: u32,
    size: u32,
    comms: &[(i64, u32, u32)],
    calls: &[Call],
    lists: &[&[i64]],
) -> Trace {
    let mut recorder = Recorder::new(usize::MAX, Slack::default());
    for Call(function, named, before) in calls {
        let id = id_of(function).expect("a function of MPI").0;
        let all = fields(id);
        let kind = |k: Meaning| match k {
            Meaning::Peer | Meaning::Root | Meaning::StatusSource => Kind::Peer,
            Meaning::Comm => Kind::Comm,
            k if k.is_list() => Kind::List,
            _ => Kind::Plain,
        };
        let kinds: Vec<Kind> = all.iter().map(|f| kind(f.kind)).collect();
        let mut value = |name: &str, is_list: bool| {
            let value = named.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
            match (value, is_list) {
                (Some(at), true) => recorder.list(lists[at as usize]),
                (value, _) => value.unwrap_or(ABSENT),
            }
        };
        let values: Vec<i64> = all
            .iter()
            .map(|f| value(f.name, f.kind.is_list()))
            .collect();
        let frame = Frame {
            module: 1,
            offset: u64::from(id),
        };
        let signature = recorder.signature(function, &kinds, &[frame]);
        let wall = before * 1000;
        let delta = Delta {
            wall,
            cpu: wall,
            call: 1000,
        };
        recorder.event(signature, &values, delta);
    }
    let mut trace = Trace::of_rank(rank, size);
    trace.add_communicator(0, rank, rank, size);
    for (number, me, size) in comms {
        trace.add_communicator(*number, rank, *me, *size);
    }
    recorder.finish(&mut trace, rank, 0);
    trace
}

/// Waves through the ranks, and an exchange with both neighbours on a ring, or with one so that no rank has two messages
/// under way. Messages are eager or not.
pub fn messages(neighbours: usize) -> Trace {
    let calls = |rank: u32| {
        let me = i64::from(rank);
        let n = i64::from(RANKS);
        let message = |bytes: i64, tag| {
            vec![
                ("datatype", BYTE),
                ("count", bytes),
                ("tag", tag),
                ("comm", 0),
            ]
        };
        let with = |mut values: Vec<_>, more: &[(&'static str, i64)]| {
            values.extend_from_slice(more);
            values
        };
        let (left, right) = ((me + n - 1) % n, (me + 1) % n);
        let mut all = vec![call("MPI_Init", &[], 0)];
        for step in 0..20 {
            let bytes = if step % 2 == 0 { 6000 } else { 60_000 };
            if me > 0 {
                let from = with(message(bytes, 1), &[("source", me - 1)]);
                all.push(Call("MPI_Recv", from, 5));
            }
            let work = 100 + 37 * ((u64::from(rank) + step) % 3);
            if me + 1 < n {
                let to = with(message(bytes, 1), &[("dest", me + 1)]);
                all.push(Call("MPI_Send", to, work));
            }
            for (i, (other, tag)) in [(left, 2), (right, 3)]
                .into_iter()
                .enumerate()
                .take(neighbours)
            {
                let from = with(
                    message(bytes, tag),
                    &[("source", other), ("request", i as i64)],
                );
                all.push(Call("MPI_Irecv", from, work));
            }
            for (i, (other, tag)) in [(right, 2), (left, 3)]
                .into_iter()
                .enumerate()
                .take(neighbours)
            {
                let to = with(
                    message(bytes, tag),
                    &[("dest", other), ("request", i as i64 + 2)],
                );
                all.push(Call("MPI_Isend", to, 0));
            }
            let wait = [("count", 2 * neighbours as i64), ("array_of_requests", 0)];
            all.push(call("MPI_Waitall", &wait, work));
        }
        all.push(call("MPI_Finalize", &[], 50));
        all
    };
    let requests: &[i64] = if neighbours == 1 {
        &[0, 2]
    } else {
        &[0, 1, 2, 3]
    };
    program(RANKS, |_| Vec::new(), &[requests], calls)
}

/// Every kind of collective, of all ranks, of even or odd ones, and nonblocking.
pub fn collectives() -> Trace {
    let calls = |rank: u32| {
        let mut all = vec![call("MPI_Init", &[], 0)];
        let color = [
            ("comm", 0),
            ("color", i64::from(rank % 2)),
            ("key", 0),
            ("newcomm", 2),
        ];
        all.push(call("MPI_Comm_split", &color, 0));
        for step in 0..6 {
            let work = |i: u64| 150 + 41 * ((u64::from(rank) * 3 + step + i) % 5);
            let one = [("count", 2000), ("datatype", BYTE)];
            let two = [
                ("sendcount", 2000),
                ("sendtype", BYTE),
                ("recvcount", 2000),
                ("recvtype", BYTE),
            ];
            for comm in [0, 2] {
                let of = |values: &[(&'static str, i64)]| {
                    [values, &[("comm", comm), ("root", 0)]].concat()
                };
                all.push(Call("MPI_Barrier", of(&[]), work(0)));
                all.push(Call("MPI_Bcast", of(&one), work(1)));
                all.push(Call("MPI_Reduce", of(&one), work(2)));
                all.push(Call("MPI_Allreduce", of(&one), work(3)));
                all.push(Call("MPI_Gather", of(&two), work(4)));
                all.push(Call("MPI_Scatter", of(&two), work(5)));
                all.push(Call("MPI_Allgather", of(&two), work(6)));
                all.push(Call("MPI_Alltoall", of(&two), work(7)));
            }
            let begin = [&one[..], &[("comm", 0), ("request", 0)]].concat();
            all.push(Call("MPI_Iallreduce", begin, work(8)));
            all.push(call("MPI_Wait", &[("request", 0)], work(9)));
        }
        all.push(call("MPI_Finalize", &[], 50));
        all
    };
    let part = |rank: u32| vec![(2, rank / 2, 3 - rank % 2)];
    program(RANKS, part, &[], calls)
}
