// Event windows of the made-up program: a ring that is simulated step by step.
import type { Hop, ScaleTimeline, TimelineTile, WindowInfo } from "../../src/model";
import { SCALES } from "./diagnosis";

const RELAX = 10;
const WAITALL = 8;
const ALLREDUCE = 12;
const STEPS = 4;
const WORK_NS = 900_000;
const EXTRA_NS = 1_400_000;

/** Runs the ring for some steps; each rank exchanges three times with its left neighbour, then all reduce. */
export function madeTile(scale: number, ranks: number, clock: "wall" | "virtual"): TimelineTile {
  const rows = Array.from({ length: ranks }, (_, rank) => ({ name: `rank ${rank}`, ranks: String(rank), thread: 0 }));
  const tile: TimelineTile = {
    scale,
    window: 0,
    clock,
    begin_ns: 0,
    end_ns: 0,
    rows,
    slices: null,
    density: null,
    messages: { from_row: [], sent_ns: [], to_row: [], received_ns: [], bytes: [], late: [] },
    critical: { row: [], begin_ns: [], end_ns: [] },
    thinned: false,
  };
  const list: { row: number; begin: number; length: number; frame: number; call: number; wait: number; state: number; partner: number; bytes: number }[] = [];
  const now = new Array<number>(ranks).fill(0);
  const compute = (rank: number, length: number) => {
    list.push({ row: rank, begin: now[rank]!, length, frame: RELAX, call: -1, wait: 0, state: -1, partner: -1, bytes: 0 });
    now[rank]! += length;
  };
  for (let step = 0; step < STEPS; step += 1) {
    for (let exchange = 0; exchange < 3; exchange += 1) {
      for (let rank = 0; rank < ranks; rank += 1) compute(rank, WORK_NS + rank * 1000 + (exchange === 0 && rank % 4 === 0 ? EXTRA_NS : 0));
      const ready = [...now];
      for (let rank = 0; rank < ranks; rank += 1) {
        const left = (rank + ranks - 1) % ranks;
        const wait = Math.max(0, ready[left]! - ready[rank]!);
        const length = wait + 40_000;
        list.push({ row: rank, begin: ready[rank]!, length, frame: WAITALL, call: 0, wait, state: wait > 0 ? 0 : -1, partner: left, bytes: 65_536 });
        now[rank] = ready[rank]! + length;
        const messages = tile.messages;
        messages.from_row.push(left);
        messages.sent_ns.push(ready[left]!);
        messages.to_row.push(rank);
        messages.received_ns.push(now[rank]!);
        messages.bytes.push(65_536);
        messages.late.push(wait > 0 ? 1 : 0);
      }
    }
    const last = Math.max(...now);
    const slowest = now.indexOf(last);
    for (let rank = 0; rank < ranks; rank += 1) {
      const wait = last - now[rank]!;
      list.push({ row: rank, begin: now[rank]!, length: wait + 20_000, frame: ALLREDUCE, call: 1, wait, state: wait > 0 ? 1 : -1, partner: slowest, bytes: 8 });
    }
    tile.critical.row.push(slowest);
    tile.critical.begin_ns.push(step === 0 ? 0 : tile.critical.end_ns.at(-1)!);
    tile.critical.end_ns.push(last + 20_000);
    now.fill(last + 20_000);
  }
  list.sort((a, b) => a.row - b.row || a.begin - b.begin);
  tile.end_ns = Math.max(...now);
  tile.slices = {
    row: list.map((s) => s.row),
    begin_ns: list.map((s) => s.begin),
    length_ns: list.map((s) => s.length),
    kind: list.map((s) => (s.call < 0 ? 0 : 1)),
    frame: list.map((s) => s.frame),
    function: list.map((s) => s.call),
    functions: ["MPI_Waitall", "MPI_Allreduce"],
    wait_ns: list.map((s) => s.wait),
    state: list.map((s) => s.state),
    states: ["late sender", "wait at n-to-n"],
    partner: list.map((s) => s.partner),
    bytes: list.map((s) => s.bytes),
    busy_ns: list.map((s) => (s.call < 0 ? s.length : 0)),
  };
  return tile;
}

