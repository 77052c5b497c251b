//! Runs whose tables contradict each other: an answer or an error, never a panic.

mod support;

use headwater_dataflow::flow::{Cache, Runner};
use headwater_dataflow::{Recorded, RunError};
use headwater_diagnosis::paradigm::{self, Takes};
use headwater_diagnosis::{DiagnoseError, Options};
use headwater_model::run::*;
use support::{diagnose, piece, run, structure};

/// Numbers that look drawn; the same ones each time.
struct Draw(u64);

impl Draw {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 33) as usize % below.max(1)
    }

    /// A number as files hold them when they are wrong: near the right ones, or anything.
    fn number(&mut self, which: usize) -> u32 {
        let any = self.next(usize::MAX >> 32) as u32;
        [0, 1, 7, 8, 9, 40, u32::MAX, any][which % NUMBERS]
    }
}

/// How many kinds of wrong numbers there are, and of things that can be wrong.
const NUMBERS: usize = 8;
const THINGS: usize = 36;

fn whole(ranks: u32) -> Run {
    let pieces = [
        piece("MPI_Irecv", |_, _| 0.0),
        piece("MPI_Send", |r, p| f64::from(1 + r % 2) * 2.0 / f64::from(p)),
        piece("MPI_Waitall", |_, _| 0.0),
        piece("MPI_Allreduce", |_, p| 1.0 / f64::from(p)),
        piece("MPI_Finalize", |_, _| 0.0),
    ];
    let mut run = run(ranks, &pieces);
    run.header.counters = vec!["instructions".into(), "page_faults".into()];
    run.header.cores = vec![2];
    run.samples.iter_mut().for_each(|s| s.counters = vec![5, 6]);
    for rank in 0..ranks {
        let edge = MessageEdge {
            src: rank,
            dst: (rank + 1) % ranks,
            send_ctx: CtxId(3),
            post_ctx: CtxId(1),
            recv_ctx: CtxId(5),
            sampled: 3,
            late_sender_ns: 1_000_000_000,
            ..Default::default()
        };
        run.messages.push(edge);
        run.collectives.push(CollectiveWait {
            rank,
            ctx: CtxId(7),
            func: 3,
            wait_ns: 1_000_000_000,
            last: u64::from(rank),
            ..Default::default()
        });
        for thread in 0..3 {
            run.threads.push(ThreadInfo {
                rank,
                thread,
                begin_ns: 5,
                wall_ns: 2_000_000_000,
                cpu_ns: 1_000_000_000,
                runq_ns: 100_000_000,
                ..Default::default()
            });
            run.teams.push(TeamWork {
                rank,
                thread,
                team: CtxId(2),
                from: CtxId(2),
                to: CtxId(2),
                count: 1,
                wall_ns: 2_000_000_000,
                cpu_ns: 500_000_000 * (1 + u64::from(thread)),
                blocked_ns: 600_000_000,
                locked_ns: 300_000_000,
                wait_ns: 100_000_000,
                ..Default::default()
            });
            run.waits.push(ThreadWait {
                rank,
                thread,
                ctx: CtxId(4),
                kind: [WaitKind::Mutex, WaitKind::Join][usize::from(thread) % 2],
                holder: 2 - thread,
                holder_ctx: CtxId(6),
                count: 10,
                wait_ns: 300_000_000,
                brief_ns: 10_000_000,
                ..Default::default()
            });
            run.samples.push(Sample {
                rank,
                thread,
                after: CtxId::NONE,
                ctx: CtxId(2),
                count: 100,
                cpu_ns: 500_000_000,
                blocked_ns: 300_000_000,
                counters: vec![5, 6],
            });
        }
        for epoch in 0..3 {
            let event = |ctx, func, kind, link| Event {
                window: epoch / 2,
                rank,
                ctx: CtxId(ctx),
                func,
                kind,
                first_of_call: true,
                link: 1 + epoch * 100 + link,
                busy_ns: 10_000_000,
                ..Default::default()
            };
            run.events.extend([
                event(3, 1, EventKind::Send, rank),
                event(5, 2, EventKind::Recv, (rank + ranks - 1) % ranks),
                event(7, 3, EventKind::Collective, ranks),
            ]);
        }
    }
    run.events.sort_by_key(|e| e.window);
    run
}

