//! Runs of a made-up program whose ranks have threads: a time loop with a parallel region (or threads made
//! and joined), a serial loop and a reduction; tests state what each thread does.

use headwater_graph::Structures;
use headwater_model::psg::{Function, LineRow, ModuleStructure, Vertex, VertexKind};
use headwater_model::run::*;

/// Seconds of a thread of a rank.
pub type Of = fn(u32, u16) -> f64;

/// What ranks and threads do, in all repetitions together.
#[derive(Clone, Copy)]
pub struct Hybrid {
    /// Threads of a team.
    pub threads: u16,
    /// Computation of each thread.
    pub busy: Of,
    /// Waiting for the lock.
    pub locked: Of,
    /// Sleep that no call explains, while the thread allocates.
    pub allocates: Of,
    /// Computation of a rank outside the team.
    pub serial: fn(u32) -> f64,
    /// Whether threads are made and joined instead, so that the rank's own thread only waits for them.
    pub joined: bool,
    /// Cores of the node.
    pub cores: u32,
    /// Time without a core of each thread.
    pub runq: Of,
}

impl Default for Hybrid {
    fn default() -> Self {
        Self {
            threads: 2,
            busy: |_, _| 1.0,
            locked: |_, _| 0.0,
            allocates: |_, _| 0.0,
            serial: |_| 0.0,
            joined: false,
            cores: 64,
            runq: |_, _| 0.0,
        }
    }
}

/// Contexts of the program.
const CALL: CtxId = CtxId(0);
/// The call that begins the region, and its kernel.
pub const REGION: CtxId = CtxId(1);
pub const WORK: CtxId = CtxId(2);
pub const LOCK: CtxId = CtxId(3);
pub const SERIAL: CtxId = CtxId(4);
/// The call that makes threads.
pub const CREATE: CtxId = CtxId(5);
const JOIN: CtxId = CtxId(6);
const OWN_WORK: CtxId = CtxId(7);
const IN_MALLOC: CtxId = CtxId(9);

/// A sample where the lock is held.
pub const HELD: CtxId = CtxId(10);

/// Another place where a lock is taken, and where it is held then.
pub const OTHER_LOCK: CtxId = CtxId(11);
pub const OTHER_HELD: CtxId = CtxId(12);

/// Two calls of `step`, and the region in it.
pub const CALLS: [CtxId; 2] = [CtxId(13), CtxId(14)];
pub const STEP: CtxId = CtxId(15);

/// A sample where the lock is held in a branch behind the first call that gives it back.
pub const HELD_IN_BRANCH: CtxId = CtxId(16);

/// A sample in a function that the kernel's loop calls.
pub const CELL: CtxId = CtxId(18);

/// (parent, module, offset, exact)
const CONTEXTS: [(CtxId, u32, u64, bool); 19] = [
    (CtxId::NONE, 0, 0x301, false),
    (CtxId::NONE, 0, 0x101, false),
    (REGION, 0, 0x1110, true),
    (REGION, 0, 0x1281, false),
    (CtxId::NONE, 0, 0x210, true),
    (CtxId::NONE, 0, 0x401, false),
    (CtxId::NONE, 0, 0x501, false),
    (CREATE, 0, 0x1110, true),
    (REGION, 0, 0x1391, false),
    (CtxId(8), 1, 0x10, true),
    (REGION, 0, 0x1298, true),
    (REGION, 0, 0x1401, false),
    (REGION, 0, 0x1418, true),
    (CtxId::NONE, 0, 0x601, false),
    (CtxId::NONE, 0, 0x611, false),
    (CtxId::NONE, 0, 0x2101, false),
    (REGION, 0, 0x12d4, true),
    (REGION, 0, 0x1151, false),
    (CtxId(17), 0, 0x3110, true),
];

