// Says in words what a slice of a timeline is.
import type { Contexts, TimelineTile } from "../model";
import { whereOf } from "./frame";
import { bytes, seconds } from "./units";

export const NS = 1e-9;

/** `rank 2: MPI_Waitall at ring.c:31, 1.20 ms; waits 1.10 ms for rank 1 (late sender); 65.5 kB`. */
export function sliceInWords(tile: TimelineTile, contexts: Contexts, slice: number): string {
  const slices = tile.slices;
  if (!slices || slice < 0) return "";
  const row = tile.rows[slices.row[slice] as number]?.name ?? "";
  const length = seconds((slices.length_ns[slice] as number) * NS);
  const frame = slices.frame[slice] as number;
  const name = slices.functions[slices.function[slice] as number];
  if (slices.kind[slice] === 0 || name === undefined) {
    const busy = slices.busy_ns[slice] as number;
    const idle = (slices.length_ns[slice] as number) - busy;
    const core = tile.clock === "wall" && idle > 0.05 * (slices.length_ns[slice] as number) ? `, of which ${seconds(busy * NS)} on a core` : "";
    return `${row}: computes ${length}${core}`;
  }
  const words = [`${row}: ${name}${frame >= 0 ? ` at ${whereOf(contexts, frame)}` : ""}, ${length}`];
  const wait = slices.wait_ns[slice] as number;
  const partner = slices.partner[slice] as number;
  const state = slices.states[slices.state[slice] as number];
  if (wait > 0) words.push(`waits ${seconds(wait * NS)}${partner >= 0 ? ` for rank ${partner}` : ""}${state ? ` (${state})` : ""}`);
  if ((slices.bytes[slice] as number) > 0) words.push(bytes(slices.bytes[slice]));
  return words.join("; ");
}