/// Makes one thing wrong, by one kind of number.
fn damage(run: &mut Run, thing: usize, number: usize, draw: &mut Draw) {
    macro_rules! row {
        ($table:ident) => {{
            let at = draw.next(run.$table.len());
            match run.$table.get_mut(at) {
                Some(row) => row,
                None => return,
            }
        }};
    }
    let n = draw.number(number);
    match thing % THINGS {
        0 => row!(samples).rank = n,
        1 => row!(samples).ctx = CtxId(n),
        2 => row!(samples).after = CtxId(n),
        3 => row!(samples).counters = vec![u64::MAX; draw.next(4)],
        4 => row!(segments).rank = n,
        5 => row!(segments).from = CtxId(n),
        6 => row!(segments).to = CtxId(n),
        7 => row!(segments).cpu_ns = u64::from(n) << 20,
        8 => row!(calls).rank = n,
        9 => row!(calls).ctx = CtxId(n),
        10 => row!(calls).func = n as u16,
        11 => row!(calls).comm = n as u16,
        12 => row!(messages).src = n,
        13 => row!(messages).recv_ctx = CtxId(n),
        14 => row!(collectives).rank = n,
        15 => row!(events).rank = n,
        16 => row!(events).link = n,
        17 => row!(events).kind = EventKind::from_code(n as u8 % 6).unwrap_or_default(),
        18 => row!(events).window = n,
        19 => row!(contexts).parent = CtxId(n),
        20 => row!(contexts).module = n,
        21 => row!(ranks).rank = n,
        22 => run.ranks.truncate(draw.next(4)),
        23 => row!(samples).thread = n as u16,
        24 => row!(segments).thread = n as u16,
        25 => row!(teams).rank = n,
        26 => row!(teams).thread = n as u16,
        27 => row!(teams).team = CtxId(n),
        28 => row!(teams).to = CtxId(n),
        29 => row!(teams).cpu_ns = u64::MAX - u64::from(n),
        30 => row!(waits).rank = n,
        31 => row!(waits).ctx = CtxId(n),
        32 => row!(waits).holder_ctx = CtxId(n),
        33 => row!(threads).rank = n,
        34 => row!(threads).wall_ns = u64::MAX - u64::from(n),
        _ => {
            let tables = [run.samples.len(), run.segments.len(), run.events.len()];
            let cut = tables.map(|len| draw.next(len + 1));
            match draw.next(5) {
                0 => run.samples.truncate(cut[0]),
                1 => run.segments.truncate(cut[1]),
                2 => run.events.truncate(cut[2]),
                3 => run.header.sampling_hz = f64::NAN,
                _ => run.header.cores = vec![n],
            }
        }
    }
}

#[test]
fn tables_that_contradict_each_other_are_no_panic() {
    // Each thing once with each number, several to a pair of runs: what is refused for one hides no other for long.
    let mut draw = Draw(1);
    let all: Vec<usize> = (0..THINGS * NUMBERS).collect();
    for few in all.chunks(4) {
        let mut runs = [2, 8].map(whole);
        for i in few {
            let which = draw.next(2);
            // Neighbours are of different tables.
            damage(&mut runs[which], i * 7, i / THINGS, &mut draw);
        }
        // Whether there is an answer does not matter here.
        if let Ok(recorded) = Recorded::join(runs.to_vec(), structure(5)) {
            let cache = Cache::default();
            // A diagnosis runs the flow of scalability.
            for paradigm in paradigm::ALL.iter().filter(|p| p.name != "scalability") {
                let n = if paradigm.takes == Takes::One { 1 } else { 2 };
                let _ = paradigm.run(&recorded[..n], &Options::default(), &Runner::quiet(&cache));
            }
        }
        let _ = diagnose(runs.into(), structure(5), &Options::default());
    }
}

#[test]
fn a_number_of_ranks_that_no_machine_has_is_refused() {
    for ranks in [0, u32::MAX] {
        let mut odd = whole(2);
        odd.header.ranks = ranks;
        let refused = diagnose(vec![odd], structure(5), &Options::default());
        let ours = |e: &DiagnoseError| matches!(e, DiagnoseError::Run(RunError::Ranks(_, n)) if *n == ranks);
        assert!(refused.as_ref().is_err_and(ours));
    }
}
