// Figures of metrics in their units.
import type { Metric } from "../model";
import type { Unit } from "./units";

export function unitOf(metric: Metric | undefined): Unit {
  if (metric?.unit === "bytes") return "bytes";
  return metric?.unit === "count" ? "count" : "s";
}

/** The unit as a word for heads of files. */
export function unitWord(metric: Metric | undefined): string {
  if (metric?.unit === "bytes") return "B";
  return metric?.unit === "count" ? "" : "s";
}
