// Lays a tree out as a flame graph: width is the whole figure, depth goes down.
import { hierarchy, partition } from "d3-hierarchy";
import type { Node } from "../../state/tree";

export interface Box {
  node: Node;
  depth: number;
  /** From 0 to 1 across the picture. */
  left: number;
  right: number;
  /** The box around it; null for the root. */
  around: Box | null;
}

/** Boxes at least `least` wide (as a share of the picture), the outermost first. */
export function flame(root: Node, least: number): Box[] {
  const laid = partition<Node>()(
    hierarchy(root, (node) => node.children.filter((child) => child.whole > least * root.whole))
      .sum(() => 0)
      .each((item) => {
        // The width of a box is its own whole figure, which may be more than that of its children.
        (item as { value?: number }).value = item.data.whole;
      }),
  );
  const boxes: Box[] = [];
  const known = new Map<Node, Box>();
  laid.each((item) => {
    const around = item.parent ? (known.get(item.parent.data) ?? null) : null;
    const box = { node: item.data, depth: item.depth, left: item.x0, right: item.x1, around };
    known.set(item.data, box);
    if (box.right - box.left >= least) boxes.push(box);
  });
  return boxes;
}

/** Where an arrow key leads from a box. */
export function step(boxes: readonly Box[], from: Box, key: string): Box | undefined {
  const level = boxes.filter((box) => box.depth === from.depth);
  const at = level.indexOf(from);
  if (key === "ArrowLeft") return level[at - 1];
  if (key === "ArrowRight") return level[at + 1];
  if (key === "ArrowUp") return from.around ?? undefined;
  return boxes.find((box) => box.around === from);
}
