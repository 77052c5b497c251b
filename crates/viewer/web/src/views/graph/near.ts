// Picks the part of a graph that fits a screen: the place, the steps of the path, and the longest waits around them.
import type { Neighbourhood } from "../../model";

/** Indices of at most `most` vertices, in their order. */
export function near(part: Neighbourhood, most: number): number[] {
  const { vertices, edges } = part;
  const weight = (i: number) => (vertices[i]?.wait_seconds ?? 0) + (vertices[i]?.seconds ?? 0);
  const heaviest = (list: number[]) => list.sort((a, b) => weight(b) - weight(a) || a - b);
  const chosen = new Set<number>();
  const all = vertices.map((_, i) => i);
  for (const i of heaviest(all.filter((i) => vertices[i]?.is_place)).slice(0, 2)) chosen.add(i);
  const steps = new Set(vertices.map((vertex) => vertex.step).filter((step) => step !== null));
  for (const step of steps) for (const i of heaviest(all.filter((i) => vertices[i]?.step === step)).slice(0, 2)) if (chosen.size < most) chosen.add(i);
  const copies = (i: number) => [...chosen].filter((other) => vertices[other]?.frame === vertices[i]?.frame).length;
  while (chosen.size < most) {
    const around = new Set<number>();
    for (const { from, to } of edges) {
      if (chosen.has(from) && !chosen.has(to)) around.add(to);
      if (chosen.has(to) && !chosen.has(from)) around.add(from);
    }
    const next = heaviest([...around].filter((i) => copies(i) < 3))[0];
    if (next === undefined) break;
    chosen.add(next);
  }
  return [...chosen].sort((a, b) => a - b);
}
