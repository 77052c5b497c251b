// Places of calling contexts: what the columns of the page's data say about one frame.
import type { Contexts, Place } from "../model";
import { hasLines, isLoop, location, placeName } from "./place";

function text(contexts: Contexts, column: readonly number[], frame: number): string {
  return contexts.strings[column[frame] ?? -1] ?? "";
}

/** A frame as a place of the program. */
export function framePlace(contexts: Contexts, frame: number): Place {
  return {
    kind: contexts.kind[frame] ?? "comp",
    name: text(contexts, contexts.name, frame),
    function: text(contexts, contexts.function, frame),
    file: text(contexts, contexts.file, frame) || null,
    first_line: contexts.first_line[frame] ?? 0,
    last_line: contexts.last_line[frame] ?? 0,
    hot_line: contexts.hot_line[frame] ?? 0,
    module: text(contexts, contexts.module, frame),
    address: 0,
  };
}

/** A short name for a frame: `loop zeus.c:7-8`, `MPI_Waitall`, `relax`; without lines `loop in boundary`. */
export function frameName(contexts: Contexts, frame: number): string {
  const place = framePlace(contexts, frame);
  if (!hasLines(place)) return placeName(place);
  if (isLoop(place)) return `loop ${location(place)}`;
  if (place.kind === "branch") return `branch ${location(place)}`;
  return placeName(place);
}

/** File and lines of a frame; where there are none its name, and the function that it is in. */
export function whereOf(contexts: Contexts, frame: number): string {
  const place = framePlace(contexts, frame);
  if (hasLines(place)) return location(place);
  const name = placeName(place);
  return place.function === "" || name.includes(place.function) ? name : `${name} in ${place.function}`;
}

/** The frames from the outermost to this one. */
export function pathOf(contexts: Contexts, frame: number): number[] {
  const path: number[] = [];
  for (let at = frame; at >= 0 && path.length < 10_000; at = contexts.parent[at] ?? -1) path.unshift(at);
  return path;
}

/** Children of each frame, in the order of the program. */
export function childrenOf(contexts: Contexts): number[][] {
  const children: number[][] = contexts.parent.map(() => []);
  contexts.parent.forEach((parent, frame) => {
    if (parent >= 0) children[parent]?.push(frame);
  });
  return children;
}
