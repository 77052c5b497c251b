//! The answer: what slows the program down, where, on which ranks, and what mending it would gain.
//!
//! This is the model that every report is made from; `--json` is its serialisation.

pub use crate::account::{
    Account, Against, LossKind, LossPart, Reading, Repeated, SmallLoss, SmallLosses, SmallStep,
};
use crate::dependence::Link;
use crate::psg::VertexKind;
use crate::rank::RankSet;
use crate::words::{self, ScaleUnit, Subject};
use serde::{Deserialize, Serialize};

/// Version of the JSON that these types serialise to.
pub const SCHEMA: u32 = 1;

/// How the problem grows with the number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// The same problem on more ranks.
    Strong,
    /// A problem that grows with the ranks.
    Weak,
    /// One scale only: nothing to compare.
    Single,
}

/// Classes of cause (DESIGN "Graph, detection, root cause").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CauseClass {
    /// Some ranks have more work than others.
    UnevenWork,
    /// Some ranks take longer for the same work (memory, frequency, placement).
    SlowerWork,
    /// Work that stays as it is while ranks are added.
    NonShrinkingWork,
    /// Messages whose number or size grows with the ranks.
    GrowingCommunication,
    /// Ranks that can only start when the one before has finished.
    LateSenderChain,
    /// A collective that nobody is late for and that still grows.
    CollectiveAlgorithm,
    /// Threads of one rank with uneven work.
    ThreadImbalance,
    /// Threads that wait for the same lock.
    LockContention,
    /// One thread computes while the team that it has elsewhere idles.
    SerialRegion,
    /// Parallel regions that take long to begin and to end for what they compute.
    SmallRegions,
    /// Threads that wait for one another in the memory allocator.
    AllocatorContention,
    /// Waiting for files, devices or sleeping.
    SystemCallOrIo,
    /// Ready to run, but without a core.
    Preempted,
    /// It happened once.
    OneOff,
    /// Time before `MPI_Init` returned that grows with the ranks.
    Startup,
}

impl CauseClass {
    /// Whether it is in what ranks compute, not in MPI calls or in a lack of cores.
    pub fn is_computation(self) -> bool {
        matches!(
            self,
            Self::UnevenWork
                | Self::SlowerWork
                | Self::NonShrinkingWork
                | Self::SystemCallOrIo
                | Self::OneOff
                | Self::ThreadImbalance
                | Self::SerialRegion
                | Self::SmallRegions
        )
    }

    /// Whether it is between the threads of a rank.
    pub fn is_of_threads(self) -> bool {
        matches!(
            self,
            Self::ThreadImbalance
                | Self::LockContention
                | Self::SerialRegion
                | Self::SmallRegions
                | Self::AllocatorContention
        )
    }

    /// The class in words, for a report.
    pub fn words(self) -> &'static str {
        match self {
            Self::UnevenWork => "uneven work",
            Self::SlowerWork => "equal work run slower",
            Self::NonShrinkingWork => "work that does not shrink",
            Self::GrowingCommunication => "growing communication",
            Self::LateSenderChain => "late-sender chain",
            Self::CollectiveAlgorithm => "collective growing by its algorithm",
            Self::ThreadImbalance => "thread imbalance",
            Self::LockContention => "lock contention",
            Self::SerialRegion => "serial region",
            Self::SmallRegions => "small parallel regions",
            Self::AllocatorContention => "allocator contention",
            Self::SystemCallOrIo => "system call or I/O",
            Self::Preempted => "waiting for a core",
            Self::OneOff => "one-off outlier",
            Self::Startup => "start-up before MPI_Init returned",
        }
    }
}

/// One frame of a call path, or the place of a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    /// What is there.
    pub kind: VertexKind,
    /// Name of the loop's or call's function, or of the MPI function called.
    pub name: String,
    /// Function that holds it.
    pub function: String,
    /// Source file as the debug information names it.
    pub file: Option<String>,
    /// First line of the loop, call or function; 0 where unknown.
    pub first_line: u32,
    /// Last line; 0 where unknown.
    pub last_line: u32,
    /// Line with the most time in it; 0 where unknown.
    pub hot_line: u32,
    /// Path of the module.
    pub module: String,
    /// Address within the module, for binaries without debug information.
    pub address: u64,
}

impl Place {
    /// A place of which no more is known than what is there.
    pub fn unknown(kind: VertexKind) -> Self {
        Self {
            kind,
            name: String::new(),
            function: String::new(),
            file: None,
            first_line: 0,
            last_line: 0,
            hot_line: 0,
            module: String::new(),
            address: 0,
        }
    }
}

/// What seconds are seconds of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// CPU time plus time asleep outside MPI.
    Cpu,
    /// Wall time as recorded; where ranks outnumber cores it holds waiting for a core.
    Wall,
    /// Time of the run played again with a core for each rank and messages that take no time.
    Virtual,
}

