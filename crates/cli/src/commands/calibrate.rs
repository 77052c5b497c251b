//! `calibrate`: measures the network between two ranks that a launcher has started.

use super::Outcome;
use super::export::new_file;
use crate::args::CalibrateArgs;
use crate::exit;
use crate::network::{HalfRoundTrip, Measured};
use crate::output::{Place, folder, place, print, taken};
use headwater_replay::{PingPong, Time, ping_pong};
use headwater_simulate::{Measured as Samples, Sample, calibrate};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// `headwater calibrate`.
pub fn command(args: &CalibrateArgs) -> Outcome {
    let rank = headwater_launch::rank();
    match measured(args, rank) {
        Ok(Some((measured, file))) => give(&measured, file),
        Ok(None) => Ok(exit::DONE),
        // All ranks find the same; one of them reports it.
        Err(why) if rank.unwrap_or(0) == 0 => Err(why.into()),
        Err(_) => Ok(exit::BAD_USE),
    }
}

/// A file that gets its name when it is complete.
struct Output {
    file: NamedTempFile,
    path: PathBuf,
}

impl Output {
    fn new(path: &Path) -> Result<Self, String> {
        if place(path, "-o")? == Place::Stream {
            return Err(format!(
                "cannot write {}: it is no regular file",
                path.display()
            ));
        }
        let file = new_file(folder(path));
        Ok(Self {
            file: file.map_err(|e| format!("cannot write {}: {e}", path.display()))?,
            path: path.to_path_buf(),
        })
    }

    fn write(self, text: &str) -> Result<PathBuf, String> {
        let failed = |e| format!("cannot write {}: {e}", self.path.display());
        self.file
            .as_file()
            .write_all(text.as_bytes())
            .map_err(failed)?;
        match self.file.persist_noclobber(&self.path) {
            Ok(_) => Ok(self.path),
            Err(e) if e.error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(taken(&self.path, "-o"))
            }
            Err(e) => Err(failed(e.error)),
        }
    }
}

/// The network, and the file for it if one is wanted; `None` on all ranks but the first.
fn measured(
    args: &CalibrateArgs,
    rank: Option<u32>,
) -> Result<Option<(Measured, Option<Output>)>, String> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let mut output = Ok(None);
    // One rank alone looks at the file: on another node there may be another one, and all others would wait.
    let begin = || {
        output = args.output.as_deref().map(Output::new).transpose();
        output.is_ok()
    };
    let found = ping_pong(rank.is_some(), host.trim(), args.mpi.as_deref(), begin);
    let found = found.map_err(|e| e.to_string())?;
    match (found.rank, output) {
        (0, Ok(output)) => Ok(Some((fit(&found)?, output))),
        (0, Err(why)) => Err(why),
        _ => Ok(None),
    }
}

fn fit(found: &PingPong) -> Result<Measured, String> {
    let samples = |all: &[Time]| -> Vec<Sample> {
        let of = |t: &Time| Sample {
            bytes: t.bytes,
            // The clock may not have moved on.
            seconds: t.seconds.max(1e-9),
        };
        all.iter().map(of).collect()
    };
    let trips = samples(&found.half_round_trips);
    let fit = calibrate(Samples {
        ping_pong: &trips,
        send: &samples(&found.sends),
        burst: &samples(&found.rows),
    });
    let fit = fit.map_err(|e| e.to_string())?;
    let p = fit.network;
    let median = |all: &[Sample]| {
        let mut seconds: Vec<f64> = all.iter().map(|s| s.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        HalfRoundTrip {
            bytes: all.first().map_or(0, |s| s.bytes),
            seconds: seconds.get(seconds.len() / 2).copied().unwrap_or(0.0),
        }
    };
    Ok(Measured {
        headwater_network: Measured::VERSION,
        latency_s: p.latency,
        overhead_s: p.overhead,
        gap_s: p.gap,
        per_byte_s: p.per_byte,
        rendezvous_above_bytes: (p.rendezvous_above < u64::MAX).then_some(p.rendezvous_above),
        median_error: Some(fit.error),
        hosts: found.hosts.clone(),
        library: found.library.clone(),
        half_round_trips: trips
            .chunk_by(|a, b| a.bytes == b.bytes)
            .map(median)
            .collect(),
    })
}

fn give(network: &Measured, output: Option<Output>) -> Outcome {
    let text = serde_json::to_string_pretty(network);
    let text = text.map_err(|e| format!("cannot make JSON of the network: {e}"))? + "\n";
    let Some(output) = output else {
        return print(&text);
    };
    let path = output.write(&text)?;
    let above = match network.rendezvous_above_bytes {
        Some(bytes) => format!("messages wait for their receive above {bytes} bytes"),
        None => "no length of messages is seen to wait for its receive".to_string(),
    };
    print(&format!(
        "latency {:.3} µs, overhead {:.3} µs, gap {:.3} µs, {:.4} ns for each byte ({:.2} GB/s); {above}\nmedian error of the fit {:.1} %; written to {}\n",
        network.latency_s * 1e6,
        network.overhead_s * 1e6,
        network.gap_s * 1e6,
        network.per_byte_s * 1e9,
        1e-9 / network.per_byte_s.max(1e-15),
        100.0 * network.median_error.unwrap_or(0.0),
        path.display()
    ))
}
