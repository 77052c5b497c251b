// Scales, segments of timelines, flame graphs and graphs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { linear, logarithmic, logTicks, ticks } from "../../src/draw/scale";
import { firstAfter, rowStarts, segments, sliceAt } from "../../src/draw/segments";
import { arrange, nearest } from "../../src/views/graph/arrange";
import { near } from "../../src/views/graph/near";
import { flame, step } from "../../src/views/program/boxes";
import { longestWaits } from "../../src/views/timeline/Waits";
import { within } from "../../src/views/timeline/TimelineView";
import { HARMLESS } from "../made/names";
import { madePage } from "../made/page";
import { madeTile } from "../made/timeline";

test("scales go forward and back", () => {
  const [x, y] = [linear([0, 10], [100, 200]), logarithmic([1, 100], [0, 50])];
  assert.deepEqual([x(5), x.invert(150)], [150, 5]);
  assert.ok(Math.abs(y(10) - 25) < 1e-9 && Math.abs(y.invert(25) - 10) < 1e-9);
});

test("ticks are round and inside", () => {
  assert.deepEqual(ticks(0, 1, 5), [0, 0.2, 0.4, 0.6000000000000001, 0.8, 1]);
  assert.deepEqual(ticks(5, 5, 3), [5]);
  // One tick alone says nothing of the size.
  assert.deepEqual(ticks(0, 0.47, 2), [0, 0.2, 0.4]);
  assert.deepEqual(ticks(0.3, 0.47, 1), [0.4]);
  assert.deepEqual(logTicks(0.01, 10), [0.01, 0.1, 1, 10]);
});

test("segments of a row cover its slices, waits first", () => {
  const tile = madeTile(1, 8, "wall");
  const starts = rowStarts(tile);
  const time = linear([tile.begin_ns, tile.end_ns], [0, 1000]);
  const row = segments(tile, starts, 1, time);
  assert.equal(row[0]?.kind, "computation");
  assert.equal(row[1]?.kind, "wait");
  for (let i = 1; i < row.length; i += 1) assert.ok((row[i]?.from ?? 0) >= (row[i - 1]?.to ?? 0) - 1e-6);
  assert.ok((row.at(-1)?.to ?? 0) > 999);
});

test("segments stay between the times that are shown, also of a call whose wait ends after them", () => {
  const tile = madeTile(1, 8, "wall");
  const waits = tile.slices?.wait_ns ?? [];
  const slice = waits.indexOf(Math.max(...waits));
  const begin = tile.slices?.begin_ns[slice] ?? 0;
  const shown: [number, number] = [begin, begin + (waits[slice] ?? 0) / 2];
  const row = segments(tile, rowStarts(tile), tile.slices?.row[slice] ?? 0, linear(shown, [0, 1000]));
  assert.ok(row.length > 0);
  for (const segment of row) assert.ok(segment.from >= 0 && segment.from < 1000 && segment.to <= 1000.001, `${segment.kind} ${segment.from} ${segment.to}`);
});

test("slices narrower than a pixel are summed up", () => {
  const tile = madeTile(1, 8, "wall");
  const row = segments(tile, rowStarts(tile), 1, linear([tile.begin_ns, tile.end_ns], [0, 6]));
  assert.ok(row.length <= 7, `${row.length}`);
});

test("the slice at a time is found", () => {
  const tile = madeTile(1, 8, "wall");
  const starts = rowStarts(tile);
  const slice = sliceAt(tile, starts, 3, 1000);
  assert.equal(tile.slices?.row[slice], 3);
  assert.equal(firstAfter(tile, starts[3] ?? 0, starts[4] ?? 0, tile.end_ns), starts[4]);
  assert.equal(sliceAt(tile, starts, 3, tile.end_ns + 1), -1);
});

test("the longest waits come first", () => {
  const tile = madeTile(1, 8, "wall");
  const waits = longestWaits(tile, 0, tile.end_ns, 5).map((i) => tile.slices?.wait_ns[i] ?? 0);
  assert.deepEqual(waits, [...waits].sort((a, b) => b - a));
});

test("a stretch stays in its window", () => {
  assert.deepEqual(within(-50, 50, 0, 1000), [0, 200]);
  assert.deepEqual(within(0, 5000, 0, 1000), [0, 1000]);
  assert.deepEqual(within(900, 1300, 0, 1000), [600, 1000]);
});

test("a flame graph is as wide as its figures, and keys walk in it", () => {
  const leaf = (frame: number, whole: number) => ({ frame, folded: [], name: String(frame), own: whole, whole, children: [] });
  const root = { frame: 0, folded: [], name: "0", own: 1, whole: 10, children: [leaf(1, 6), leaf(2, 3)] };
  const boxes = flame(root, 0.001);
  assert.deepEqual(boxes.map(({ left, right }) => [left, right].map((x) => Number(x.toFixed(9)))), [[0, 1], [0, 0.6], [0.6, 0.9]]);
  const first = boxes[1];
  assert.ok(first && step(boxes, first, "ArrowRight") === boxes[2] && step(boxes, first, "ArrowUp") === boxes[0]);
});

test("a graph is arranged in layers, whatever its edges are", () => {
  const laid = arrange([50, 60, 70], 40, [{ from: 0, to: 1 }, { from: 1, to: 2 }, { from: 2, to: 0 }, { from: 1, to: 1 }, { from: 7, to: 0 }]);
  assert.ok((laid.boxes[1]?.y ?? 0) > (laid.boxes[0]?.y ?? 0));
  assert.equal(nearest(laid.boxes, 0, "ArrowDown"), 1);
  assert.equal(laid.arrows[3]?.points.length, 0);
});

test("the part of a graph that is shown has the place", () => {
  const part = madePage(HARMLESS).graph.neighbourhoods[0];
  assert.ok(part);
  const shown = near(part, 3);
  assert.ok(shown.length <= 3 && shown.some((i) => part.vertices[i]?.is_place));
});
