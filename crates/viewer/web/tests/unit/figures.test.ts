// The comparison of shown figures with the data finds what is wrong.
import assert from "node:assert/strict";
import { test } from "node:test";
import { wrong } from "../browsers/figures.js";

const data = { a: { b: [0.18, null] } };
const figure = (from: string, unit: string, text: string) => wrong(data, { from, unit, text });

test("a figure that equals the data is right", () => {
  assert.equal(figure("/a/b/0", "s", "180 ms"), null);
  assert.equal(figure("/a/b/1", "unknown", "–"), null);
});

test("another figure, unit or place, and zero for what is not known, are wrong", () => {
  assert.ok(figure("/a/b/0", "s", "181 ms"));
  assert.ok(figure("/a/b/0", "share", "180 ms"));
  assert.ok(figure("/a/c", "s", "180 ms"));
  assert.ok(figure("/a/b/1", "share", "0 %"));
  assert.ok(figure("/a/b/0", "unknown", "–"));
});