/** A tile of many ranks: shares of time instead of calls. */
export function madeDensity(ranks: number, columns: number): TimelineTile {
  const cells = Array.from({ length: ranks * columns }, (_, i) => [Math.floor(i / columns), i % columns] as const);
  const computing = cells.map(([row, column]) => ((row * 7 + column * 3) % 10) * 90);
  return {
    ...madeTile(0, 1, "wall"),
    end_ns: 60_000_000,
    rows: Array.from({ length: ranks }, (_, row) => ({ name: `ranks ${row * 128}-${row * 128 + 127}`, ranks: `${row * 128}-${row * 128 + 127}`, thread: 0 })),
    slices: null,
    density: { columns, computing, waiting: computing.map((share) => 900 - share), calling: computing.map(() => 50) },
    messages: { from_row: [], sent_ns: [], to_row: [], received_ns: [], bytes: [], late: [] },
    critical: { row: [], begin_ns: [], end_ns: [] },
    thinned: true,
  };
}

/** A whole run, which has virtual time alone. */
function madeWhole(scale: number, ranks: number): WindowInfo {
  const tile = { ...madeTile(scale, ranks, "virtual"), window: 2 };
  return { window: 2, begin_seconds: null, whole: true, length_ns: 0, virtual_length_ns: tile.end_ns, calls: tile.slices?.row.length ?? 0, wall: null, virtual: tile, detail: [], alike: [] };
}

export function madeTimelines(): ScaleTimeline[] {
  return SCALES.map((ranks, scale) => {
    if (scale === 0) return { ranks, windows: [], missing: "The run has no event windows." };
    const wall = madeTile(scale, ranks, "wall");
    const window: WindowInfo = { window: 0, begin_seconds: 0.4, whole: false, length_ns: wall.end_ns, virtual_length_ns: wall.end_ns, calls: wall.slices?.row.length ?? 0, wall, virtual: madeTile(scale, ranks, "virtual"), detail: [], alike: [{ scale: 3 - scale, window: 0, begin_ns: 0, their_begin_ns: 0 }] };
    const many = { ...madeDensity(16, 120), window: 1, scale };
    const part = { ...madeTile(scale, 16, "wall"), window: 1, thinned: true };
    return { ranks, windows: [window, { window: 1, begin_seconds: null, whole: false, length_ns: many.end_ns, virtual_length_ns: null, calls: 90_000, wall: many, virtual: null, detail: [part], alike: [] }, madeWhole(scale, ranks)], missing: null };
  });
}

/** The way from rank 2's wait to rank 0's computation, in the first step. */
export function madeHops(): Hop[] {
  const late = WORK_NS + EXTRA_NS;
  return [
    { step: 1, kind: "wait", rank: 2, begin_ns: 2 * WORK_NS + 44_000, end_ns: late + WORK_NS + 42_000, to_rank: null, words: "rank 2 waits in MPI_Waitall for rank 1" },
    { step: 1, kind: "message", rank: 1, begin_ns: late + WORK_NS + 41_000, end_ns: late + WORK_NS + 82_000, to_rank: 2, words: "message from rank 1 to rank 2" },
    { step: null, kind: "computation", rank: 1, begin_ns: late + 40_000, end_ns: late + WORK_NS + 41_000, to_rank: null, words: "rank 1 computes" },
    { step: 2, kind: "wait", rank: 1, begin_ns: WORK_NS + 1000, end_ns: late, to_rank: null, words: "rank 1 waits in MPI_Waitall for rank 0" },
    { step: 2, kind: "message", rank: 0, begin_ns: late, end_ns: late + 40_000, to_rank: 1, words: "message from rank 0 to rank 1" },
    { step: 3, kind: "computation", rank: 0, begin_ns: 0, end_ns: late, to_rank: null, words: "rank 0 computes" },
  ];
}
