// Maps figures to positions: linear and logarithmic scales, with round ticks.

/** A scale from a domain of figures to a range of positions. */
export interface Scale {
  (value: number): number;
  domain: [number, number];
  range: [number, number];
  invert(position: number): number;
}

function scale(domain: [number, number], range: [number, number], on: (x: number) => number, back: (x: number) => number): Scale {
  const [from, to] = [on(domain[0]), on(domain[1])];
  const width = to - from || 1;
  const length = range[1] - range[0];
  const map = (value: number) => range[0] + ((on(value) - from) / width) * length;
  const invert = (position: number) => back(from + ((position - range[0]) / (length || 1)) * width);
  return Object.assign(map, { domain, range, invert });
}

export function linear(domain: [number, number], range: [number, number]): Scale {
  return scale(
    domain,
    range,
    (x) => x,
    (x) => x,
  );
}

/** A logarithmic scale; both ends of the domain must be above zero. */
export function logarithmic(domain: [number, number], range: [number, number]): Scale {
  return scale(domain, range, Math.log, Math.exp);
}

/** At most about `wanted` round figures from `low` to `high`; where two are wanted, two at least. */
export function ticks(low: number, high: number, wanted: number): number[] {
  if (!(high > low) || wanted < 1) return [low];
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const widest = [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10;
  for (const factor of [10, 5, 2, 1, 0.5, 0.2, 0.1].filter((factor) => factor <= widest)) {
    const found = multiples(low, high, factor * power);
    if (found.length >= 2 || wanted < 2) return found;
  }
  return [low];
}

/** All multiples of `step` from `low` to `high`. */
function multiples(low: number, high: number, step: number): number[] {
  const found: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-12) + step * 1e-9; i += 1) found.push(i * step || 0);
  return found;
}

/** Powers of ten between `low` and `high`; with 2 and 5 between them where there are few. */
export function logTicks(low: number, high: number): number[] {
  const decades = Math.log10(high / low);
  const factors = decades < 1.2 ? [1, 2, 5] : decades < 2.5 ? [1, 3] : [1];
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const factor of factors) {
      const tick = Number(`${factor}e${power}`);
      if (tick >= low * 0.999 && tick <= high * 1.001) found.push(tick);
    }
  }
  return found;
}
