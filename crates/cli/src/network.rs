//! Networks that a user names, and the file that `calibrate` writes.

use headwater_simulate::{LogGp, Network};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The longest file of a network that is read.
const MOST: u64 = 1 << 20;

/// A network as it is typed.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// With these parameters.
    Known(Network),
    /// Fitted to the times of the calls in the trace.
    Fit,
    /// That of a file.
    File(PathBuf),
}

impl Wanted {
    /// Reads `ideal`, `fit`, `FILE.json` or `loggp:L,o,g,G[,S]`.
    pub fn of(word: &str) -> Result<Self, String> {
        let advice = || {
            "give ideal, fit, a FILE.json of headwater calibrate, or loggp:L,o,g,G[,S], as loggp:2e-6,5e-7,1e-6,1e-10,65536"
                .to_string()
        };
        match word {
            "ideal" => return Ok(Self::Known(Network::Ideal)),
            "fit" => return Ok(Self::Fit),
            file if file.ends_with(".json") => return Ok(Self::File(PathBuf::from(file))),
            _ => {}
        }
        let numbers = word.strip_prefix("loggp:").ok_or_else(advice)?;
        let numbers: Result<Vec<f64>, _> = numbers.split(',').map(str::parse).collect();
        let numbers = numbers.map_err(|_| advice())?;
        let (latency, overhead, gap, per_byte, above) = match *numbers {
            [l, o, g, b] => (l, o, g, b, f64::INFINITY),
            [l, o, g, b, s] => (l, o, g, b, s),
            _ => return Err(advice()),
        };
        let p = LogGp {
            latency,
            overhead,
            gap,
            per_byte,
            rendezvous_above: above as u64,
        };
        match p.is_valid() && above >= 0.0 {
            true => Ok(Self::Known(Network::LogGp(p))),
            false => Err(advice()),
        }
    }
}

/// A measured network, as it is in its file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Version of this format.
    pub headwater_network: u32,
    /// L, seconds.
    pub latency_s: f64,
    /// o, seconds.
    pub overhead_s: f64,
    /// g, seconds.
    pub gap_s: f64,
    /// G, seconds for each byte.
    pub per_byte_s: f64,
    /// Longer messages wait for their receive, bytes; null if no length was seen to.
    pub rendezvous_above_bytes: Option<u64>,
    /// The median relative error of the fit.
    #[serde(default)]
    pub median_error: Option<f64>,
    /// Hosts of both ranks.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// What the MPI library calls itself.
    #[serde(default)]
    pub library: String,
    /// Medians of what was measured.
    #[serde(default)]
    pub half_round_trips: Vec<HalfRoundTrip>,
}

/// The median of half of a round trip.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HalfRoundTrip {
    /// Length of the messages, bytes.
    pub bytes: u64,
    /// Seconds.
    pub seconds: f64,
}

impl Measured {
    /// The only version so far.
    pub const VERSION: u32 = 1;

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let wrong = |why: String| {
            format!(
                "{}: {why}; mpirun -n 2 headwater calibrate -o {} writes such a file",
                path.display(),
                path.display()
            )
        };
        let bytes = headwater_files::read(path, MOST).map_err(|e| wrong(e.to_string()))?;
        let read: Self = serde_json::from_slice(&bytes)
            .map_err(|e| wrong(format!("it is no network's file ({e})")))?;
        read.check().map_err(wrong)?;
        Ok(read)
    }

    fn check(&self) -> Result<(), String> {
        if self.headwater_network != Self::VERSION {
            let version = self.headwater_network;
            return Err(format!(
                "it has version {version} of the format, and this program reads version 1"
            ));
        }
        match self.parameters().outside() {
            None => Ok(()),
            Some((name, value, most)) => Err(format!(
                "{name}_s is {value}, and it can be from 0 to {most} seconds"
            )),
        }
    }

    /// Its parameters.
    pub fn parameters(&self) -> LogGp {
        LogGp {
            latency: self.latency_s,
            overhead: self.overhead_s,
            gap: self.gap_s,
            per_byte: self.per_byte_s,
            rendezvous_above: self.rendezvous_above_bytes.unwrap_or(u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"headwater_network":1,"latency_s":1e-6,"overhead_s":2e-7,"gap_s":3e-7,"per_byte_s":1e-10,"rendezvous_above_bytes":4096}"#;

    #[test]
    fn a_file_is_read_and_what_is_no_network_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("net.json");
        let read = |text: &str| {
            std::fs::write(&file, text).expect("writes");
            Measured::read(&file)
        };
        let p = read(GOOD).expect("a network").parameters();
        assert_eq!((p.latency, p.rendezvous_above), (1e-6, 4096));
        for (from, to) in [
            ("1e-6", "-1e-6"),
            ("1e-6", "NaN"),
            ("1e-6", "1e999"),
            ("1e-6", "1e300"),
            ("1e-10", "1001.0"),
            ("4096", "-1"),
            (":1,", ":2,"),
            ("latency_s", "latency"),
            (GOOD, ""),
            (GOOD, "[]"),
        ] {
            let why = read(&GOOD.replace(from, to)).expect_err(to);
            assert!(why.contains("net.json: ") && !why.contains('\n'), "{why}");
        }
        assert!(Measured::read(dir.path()).is_err());
    }

    #[test]
    fn networks_are_read() {
        assert_eq!(Wanted::of("ideal"), Ok(Wanted::Known(Network::Ideal)));
        assert_eq!(Wanted::of("fit"), Ok(Wanted::Fit));
        assert_eq!(
            Wanted::of("a/net.json"),
            Ok(Wanted::File("a/net.json".into()))
        );
        assert!(Wanted::of("loggp:1e-6,1e-7,1e-7,1e-10").is_ok());
        for wrong in [
            "",
            "net",
            "loggp:2000,0,0,0",
            "loggp:0,0,0,1001",
            "loggp:1",
            "loggp:-1,0,0,0",
            "loggp:NaN,0,0,0",
        ] {
            assert!(Wanted::of(wrong).is_err(), "{wrong}");
        }
    }
}
