// A profile for pprof, decoded: node pprof.mjs FILE, from where the package pprof-format is installed.

import assert from "node:assert";
import fs from "node:fs";
import { createRequire } from "node:module";
import zlib from "node:zlib";

const { Profile } = createRequire(process.cwd() + "/")("pprof-format");
const profile = Profile.decode(zlib.gunzipSync(fs.readFileSync(process.argv[2])));
const word = (index) => profile.stringTable.strings[Number(index)];

assert.deepEqual(
  profile.sampleType.map((t) => `${word(t.type)}/${word(t.unit)}`),
  ["time/nanoseconds", "waiting/nanoseconds", "calls/count", "bytes/bytes"],
);
const locations = new Map(profile.location.map((l) => [Number(l.id), l]));
const functions = new Map(profile.function.map((f) => [Number(f.id), f]));
const mappings = new Map(profile.mapping.map((m) => [Number(m.id), m]));
const ranks = new Set();
for (const sample of profile.sample) {
  assert.equal(sample.value.length, 4);
  assert(Number(sample.value[1]) <= Number(sample.value[0]), "waiting is in the time");
  sample.label.filter((l) => word(l.key) === "rank").forEach((l) => ranks.add(word(l.str)));
  for (const id of sample.locationId) {
    const location = locations.get(Number(id));
    assert(location.line.length > 0 && location.line.every((l) => functions.has(Number(l.functionId))));
    const mapping = mappings.get(Number(location.mappingId));
    assert(!mapping || Number(location.address) < Number(mapping.memoryLimit));
  }
}
assert.deepEqual([...ranks].sort(), ["0", "1"]);
const names = [...functions.values()].map((f) => word(f.name));
assert(names.includes("main") && names.includes("MPI_Allreduce"), names.join());
assert([...mappings.values()].every((m) => /^[0-9a-f]{40}$/.test(word(m.buildId))));
console.log(`${profile.sample.length} samples read by pprof-format`);
