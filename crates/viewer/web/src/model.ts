// The data of a page, as the crate `viewer` writes them (crates/viewer/src/model.rs; docs/schema/page.json).
//
// Rules that hold everywhere:
// * Times of a timeline are whole nanoseconds (`_ns`) on the time axis of its window. All others are seconds (`_seconds`).
// * What was not measured is `null`, never 0. An empty list means that there is nothing, not that it was not measured.
// * `scale` is an index into `Page.runs`. `frame` is an index into `Contexts.parent` (and its other columns).
// * Sets of ranks are texts such as "0-3,7" (`RankSet`).
// * Large data are columns: arrays of equal length, one element for each row.
// * All texts come from a recorded program: show them as text, never as markup.

/** Ranks in ascending order, as in "0-3,7"; "" is none. */
export type RankSet = string;
/** A share, 0 to 1. */
export type Share = number;

export interface Page {
  version: 1;
  /** Program that made the page and its version, "headwater 0.4.0". */
  tool: string;
  /** Path of the measured program. */
  program: string;
  /** How to request tiles from `headwater view`; null in a file. */
  live: Live | null;
  /** What was left out to keep the file small, a sentence each. */
  thinned: string[];
  /** One run for each scale, by ascending number of ranks. */
  runs: RunInfo[];
  /** What is added from scale to scale: "ranks", "threads" or "ranks × threads". */
  added: string;
  /** Whether the program is one process without MPI: it has no ranks. */
  is_process: boolean;
  /** Exactly what `headwater diagnose --json` prints (docs/schema/diagnose.json). */
  diagnosis: Diagnosis;
  /** Where the time of all ranks goes, for each of `runs`. */
  scales: ScaleTimes[];
  /** For each cause of `diagnosis.causes`, in its order. */
  causes: CauseDetail[];
  contexts: Contexts;
  /** For each of `runs`. */
  ranks: RankData[];
  /** For each of `runs`. */
  timeline: ScaleTimeline[];
  graph: Graph;
  /** Source text that causes and frames refer to by index. */
  sources: Source[];
  /** Tables of analyses, as `headwater analyse --json` prints sections (docs/schema/analyse.json). */
  tables: Section[];
}

/** Tiles of `headwater view`: GET with the header `X-Headwater-Token: token`; see docs/VIEWER.md. */
export interface Live {
  /** Address of a `TimelineTile`: ?scale=&window=&clock=wall|virtual&from_ns=&to_ns=&ranks=0-99&rows=&columns= */
  timeline: string;
  /** Address of a `RankTile`: ?scale=&metric=&ranks=0-99&columns= */
  ranks: string;
  /** Address of a `Matrix`: ?scale=&from=0-99&to=0-99&bins= */
  matrix: string;
  /** Address of a `Source`: ?frame= */
  source: string;
  /** Address of a `Neighbourhood`: ?scale=&frame= */
  graph: string;
  /** Token to send with each request. */
  token: string;
}

export interface RunInfo {
  /** Name of the run, "zeus.16". */
  name: string;
  /** Number of ranks. */
  ranks: number;
  /** Its scale in words: "4 ranks", "8 threads", "2 ranks of 4 threads". */
  scale: string;
  /** The same as a figure: "4", "8", "2×4". */
  figure: string;
  /** By how much it is larger than that of one thread: ranks times threads. */
  size: number;
  /** Threads that computed at the same time, of all ranks together. */
  threads: number;
  /** Cores that they had in all; 0 unknown. */
  cores: number;
  /** Host names. */
  nodes: string[];
  /** From MPI_Init to the end of MPI_Finalize on the slowest rank. */
  duration_seconds: number;
  /** Command line of the program. */
  command: string[];
  mpi_library: string;
  /** Seconds since 1970; null where unknown. */
  started_unix: number | null;
  /** How many recordings of this scale are pooled here; at least 1. */
  recordings: number;
  /** Whether it comes from a trace of another tool. */
  imported: boolean;
  /** Names of hardware counters. */
  counters: string[];
  /** What was not measured, a sentence each. */
  missing: string[];
}