/// One step of the way from the symptom to the cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// What happens here, in a few words: `waits in MPI_Allreduce for`, `computes`, `receives late from`.
    pub what: String,
    /// Ranks concerned.
    pub ranks: RankSet,
    /// Where.
    pub place: Place,
    /// Seconds waited or computed here, per rank concerned, at the cause's scale.
    pub seconds: f64,
    /// What these seconds are of.
    pub clock: Clock,
}

/// What the threads of one rank do in a cause that lies between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadTimes {
    /// The rank that loses most by it.
    pub rank: u32,
    /// Numbers of the threads of its team; 0 is the one that called `MPI_Init`. Where threads are made anew
    /// again and again, those that were made first represent the others.
    pub threads: Vec<u32>,
    /// Seconds of each of them: computed or, where they contend, waited.
    pub seconds: Vec<f64>,
    /// Those of the threads that are the cause: late ones, the one that computes alone, or those that wait.
    pub concerned: Vec<u32>,
}

/// A figure that supports a cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// A sentence with the figure in it.
    pub text: String,
    /// If it is the compiler's: the variables that the value passes through, then the call that it comes from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Link>,
}

impl From<String> for Evidence {
    fn from(text: String) -> Self {
        Self {
            text,
            chain: Vec::new(),
        }
    }
}

/// A cause of scaling loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// Its class.
    pub class: CauseClass,
    /// The innermost loop or call that holds it.
    pub place: Place,
    /// Call path from the outermost frame to the place.
    pub call_path: Vec<Place>,
    /// Where another cause has the same place: the innermost caller at which their call paths part.
    pub called_from: Option<String>,
    /// Ranks on which it happens.
    pub ranks: RankSet,
    /// Number of ranks of the run that the figures are from.
    pub scale: u32,
    /// Seconds of run time that it costs now.
    pub cost_seconds: f64,
    /// The same as a share of the run time, 0 to 1.
    pub cost_share: f64,
    /// Seconds that the run would be shorter if mended.
    pub gain_seconds: f64,
    /// The same as a share of the run time, 0 to 1.
    pub gain_share: f64,
    /// The least and the most that it is likely to be shorter (19 times of 20), seconds.
    pub gain_range_seconds: (f64, f64),
    /// One or two sentences that say what is wrong and what to try.
    pub explanation: String,
    /// From the symptom, where the time shows, to the cause.
    pub path: Vec<Step>,
    /// Waiting of all ranks together that it causes, seconds (delay cost, Böhme et al. 2010); `None`
    /// for a class that nobody waits for.
    pub waiting_seconds: Option<f64>,
    /// Seconds in the place, by rank, at `scale`.
    pub by_rank: Vec<f64>,
    /// What the seconds of `by_rank` and `by_scale` are of, at `scale`.
    pub clock: Clock,
    /// (ranks, mean seconds per rank, largest seconds of a rank) in the place, by scale.
    pub by_scale: Vec<(u32, f64, f64)>,
    /// The threads of the rank that loses most; `None` for a cause that is not between threads.
    pub by_thread: Option<ThreadTimes>,
    /// What supports it.
    pub evidence: Vec<Evidence>,
    /// The regions of the program's own that its place is in, by name.
    #[serde(default)]
    pub regions: Vec<String>,
    /// The only kind of scaling under which it is a cause; `None` where it is one either way.
    pub only_if: Option<Scaling>,
    /// How often it is found if one of several recordings is left out; `None` where each scale was recorded once.
    pub repeated: Option<Repeated>,
}

impl Cause {
    /// The range of the gain as shares of the run time; `None` where the gain is its only figure.
    pub fn gain_range_share(&self) -> Option<(f64, f64)> {
        let (least, most) = self.gain_range_seconds;
        let known = least.is_finite() && most.is_finite() && most > least;
        let of = self.of_seconds().filter(|_| known)?;
        Some(((least / of).clamp(0.0, 1.0), (most / of).clamp(0.0, 1.0)))
    }

    /// Seconds that its shares are of, as far as a figure shows it.
    fn of_seconds(&self) -> Option<f64> {
        let pairs = [
            (self.gain_seconds, self.gain_share),
            (self.cost_seconds, self.cost_share),
        ];
        let of = pairs.into_iter().find(|(_, share)| *share > 0.0);
        of.map(|(seconds, share)| seconds / share)
            .filter(|of| of.is_finite() && *of > 0.0)
    }
}

/// A way to sum a vertex up over ranks (ScalAna, section IV-A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Aggregation {
    /// Rank 0 alone.
    OneRank,
    /// Mean over ranks.
    Mean,
    /// The middle rank.
    Median,
    /// How ranks differ: the root of the variance, so that it is seconds too.
    Variance,
    /// Mean of the slower of two clusters of ranks.
    Clusters,
}

