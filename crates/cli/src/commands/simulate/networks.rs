//! The network that a trace runs on.

use super::seconds;
use crate::network::{Measured, Wanted};
use headwater_simulate::{LogGp, Network};
use headwater_virtual_run::Recorded;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// The network of a simulation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Used {
    /// Where its parameters are from: `ideal`, `given`, `fit` or a file.
    from: String,
    /// L: how long the first byte is on its way, seconds.
    latency: f64,
    /// o: how long a processor is busy with sending or with receiving a message, seconds.
    overhead: f64,
    /// g: time between two messages of a sender, seconds.
    gap: f64,
    /// G: time for each byte, seconds.
    per_byte: f64,
    /// Longer messages wait for their receive, bytes; null if none does.
    rendezvous_above: Option<u64>,
    /// The median relative error of the times that it is fitted to.
    median_error: Option<f64>,
    /// Why a fitted network may be wrong; null if nothing speaks against it.
    doubt: Option<&'static str>,
}

/// Above this median error, times are not those of a LogGP network.
const LARGE: f64 = 0.25;

impl Used {
    /// The network that is wanted for the trace at `path`.
    pub fn of(wanted: &Wanted, recorded: &Recorded<'_>, path: &Path) -> Result<Self, String> {
        let (from, parameters, median_error) = match wanted {
            Wanted::Known(Network::Ideal) => ("ideal".to_string(), LogGp::IDEAL, None),
            Wanted::Known(Network::LogGp(p)) => ("given".to_string(), *p, None),
            Wanted::File(path) => {
                let read = Measured::read(path)?;
                let from = path.display().to_string();
                (from, read.parameters(), read.median_error)
            }
            Wanted::Fit => {
                let fit = recorded.fit().map_err(|e| {
                    format!(
                        "{}: {e}; measure the network with mpirun -n 2 headwater calibrate -o net.json, and give --network net.json",
                        path.display()
                    )
                })?;
                ("fit".to_string(), fit.network, Some(fit.error))
            }
        };
        Ok(Self {
            from,
            latency: parameters.latency,
            overhead: parameters.overhead,
            gap: parameters.gap,
            per_byte: parameters.per_byte,
            rendezvous_above: Some(parameters.rendezvous_above).filter(|b| *b < u64::MAX),
            median_error: median_error.filter(|e| e.is_finite()),
            doubt: None,
        })
    }

    /// Doubts a network that is fitted to calls which waited for a core, or whose times do not fit.
    pub fn judge(&mut self, crowded: bool) {
        let error = self.median_error.unwrap_or(0.0);
        self.doubt = match self.from.as_str() {
            "fit" if crowded => Some(
                "when this was recorded, there were fewer cores than threads, or other work took them, so calls waited for cores",
            ),
            "fit" if error > LARGE => {
                Some("the times of the calls are not those of such a network")
            }
            _ => None,
        };
    }

    /// The same for the simulation.
    pub fn network(&self) -> Network {
        let parameters = LogGp {
            latency: self.latency,
            overhead: self.overhead,
            gap: self.gap,
            per_byte: self.per_byte,
            rendezvous_above: self.rendezvous_above.unwrap_or(u64::MAX),
        };
        match parameters == LogGp::IDEAL {
            true => Network::Ideal,
            false => Network::LogGp(parameters),
        }
    }

    /// A line of the text.
    pub fn line(&self) -> String {
        if self.from == "ideal" {
            return "Ideal network: only waiting takes time\n".to_string();
        }
        let from = match self.from.as_str() {
            "given" => String::new(),
            "fit" => ", fitted to the shortest calls of the trace".to_string(),
            file => format!(", from {file}"),
        };
        let above = self.rendezvous_above.map_or(String::new(), |bytes| {
            format!(", messages above {bytes} bytes wait for their receive")
        });
        let error = self.median_error.map_or(String::new(), |e| {
            format!(" (median error {:.1} %)", 100.0 * e)
        });
        let doubt = self.doubt.map_or(String::new(), |why| {
            format!(
                "warning: {why}; do not trust the fit, but measure the network: mpirun -n 2 headwater calibrate -o net.json\n"
            )
        });
        format!(
            "Network: latency {}, overhead {}, gap {}, {:.4} ns for each byte{above}{from}{error}\n{doubt}",
            seconds(self.latency),
            seconds(self.overhead),
            seconds(self.gap),
            self.per_byte * 1e9,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_to_calls_that_waited_for_cores_is_doubted() {
        let used = |from: &str, error| Used {
            from: from.to_string(),
            latency: 641e-6,
            overhead: 0.0,
            gap: 0.0,
            per_byte: 0.0,
            rendezvous_above: None,
            median_error: error,
            doubt: None,
        };
        let line = |from, error, crowded| {
            let mut used = used(from, error);
            used.judge(crowded);
            used.line()
        };
        assert!(line("fit", Some(0.01), true).contains("warning: when this was recorded"));
        assert!(line("fit", Some(0.9), false).contains("warning: the times"));
        for fine in [
            line("fit", Some(0.05), false),
            line("net.json", Some(0.05), true),
        ] {
            assert!(!fine.contains("warning"), "{fine}");
        }
    }
}