/// The structure: `main` (1-99) with a time loop around the calls of the team and the serial loop (20-25), and `work`
/// (100-150) with its kernel (110-115), a loop that locks (120-125, held in 123), one that allocates (130-135) and
/// another lock (140, held in 141) and a barrier (145). The kernel calls `cell` (300-310), which has a loop (302-305).
pub fn structure() -> Structures {
    named("pthread_mutex_lock", module())
}

/// The same of another module, with another name of what takes the lock.
pub fn named(lock: &str, module: Module) -> Structures {
    Structures::new([(module, structure_of(lock))])
}

/// The structure in which a loop that begins where the lock is held has a call that stands before the one that takes
/// it: the compiler put the end of the loop first. The loop may also release the lock.
pub fn loop_begins_under_lock(releases: bool) -> Structures {
    let (begins, release, call) = (6, 7, 13);
    let mut structure = structure_of("pthread_mutex_lock");
    let vertices = &mut structure.functions[1].vertices;
    vertices[call].parent = Some(begins);
    if releases {
        vertices[release].parent = Some(begins);
    }
    Structures::new([(module(), structure)])
}

fn structure_of(lock: &str) -> ModuleStructure {
    let vertex = |kind, parent, name: Option<u32>, first, last, address| Vertex {
        kind,
        parent,
        name,
        file: Some(1),
        first_line: first,
        last_line: last,
        address,
    };
    use VertexKind::{ExternalCall, LockCall, Loop, MpiCall, ThreadCall};
    let main = Function {
        name: 0,
        symbol: Some(0),
        ranges: vec![(0, 0x1000)],
        vertices: vec![
            vertex(VertexKind::Function, None, None, 1, 99, 0),
            vertex(Loop, Some(0), None, 2, 98, 0),
            vertex(ThreadCall, Some(1), Some(3), 10, 10, 0x100),
            vertex(Loop, Some(1), None, 20, 25, 0x200),
            vertex(MpiCall, Some(1), None, 30, 30, 0x300),
            vertex(ThreadCall, Some(1), Some(4), 40, 40, 0x400),
            vertex(ThreadCall, Some(1), Some(5), 42, 42, 0x500),
            vertex(ExternalCall, Some(1), Some(9), 50, 50, 0x600),
            vertex(ExternalCall, Some(1), Some(9), 51, 51, 0x610),
        ],
        owners: vec![
            (0x100, 0x110, 2),
            (0x200, 0x280, 3),
            (0x300, 0x310, 4),
            (0x400, 0x410, 5),
            (0x500, 0x510, 6),
            (0x600, 0x610, 7),
            (0x610, 0x620, 8),
        ],
    };
    let work = Function {
        name: 2,
        symbol: Some(2),
        ranges: vec![(0x1000, 0x2000)],
        vertices: vec![
            vertex(VertexKind::Function, None, None, 100, 150, 0x1000),
            vertex(Loop, Some(0), None, 110, 115, 0x1100),
            vertex(Loop, Some(0), None, 120, 125, 0x1200),
            vertex(LockCall, Some(2), Some(6), 122, 122, 0x1280),
            vertex(Loop, Some(0), None, 130, 135, 0x1300),
            vertex(ExternalCall, Some(4), Some(7), 132, 132, 0x1390),
            vertex(Loop, Some(2), None, 123, 123, 0x1290),
            vertex(LockCall, Some(2), Some(8), 124, 124, 0x12c0),
            vertex(LockCall, Some(0), Some(6), 140, 140, 0x1400),
            vertex(Loop, Some(0), None, 141, 141, 0x1410),
            vertex(LockCall, Some(0), Some(8), 142, 142, 0x1420),
            vertex(Loop, Some(2), None, 123, 123, 0x12d0),
            vertex(LockCall, Some(2), Some(8), 124, 124, 0x12e0),
            vertex(VertexKind::Call, Some(1), Some(10), 112, 112, 0x1150),
            vertex(ExternalCall, Some(0), Some(11), 145, 145, 0x1500),
        ],
        owners: vec![
            (0x1100, 0x1150, 1),
            (0x1150, 0x1160, 13),
            (0x1160, 0x1200, 1),
            (0x1200, 0x1280, 2),
            (0x1280, 0x1290, 3),
            (0x1290, 0x12c0, 6),
            (0x12c0, 0x12d0, 7),
            (0x12d0, 0x12e0, 11),
            (0x12e0, 0x12f0, 12),
            (0x1300, 0x1390, 4),
            (0x1390, 0x13a0, 5),
            (0x1400, 0x1410, 8),
            (0x1410, 0x1420, 9),
            (0x1420, 0x1430, 10),
            (0x1500, 0x1510, 14),
        ],
    };
    let step = Function {
        name: 9,
        symbol: Some(9),
        ranges: vec![(0x2000, 0x3000)],
        vertices: vec![
            vertex(VertexKind::Function, None, None, 200, 250, 0x2000),
            vertex(ThreadCall, Some(0), Some(3), 210, 210, 0x2100),
        ],
        owners: vec![(0x2100, 0x2110, 1)],
    };
    let cell = Function {
        name: 10,
        symbol: Some(10),
        ranges: vec![(0x3000, 0x4000)],
        vertices: vec![
            vertex(VertexKind::Function, None, None, 300, 310, 0x3000),
            vertex(Loop, Some(0), None, 302, 305, 0x3100),
        ],
        owners: vec![(0x3100, 0x3200, 1)],
    };
    let strings = [
        "main",
        "app.c",
        "work",
        "GOMP_parallel",
        "pthread_create",
        "pthread_join",
        lock,
        "malloc",
        "pthread_mutex_unlock",
        "step",
        "cell",
        "pthread_barrier_wait",
    ];
    ModuleStructure {
        path: "/home/u/app".into(),
        build_id: "ab".into(),
        functions: vec![main, work, step, cell],
        lines: vec![LineRow {
            address: 0,
            file: Some(1),
            line: 1,
        }],
        strings: strings.map(String::from).to_vec(),
        ..Default::default()
    }
}

