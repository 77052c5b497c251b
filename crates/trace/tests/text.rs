//! The text of a small trace.
use headwater_trace::identity::text_identity;
use headwater_trace::likeness::Slack;
use headwater_trace::recorder::Recorder;
use headwater_trace::text::{self, Names, Numbers};
use headwater_trace::times::Delta;
use headwater_trace::trace::{Frame, Kind, Loss, Trace};

const ISEND: [Kind; 4] = [Kind::Plain, Kind::Peer, Kind::Plain, Kind::Comm];

/// A ring of four ranks with a corrector on even ones; rank 3 runs out of memory.
fn trace() -> Trace {
    let module = text_identity(b"/home/user/solver") as u64;
    let mut all: Option<Trace> = None;
    for rank in 0..4_u32 {
        let mut recorder = Recorder::new(usize::MAX, Slack::default());
        let call =
            |recorder: &mut Recorder, function: &str, offset, kinds: &[Kind], values: &[i64]| {
                let frames = [
                    Frame {
                        module,
                        offset: 0x1000,
                    },
                    Frame { module, offset },
                ];
                let signature = recorder.signature(function, kinds, &frames);
                let wall = 1000 * u64::from(rank + 1) + offset;
                recorder.event(
                    signature,
                    values,
                    Delta {
                        wall,
                        cpu: wall,
                        call: 700,
                    },
                );
            };
        call(&mut recorder, "MPI_Init", 0x10, &[], &[]);
        let counts: Vec<i64> = (0..4).map(|i| 100 + i).collect();
        let (list, name) = (recorder.list(&counts), recorder.text(b"out.dat"));
        for step in 0..10 {
            let me = i64::from(rank);
            call(
                &mut recorder,
                "MPI_Isend",
                0x20,
                &ISEND,
                &[1024, (me + 1) % 4, 0, 0],
            );
            call(
                &mut recorder,
                "MPI_Irecv",
                0x30,
                &ISEND,
                &[1024, -4, step % 2, 0],
            );
            call(
                &mut recorder,
                "MPI_Irecv",
                0x38,
                &ISEND,
                &[me * me, if rank == 0 { -3 } else { me ^ 1 }, 5, 0],
            );
            if rank % 2 == 0 && step % 5 == 0 {
                call(
                    &mut recorder,
                    "MPI_Alltoallv",
                    0x40,
                    &[Kind::List, Kind::Comm],
                    &[list, 0],
                );
            }
            for _ in 0..2 + rank / 2 {
                call(&mut recorder, "MPI_Waitall", 0x50, &[Kind::Plain], &[2]);
                call(
                    &mut recorder,
                    "MPI_Allreduce",
                    0x60,
                    &[Kind::Plain, Kind::Comm],
                    &[step, 0],
                );
            }
        }
        call(
            &mut recorder,
            "MPI_File_open",
            0x70,
            &[Kind::Comm, Kind::Text],
            &[0, name],
        );
        let mut one = Trace::of_rank(rank, 4);
        one.add_communicator(0, rank, rank, 4);
        // Halves, as a split makes them, and the same once more.
        for number in [2, 3] {
            one.add_communicator(number, rank, rank % 2, 2);
        }
        one.modules.insert(module, "/home/user/solver".to_owned());
        recorder.finish(&mut one, rank, 0);
        if rank == 3 {
            one.losses.push(Loss {
                rank,
                thread: 0,
                kept: 93,
                lost: 7,
            });
        }
        match &mut all {
            Some(all) => all.merge(one),
            None => all = Some(one),
        }
    }
    all.unwrap()
}

struct Mpi;

impl Names for Mpi {
    fn field(&self, function: &str, position: usize) -> Option<String> {
        let names: &[&str] = match function {
            "MPI_Isend" | "MPI_Irecv" => &["count", "peer", "tag", "comm"],
            _ => return None,
        };
        names.get(position).map(|name| (*name).to_owned())
    }

    fn value(&self, function: &str, position: usize, value: i64) -> Option<String> {
        (function == "MPI_Isend" && position == 3 && value == 0).then(|| "world".to_owned())
    }

    fn place(&self, _: &str, frame: Frame) -> Option<String> {
        (frame.offset == 0x20).then(|| "solver.c:120 exchange".to_owned())
    }
}

#[test]
fn a_trace_is_shown_with_loops_ranks_and_times() {
    insta::assert_snapshot!(text::show(&trace(), &Mpi, None));
}

#[test]
fn a_rank_is_shown_with_its_own_values() {
    insta::assert_snapshot!(text::show(&trace(), &Mpi, Some(2)));
}

#[test]
fn events_are_listed_in_order() {
    let trace = trace();
    let lines: Vec<String> = text::events(&trace, &Numbers, 2, 0).take(16).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn ranks_and_durations_are_short() {
    use headwater_trace::ranks::Ranks;
    let of = |ranks: &[u32]| {
        let mut all = Ranks::default();
        ranks.iter().for_each(|rank| all.unite(&Ranks::one(*rank)));
        text::ranks(&all)
    };
    assert_eq!(of(&[0, 1, 2, 3]), "0-3");
    assert_eq!(of(&[0, 4, 8, 12]), "0-12:4");
    assert_eq!(of(&[1, 5]), "1,5");
    assert_eq!(of(&[0, 1, 2, 8, 9, 10, 16, 17, 18]), "0-2(+8×3)");
    let durations =
        [0.0, 999.4, 999.6, 1250.0, 12_345.0, 999_600.0, 1.5e9, 1e11].map(text::duration);
    assert_eq!(
        durations,
        [
            "0 ns", "999 ns", "1 µs", "1.25 µs", "12.3 µs", "1 ms", "1.5 s", "100 s"
        ]
    );
}
