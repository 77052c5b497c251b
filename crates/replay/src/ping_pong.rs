//! A ping-pong between two ranks, on any MPI library: what the parameters of a network are fitted to.
//!
//! The ranks are the first and the last of the world. Where a launcher fills one node after the other, they are as far
//! from each other as the job allows. Other ranks wait. The first rank measures: half of each round trip, the send call
//! of a short message, and a row of short messages (Hoefler, Lichei, Rehm, IPDPS 2007).

use crate::error::Error;
use crate::library::{MOST_ARGUMENTS, Mpi, address};
use headwater_mpi_abi::Kind;
use std::path::Path;
use std::time::Instant;

/// Lengths of messages, bytes.
pub const LENGTHS: [usize; 16] = [
    1, 64, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288,
    1_048_576, 2_097_152,
];

/// Measurements of each length, and the seconds that they may take together.
const MOST: u64 = 101;
const LEAST: u64 = 11;
const SECONDS: f64 = 0.1;

/// Messages of a row.
const ROW: u64 = 100;

/// Bytes of the name of a host.
const NAME: usize = 256;

/// A measured time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    /// Length of the messages, bytes.
    pub bytes: u64,
    /// Seconds.
    pub seconds: f64,
}

/// What was measured. Times are empty on all ranks but the first.
#[derive(Clone, Debug, Default)]
pub struct PingPong {
    /// Rank of this process.
    pub rank: u32,
    /// Number of ranks.
    pub size: u32,
    /// What the library calls itself.
    pub library: String,
    /// The hosts of both ranks.
    pub hosts: Vec<String>,
    /// Half of each round trip.
    pub half_round_trips: Vec<Time>,
    /// How long a send of a short message took.
    pub sends: Vec<Time>,
    /// How long each of a row of short messages took.
    pub rows: Vec<Time>,
}

/// One of the two ranks.
struct End<'a> {
    mpi: &'a Mpi,
    send: usize,
    recv: usize,
    byte: u64,
    world: u64,
    partner: u32,
    buffer: Vec<u8>,
    status: Vec<u64>,
}

impl End<'_> {
    fn arguments(&mut self, bytes: usize) -> [u64; MOST_ARGUMENTS] {
        let mut all = [0; MOST_ARGUMENTS];
        let status = address(&mut self.status);
        let given = [
            address(&mut self.buffer),
            bytes as u64,
            self.byte,
            u64::from(self.partner),
            0,
            self.world,
            status,
        ];
        all.iter_mut().zip(given).for_each(|(a, b)| *a = b);
        all
    }

    fn sends(&mut self, bytes: usize) {
        let arguments = self.arguments(bytes);
        self.mpi.call(self.send, &arguments);
    }

    fn receives(&mut self, bytes: usize) {
        let arguments = self.arguments(bytes);
        self.mpi.call(self.recv, &arguments);
    }

    fn round_trip(&mut self, bytes: usize, first: bool) {
        if first {
            self.sends(bytes);
            self.receives(bytes);
        } else {
            self.receives(bytes);
            self.sends(bytes);
        }
    }
}

/// Measures between the first and the last rank; `host` is the name of this process's host. The first rank calls `begin`
/// before, and if that returns `false`, nothing is measured.
///
/// # Errors
/// There is no launcher, no MPI library, or only one rank. All ranks find the same.
pub fn ping_pong(
    launched: bool,
    host: &str,
    library: Option<&Path>,
    begin: impl FnOnce() -> bool,
) -> Result<PingPong, Error> {
    if !launched {
        return Err(Error::NotLaunched);
    }
    let mpi = Mpi::open(library)?;
    mpi.init(false)?;
    let (rank, size) = mpi.world();
    if size < 2 {
        mpi.finalize();
        return Err(Error::OneRank(size));
    }
    let first = rank == 0;
    let mut out = PingPong {
        rank,
        size,
        library: mpi.name.clone(),
        ..PingPong::default()
    };
    let longest = LENGTHS.iter().copied().max().unwrap_or(1).max(NAME);
    let mut end = End {
        send: mpi.function("MPI_Send"),
        recv: mpi.function("MPI_Recv"),
        byte: mpi.predefined(Kind::Datatype, 0x247).unwrap_or(0),
        world: mpi.predefined(Kind::Comm, 0).unwrap_or(0),
        partner: if first { size - 1 } else { 0 },
        buffer: vec![0; longest],
        status: vec![0; mpi.abi.status_bytes.div_ceil(8).max(1)],
        mpi: &mpi,
    };
    if (first || rank == size - 1) && begins(&mut end, first, begin) {
        measure(&mut end, first, host, &mut out);
    }
    mpi.barrier();
    mpi.finalize();
    Ok(out)
}

/// Whether anything is measured. The first rank decides, and tells the other one.
fn begins(end: &mut End<'_>, first: bool, begin: impl FnOnce() -> bool) -> bool {
    if first {
        let begins = begin();
        end.buffer.fill(u8::from(begins));
        end.sends(1);
        begins
    } else {
        end.receives(1);
        end.buffer.first() == Some(&1)
    }
}

fn measure(end: &mut End<'_>, first: bool, host: &str, out: &mut PingPong) {
    let name = host.as_bytes();
    end.buffer
        .iter_mut()
        .zip(name.iter().take(NAME))
        .for_each(|(a, b)| *a = *b);
    if first {
        end.receives(NAME);
        let other: Vec<u8> = end.buffer.iter().copied().take_while(|b| *b != 0).collect();
        out.hosts = vec![
            host.to_owned(),
            String::from_utf8_lossy(&other).into_owned(),
        ];
    } else {
        end.sends(NAME);
    }
    for bytes in LENGTHS {
        let many = count(end, bytes, first);
        for _ in 0..many {
            let began = Instant::now();
            end.round_trip(bytes, first);
            let seconds = 0.5 * began.elapsed().as_secs_f64();
            if first {
                let bytes = bytes as u64;
                out.half_round_trips.push(Time { bytes, seconds });
            }
        }
    }
    for _ in 0..MOST {
        let began = Instant::now();
        if first {
            end.sends(1);
            let seconds = began.elapsed().as_secs_f64();
            out.sends.push(Time { bytes: 1, seconds });
            end.receives(1);
        } else {
            end.round_trip(1, false);
        }
    }
    for _ in 0..LEAST {
        let began = Instant::now();
        for _ in 0..ROW {
            if first {
                end.sends(1);
            } else {
                end.receives(1);
            }
        }
        if first {
            let seconds = began.elapsed().as_secs_f64() / ROW as f64;
            out.rows.push(Time { bytes: 1, seconds });
            end.receives(1);
        } else {
            end.sends(1);
        }
    }
}

/// How many round trips of a length are measured. The first rank decides, after some that are not measured.
fn count(end: &mut End<'_>, bytes: usize, first: bool) -> u64 {
    let began = Instant::now();
    for _ in 0..LEAST {
        end.round_trip(bytes, first);
    }
    let each = began.elapsed().as_secs_f64() / LEAST as f64;
    let fit = (SECONDS / each.max(1e-9)) as u64;
    let mut many = fit.clamp(LEAST, MOST).to_le_bytes();
    if first {
        end.buffer.iter_mut().zip(many).for_each(|(a, b)| *a = b);
        end.sends(many.len());
    } else {
        end.receives(many.len());
        many.iter_mut().zip(&end.buffer).for_each(|(a, b)| *a = *b);
    }
    u64::from_le_bytes(many).min(MOST)
}
