// The words for what the diagnosis names by identifiers.
/** A name for an identifier that has none here. */
export function plain(identifier: string): string {
  return identifier.replaceAll("-", " ");
}

const LOSSES: Record<string, string> = {
  causes: "the causes reported",
  "small-uneven": "small differences between ranks",
  "small-growth": "small parts that do not shrink",
  serialisation: "ranks waiting in turn",
  transfer: "moving data",
  "before-init": "before MPI_Init returned",
  pace: "slower machine (assumed)",
  unknown: "unknown",
};

/** A part of the loss. */
export function lossName(kind: string): string {
  return LOSSES[kind] ?? plain(kind);
}

const CLOCKS: Record<string, string> = {
  cpu: "CPU time plus time asleep, outside MPI",
  wall: "wall time as recorded",
  virtual: "time of the replayed run: a core for each rank, messages take no time",
};

/** What seconds are seconds of. */
export function clockName(clock: string): string {
  return CLOCKS[clock] ?? plain(clock);
}

const SCALINGS: Record<string, string> = {
  strong: "strong scaling: the same problem on more ranks",
  weak: "weak scaling: a problem that grows with the ranks",
  single: "one scale only: nothing to compare",
};

export function scalingName(scaling: string): string {
  return SCALINGS[scaling] ?? plain(scaling);
}

/** A sentence that begins with a capital letter. */
export function capitalised(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

/** Efficiencies in POP's order, each with its depth in the tree. */
export const EFFICIENCIES: [field: string, name: string, depth: number][] = [
  ["global", "Global efficiency", 0],
  ["computation_scaling", "Computation scaling", 1],
  ["instruction_scaling", "Instruction scaling", 2],
  ["ipc_scaling", "IPC scaling", 2],
  ["frequency_scaling", "Frequency scaling", 2],
  ["parallel", "Parallel efficiency", 1],
  ["load_balance", "Load balance", 2],
  ["communication", "Communication efficiency", 2],
  ["serialisation", "Serialisation", 3],
  ["transfer", "Transfer", 3],
  ["threads/parallel", "Thread efficiency", 1],
  ["threads/load_balance", "Load balance of threads", 2],
  ["threads/serialisation", "Serial part", 2],
  ["threads/scheduling", "Scheduling and locks", 2],
];