/// A vertex summed up in one way, over the scales.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Aggregate {
    /// The way.
    pub aggregation: Aggregation,
    /// (ranks, seconds) by scale.
    pub seconds: Vec<(u32, f64)>,
    /// Slope of the log-log line; `None` where the scales do not suffice.
    pub slope: Option<f64>,
    /// Coefficient of determination of that line.
    pub r_squared: Option<f64>,
    /// The model that cross-validation chose; `None` below four scales.
    pub model: Option<String>,
    /// Mean relative error of that model at scales left out of its fit.
    pub model_error: Option<f64>,
}

/// A vertex that the detection marked, before root causes were sought (ScalAna, section IV-A).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Marked {
    /// Where.
    pub place: Place,
    /// Ranks that take longer than the others; all for a non-scalable vertex.
    pub ranks: RankSet,
    /// Mean seconds per rank at the largest scale.
    pub seconds: f64,
    /// Share of the loss between the first and the last scale, 0 to 1.
    pub loss_share: f64,
    /// The way of summing up over ranks in which it loses most, and which the next three are of.
    pub aggregation: Aggregation,
    /// Slope of the log-log line over the scales; `None` where the scales do not suffice.
    pub slope: Option<f64>,
    /// Coefficient of determination of that line.
    pub r_squared: Option<f64>,
    /// The model that cross-validation chose, in words (`c + a/p` …).
    pub model: Option<String>,
    /// All ways of summing up; empty for a vertex that differs between ranks.
    pub aggregates: Vec<Aggregate>,
    /// Largest rank over the median rank.
    pub ratio: f64,
}

/// Efficiencies of one run in the words of the POP project: shares from 0 to 1, but for those that
/// compare scales, which superlinear speedup brings above 1. `None` is what is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Efficiencies {
    /// Useful computation over all time.
    pub parallel: Option<f64>,
    /// Mean over largest computation of a rank.
    pub load_balance: Option<f64>,
    /// Parallel over load balance.
    pub communication: Option<f64>,
    /// Loss by waiting for one another, with messages taken as immediate.
    pub serialisation: Option<f64>,
    /// Loss by moving data.
    pub transfer: Option<f64>,
    /// What computation should be here, going by the smallest scale, over what it is; above 1 where ranks
    /// became faster.
    pub computation_scaling: Option<f64>,
    /// The part of computation scaling that is due to more or fewer instructions; `None` where they were not counted. The
    /// next two need cycles too, and the product of the three is computation scaling.
    #[serde(default)]
    pub instruction_scaling: Option<f64>,
    /// The part that is due to instructions per cycle.
    #[serde(default)]
    pub ipc_scaling: Option<f64>,
    /// The part that is due to cycles per second of useful computation.
    #[serde(default)]
    pub frequency_scaling: Option<f64>,
    /// What the threads of ranks lose; `None` where threads are no part of the scale.
    #[serde(default)]
    pub threads: Option<ThreadEfficiencies>,
    /// Parallel times computation scaling.
    pub global: Option<f64>,
}

/// Efficiencies of the threads of ranks, in the words of POP's hybrid metrics (as TALP computes them): useful time of
/// all threads over their time, and its three factors. Time of threads is that in which their rank does not wait for
/// other ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadEfficiencies {
    /// The product of the next three.
    pub parallel: f64,
    /// Loss by threads that wait for the last one of their team.
    pub load_balance: f64,
    /// Loss by threads that idle while one computes alone.
    pub serialisation: f64,
    /// Loss by everything else: locks, tasks, and making and waking threads.
    pub scheduling: f64,
}

/// One run, summed up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScaleSummary {
    /// Name of the run.
    pub run: String,
    /// Ranks.
    pub ranks: u32,
    /// Threads of each rank, where they are a part of the scale: of a program without MPI, or where it was asked for so
    /// many.
    #[serde(default)]
    pub threads_each: Option<u32>,
    /// Threads that computed at the same time, of all ranks together; at least one for each rank.
    pub threads: u32,
    /// Cores that they had in all.
    pub cores: u32,
    /// Wall time from `MPI_Init` to `MPI_Finalize`, seconds.
    pub wall_seconds: f64,
    /// Time that the analysis explains: the run as it would be with a core for each rank, seconds.
    pub model_seconds: f64,
    /// Share of all rank time that went into waiting for a core.
    pub runq_share: f64,
    /// Efficiencies.
    pub efficiencies: Efficiencies,
    /// Seconds before `MPI_Init` returned, mean over ranks.
    pub startup_seconds: f64,
    /// Part of the run time in which every event of every rank was recorded (event windows); `None` without
    /// any.
    pub window_share: Option<f64>,
    /// Events in them, mean over ranks.
    pub window_events: Option<f64>,
    /// Part of the ranks' computation that could be replayed: waits in turn, serialisation, transfer, moving work, critical
    /// path and delay cost are known of this part, and extrapolated from it.
    pub replayed_share: Option<f64>,
}

