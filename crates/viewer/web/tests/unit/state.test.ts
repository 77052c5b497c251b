// Addresses, trees of calling contexts, readings, and what a search finds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findPlaces } from "../../src/parts/Search";
import { readingOf } from "../../src/state/reading";
import { readPage } from "../../src/state/load";
import { address, changed, numberIn, parseRoute } from "../../src/state/route";
import { bottomUp, differences, ownFigures, topDown, wholeFigures } from "../../src/state/tree";
import { bestPicture } from "../../src/views/cause/PathPanel";
import { shownTimes } from "../../src/views/answer/ScaleChart";
import { HARMLESS } from "../made/names";
import { madePage } from "../made/page";

const page = madePage(HARMLESS);
const contexts = page.contexts;

test("an address is read as it was written", () => {
  const route = parseRoute(address("cause", [2], { picture: 1, name: "a&b=c/d", none: null }));
  assert.deepEqual([route.view, route.rest, { ...route.choices }], ["cause", ["2"], { picture: "1", name: "a&b=c/d" }]);
  assert.equal(changed(route, { picture: null }), "#/cause/2?name=a%26b%3Dc%2Fd");
  assert.equal(numberIn(route, "picture", 7) + numberIn(route, "name", 7), 8);
});

test("an address that is none is the first view", () => {
  for (const hash of ["", "#", "#/", "#?x", "#/%E0%A4%A"]) assert.equal(typeof parseRoute(hash).view, "string");
  assert.equal(parseRoute("").view, "answer");
  assert.equal(parseRoute("#/answer?__proto__=1").choices["toString"], undefined);
});

test("bottom-up has every second once", () => {
  const own = ownFigures(contexts, 2, "time") ?? [];
  const total = own.reduce<number>((sum, value) => sum + (value ?? 0), 0);
  const roots = bottomUp(contexts, own);
  assert.ok(Math.abs(roots.reduce((sum, node) => sum + (node.own ?? 0), 0) - total) < 1e-9);
  assert.equal(roots[0]?.name, "loop ring.c:19-20");
});

test("top-down keeps the order by figure and leaves out what has none", () => {
  const tree = topDown(contexts, ownFigures(contexts, 2, "wait") ?? [], wholeFigures(contexts, 2, "wait") ?? []);
  assert.deepEqual(tree.children[0]?.children[0]?.children.map((node) => node.name), ["exchange", "MPI_Allreduce"]);
});

test("branches that have nothing else in them are one row", () => {
  // main, three branches in one another with a call in the last, and a branch of another function in that.
  const column = (...values: number[]) => values;
  const made = {
    ...contexts,
    strings: ["", "main", "chosen", "app"],
    parent: column(-1, 0, 1, 2, 3, 4),
    kind: ["function", "branch", "branch", "branch", "call", "branch"] as typeof contexts.kind,
    name: column(1, 0, 0, 0, 2, 0),
    function: column(1, 1, 1, 1, 1, 2),
    file: column(0, 0, 0, 0, 0, 0),
    module: column(3, 3, 3, 3, 3, 3),
    first_line: column(0, 0, 0, 0, 0, 0),
    last_line: column(0, 0, 0, 0, 0, 0),
    hot_line: column(0, 0, 0, 0, 0, 0),
  };
  const tree = topDown(made, [0, 0, 0, 0, 1, 4], [5, 5, 5, 5, 5, 4]);
  const branches = tree.children[0];
  assert.deepEqual([branches?.frame, branches?.folded, branches?.name], [3, [1, 2], "branch in main (innermost of 3)"]);
  assert.deepEqual(branches?.children.map((node) => node.name), ["chosen"]);
  // A branch with time of its own is not hidden.
  const apart = topDown(made, [0, 0, 1, 0, 1, 3], [5, 5, 5, 4, 4, 3]);
  assert.deepEqual([apart.children[0]?.frame, apart.children[0]?.folded], [2, [1]]);
});

test("what one of two scales lacks counts as none there", () => {
  assert.deepEqual(differences([1, null, null], [0.5, 2, null]), [0.5, -2, null]);
});

test("strong scaling is compared by sums over ranks", () => {
  const reading = readingOf(page, parseRoute("#/program?against=0"));
  assert.match(reading.words, /16 ranks minus 4 ranks, all ranks together/);
  assert.equal(reading.from, null);
  assert.ok(readingOf(page, parseRoute("#/program?ranks=0")).note);
});

test("another build is compared, and what only it has is said", () => {
  const reading = readingOf(page, parseRoute("#/program?against=b0"));
  assert.match(reading.words, /16 ranks minus ring-O0.16 of another build \(16 ranks\)/);
  assert.match(reading.note ?? "", /250 ms of the other build/);
  assert.ok((reading.own ?? []).some((value) => value !== null && value < 0));
  assert.equal(readingOf(page, parseRoute("#/program?against=b7")).against, null);
});

test("a metric that a scale does not have is said to be missing", () => {
  assert.match(readingOf(page, parseRoute("#/program?metric=bytes&scale=0")).note ?? "", /does not have/);
});

test("search finds places by all words, the longest first", () => {
  assert.equal(findPlaces(page, "loop relax")[0]?.where, "ring.c:19-20");
  assert.equal(findPlaces(page, "no such place").length, 0);
});

test("the picture that shows the cause is shown first", () => {
  const [cause, detail] = [page.diagnosis.causes[0], page.causes[0]];
  assert.ok(cause && detail);
  const without = { ...detail.pictures[0]!, hops: [] };
  assert.equal(bestPicture(cause, [without, detail.pictures[0]!]), 1);
  assert.equal(bestPicture(cause, []), 0);
});

test("time without a core is set aside with its seconds", () => {
  const [first] = shownTimes(page.scales, true);
  assert.ok(first && Math.abs(first.total + first.aside - (page.scales[0]?.seconds ?? 0)) < 1e-12);
  assert.ok(!first.parts.some((part) => part.kind === "without-core"));
});

test("data of another version, and none, are refused in words", () => {
  assert.throws(() => readPage("null"), /no data of a diagnosis/);
  assert.throws(() => readPage('{"version": 2}'), /version 2/);
});