/** Seconds of one rank on average; the parts that are known sum to `seconds`. */
export interface ScaleTimes {
  ranks: number;
  /** The scale in words, as in RunInfo. */
  scale: string;
  /** The run time that is divided: wall time. */
  seconds: number;
  /** Run time if the smallest scale's computation were divided ideally (strong scaling) or stayed (weak); null where scales
   *  cannot be compared. */
  ideal_seconds: number | null;
  parts: ScalePart[];
}
export type PartKind =
  | "computation" // useful computation, mean over ranks
  | "uneven-work" // the slowest rank's computation beyond the mean
  | "serialisation" // waiting in turn, with an ideal network
  | "transfer" // moving data
  | "uneven-threads" // threads that wait for the last one of their team, in one process without MPI
  | "serial-part" // one thread computes while the others idle
  | "scheduling" // locks, and making and waking threads
  | "communication" // serialisation and transfer together, where windows that would separate them are missing
  | "without-core" // ready to run, but without a core
  | "unknown"; // nothing is known of how it divides
export interface ScalePart {
  kind: PartKind;
  /** For people: "useful computation". */
  words: string;
  seconds: number;
  share: Share;
}

// ---------------------------------------------------------------- causes

export interface CauseDetail {
  /** As the text report heads it: "uneven work: loop in smooth (zeus.c:41)". */
  title: string;
  /** Class in words: "uneven work". */
  class_words: string;
  /** Frames of the place: the one with the cause's call path first, then copies of the place. */
  frames: number[];
  /** For each step of `diagnosis.causes[i].path`. */
  steps: StepDetail[];
  /** The path in space and time, as recorded and with a core for each rank; empty where no recorded window shows it
   *  (`picture_missing` says why). */
  pictures: Picture[];
  picture_missing: string | null;
  /** Seconds in the place over ranks, at the cause's scale; see `RankValues`. */
  by_rank: RankValues;
  growth: Growth;
  /** Index into `sources`; null where there is no source to show. */
  source: number | null;
  /** What was looked into for this place or this loss and turned out not to be a cause, a sentence each. */
  ruled_out: string[];
  /** The parallel view around the place: index into `graph.neighbourhoods`; null if there is none. */
  neighbourhood: number | null;
}

export interface StepDetail {
  /** "ranks 0-3 wait in MPI_Allreduce for" as the text report has it, without seconds and place. */
  words: string;
  /** "zeus.c:41". */
  location: string;
  /** Frames of its place. */
  frames: number[];
  /** Index into `sources` or null. */
  source: number | null;
}

/** A stretch of a window with the hops of a cause's path. */
export interface Picture {
  scale: number;
  /** Number of the window. */
  window: number;
  /** Times as recorded, or with a core for each rank and an ideal network. */
  clock: TimeAxis;
  /** What it shows, a sentence. */
  caption: string;
  tile: TimelineTile;
  /** In the order of the path: first the wait, last the cause. */
  hops: Hop[];
}
export type TimeAxis = "wall" | "virtual";

export interface Hop {
  /** Index into the cause's path (`steps`); null for a hop between two steps of the text. */
  step: number | null;
  kind: "wait" | "message" | "call" | "computation";
  rank: number;
  begin_ns: number;
  end_ns: number;
  /** For a message: the rank at its other end (it goes from `rank` at `begin_ns` to `to_rank` at `end_ns`). */
  to_rank: number | null;
  /** What happens, in words. */
  words: string;
}

/** One value for each rank, or for groups of like ranks where there are many. */
export interface RankValues {
  unit: "seconds";
  /** What the seconds are of, a sentence fragment: "CPU time plus time asleep". */
  of: string;
  /** Number of ranks. */
  ranks: number;
  /** Ranks of the cause. */
  concerned: RankSet;
  /** One for each rank; null if there are more than 4,096 ranks (then see `groups`). */
  values: number[] | null;
  /** Clusters by value, by ascending value; one group where ranks do not differ. */
  groups: ValueGroup[];
  least: number;
  median: number;
  most: number;
}
export interface ValueGroup {
  /** "the 3 slow ranks", "the others". */
  name: string;
  ranks: RankSet;
  size: number;
  least_seconds: number;
  mean_seconds: number;
  most_seconds: number;
}

