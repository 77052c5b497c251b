// What can be seen of a row of a timeline: its slices as segments of at least about one pixel.
import type { TimelineTile } from "../model";
import type { Scale } from "./scale";

export type SegmentKind = "computation" | "wait" | "call";

export interface Segment {
  from: number;
  to: number;
  kind: SegmentKind;
  /** The slice that it shows; -1 where it sums up several. */
  slice: number;
}

/** Index of the first slice of each row, and one past the last. Slices are ordered by row. */
export function rowStarts(tile: TimelineTile): number[] {
  const starts = new Array<number>(tile.rows.length + 1).fill(tile.slices?.row.length ?? 0);
  const rows = tile.slices?.row ?? [];
  for (let i = rows.length - 1; i >= 0; i -= 1) starts[rows[i] as number] = i;
  for (let row = tile.rows.length - 1; row >= 0; row -= 1) starts[row] = Math.min(starts[row] as number, starts[row + 1] as number);
  return starts;
}

/** The first slice between `low` and `high` that ends after a time. */
export function firstAfter(tile: TimelineTile, low: number, high: number, time: number): number {
  const { begin_ns, length_ns } = tile.slices ?? { begin_ns: [], length_ns: [] };
  let [a, b] = [low, high];
  while (a < b) {
    const middle = (a + b) >> 1;
    if ((begin_ns[middle] ?? 0) + (length_ns[middle] ?? 0) > time) b = middle;
    else a = middle + 1;
  }
  return a;
}

/** The segments of one row between two times. Slices narrower than a pixel are summed up: the kind with the most time is shown. */
export function segments(tile: TimelineTile, starts: readonly number[], row: number, time: Scale): Segment[] {
  const slices = tile.slices;
  if (!slices) return [];
  const [begin, end] = time.domain;
  const found: Segment[] = [];
  const thin = { from: 0, to: 0, computation: 0, wait: 0, call: 0 };
  const flush = () => {
    if (thin.to <= thin.from) return;
    const kinds: SegmentKind[] = ["computation", "wait", "call"];
    const kind = kinds.reduce((a, b) => (thin[b] > thin[a] ? b : a));
    found.push({ from: thin.from, to: thin.to, kind, slice: -1 });
    Object.assign(thin, { from: 0, to: 0, computation: 0, wait: 0, call: 0 });
  };
  const add = (from: number, to: number, kind: SegmentKind, slice: number) => {
    const [first, last] = [Math.max(begin, from), Math.min(end, to)];
    if (last <= first) return;
    const [a, b] = [time(first), time(last)];
    if (b - a >= 1) {
      flush();
      found.push({ from: a, to: b, kind, slice });
      return;
    }
    if (thin.to <= thin.from || a > thin.to + 1) {
      flush();
      thin.from = a;
    }
    thin.to = Math.max(thin.to, b, thin.from + 1e-6);
    thin[kind] += to - from;
    if (thin.to - thin.from >= 1) flush();
  };
  const last = starts[row + 1] ?? 0;
  for (let i = firstAfter(tile, starts[row] ?? 0, last, begin); i < last; i += 1) {
    const from = slices.begin_ns[i] as number;
    if (from >= end) break;
    const to = from + (slices.length_ns[i] as number);
    if (slices.kind[i] === 0) {
      add(from, to, "computation", i);
    } else {
      const waited = Math.min(to, from + (slices.wait_ns[i] as number));
      if (waited > begin) add(from, waited, "wait", i);
      add(waited, to, "call", i);
    }
  }
  flush();
  return found;
}

/** The slice of a row at a time; -1 if there is none. */
export function sliceAt(tile: TimelineTile, starts: readonly number[], row: number, time: number): number {
  const last = starts[row + 1] ?? 0;
  const i = firstAfter(tile, starts[row] ?? 0, last, time);
  return i < last && (tile.slices?.begin_ns[i] as number) <= time ? i : -1;
}
