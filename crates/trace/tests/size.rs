//! How large the files of programs like NPB's CG and IS are. CG: 15 times 25 iterations, about 30 call sites, 16 ranks, partners by
//! butterfly and transposition, times with noise.
use headwater_trace::identity::text_identity;
use headwater_trace::likeness::Slack;
use headwater_trace::recorder::Recorder;
use headwater_trace::times::Delta;
use headwater_trace::trace::{Body, Frame, Kind, Node, Trace};

struct Rank {
    rank: i64,
    recorder: Recorder,
    noise: u64,
}

impl Rank {
    fn random(&mut self) -> f64 {
        self.noise ^= self.noise << 13;
        self.noise ^= self.noise >> 7;
        self.noise ^= self.noise << 17;
        (self.noise >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Nanoseconds about a mean, with a tail.
    fn time(&mut self, mean: f64) -> u64 {
        let normal = (0..6).map(|_| self.random()).sum::<f64>() / 3.0 - 1.0;
        let tail = if self.random() < 0.02 {
            1.0 + 30.0 * self.random() * self.random()
        } else {
            1.0
        };
        (mean * (0.3 * normal).exp() * tail) as u64
    }

    fn call(&mut self, site: u64, function: &str, kinds: &[Kind], values: &[i64]) {
        let frame = |module: &[u8], offset| Frame {
            module: text_identity(module) as u64,
            offset,
        };
        let frames = [
            frame(b"/lib/x86_64-linux-gnu/libc.so.6", 0x2_9d90),
            frame(b"/home/user/NPB3.4-MPI/bin/cg.S.x", 0x1285),
            frame(
                b"/home/user/NPB3.4-MPI/bin/cg.S.x",
                if site < 100 {
                    0x2000 + site * 61
                } else {
                    0x19d1
                },
            ),
            frame(
                b"/home/user/NPB3.4-MPI/bin/cg.S.x",
                0x3f00 + site * 97 % 4000,
            ),
        ];
        let depth = if site < 100 { 3 } else { 4 };
        let n = self.recorder.signature(function, kinds, &frames[..depth]);
        let wall = self.time([300.0, 900.0, 9_000.0, 40_000.0][(site * 7 % 11 % 4) as usize]);
        let cpu = (wall as f64 * (0.97 + 0.02 * self.random())) as u64;
        let call = self.time(if function.contains("Wait") || function.contains("all") {
            4_000.0
        } else {
            600.0
        });
        self.recorder.event(n, values, Delta { wall, cpu, call });
    }

    fn exchange(&mut self, site: u64, peer: i64, bytes: i64) {
        use Kind::{Comm, Peer, Plain};
        // count, type, partner, tag, communicator, request
        self.call(
            site,
            "MPI_Irecv",
            &[Plain, Plain, Peer, Plain, Comm, Plain],
            &[bytes, 27, peer, 1, 0, 0],
        );
        self.call(
            site + 1,
            "MPI_Send",
            &[Plain, Plain, Peer, Plain, Comm],
            &[bytes, 27, peer, 1, 0],
        );
        // request, source and tag as found
        self.call(
            site + 2,
            "MPI_Wait",
            &[Plain, Peer, Plain, Comm],
            &[0, peer, 1, 0],
        );
    }

    fn conj_grad(&mut self) {
        let (row, column) = (self.rank / 4, self.rank % 4);
        for i in 0..2 {
            self.exchange(100, self.rank ^ (1 << i), 1);
        }
        for _ in 0..25 {
            for i in 0..2 {
                self.exchange(103, self.rank ^ (1 << i), 350);
            }
            self.exchange(106, column * 4 + row, 350);
            for i in 0..2 {
                self.exchange(109, self.rank ^ (1 << i), 1);
            }
            for i in 0..2 {
                self.exchange(112, self.rank ^ (1 << i), 1);
            }
        }
        for i in 0..2 {
            self.exchange(115, self.rank ^ (1 << i), 350);
        }
        self.exchange(118, column * 4 + row, 350);
        for i in 0..2 {
            self.exchange(121, self.rank ^ (1 << i), 1);
        }
    }

    fn run(&mut self) {
        use Kind::{Comm, Plain};
        self.call(1, "MPI_Init", &[], &[]);
        self.call(2, "MPI_Comm_rank", &[Comm], &[0]);
        self.call(3, "MPI_Comm_size", &[Comm], &[0]);
        for site in 4..7 {
            self.call(
                site,
                "MPI_Bcast",
                &[Plain, Plain, Plain, Comm],
                &[1, 7, 0, 0],
            );
        }
        self.conj_grad();
        for i in 0..2 {
            self.exchange(8, self.rank ^ (1 << i), 2);
        }
        self.call(12, "MPI_Barrier", &[Comm], &[0]);
        for _ in 0..15 {
            self.conj_grad();
            for i in 0..2 {
                self.exchange(13, self.rank ^ (1 << i), 2);
            }
        }
        self.call(
            17,
            "MPI_Reduce",
            &[Plain, Plain, Plain, Plain, Comm],
            &[1, 27, 3, 0, 0],
        );
        self.call(18, "MPI_Finalize", &[], &[]);
    }
}

/// NPB's IS: eleven times an Allreduce, an Alltoall of counts and an Alltoallv. The keys are nearly the same each time.
fn is(rank: &mut Rank) {
    use Kind::{Comm, List, Plain};
    let count = |from: i64, to: i64, step: i64| {
        let mut noise = (from * 16 + to + 1) as u64;
        for _ in 0..3 {
            noise = (noise ^ (noise >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            noise ^= noise >> 32;
        }
        // One key of a rank is changed in each step.
        let changed = i64::from((step + from) % 16 == to) - i64::from((step * 3 + from) % 16 == to);
        220 + (noise >> 33) as i64 % 72 + changed
    };
    rank.call(1, "MPI_Init", &[], &[]);
    for step in 0..11 {
        let sent: Vec<i64> = (0..16).map(|to| count(rank.rank, to, step)).collect();
        let received: Vec<i64> = (0..16).map(|from| count(from, rank.rank, step)).collect();
        let sums =
            |counts: &[i64]| -> Vec<i64> { (0..16).map(|n| counts[..n].iter().sum()).collect() };
        let lists =
            [&sent, &sums(&sent), &received, &sums(&received)].map(|list| rank.recorder.list(list));
        rank.call(
            2,
            "MPI_Allreduce",
            &[Plain, Plain, Plain, Comm],
            &[517, 7, 3, 0],
        );
        rank.call(
            3,
            "MPI_Alltoall",
            &[Plain, Plain, Plain, Plain, Comm],
            &[1, 7, 1, 7, 0],
        );
        let kinds = [List, List, Plain, List, List, Plain, Comm];
        rank.call(
            4,
            "MPI_Alltoallv",
            &kinds,
            &[lists[0], lists[1], 7, lists[2], lists[3], 7, 0],
        );
    }
    rank.call(
        5,
        "MPI_Reduce",
        &[Plain, Plain, Plain, Plain, Comm],
        &[1, 27, 3, 0, 0],
    );
    rank.call(6, "MPI_Finalize", &[], &[]);
}

/// The trace of a program on 16 ranks.
fn trace_of(program: impl Fn(&mut Rank)) -> Trace {
    let size = 16;
    let mut traces: Vec<Trace> = (0..size)
        .map(|r| {
            let recorder = Recorder::new(usize::MAX, Slack::default());
            let noise = 0x9e37_79b9_7f4a_7c15 + u64::from(r);
            let mut rank = Rank {
                rank: i64::from(r),
                recorder,
                noise,
            };
            program(&mut rank);
            let mut trace = Trace::of_rank(r, size);
            trace.add_communicator(0, r, r, size);
            for module in [
                "/lib/x86_64-linux-gnu/libc.so.6",
                "/home/user/NPB3.4-MPI/bin/cg.S.x",
            ] {
                trace
                    .modules
                    .insert(text_identity(module.as_bytes()) as u64, module.to_owned());
            }
            rank.recorder.finish(&mut trace, r, 0);
            trace
        })
        .collect();
    while traces.len() > 1 {
        let mut pairs = std::mem::take(&mut traces).into_iter();
        while let Some(mut a) = pairs.next() {
            if let Some(b) = pairs.next() {
                a.merge(b);
            }
            traces.push(a);
        }
    }
    traces.pop().unwrap()
}

fn without_times(mut trace: Trace) -> Trace {
    fn strip(row: &mut [Node]) {
        for node in row {
            match &mut node.body {
                Body::Event(event) => event.times.clear(),
                Body::Loop(row) => strip(row),
            }
        }
    }
    trace.streams.values_mut().for_each(|row| strip(row));
    trace.work = Default::default();
    trace
}

/// Bytes of the packed file, with and without times.
fn sizes(name: &str, trace: Trace) -> (usize, usize) {
    let plain = trace.to_bytes();
    if let Ok(path) = std::env::var("HEADWATER_SIZE_OUT") {
        std::fs::write(format!("{path}.{name}"), &plain).unwrap();
    }
    let packed = trace.to_packed_bytes();
    assert_eq!(Trace::from_bytes(&packed), Ok(trace.clone()));
    let bare = without_times(trace);
    let packed_bare = bare.to_packed_bytes();
    eprintln!(
        "{name}: plain {} packed {}; without times: {} {}",
        plain.len(),
        packed.len(),
        bare.to_bytes().len(),
        packed_bare.len()
    );
    (packed.len(), packed_bare.len())
}

/// At most half of what Pilgrim needs without call paths and times.
#[test]
fn the_file_of_cg_is_small() {
    let (all, bare) = sizes("cg", trace_of(Rank::run));
    assert!(all <= 2386 && bare <= 400, "{all} {bare}");
}

#[test]
fn the_file_of_is_is_small() {
    let (all, _) = sizes("is", trace_of(is));
    assert!(all <= 10_330, "{all}");
}
