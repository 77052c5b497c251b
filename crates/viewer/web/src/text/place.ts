// Names places of the program as the text report does.
import type { Place } from "../model";

/** The last part of a path. */
export function base(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** `file.c:10-20`, or `module+0x1234` where there are no lines, or the name of a place that is in no file. */
export function location(place: Place): string {
  if (hasLines(place)) {
    const lines = place.last_line > place.first_line ? `${place.first_line}-${place.last_line}` : `${place.first_line}`;
    return `${base(place.file)}:${lines}`;
  }
  if (place.module === "") return place.name;
  return `${base(place.module)}+0x${place.address.toString(16)}`;
}

export function hasLines(place: Place): place is Place & { file: string } {
  return Boolean(place.file) && place.first_line > 0;
}

export function isLoop(place: Place): boolean {
  return place.kind === "loop" || place.kind === "irreducible-loop";
}

/** `loop in boundary`, `MPI_Allreduce`, `branch in main`. */
export function placeName(place: Place): string {
  if (isLoop(place)) return `loop in ${place.function}`;
  if (place.kind === "branch") return `branch in ${place.function}`;
  if (place.kind === "comp") return `computation in ${place.function}`;
  return place.name;
}

/** All that is known of where a place is, for a tooltip. */
export function whole(place: Place): string {
  const file = place.file ? `${place.file}${place.first_line > 0 ? `:${place.first_line}` : ""}` : "no source file known";
  return `${placeName(place)}, ${file}, in ${place.module || "no module"}`;
}
