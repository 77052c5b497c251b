// Perfetto's own trace processor, as its user interface carries it (engine_bundle.js with its WebAssembly), asked by SQL.
//
//     node trace_processor.mjs DIRECTORY TRACE SQL…
//
// DIRECTORY holds engine_bundle.js. Prints a line of JSON for each query: its rows. The engine is a web worker that
// takes a message port, on which `TraceProcessorRpcStream` messages go both ways (trace_processor.proto).

import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const { process } = globalThis;
const [dir, trace, ...queries] = process.argv.slice(2);

const file = (name) => fs.readFileSync(path.join(dir, path.basename(String(name))));
// What a web worker has; the engine is compiled for nothing else.
Object.assign(globalThis, {
  self: globalThis,
  location: { href: "http://localhost/engine_bundle.js" },
  WorkerGlobalScope: class {},
  // For its WebAssembly, at once.
  XMLHttpRequest: class {
    open(_, name) { this.name = name; }
    send() { this.response = Uint8Array.from(file(this.name)).buffer; }
  },
  importScripts() {},
});
const log = console.log;
console.log = console.warn = () => {};
delete globalThis.process; // by which it would know Node.
vm.runInThisContext(file("engine_bundle.js").toString());

// Protocol buffers: a number, and bytes with their length.
const varint = (n) => {
  const out = [];
  for (; n > 127; n = Math.floor(n / 128)) out.push((n % 128) | 128);
  return Buffer.from([...out, n]);
};
const number = (tag, n) => Buffer.concat([varint(tag * 8), varint(n)]);
const bytes = (tag, b) => Buffer.concat([varint(tag * 8 + 2), varint(b.length), b]);

// Fields of a message: tag and value, which is a number or bytes.
function* fields(buffer) {
  let at = 0;
  const read = () => {
    let n = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = buffer[at++];
      n |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, n);
    }
  };
  while (at < buffer.length) {
    const key = Number(read());
    const tag = key >> 3;
    if ((key & 7) === 0) yield [tag, read()];
    else if ((key & 7) === 1) yield [tag, buffer.subarray(at, (at += 8))];
    else {
      const length = Number(read());
      yield [tag, buffer.subarray(at, (at += length))];
    }
  }
}

// Cells of a batch come by kind: 1 null, 2 whole number, 3 fraction, 4 text, 5 bytes.
function rows(result) {
  const names = [];
  const cells = [];
  for (const [tag, value] of fields(result)) {
    if (tag === 1) names.push(value.toString());
    if (tag === 2) throw new Error(value.toString());
    if (tag !== 3) continue;
    const kinds = [], whole = [], fractions = [];
    let text = [];
    for (const [of, packed] of fields(value)) {
      if (of === 1) kinds.push(...packed);
      if (of === 2) for (let at = 0; at < packed.length;) {
        let n = 0n, shift = 0n, byte;
        do { byte = packed[at++]; n |= BigInt(byte & 127) << shift; shift += 7n; } while (byte > 127);
        whole.push(Number(BigInt.asIntN(64, n)));
      }
      if (of === 3) for (let at = 0; at < packed.length; at += 8) fractions.push(packed.readDoubleLE(at));
      if (of === 5) text = packed.toString().split("\0");
    }
    for (const kind of kinds) {
      cells.push(kind === 2 ? whole.shift() : kind === 3 ? fractions.shift() : kind === 4 ? text.shift() : null);
    }
  }
  const out = [];
  for (let at = 0; at < cells.length; at += names.length) {
    out.push(Object.fromEntries(names.map((name, i) => [name, cells[at + i]])));
  }
  return out;
}

const APPEND = 1, FINALIZE = 2, QUERY = 3;
let waiting;
const port = {
  postMessage(data) {
    for (const [, rpc] of fields(Buffer.from(data))) {
      for (const [tag, value] of fields(rpc)) if (tag >= 5 && tag < 1000 && tag !== 101) waiting?.(tag, value);
    }
  },
};
self.onmessage({ data: port });

let seq = 0;
const ask = (request, ...args) => {
  const rpc = Buffer.concat([number(1, seq++), number(2, request), ...args]);
  port.onmessage({ data: new Uint8Array(bytes(1, rpc)) });
};

// It makes itself ready once nothing else is to be done.
await new Promise((done) => setTimeout(done));
ask(APPEND, bytes(101, fs.readFileSync(trace)));
ask(FINALIZE);
for (const query of queries) {
  const parts = [];
  waiting = (tag, value) => { if (tag === 203) parts.push(value); };
  ask(QUERY, bytes(103, bytes(1, Buffer.from(query))));
  log(JSON.stringify(rows(Buffer.concat(parts))));
}
process.exit(0);