export interface Growth {
  /** As in `diagnosis.causes[i].by_scale`; null where the place was not seen. */
  points: { ranks: number; mean_seconds: number | null; most_seconds: number | null }[];
  models: GrowthModel[];
  /** What ideal scaling would be at each number of ranks of `points` and `models[].curve`; empty for one scale. */
  ideal: [ranks: number, seconds: number][];
}
export interface GrowthModel {
  /** Figure that is fitted. */
  of: "mean" | "most";
  /** "log-log line" or "cross-validated model". */
  kind: "line" | "model";
  /** "0.012·p^0.9", "0.3 + 1.2·p^-1". */
  words: string;
  /** Exponent of a line; null for a model. */
  slope: number | null;
  /** Coefficient of determination of a line, 0 to 1. */
  r_squared: number | null;
  /** Mean relative error of a model at scales left out of its fit. */
  error: Share | null;
  /** Fitted values at the measured scales and between, then predictions for larger runs. */
  curve: [ranks: number, seconds: number][];
  /** The number of ranks from which on `curve` is a prediction: larger than the largest scale. */
  predicted_from: number;
}

// ---------------------------------------------------------------- source

export interface Source {
  /** As debug information names it. */
  file: string;
  module: string;
  state: "shown" | "gone" | "withheld" | "left-out";
  /** For people where it is not shown; also that the file is newer than the program. */
  note: string | null;
  newer: boolean;
  /** Number of the first of `lines`. */
  first_line: number;
  lines: string[];
  /** Sampled CPU seconds of all ranks at the largest scale for each of `lines`; null where it was not sampled. */
  heat_seconds: number[] | null;
  /** The loop, call or function: first and last line, 0 unknown. */
  marked: [first: number, last: number];
  /** Line with the most time; 0 unknown. */
  hot_line: number;
}

// ---------------------------------------------------------------- calling contexts

export type FrameKind =
  | "function" | "inlined" | "loop" | "irreducible-loop" | "branch" | "call" | "mpi-call" | "external-call"
  | "indirect-call" | "recursive-call" | "thread-call" | "lock-call" | "comp";

/** The calling-context tree that all scales share, in program order: a parent comes before its children, and everything
 *  inside a frame follows it directly. Frame 0 is the program. Columns have one element for each frame. */
export interface Contexts {
  /** Names, files, functions and modules; columns of texts are indices into it, -1 for none. */
  strings: string[];
  /** The frame around it; -1 for frame 0. */
  parent: number[];
  kind: FrameKind[];
  name: number[];
  function: number[];
  file: number[];
  module: number[];
  /** 0 unknown. */
  first_line: number[];
  last_line: number[];
  hot_line: number[];
  /** MPI class of a call: "collective", "point-to-point", "wait", "one-sided", "file", "start-or-end", "other"; index into
   *  `strings`. */
  mpi_class: number[];
  /** Copies of one place in the program have the same number. */
  site: number[];
  metrics: Metric[];
  /** For each of `Page.runs`. */
  scales: ContextScale[];
  /** Runs of other builds, to compare with. */
  others: OtherBuild[];
}
/** A run of another build of the program, with its figures at the frames of this build. */
export interface OtherBuild {
  name: string;
  scale: ContextScale;
  /** By metric: how much of it is at places that this build does not have; part of `inclusive` of the frames around them. */
  elsewhere: { [metric: string]: number };
}
export interface Metric {
  /** "time", "wait", "mpi", "busy", "blocked", "runq", "count", "bytes", or the name of a counter. */
  name: string;
  title: string;
  unit: "seconds" | "bytes" | "count";
}
export interface ContextScale {
  ranks: number;
  /** By `Metric.name`; a metric that this run does not have is missing. */
  metrics: { [metric: string]: ContextMetric };
}
/** Columns by frame; null where the frame was not seen or has no such figure. */
export interface ContextMetric {
  /** Own figure without the frames inside, summed over ranks and threads. */
  exclusive: (number | null)[];
  /** With everything inside, summed over ranks and threads. */
  inclusive: (number | null)[];
  /** Mean over ranks of `exclusive` is exclusive / ranks. Largest of a rank: */
  largest: (number | null)[];
  /** The rank of `largest`; -1 none. */
  largest_rank: number[];
}

// ---------------------------------------------------------------- ranks and threads