impl ScaleSummary {
    /// Share of rank time spent waiting for a core above which it is excluded from the figures: less is
    /// what any machine has.
    pub const BUSY_SHARE: f64 = 0.05;

    /// Whether threads outnumber cores or other work took them, so that wall time shows the scheduler and
    /// `model_seconds` is the run with a core for each thread.
    pub fn is_crowded(&self) -> bool {
        Self::crowds(self.threads.max(self.ranks), self.cores, self.runq_share)
    }

    /// The scale in words: `4 ranks`, `8 threads`.
    pub fn words(&self) -> String {
        words::scale(self.ranks, self.threads_each)
    }

    /// What the figures of some scales count.
    pub fn unit(scales: &[Self]) -> ScaleUnit {
        ScaleUnit::of(scales.iter().map(|s| (s.ranks, s.threads_each)))
    }

    /// The scale as a figure among others.
    pub fn figure(&self, unit: ScaleUnit) -> String {
        unit.figure(self.ranks, self.threads_each)
    }

    /// By how much the scale is larger than that of one thread: ranks times threads.
    pub fn size(&self) -> u32 {
        words::scale_size(self.ranks, self.threads_each)
    }

    /// The same of bare figures; 0 cores are unknown ones.
    ///
    /// Threads that outnumber cores need not lack any: where all but one wait for a lock, one core is enough. If all of
    /// them together were without a core for a small part of the run only, the run was not much longer for it. 0 says
    /// nothing, because some systems do not count this time.
    pub fn crowds(threads: u32, cores: u32, runq_share: f64) -> bool {
        let together = runq_share * f64::from(threads);
        let is_little = together > 0.0 && together <= Self::BUSY_SHARE;
        cores > 0 && threads > cores && !is_little || runq_share > Self::BUSY_SHARE
    }
}

/// The whole answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Program measured.
    pub program: String,
    /// MPI library.
    pub mpi_library: String,
    /// Strong or weak.
    pub scaling: Scaling,
    /// How that is known (`said by the user`, `guessed: the arguments are the same at all scales`).
    pub scaling_reason: String,
    /// Whether that is certain; otherwise `other_reading` is the answer if it is the other way.
    pub scaling_certain: bool,
    /// The answer in two or three sentences.
    pub headline: Vec<String>,
    /// What the reader must know before the figures (more ranks than cores …).
    pub notes: Vec<String>,
    /// By scale, ascending.
    pub scales: Vec<ScaleSummary>,
    /// Causes, the dearest first: by the middle between the gain and what is certain of it.
    pub causes: Vec<Cause>,
    /// Where the loss of the largest scale goes.
    pub account: Account,
    /// The answer if the problem grows in the other way; `None` where `scaling` is certain.
    pub other_reading: Option<Reading>,
    /// Non-scalable vertices.
    pub non_scalable: Vec<Marked>,
    /// Vertices that differ between ranks.
    pub abnormal: Vec<Marked>,
    /// What could not be measured or analysed.
    pub missing: Vec<String>,
}

impl Diagnosis {
    /// Who computes in the program.
    pub fn subject(&self) -> Subject {
        let uses_mpi = !self.mpi_library.is_empty();
        let of = |s: &ScaleSummary| Subject::new(s.ranks, s.threads_each, uses_mpi);
        let process = self.scales.iter().all(|s| of(s).is_process());
        if process && !self.scales.is_empty() {
            Subject::Process
        } else {
            Subject::Ranks
        }
    }

    /// The scale that the figures of a cause are of.
    pub fn scale_of(&self, cause: &Cause) -> Option<&ScaleSummary> {
        self.scales.iter().rfind(|s| s.ranks == cause.scale)
    }

    /// What is added from scale to scale: `ranks`, `threads` or both.
    pub fn added(&self) -> &'static str {
        ScaleSummary::unit(&self.scales).words()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_outnumber_cores_are_crowded_only_if_they_lacked_one() {
        let crowds = ScaleSummary::crowds;
        assert!(crowds(4, 2, 0.3) && crowds(2, 2, 0.06) && !crowds(2, 2, 0.04));
        // Four threads in line for one lock need one core.
        assert!(!crowds(4, 2, 0.01));
        // A hundredth of 64 threads' time is more than half of the run.
        assert!(crowds(64, 2, 0.01));
        // Not every system says it, and not every recording knows the cores.
        assert!(crowds(4, 2, 0.0) && !crowds(4, 0, 0.0));
    }
}
