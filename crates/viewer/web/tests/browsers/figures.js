// Compares every figure that a page shows with the data of the page. Written apart from the page, so that both can be wrong only together.

function three(x) {
  return x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);
}

const WRITE = {
  s(x) {
    if (x <= 0) return "0 s";
    if (x >= 1) return `${three(x)} s`;
    if (x >= 1e-3) return `${three(x * 1e3)} ms`;
    return x >= 1e-6 ? `${three(x * 1e6)} µs` : "< 1 µs";
  },
  ns: (x) => WRITE.s(x * 1e-9),
  share: (x) => (x > 0 && x < 0.0005 ? "< 0.1 %" : x > 0 && x < 0.0195 ? `${(x * 100).toFixed(1)} %` : `${(x * 100).toFixed(0)} %`),
  ratio: (x) => x.toFixed(2),
  count: (x) => Math.round(x).toLocaleString("en").replaceAll(",", "\u202f"),
  bytes(x) {
    const units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let at = 0;
    for (; x >= 999.5 && at < 5; at += 1) x /= 1000;
    return at === 0 ? `${Math.round(x)} B` : `${three(x)} ${units[at]}`;
  },
};

/** The value at a JSON pointer; `undefined` if there is none. */
export function at(data, pointer) {
  return pointer
    .split("/")
    .slice(1)
    .reduce((value, name) => value?.[name], data);
}

/** What is wrong with a figure; null if it is right. */
export function wrong(data, { from, unit, text }) {
  const value = at(data, from);
  if (value === undefined && unit !== "unknown") return `${from} is not in the data, shown as ${text}`;
  if (unit === "unknown") return value === null || value === undefined ? null : `${from} is ${value}, shown as unknown`;
  if (value === null) return `${from} is null, shown as ${text}`;
  const expected = WRITE[unit]?.(value);
  return expected === text ? null : `${from} is ${value}, expected ${expected}, shown as ${text}`;
}
