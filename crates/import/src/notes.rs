//! What a run of a trace lacks, or shows otherwise than its user may think: sentences for all reports.

use crate::rank::Ended;

/// What traces of events do not have.
const WALL_TIME: &str =
    "The trace has wall time only. It is used as CPU time too, so time without a core is included.";

/// What was met, of all ranks together.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Moves of data by one side alone.
    pub one_sided: u64,
    /// Whether ranks have more threads than one.
    pub threads: bool,
    flushed_ns: u64,
    times_off: u64,
    left_out: usize,
    /// Whether any rank called MPI.
    pub called: bool,
    worked: bool,
    /// Calls that send or receive, and ends of messages.
    talks: u64,
    ends: u64,
}

impl Notes {
    /// Takes what a rank ended with.
    pub fn rank(&mut self, ended: &Ended) {
        self.called |= ended.called;
        self.worked |= ended.worked;
        self.talks = self.talks.saturating_add(ended.talks);
        self.ends += ended.ends;
        self.left_out += ended.left_out;
        self.flushed_ns = self.flushed_ns.saturating_add(ended.flushed_ns);
        self.times_off += ended.times_off;
    }

    /// Whether there is anything to analyse.
    pub fn does_anything(&self) -> bool {
        self.called || self.worked
    }

    /// As sentences.
    pub fn sentences(&self) -> Vec<String> {
        let mut out = vec![WALL_TIME.to_string()];
        if !self.called {
            out.push("The trace has no MPI call: only what its threads and regions did is known. Each process is a rank.".to_string());
        }
        if self.talks > 0 && self.ends == 0 {
            out.push(format!(
                "Messages: the trace has {} calls that send or receive, but no message. Who waited for whom in them is not known, so late senders and late receivers, replay, critical path and delay cost leave these waits out. Trace the program again with its messages.",
                self.talks
            ));
        }
        if self.one_sided > 0 {
            out.push("One-sided communication: the calls are counted, and waits at fences known; who waited for whom at a lock or an epoch of a window is not read from the trace.".to_string());
        }
        if self.flushed_ns > 0 {
            out.push(format!(
                "The tracer wrote its buffers for {:.3} s of all ranks' time together, which is in no figure; waits that this caused are.",
                self.flushed_ns as f64 * 1e-9
            ));
        }
        if self.times_off > 0 {
            out.push("Messages that were on their way where recording was switched are not known: until it is switched again, later ones of the same two ranks and tag may be joined to the wrong ends.".to_string());
        }
        if self.threads {
            out.push("Threads: the trace shows where each thread computed and slept, how the teams of OpenMP's parallel regions share their work, and which thread held a lock of OpenMP. Other locks are not in the trace, and a nested parallel region counts as part of the region around it.".to_string());
        }
        if self.left_out > 0 {
            let (n, s) = (self.left_out, if self.left_out == 1 { "" } else { "s" });
            out.push(format!("There was no room for all rows of {n} thread{s}."));
        }
        out
    }
}