export interface RankData {
  ranks: number;
  /** Columns of the heat map: ranks that behave alike, ordered by likeness. Each rank is in exactly one group. With at most
   *  512 ranks each group is one rank. */
  groups: RankGroup[];
  /** Heat map: own figures of a frame, mean over the ranks of each group. Rows ordered by likeness. */
  heat: { [metric: string]: HeatRow[] };
  /** One row for each rank, or null with more than 4,096 ranks. */
  per_rank: PerRank | null;
  /** Messages between ranks; null if none were recorded. */
  matrix: Matrix | null;
  /** Figures of threads for ranks that have several; empty if none do. */
  threads: ThreadRow[];
  /** Waits between threads of one rank, the longest first. */
  locks: LockRow[];
  /** What is missing here and why, a sentence each. */
  missing: string[];
}
export interface RankGroup {
  /** "rank 3", "ranks 4-63 (60 ranks)". */
  name: string;
  ranks: RankSet;
  size: number;
}
export interface HeatRow {
  frame: number;
  /** One for each of `groups`; null where the frame was not seen. */
  values: (number | null)[];
}
export interface PerRank {
  rank: number[];
  /** Index into `RunInfo.nodes`; -1 unknown. */
  node: number[];
  wall_seconds: number[];
  computation_seconds: number[];
  mpi_seconds: number[];
  /** Waiting for other ranks inside MPI. */
  wait_seconds: number[];
  without_core_seconds: number[];
  startup_seconds: number[];
  /** Whether its data are complete. */
  complete: boolean[];
}
/** Tile of the heat map: any ranks in `columns` groups, in the order of ranks. */
export interface RankTile {
  scale: number;
  metric: string;
  groups: RankGroup[];
  rows: HeatRow[];
}
/** Messages and collectives' waits from ranks (rows) to ranks (columns); cells without anything are left out. */
export interface Matrix {
  ranks: number;
  /** Sets of consecutive ranks, the same for senders and receivers unless `to_bins` is there. */
  bins: RankSet[];
  to_bins: RankSet[] | null;
  from: number[];
  to: number[];
  /** Messages, extrapolated to all where they were sampled. */
  count: number[];
  bytes: number[];
  /** Seconds that the receiver waited for the sender (late sender). */
  late_sender_seconds: number[];
  /** Seconds that the sender waited for the receiver (late receiver). */
  late_receiver_seconds: number[];
  /** Seconds that `to` waited for `from` in collectives. */
  collective_seconds: number[];
}
export interface ThreadRow {
  rank: number;
  thread: number;
  /** Frame of the call or region that made its team; -1 for the first thread and unknown ones. */
  team: number;
  wall_seconds: number;
  cpu_seconds: number;
  /** Computing in the team. */
  busy_seconds: number;
  /** Waiting at the team's barriers and end. */
  barrier_seconds: number;
  /** Waiting for locks and other threads. */
  lock_seconds: number;
  without_core_seconds: number;
}
export interface LockRow {
  rank: number;
  kind: string; // "mutex", "critical section", …
  /** Thread and place that waited. */
  waiter: number;
  waiter_frame: number;
  /** Thread and place that held it; -1 unknown. */
  holder: number;
  holder_frame: number;
  count: number;
  wait_seconds: number;
  longest_seconds: number;
}

// ---------------------------------------------------------------- timeline

