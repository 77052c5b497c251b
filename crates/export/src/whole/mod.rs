//! Formats of whole-run traces: every call of every rank in order, for simulators and trace viewers.
//!
//! *Comes in*: a trace as [`headwater_virtual_run::Recorded`]. *Goes out*: bytes for the writers that the caller passes,
//! rank by rank. The events of a rank are never in memory together.

pub mod goal;
mod lengths;
mod messages;
pub mod otf2;
mod ranks;
pub mod simgrid;

/// A format of a whole-run trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceFormat {
    /// Its name, as in `headwater export NAME`.
    pub name: &'static str,
    /// What it holds.
    pub about: &'static str,
    /// What opens it.
    pub opens: &'static str,
    /// What can be said about what is wanted.
    pub settings: &'static [&'static str],
}

/// All of them.
pub const TRACES: [TraceFormat; 3] = [
    TraceFormat {
        name: "simgrid",
        about: "a time-independent trace with a platform; needs a whole-run trace",
        opens: "smpirun -replay",
        settings: &["network"],
    },
    TraceFormat {
        name: "otf2",
        about: "an archive with every call, in recorded or simulated times; needs a whole-run trace",
        opens: "Vampir, Scalasca, OTF2's readers",
        settings: &["network", "simulated"],
    },
    TraceFormat {
        name: "goal",
        about: "a schedule of messages and computation; needs a whole-run trace",
        opens: "LogGOPSim",
        settings: &[],
    },
];

impl TraceFormat {
    /// The format with this name.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        static KNOWN: [TraceFormat; TRACES.len()] = TRACES;
        KNOWN.iter().find(|f| f.name == name)
    }
}
