// Which figures of the program are shown: metric, scale, ranks, and what they are compared with.
import type { ContextMetric, Metric, Page } from "../model";
import { unitOf } from "../text/metric";
import { figure, isKnown } from "../text/units";
import { numberIn } from "./route";
import type { Route } from "./route";
import { differences, metricOf, ownFigures, wholeFigures } from "./tree";
import type { Figures } from "./tree";

export interface Reading {
  metric: Metric | undefined;
  scale: number;
  /** The scale (`"0"`) or the run of another build (`"b0"`) that is subtracted; null for none. */
  against: string | null;
  /** Index of a group of ranks; null for all ranks. */
  group: number | null;
  own: Figures | null;
  whole: Figures | null;
  /** Where the figures are in the page's data; null where they are differences or sums. */
  from: { own: string; whole: string } | null;
  /** What the figures are of. */
  words: string;
  /** Why there are none, or what they leave out. */
  note: string | null;
}

/** Figures of one group of ranks: the mean over its ranks, from the heat map. */
function ofGroup(page: Page, scale: number, metric: string, group: number): { own: Figures; whole: Figures } | null {
  const rows = page.ranks[scale]?.heat[metric];
  if (!rows) return null;
  const own: (number | null)[] = page.contexts.parent.map(() => null);
  for (const row of rows) own[row.frame] = row.values[group] ?? null;
  const whole = [...own];
  for (let frame = own.length - 1; frame > 0; frame -= 1) {
    const parent = page.contexts.parent[frame] ?? -1;
    const value = whole[frame];
    if (parent >= 0 && isKnown(value)) whole[parent] = (whole[parent] ?? 0) + value;
  }
  return { own, whole };
}

/** Divides sums over ranks or threads: the mean of one. Where a problem grows with them, scales are compared by it. */
function perOne(figures: Figures, size: number): Figures {
  return figures.map((value) => (value === null ? null : value / size));
}

interface Other {
  size: number;
  figures: ContextMetric | undefined;
  words: string;
  /** Of another build: what its figures leave out, or nothing. */
  note: string | null;
}

/** What is subtracted: another scale, or a run of another build. */
function otherOf(page: Page, choice: string, scale: number, metric: string): Other | null {
  const build = /^b\d+$/.test(choice) ? page.contexts.others[Number(choice.slice(1))] : undefined;
  if (build) {
    const elsewhere = build.elsewhere[metric] ?? 0;
    const unit = unitOf(page.contexts.metrics.find((item) => item.name === metric));
    const note = elsewhere > 0 ? `${figure(elsewhere, unit)} of the other build are at places that this build does not have. They count only in the places around them.` : "";
    return { size: build.scale.ranks, figures: build.scale.metrics[metric], words: `${build.name} of another build (${build.scale.ranks} ranks)`, note };
  }
  const at = /^\d+$/.test(choice) ? Number(choice) : -1;
  const run = page.runs[at];
  return run && at !== scale ? { size: run.size, figures: page.contexts.scales[at]?.metrics[metric], words: run.scale, note: null } : null;
}

export function readingOf(page: Page, route: Route): Reading {
  const metric = metricOf(page, route.choices["metric"]);
  const name = metric?.name ?? "";
  const last = page.runs.length - 1;
  const scale = Math.max(0, Math.min(last, numberIn(route, "scale", last)));
  const third = numberIn(route, "ranks", -1);
  const other = otherOf(page, route.choices["against"] ?? "", scale, name);
  const against = other ? (route.choices["against"] ?? null) : null;
  const groups = page.ranks[scale]?.groups ?? [];
  const group = against === null && third >= 0 && third < groups.length ? third : null;
  const [shown, size] = [page.runs[scale]?.scale ?? "", page.runs[scale]?.size ?? 1];
  const [one, all] = page.is_process ? ["thread", "all threads"] : ["rank", "all ranks"];
  const base = { metric, scale, against, group };
  if (group !== null) {
    const figures = ofGroup(page, scale, name, group);
    const missing = figures ? "Of single ranks, only the places of the heat map are in this page." : "This metric is not in this page for single ranks.";
    return { ...base, own: figures?.own ?? null, whole: figures?.whole ?? null, from: null, words: `${groups[group]?.name ?? ""} at ${shown}, mean of a rank`, note: missing };
  }
  const own = ownFigures(page.contexts, scale, name);
  const whole = wholeFigures(page.contexts, scale, name);
  if (other) {
    const known = own && whole && other.figures;
    // Of equally many, the sums can be compared as they are. Another build has its ranks alone.
    const many = other.note === null ? size : (page.runs[scale]?.ranks ?? 1);
    const sums = page.diagnosis.scaling === "strong" || many === other.size;
    const minus = (a: Figures, b: Figures) => (sums ? differences(a, b) : differences(perOne(a, many), perOne(b, other.size)));
    const words = `${shown} minus ${other.words}, ${sums ? `${all} together` : `mean of a ${one}`}${other.note === null ? "; without loss, the difference is 0" : ""}`;
    return { ...base, own: known ? minus(own, known.exclusive) : null, whole: known ? minus(whole, known.inclusive) : null, from: null, words, note: known ? other.note || null : "One of the two runs does not have this metric." };
  }
  const from = `/contexts/scales/${scale}/metrics/${name}`;
  return { ...base, own, whole, from: { own: `${from}/exclusive`, whole: `${from}/inclusive` }, words: size === 1 ? shown : `all ${shown} together`, note: own ? null : "This scale does not have this metric." };
}
