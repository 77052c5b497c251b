// The calling contexts and ranks of the made-up program.
import type { Contexts, FrameKind, Matrix, RankData } from "../../src/model";
import { SCALES } from "./diagnosis";
import type { Names } from "./names";

type Row = [parent: number, kind: FrameKind, name: string, inside: string, first: number, last: number, share: number, wait: number];

/** Frames in the order of the program, each with its own share of the run time and of the waiting. */
export function frames(names: Names): Row[] {
  return [
    [-1, "function", "program", "program", 0, 0, 0, 0],
    [0, "function", "main", "main", 11, 35, 0.01, 0],
    [1, "mpi-call", "MPI_Init", "main", 13, 13, 0.02, 0],
    [1, "loop", "main", "main", 19, 29, 0.01, 0],
    [3, "function", names.loop, names.loop, 5, 9, 0.001, 0],
    [4, "loop", names.loop, names.loop, 7, 8, 0.09, 0],
    [3, "function", names.exchange, names.exchange, 25, 33, 0.005, 0],
    [6, "mpi-call", "MPI_Isend", names.exchange, 27, 27, 0.01, 0],
    [6, "mpi-call", "MPI_Waitall", names.exchange, 31, 31, 0.2, 0.18],
    [3, "inlined", names.relax, names.relax, 17, 21, 0.01, 0],
    [9, "loop", names.relax, names.relax, 19, 20, 0.55, 0],
    [9, "branch", names.relax, names.relax, 20, 20, 0.02, 0],
    [3, "mpi-call", "MPI_Allreduce", "main", 29, 29, 0.06, 0.04],
    [1, "mpi-call", "MPI_Finalize", "main", 33, 33, 0.015, 0],
  ];
}

export function madeContexts(names: Names): Contexts {
  const rows = frames(names);
  const strings = [...new Set([...rows.flatMap((row) => [row[2], row[3]]), names.file, names.program, "collective", "wait", "point-to-point", "start-or-end"])];
  const at = (text: string) => strings.indexOf(text);
  const inclusive = (own: number[]) => {
    const sums = [...own];
    for (let i = rows.length - 1; i > 0; i -= 1) sums[rows[i]![0]] = sums[rows[i]![0]]! + sums[i]!;
    return sums;
  };
  const metric = (own: number[], ranks: number) => ({ exclusive: own, inclusive: inclusive(own), largest: own.map((x) => (x / ranks) * 1.5), largest_rank: own.map(() => 4 % ranks) });
  return {
    strings,
    parent: rows.map((row) => row[0]),
    kind: rows.map((row) => row[1]),
    name: rows.map((row) => at(row[2])),
    function: rows.map((row) => at(row[3])),
    file: rows.map((row) => (row[4] === 0 ? -1 : at(names.file))),
    module: rows.map(() => at(names.program)),
    first_line: rows.map((row) => row[4]),
    last_line: rows.map((row) => row[5]),
    hot_line: rows.map((row) => row[4]),
    mpi_class: rows.map((row) => (row[1] === "mpi-call" ? at(row[2] === "MPI_Allreduce" ? "collective" : row[2] === "MPI_Waitall" ? "wait" : "start-or-end") : -1)),
    site: rows.map((_, i) => i),
    metrics: [
      { name: "time", title: "Time", unit: "seconds" },
      { name: "wait", title: "Waiting", unit: "seconds" },
      { name: "count", title: "Calls", unit: "count" },
      { name: "bytes", title: "Bytes sent", unit: "bytes" },
    ],
    scales: SCALES.map((ranks) => ({
      ranks,
      metrics: {
        time: metric(rows.map((row) => row[6] * (6 + ranks / 4)), ranks),
        wait: metric(rows.map((row) => row[7] * (6 + ranks / 4)), ranks),
        count: { exclusive: rows.map((row) => (row[1] === "mpi-call" ? ranks * 64 : null)), inclusive: rows.map((row) => (row[1] === "mpi-call" ? ranks * 64 : null)), largest: rows.map((row) => (row[1] === "mpi-call" ? 64 : null)), largest_rank: rows.map(() => 0) },
        ...(ranks === 16 && { bytes: metric(rows.map((row) => (row[2] === "MPI_Isend" ? 8.4e6 : 0)), ranks) }),
      },
    })),
    others: [
      {
        name: "ring-O0.16",
        scale: { ranks: 16, metrics: { time: metric(rows.map((row) => row[6] * 12), 16) } },
        elsewhere: { time: 0.25 },
      },
    ],
  };
}