export interface ScaleTimeline {
  ranks: number;
  /** Windows in which every event was recorded; last the whole run, if there is a trace of it. */
  windows: WindowInfo[];
  /** Why there are none, or why the whole run is not among them. */
  missing: string | null;
}
export interface WindowInfo {
  /** Its number. */
  window: number;
  /** Begin in the run; null where unknown. */
  begin_seconds: number | null;
  /** Whether it is the whole run, in virtual time alone, from a trace. */
  whole: boolean;
  /** Recorded length; 0 where only virtual time is known. */
  length_ns: number;
  /** Length when replayed with a core for each rank; null without a replay. */
  virtual_length_ns: number | null;
  /** Number of MPI calls of all ranks in it. */
  calls: number;
  /** What the page has of it: the whole window, or a summary where it is large. With `Page.live`, request more. At least one
   *  of the two is there. */
  wall: TimelineTile | null;
  virtual: TimelineTile | null;
  /** Stretches with slices where the tiles above have densities, on either time axis; take the one that covers what is shown. */
  detail: TimelineTile[];
  /** The same stretch of the program in the other scales: window by number with the times of the same call, to show two
   *  scales side by side; empty where nothing corresponds. */
  alike: { scale: number; window: number; begin_ns: number; their_begin_ns: number }[];
}
/** A part of a window: some ranks, some time. Either `slices` or `density` is there. */
export interface TimelineTile {
  scale: number;
  window: number;
  clock: TimeAxis;
  begin_ns: number;
  end_ns: number;
  /** Rows from top to bottom. */
  rows: TimelineRow[];
  /** All calls and computation; null if there are too many. */
  slices: Slices | null;
  /** Shares of time by row and column; null if `slices` is there. */
  density: Density | null;
  messages: Messages;
  /** The critical path through this window, latest stretch last; empty where it is not known. */
  critical: { row: number[]; begin_ns: number[]; end_ns: number[] };
  /** Whether ranks, calls or messages were left out. */
  thinned: boolean;
}
export interface TimelineRow {
  /** "rank 3", "rank 3 thread 1", "ranks 128-255". */
  name: string;
  ranks: RankSet;
  thread: number;
}
/** Columns, by row and then begin. Slices of a row do not overlap. */
export interface Slices {
  row: number[];
  begin_ns: number[];
  length_ns: number[];
  kind: SliceKind[];
  /** Call site of a call; for computation the call before it (-1 unknown). */
  frame: number[];
  /** Index into `functions`; -1 for computation. */
  function: number[];
  functions: string[];
  /** Waiting at the slice's begin; 0 none. */
  wait_ns: number[];
  /** Index into `states`; -1 for none. */
  state: number[];
  /** Scalasca's names: "late sender", "wait at n-to-n", … */
  states: string[];
  /** Rank that was waited for, otherwise the partner or root; -1 none. */
  partner: number[];
  bytes: number[];
  /** CPU time plus time asleep of computation; the rest is time without a core or outside the program. 0 for a call. */
  busy_ns: number[];
}
/** 0 computation, 1 MPI call. */
export type SliceKind = 0 | 1;
/** Share of time, 0 to 1,000 thousandths, by row-major cell (row * columns + column). The rest of a cell is outside. */
export interface Density {
  columns: number;
  computing: number[];
  waiting: number[];
  /** In MPI calls without waiting. */
  calling: number[];
}
export interface Messages {
  from_row: number[];
  /** Begin of the sending call. */
  sent_ns: number[];
  to_row: number[];
  /** End of the receiving call. */
  received_ns: number[];
  bytes: number[];
  /** 1 if the receiver waited for it. */
  late: (0 | 1)[];
}

// ---------------------------------------------------------------- graph and dataflow

export interface Graph {
  /** Parts of the parallel view, referred to by causes; with `Page.live`, request others. */
  neighbourhoods: Neighbourhood[];
  /** The dataflow of passes that made the diagnosis; null if it is not known. */
  flow: Flow | null;
}
export interface Neighbourhood {
  scale: number;
  /** The place that it is around. */
  frame: number;
  vertices: {
    frame: number;
    rank: number;
    thread: number;
    /** "loop zeus.c:41", "MPI_Recv". */
    name: string;
    seconds: number;
    wait_seconds: number;
    /** Whether it is the place itself. */
    is_place: boolean;
    /** Index of the step of the cause's path that it is part of; null if of none. */
    step: number | null;
  }[];
  edges: {
    /** Indices into `vertices`, in the direction of time. */
    from: number;
    to: number;
    /** "flow", "point-to-point", "late-receiver", "collective", "team", "lock", …: the `kind` of the parallel view. */
    kind: string;
    count: number | null;
    bytes: number | null;
    wait_seconds: number | null;
    /** Whether a flow goes back in a loop. */
    back: boolean;
  }[];
  thinned: boolean;
}
export interface Flow {
  name: string;
  nodes: {
    name: string;
    /** What the pass does, a sentence; "" for an input. */
    about: string;
    kind: "input" | "pass";
    parameters: string;
    /** What it returned: "3 candidates", "16 vertices"; null if not known. */
    returned: string | null;
    /** Layer from top (0) to bottom. */
    step: number;
  }[];
  edges: { from: number; to: number }[];
}

// ---------------------------------------------------------------- tables

