//! Requests of other kinds than single messages: partitioned ones, those that are started again, and those of files.

use crate::LATE_NS;
use crate::case::{alone, everywhere};
use crate::counts::{calls_of, joined};
use headwater_model::run::CtxId;

#[test]
fn a_partitioned_message_is_waited_for_until_its_last_part_is_ready() {
    let _alone = alone();
    for case in everywhere("partitioned.c", &[]) {
        let library = case.library;
        let out = case.unchanged("", &[]);
        if out.status.code() == Some(77) {
            eprintln!("{library} has no partitioned messages: not tested");
            continue;
        }
        assert!(out.status.success(), "{library}");
        let run = case.recorded();
        let name = |ctx: CtxId| {
            let call = run.calls.iter().find(|c| c.ctx == ctx);
            call.map_or("", |c| run.function(c.func))
        };
        // Three rounds over the channels, one message beside them, and five each way in place.
        let channels = if library == "Open MPI 5" { 1 } else { 2 };
        assert_eq!(
            joined(&run),
            3 * channels + 1 + 10,
            "{library}: {:?}",
            run.messages
        );
        let of = |from: &'static str, bytes| {
            let all = run
                .messages
                .iter()
                .filter(move |m| name(m.send_ctx) == from);
            let all = all.filter(move |m| (m.src, m.dst, m.bytes) == (0, 1, bytes * m.sampled));
            all.fold((0, 0), |(n, late), m| {
                (n + m.sampled, late + m.late_sender_ns)
            })
        };
        let (late, at_once) = (of("MPI_Pready", 16), of("MPI_Pready_range", 16));
        assert_eq!(
            (late.0, at_once.0),
            (3, 3 * (channels - 1)),
            "{library}: {:?}",
            run.messages
        );
        // In one of the rounds it was asked for before.
        assert!(late.1 > 2 * LATE_NS, "{library}: {:?}", run.messages);
        assert!(at_once.1 < LATE_NS, "{library}: {:?}", run.messages);
        assert_eq!(of("MPI_Send", 4).0, 1, "{library}: {:?}", run.messages);
        assert!(calls_of(&run, "MPI_Parrived") > 0, "{library}");
        for (function, count) in [
            ("MPI_Allreduce_init", 8),
            ("MPI_Neighbor_allgather_init", 4),
            ("MPI_Ineighbor_alltoall", 2),
        ] {
            let rows = run.collectives.iter();
            let of = rows.filter(|c| run.function(c.func) == function);
            let (n, wait) = of.fold((0, 0), |(n, w), c| (n + c.sampled, w + c.wait_ns));
            assert_eq!(n, count, "{library}: {function} {:?}", run.collectives);
            let is_late = function.contains("Allreduce");
            assert_eq!(wait > LATE_NS, is_late, "{library}: {function} {wait}");
        }
    }
}