function matrix(ranks: number): Matrix {
  const pairs = Array.from({ length: ranks }, (_, rank) => [rank, (rank + 1) % ranks] as const);
  return {
    ranks,
    bins: pairs.map(([rank]) => String(rank)),
    to_bins: null,
    from: pairs.map(([from]) => from),
    to: pairs.map(([, to]) => to),
    count: pairs.map(() => 192),
    bytes: pairs.map(([from]) => 524_288 + from * 1000),
    late_sender_seconds: pairs.map(([from]) => (from % 4 === 3 ? 0 : 0.18 - (from % 4) * 0.001)),
    late_receiver_seconds: pairs.map(() => 0),
    collective_seconds: pairs.map(([from]) => (from % 4 === 0 ? 0.006 : 0)),
  };
}

export function madeRanks(names: Names): RankData[] {
  const rows = frames(names);
  return SCALES.map((ranks) => {
    const order = [...Array(ranks).keys()].sort((a, b) => Number(b % 4 === 0) - Number(a % 4 === 0) || a - b);
    const value = (i: number, rank: number) => rows[i]![6] * (i === 5 ? (rank % 4 === 0 ? 4 : 0.001) : i === 8 ? (rank % 4 === 0 ? 0.05 : 1.3) : 1);
    return {
      ranks,
      groups: order.map((rank) => ({ name: `rank ${rank}`, ranks: String(rank), size: 1 })),
      heat: { time: [10, 8, 5, 12, 2].map((frame) => ({ frame, values: order.map((rank) => (frame === 2 && rank === 1 ? null : value(frame, rank))) })), wait: [8, 12].map((frame) => ({ frame, values: order.map((rank) => rows[frame]![7] * (rank % 4 === 0 ? 0.1 : 1)) })) },
      per_rank: {
        rank: [...Array(ranks).keys()],
        node: [...Array(ranks).keys()].map(() => 0),
        wall_seconds: [...Array(ranks).keys()].map(() => 3.4),
        computation_seconds: [...Array(ranks).keys()].map((rank) => (rank % 4 === 0 ? 0.5 : 0.32)),
        mpi_seconds: [...Array(ranks).keys()].map((rank) => (rank % 4 === 0 ? 0.02 : 0.2)),
        wait_seconds: [...Array(ranks).keys()].map((rank) => (rank % 4 === 0 ? 0.01 : 0.19)),
        without_core_seconds: [...Array(ranks).keys()].map(() => 2.8),
        startup_seconds: [...Array(ranks).keys()].map(() => 0.4),
        complete: [...Array(ranks).keys()].map(() => true),
      },
      matrix: ranks === 4 ? null : matrix(ranks),
      threads: [0, 1, 2].map((thread) => ({ rank: 3, thread, team: thread === 0 ? -1 : 9, wall_seconds: 3.4, cpu_seconds: 0.3, busy_seconds: thread === 0 ? 0.02 : 0.004, barrier_seconds: thread === 0 ? 0 : 0.016, lock_seconds: 0.001 * thread, without_core_seconds: 1 })),
      locks: [{ rank: 3, kind: "mutex", waiter: 1, waiter_frame: 10, holder: 0, holder_frame: 10, count: 12, wait_seconds: 0.001, longest_seconds: 0.0002 }],
      missing: ranks === 4 ? ["Messages were not recorded."] : [],
    };
  });
}