export interface Section {
  name: string;
  title: string;
  note: string | null;
  columns: { name: string; title: string; unit: "none" | "seconds" | "bytes" | "count" | "share" | "ratio" }[];
  rows: { [column: string]: number | string | null }[];
}

// ---------------------------------------------------------------- diagnosis (docs/schema/diagnose.json)

export type Scaling = "strong" | "weak" | "single";
export type Clock = "cpu" | "wall" | "virtual";

export interface Diagnosis {
  schema: number;
  program: string;
  mpi_library: string;
  scaling: Scaling;
  scaling_reason: string;
  scaling_certain: boolean;
  headline: string[];
  notes: string[];
  scales: ScaleSummary[];
  causes: Cause[];
  account: Account;
  other_reading: { scaling: Scaling; headline: string[]; causes: Cause[] } | null;
  non_scalable: Marked[];
  abnormal: Marked[];
  missing: string[];
}
export interface ScaleSummary {
  run: string;
  ranks: number;
  threads: number;
  cores: number;
  wall_seconds: number;
  model_seconds: number;
  runq_share: Share;
  efficiencies: Efficiencies;
  startup_seconds: number;
  window_share: Share | null;
  window_events: number | null;
  replayed_share: Share | null;
}
export interface Efficiencies {
  parallel: number | null;
  load_balance: number | null;
  communication: number | null;
  serialisation: number | null;
  transfer: number | null;
  computation_scaling: number | null;
  instruction_scaling: number | null;
  ipc_scaling: number | null;
  frequency_scaling: number | null;
  /** What threads lose; null where they are no part of the scale. */
  threads: ThreadEfficiencies | null;
  global: number | null;
}
/** Their product is `parallel`. */
export interface ThreadEfficiencies {
  parallel: number;
  load_balance: number;
  serialisation: number;
  scheduling: number;
}
export interface Place {
  kind: FrameKind;
  name: string;
  function: string;
  file: string | null;
  first_line: number;
  last_line: number;
  hot_line: number;
  module: string;
  address: number;
}
export interface Step {
  what: string;
  ranks: RankSet;
  place: Place;
  seconds: number;
  clock: Clock;
}
export type CauseClass =
  | "uneven-work" | "slower-work" | "non-shrinking-work" | "growing-communication" | "late-sender-chain"
  | "collective-algorithm" | "thread-imbalance" | "lock-contention" | "serial-region" | "small-regions" | "allocator-contention"
  | "system-call-or-io" | "preempted" | "one-off" | "startup";
export interface Cause {
  class: CauseClass;
  place: Place;
  call_path: Place[];
  called_from: string | null;
  ranks: RankSet;
  scale: number;
  cost_seconds: number;
  cost_share: Share;
  gain_seconds: number;
  gain_share: Share;
  gain_range_seconds: [least: number, most: number];
  explanation: string;
  path: Step[];
  waiting_seconds: number | null;
  /** Empty in a file that was thinned out; then `CauseDetail.by_rank.groups` remain. */
  by_rank: number[];
  clock: Clock;
  by_scale: [ranks: number, mean_seconds: number, most_seconds: number][];
  by_thread: { rank: number; threads: number[]; seconds: number[]; concerned: number[] } | null;
  evidence: { text: string }[];
  only_if: Scaling | null;
  repeated: { found: number; of: number } | null;
}
export interface Account {
  ranks: number;
  against: "even" | "ideal";
  of_seconds: number;
  loss_seconds: number;
  loss_share: Share;
  parts: {
    kind: "causes" | "small-uneven" | "small-growth" | "serialisation" | "transfer" | "before-init" | "pace" | "unknown";
    seconds: number;
    share: Share;
  }[];
  small: { places: number; largest: { place: Place; seconds: number }[]; shared: string[];
    steps: { place: Place; share: number; without: string[] }[] } | null;
}
export interface Marked {
  place: Place;
  ranks: RankSet;
  seconds: number;
  loss_share: Share;
  aggregation: "one-rank" | "mean" | "median" | "variance" | "clusters";
  slope: number | null;
  r_squared: number | null;
  model: string | null;
  aggregates: {
    aggregation: "one-rank" | "mean" | "median" | "variance" | "clusters";
    seconds: [ranks: number, seconds: number][];
    slope: number | null;
    r_squared: number | null;
    model: string | null;
    model_error: number | null;
  }[];
  ratio: number;
}
