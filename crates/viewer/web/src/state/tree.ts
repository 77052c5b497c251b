// Calling contexts as a tree for one metric, scale and reading: top-down or bottom-up, whole or compared.
import type { Contexts, Page } from "../model";
import { childrenOf, frameName } from "../text/frame";
import { isKnown } from "../text/units";

export type Figures = readonly (number | null)[];

/** Own figures of all frames for a metric at a scale; null where they were not measured. */
export function ownFigures(contexts: Contexts, scale: number, metric: string): Figures | null {
  return contexts.scales[scale]?.metrics[metric]?.exclusive ?? null;
}

export function wholeFigures(contexts: Contexts, scale: number, metric: string): Figures | null {
  return contexts.scales[scale]?.metrics[metric]?.inclusive ?? null;
}

/** Differences between two scales, frame by frame; a frame that one of them does not have counts as none there. */
export function differences(now: Figures, before: Figures): (number | null)[] {
  return now.map((value, frame) => {
    const other = before[frame] ?? null;
    return value === null && other === null ? null : (value ?? 0) - (other ?? 0);
  });
}

export interface Node {
  /** A frame of this node, for its place. */
  frame: number;
  /** Branches around it that have nothing else in them: it stands for them. */
  folded: readonly number[];
  name: string;
  /** Null if it has no figure of its own. */
  own: number | null;
  whole: number;
  children: Node[];
}

function byWhole(a: Node, b: Node): number {
  return b.whole - a.whole || a.frame - b.frame;
}

/** The tree from a frame downward. */
export function topDown(contexts: Contexts, own: Figures, whole: Figures, from = 0): Node {
  const children = childrenOf(contexts);
  const inside = (frame: number) => (children[frame] ?? []).filter((child) => isKnown(whole[child]) && whole[child] > 0);
  // A row of else-ifs is a branch in a branch in a branch: dozens of rows with the same figure.
  const isBranch = (frame: number, of: number) => contexts.kind[frame] === "branch" && contexts.function[frame] === contexts.function[of];
  const node = (first: number): Node => {
    let frame = first;
    const folded: number[] = [];
    for (;;) {
      const [only, ...others] = inside(frame);
      if (only === undefined || others.length > 0 || !isBranch(frame, only) || !isBranch(only, only) || whole[only] !== whole[frame]) break;
      folded.push(frame);
      frame = only;
    }
    const name = frameName(contexts, frame);
    return {
      frame,
      folded,
      name: folded.length > 0 ? `${name} (innermost of ${folded.length + 1})` : name,
      own: own[frame] ?? null,
      whole: whole[frame] ?? 0,
      children: inside(frame).map(node).sort(byWhole),
    };
  };
  return node(from);
}

/** Deepest level of callers that is worked out at once. */
const DEPTH = 12;

/** Each place with its own figures over all contexts, and below it those that call it. */
export function bottomUp(contexts: Contexts, own: Figures, depth = DEPTH): Node[] {
  interface Growing extends Node {
    own: number;
    at: Map<number, Growing>;
  }
  const roots = new Map<number, Growing>();
  own.forEach((value, frame) => {
    if (!isKnown(value) || value <= 0) return;
    let level = roots;
    let at = frame;
    for (let i = 0; i < depth && at >= 0; i += 1) {
      const site = contexts.site[at] ?? at;
      let node = level.get(site);
      if (!node) {
        node = { frame: at, folded: [], name: frameName(contexts, at), own: 0, whole: 0, children: [], at: new Map() };
        level.set(site, node);
      }
      node.whole += value;
      if (i === 0) node.own += value;
      level = node.at;
      at = contexts.parent[at] ?? -1;
    }
  });
  const finish = (level: Map<number, Growing>): Node[] =>
    [...level.values()].map((node) => ({ frame: node.frame, folded: node.folded, name: node.name, own: node.own, whole: node.whole, children: finish(node.at) })).sort(byWhole);
  return finish(roots);
}

/** The metric by its name, or the first. */
export function metricOf(page: Page, name: string | undefined) {
  const metrics = page.contexts.metrics;
  return metrics.find((metric) => metric.name === name) ?? metrics[0];
}
