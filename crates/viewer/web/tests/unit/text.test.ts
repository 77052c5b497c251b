// Figures, ranks and places in words.
import assert from "node:assert/strict";
import { test } from "node:test";
import { location, placeName } from "../../src/text/place";
import { ranksInWords, ranksOf, setOf, sizeOf } from "../../src/text/ranks";
import { bytes, count, difference, seconds, secondsTick, share, shareRange, tickWriter } from "../../src/text/units";
import { csv, csvCell } from "../../src/state/save";
import { visible, visibleEverywhere } from "../../src/state/load";

test("seconds have three digits and the unit that fits", () => {
  assert.deepEqual([0, 5e-7, 1.234e-6, 0.0555, 0.18, 1, 12.34, 123.4].map(seconds), ["0 s", "< 1 µs", "1.23 µs", "55.5 ms", "180 ms", "1.00 s", "12.3 s", "123 s"]);
});

test("what is not known is a dash, never zero", () => {
  for (const write of [seconds, share, count, bytes, difference]) assert.deepEqual([null, undefined, Number.NaN].map(write), ["–", "–", "–"]);
});

test("shares, ranges, counts, bytes and differences", () => {
  assert.deepEqual([0.34, 0.012, 0, 1].map(share), ["34 %", "1.2 %", "0 %", "100 %"]);
  assert.deepEqual([shareRange(0.31, 0.38), shareRange(0.301, 0.302)], ["31–38 %", "30 %"]);
  assert.equal(count(1234567), "1\u202f234\u202f567");
  assert.deepEqual([0, 999, 1000, 65_536, 2.5e9].map(bytes), ["0 B", "999 B", "1.00 kB", "65.5 kB", "2.50 GB"]);
  assert.deepEqual([0, 0.1, -0.1].map(difference), ["0 s", "+100 ms", "−100 ms"]);
});

test("neighbouring ticks are told apart", () => {
  const write = tickWriter([0.2444, 0.2446, 0.2448]);
  assert.deepEqual([0.2444, 0.2446].map(write), ["244.4 ms", "244.6 ms"]);
  assert.deepEqual([0, 0.05].map(tickWriter([0, 0.05, 0.1])), ["0", "50 ms"]);
  assert.deepEqual([0.003, 0.1, 1, 30].map(secondsTick), ["3 ms", "100 ms", "1 s", "30 s"]);
});

test("sets of ranks", () => {
  assert.deepEqual(ranksOf("0-3,7"), [0, 1, 2, 3, 7]);
  assert.deepEqual(ranksOf(""), []);
  assert.equal(sizeOf("0-131071"), 131_072);
  assert.equal(setOf([7, 1, 0, 2, 2]), "0-2,7");
  assert.deepEqual([ranksInWords("3", 16), ranksInWords("0-15", 16), ranksInWords("0-1", 2), ranksInWords("0,4,8,12", 16)], ["rank 3", "all 16 ranks", "both ranks", "ranks 0,4,8,12"]);
  assert.equal(ranksInWords(Array.from({ length: 50 }, (_, i) => i * 2).join(","), 100), "50 of 100 ranks (0, 2, 4, 6 …)");
});

const PLACE = { kind: "loop", name: "f", function: "f", file: "/a/b.c", first_line: 3, last_line: 9, hot_line: 4, module: "/a/app", address: 4096 } as const;

test("places", () => {
  assert.deepEqual([location(PLACE), placeName(PLACE)], ["b.c:3-9", "loop in f"]);
  assert.equal(location({ ...PLACE, file: null, first_line: 0 }), "app+0x1000");
  assert.equal(location({ ...PLACE, file: null, module: "" }), "f");
});

test("CSV keeps figures exact and runs no formula", () => {
  assert.equal(csvCell(0.1), "0.1");
  assert.equal(csvCell(null), "");
  assert.equal(csvCell("=1+1"), "'=1+1");
  assert.equal(csv(["a", "b"], [['x,"y"', 2]]), 'a,b\r\n"x,""y""",2\r\n');
});

test("characters that cannot be seen are shown as their numbers", () => {
  assert.equal(visible("a\u202eb\u0007\u001b\n\tc"), "a\\u{202e}b\\u{7}\\u{1b}\n\tc");
  assert.deepEqual(visibleEverywhere({ a: ["\u200e", 1], b: [1, 2], c: null }), { a: ["\\u{200e}", 1], b: [1, 2], c: null });
});
