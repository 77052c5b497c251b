// Arranges a small graph in layers, from top to bottom.
import { Graph, layout } from "@dagrejs/dagre";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Arrow {
  from: number;
  to: number;
  points: { x: number; y: number }[];
}

export interface Arranged {
  width: number;
  height: number;
  boxes: Box[];
  arrows: Arrow[];
}

const MARGIN = 12;

/** Positions of boxes of given widths and of the edges between them. */
export function arrange(widths: readonly number[], height: number, edges: readonly { from: number; to: number }[]): Arranged {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 26, ranksep: 46, marginx: MARGIN, marginy: MARGIN });
  graph.setDefaultEdgeLabel(() => ({}));
  widths.forEach((width, i) => graph.setNode(String(i), { width, height }));
  const known = edges.map((edge, i) => ({ ...edge, i })).filter(({ from, to }) => from !== to && from >= 0 && to >= 0 && from < widths.length && to < widths.length);
  for (const { from, to, i } of known) graph.setEdge(String(from), String(to), {}, String(i));
  layout(graph);
  const boxes = widths.map((width, i) => {
    const node = graph.node(String(i)) as { x: number; y: number };
    return { x: node.x - width / 2, y: node.y - height / 2, width, height };
  });
  const arrows = edges.map(({ from, to }, i) => {
    const edge = from === to ? undefined : (graph.edge(String(from), String(to), String(i)) as { points: { x: number; y: number }[] } | undefined);
    return { from, to, points: edge?.points ?? [] };
  });
  return inside(boxes, arrows);
}

/** Moves everything so that nothing is left of or above the picture: lines may go around boxes. */
function inside(boxes: Box[], arrows: Arrow[]): Arranged {
  const points = arrows.flatMap((arrow) => arrow.points);
  const xs = [...boxes.flatMap((box) => [box.x, box.x + box.width]), ...points.map((point) => point.x)];
  const ys = [...boxes.flatMap((box) => [box.y, box.y + box.height]), ...points.map((point) => point.y)];
  const [left, top] = [Math.min(MARGIN, ...xs) - MARGIN, Math.min(MARGIN, ...ys) - MARGIN];
  return {
    width: Math.max(0, ...xs) - left + MARGIN,
    height: Math.max(0, ...ys) - top + MARGIN,
    boxes: boxes.map((box) => ({ ...box, x: box.x - left, y: box.y - top })),
    arrows: arrows.map((arrow) => ({ ...arrow, points: arrow.points.map((point) => ({ x: point.x - left, y: point.y - top })) })),
  };
}

/** A smooth line through points. */
export function curve(points: readonly { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${first.x},${first.y}`;
  rest.forEach((point, i) => {
    const next = rest[i + 1];
    path += next ? ` Q${point.x},${point.y} ${(point.x + next.x) / 2},${(point.y + next.y) / 2}` : ` L${point.x},${point.y}`;
  });
  return path;
}

/** The box that an arrow key leads to: the nearest in that direction. */
export function nearest(boxes: readonly Box[], from: number, key: string): number {
  const middle = (box: Box) => ({ x: box.x + box.width / 2, y: box.y + box.height / 2 });
  const here = boxes[from];
  if (!here) return 0;
  const at = middle(here);
  let [best, least] = [from, Number.POSITIVE_INFINITY];
  boxes.forEach((box, i) => {
    const there = middle(box);
    const [dx, dy] = [there.x - at.x, there.y - at.y];
    const along = key === "ArrowDown" ? dy : key === "ArrowUp" ? -dy : key === "ArrowRight" ? dx : -dx;
    const across = key === "ArrowDown" || key === "ArrowUp" ? Math.abs(dx) : Math.abs(dy);
    const cost = along + 2 * across;
    if (i !== from && along > 1 && cost < least) [best, least] = [i, cost];
  });
  return best;
}
