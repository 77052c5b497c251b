// The built page: one file, nothing from elsewhere, and a policy that fits it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { policy } from "../../build/policy.js";

const html = readFileSync("../dist/index.html", "utf8");

test("the policy has the hashes of what the page contains", () => {
  const written = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1];
  assert.equal(written, policy(html));
  assert.ok(written?.includes("default-src 'none'") && !/unsafe/.test(written));
});

test("the page loads nothing from elsewhere and makes no code from text", () => {
  const tags = html.replace(/<script[^>]*>[\s\S]*?<\/script>/g, "");
  assert.ok(!/<(?:script|link|img|iframe)[^>]*(?:src|href)="(?!data:)/.test(html.replace(/>[\s\S]*?</g, "><")));
  assert.ok(!/@import|url\(["']?https?:/.test(tags));
  assert.ok(!/\beval\(|new Function\(|import\(/.test(html));
});

test("the places that Rust fills are there once", () => {
  for (const place of ['<script type="application/json" id="headwater-data">null</script>', '<pre id="headwater-text"></pre>', "<title>Headwater</title>"]) assert.equal(html.split(place).length, 2, place);
});

test("the page is under 500 kB", () => {
  assert.ok(html.length < 500_000, `${html.length}`);
});
