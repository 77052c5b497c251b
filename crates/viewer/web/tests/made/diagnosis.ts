// The diagnosis of a made-up program: a ring in which every fourth rank also runs a boundary loop.
import type { Cause, Diagnosis, Efficiencies, FrameKind, Place } from "../../src/model";
import type { Names } from "./names";

export const SCALES = [4, 8, 16];
export const LATE = (ranks: number) => Array.from({ length: ranks / 4 }, (_, i) => i * 4).join(",");

export function place(names: Names, kind: FrameKind, name: string, inside: string, first: number, last = first): Place {
  return { kind, name, function: inside, file: names.file, first_line: first, last_line: last, hot_line: first, module: names.program, address: 4096 + first };
}

function efficiencies(step: number): Efficiencies {
  const parallel = 0.9 - 0.09 * step;
  return {
    parallel,
    load_balance: parallel + 0.02,
    communication: 0.978,
    serialisation: step === 0 ? null : 0.985,
    transfer: step === 0 ? null : 0.993,
    computation_scaling: 1,
    instruction_scaling: null,
    ipc_scaling: null,
    frequency_scaling: null,
    threads: null,
    global: parallel,
  };
}

function uneven(names: Names): Cause {
  const loop = place(names, "loop", names.loop, names.loop, 7, 8);
  const wait = place(names, "mpi-call", "MPI_Waitall", names.exchange, 31);
  const main = place(names, "function", "main", "main", 11, 35);
  return {
    class: "uneven-work",
    place: loop,
    call_path: [main, place(names, "loop", "main", "main", 19, 29), place(names, "function", names.loop, names.loop, 5, 9), loop],
    called_from: null,
    ranks: LATE(16),
    scale: 16,
    cost_seconds: 0.18,
    cost_share: 0.34,
    gain_seconds: 0.18,
    gain_share: 0.34,
    gain_range_seconds: [0.164, 0.199],
    explanation: `Ranks 0,4,8,12 spend more time in the loop in ${names.loop} at line 7 than the others, who wait for them. Divide this work more evenly, or let the waiting ranks help.`,
    path: [
      { what: "wait in MPI_Allreduce", ranks: "1-3,5-7,9-11,13-15", place: place(names, "mpi-call", "MPI_Allreduce", "main", 29), seconds: 0.0062, clock: "virtual" },
      { what: "waits in MPI_Waitall for rank 1", ranks: "2", place: wait, seconds: 0.183, clock: "virtual" },
      { what: "waits in MPI_Waitall for rank 0", ranks: "1", place: wait, seconds: 0.181, clock: "virtual" },
      { what: "compute", ranks: LATE(16), place: loop, seconds: 0.18, clock: "cpu" },
    ],
    waiting_seconds: 2.25,
    by_rank: Array.from({ length: 16 }, (_, rank) => (rank % 4 === 0 ? 0.18 + rank * 1e-4 : 5e-5 + rank * 1e-6)),
    clock: "cpu",
    by_scale: [
      [4, 0.182, 0.729],
      [8, 0.0911, 0.364],
      [16, 0.045, 0.18],
    ],
    by_thread: null,
    evidence: [{ text: "4 of 16 ranks take 180 ms here, the others 55.9 µs" }, { text: "all ranks together wait 2.25 s because of it (delay cost)" }],
    only_if: null,
    repeated: { found: 3, of: 3 },
  };
}

function threads(names: Names): Cause {
  const loop = place(names, "loop", names.relax, names.relax, 19, 20);
  return {
    ...uneven(names),
    class: "thread-imbalance",
    place: loop,
    ranks: "0-15",
    cost_seconds: 0.021,
    cost_share: 0.04,
    gain_seconds: 0.018,
    gain_share: 0.034,
    gain_range_seconds: [0.002, 0.03],
    waiting_seconds: null,
    path: [{ what: "compute", ranks: "0-15", place: loop, seconds: 0.021, clock: "cpu" }],
    by_rank: Array.from({ length: 16 }, () => 0.021),
    by_thread: { rank: 3, threads: [0, 1, 2], seconds: [0.021, 0.004, 0.0041], concerned: [0] },
    evidence: [{ text: "thread 0 takes five times as long as the others" }],
    repeated: null,
  };
}

export function madeDiagnosis(names: Names): Diagnosis {
  const causes = [uneven(names), threads(names)];
  const summary = (ranks: number, step: number) => ({
    run: `${names.run}.${ranks}`,
    ranks,
    threads: ranks,
    cores: 2,
    wall_seconds: 4.2 - 0.3 * step,
    model_seconds: 2.1 / 2 ** step,
    runq_share: 0.5 + 0.12 * step,
    efficiencies: efficiencies(step),
    startup_seconds: 0.28 + 0.08 * step,
    window_share: step === 0 ? null : 1,
    window_events: step === 0 ? null : 1902,
    replayed_share: step === 0 ? null : 0.999,
  });
  return {
    schema: 1,
    program: names.program,
    mpi_library: "Open MPI v4.1.4",
    scaling: "strong",
    scaling_reason: "guessed: the arguments are the same at all scales",
    scaling_certain: false,
    headline: ["From 4 to 16 ranks the program becomes 3.3 times as fast, of 4 times possible.", `The main cause is uneven work in the loop in ${names.loop} on ranks 0,4,8,12: mending it gains up to 34 % (31–38 %).`],
    notes: [names.note],
    scales: SCALES.map(summary),
    causes,
    account: {
      ranks: 16,
      against: "ideal",
      of_seconds: 0.525,
      loss_seconds: 0.209,
      loss_share: 0.398,
      parts: [
        { kind: "causes", seconds: 0.198, share: 0.377 },
        { kind: "serialisation", seconds: 0.00614, share: 0.0117 },
        { kind: "unknown", seconds: 0.00486, share: 0.0093 },
      ],
      small: { places: 3, largest: [{ place: place(names, "function", names.relax, names.relax, 17, 21), seconds: 0.0047 }], shared: ["all are in one file"], steps: [{ place: place(names, "function", names.relax, names.relax, 17, 21), share: 0.4, without: [] }] },
    },
    other_reading: { scaling: "weak", headline: ["If the problem grows with the ranks, the program scales."], causes: [] },
    non_scalable: [
      {
        place: place(names, "mpi-call", "MPI_Waitall", names.exchange, 31),
        ranks: "0-15",
        seconds: 0.1,
        loss_share: 0.8,
        aggregation: "mean",
        slope: -0.1,
        r_squared: 0.93,
        model: "c + a/p",
        aggregates: [{ aggregation: "mean", seconds: [[4, 0.3], [8, 0.2], [16, 0.1]], slope: -0.1, r_squared: 0.93, model: "c + a/p", model_error: 0.04 }],
        ratio: 1.1,
      },
    ],
    abnormal: [{ place: causes[0]!.place, ranks: LATE(16), seconds: 0.18, loss_share: 0, aggregation: "mean", slope: null, r_squared: null, model: null, aggregates: [], ratio: 1319 }],
    missing: ["Hardware counters (instructions, cycles, cache misses) could not be had: equal work that runs slower cannot be distinguished from more work."],
  };
}