pub fn module() -> Module {
    Module {
        path: "/home/u/app".into(),
        build_id: "ab".into(),
    }
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// A run on `ranks` ranks, 100 repetitions.
pub fn run(ranks: u32, of: &Hybrid) -> Run {
    let libc = Module {
        path: "/lib/libc.so.6".into(),
        build_id: "cd".into(),
    };
    let mut run = Run {
        header: Header {
            name: format!("app.{ranks}"),
            program: "/home/u/app".into(),
            command: vec!["./app".into()],
            ranks,
            nodes: vec!["n0".into()],
            cores: vec![of.cores],
            sampling_hz: 200.0,
            ..Default::default()
        },
        modules: vec![module(), libc],
        functions: vec!["MPI_Allreduce".into()],
        comms: vec![Comm {
            hash: 1,
            size: ranks,
        }],
        contexts: CONTEXTS
            .map(|(parent, module, offset, exact)| Context {
                parent,
                module,
                offset,
                exact,
            })
            .to_vec(),
        ..Default::default()
    };
    let longest = (0..ranks)
        .map(|r| rank(&mut run, r, of))
        .fold(0.0, f64::max);
    for r in 0..ranks {
        let own = run.segments[r as usize].wall_ns;
        let wait = ns(longest).saturating_sub(own);
        run.calls.push(MpiCalls {
            rank: r,
            ctx: CALL,
            peer: peer::NONE,
            tag: i32::MIN,
            size_class: 4,
            count: 100,
            bytes: 800,
            wall_ns: wait + 1000,
            cpu_ns: wait + 1000,
            ..Default::default()
        });
        run.ranks.push(RankInfo {
            rank: r,
            complete: true,
            wall_ns: ns(longest),
            cpus_allowed: of.cores,
            ..Default::default()
        });
    }
    run
}

/// Adds what one rank does; its seconds.
fn rank(run: &mut Run, rank: u32, of: &Hybrid) -> f64 {
    let first = u16::from(of.joined);
    let threads = first..first + of.threads;
    let (team, work) = if of.joined {
        (CREATE, OWN_WORK)
    } else {
        (REGION, WORK)
    };
    let need = |t: u16| (of.busy)(rank, t) + (of.locked)(rank, t) + (of.allocates)(rank, t);
    let all = threads
        .clone()
        .map(|t| need(t) + (of.runq)(rank, t))
        .fold(0.0, f64::max);
    let sample = |thread: u16, ctx, cpu: f64, blocked: f64| Sample {
        rank,
        thread,
        after: if thread == 0 { CALL } else { CtxId::NONE },
        ctx,
        count: (cpu * 200.0) as u32,
        cpu_ns: ns(cpu),
        blocked_ns: ns(blocked),
        ..Default::default()
    };
    for t in threads {
        let (busy, locked) = ((of.busy)(rank, t), (of.locked)(rank, t));
        let (allocates, runq) = ((of.allocates)(rank, t), (of.runq)(rank, t));
        let wall = need(t) + runq;
        run.teams.push(TeamWork {
            rank,
            thread: t,
            team,
            from: team,
            to: team,
            count: 100,
            wall_ns: ns(wall),
            cpu_ns: ns(busy),
            runq_ns: ns(runq),
            blocked_ns: ns(locked + allocates),
            locked_ns: ns(locked),
            wait_ns: ns(all - wall),
        });
        let in_malloc = if allocates > 0.0 { 0.5 * busy } else { 0.0 };
        run.samples.push(sample(t, work, busy - in_malloc, 0.0));
        if in_malloc > 0.0 {
            run.samples.push(sample(t, IN_MALLOC, in_malloc, 0.0));
        }
        if locked > 0.0 {
            if t == 0 {
                run.samples.push(sample(t, LOCK, 0.0, locked));
            }
            run.waits.push(ThreadWait {
                rank,
                thread: t,
                ctx: LOCK,
                kind: WaitKind::Mutex,
                holder: 1 - t.min(1),
                holder_ctx: LOCK,
                count: 1000,
                wait_ns: ns(locked),
                brief_ns: ns(locked),
                max_ns: ns(locked) / 100,
                locks: 1,
            });
        }
        run.threads.push(ThreadInfo {
            rank,
            thread: t,
            made_by: if t == 0 { CtxId::NONE } else { team },
            begin_ns: 0,
            wall_ns: ns(all),
            cpu_ns: ns(busy),
            runq_ns: ns(runq),
            mpi_wall_ns: 0,
        });
    }
    let serial = (of.serial)(rank);
    let (own, own_runq, own_sleep) = if of.joined {
        (0.0, 0.0, all)
    } else {
        let (busy, runq) = ((of.busy)(rank, 0), (of.runq)(rank, 0));
        (busy, runq, all - busy - runq)
    };
    if of.joined {
        run.waits.push(ThreadWait {
            rank,
            ctx: JOIN,
            kind: WaitKind::Join,
            holder: 1,
            count: 100,
            wait_ns: ns(all),
            brief_ns: ns(all.min(0.1)),
            ..Default::default()
        });
    }
    let known = (of.locked)(rank, 0) + (of.allocates)(rank, 0);
    let waits = if of.joined { all } else { own_sleep - known };
    let at = if of.joined { JOIN } else { REGION };
    run.samples.push(sample(0, at, 0.0, waits));
    if serial > 0.0 {
        run.samples.push(sample(0, SERIAL, serial, 0.0));
    }
    run.segments.push(Segment {
        rank,
        from: CALL,
        to: CALL,
        count: 100,
        wall_ns: ns(serial + all),
        cpu_ns: ns(serial + own),
        runq_ns: ns(own_runq),
        blocked_ns: ns(own_sleep),
        max_busy_ns: ns(serial + all) / 100,
        ..Default::default()
    });
    serial + all
}
