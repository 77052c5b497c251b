// Writes figures with their units, in the same way as the text report.

/** What is shown for a figure that is not known. */
export const UNKNOWN = "–";

/** A figure that may be unknown. */
export type Maybe = number | null | undefined;

export function isKnown(value: Maybe): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** Three digits, as the unit allows. */
function digits(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value.toFixed(value >= 10 ? 1 : 2);
}

/** Seconds with three digits and the unit that fits. */
export function seconds(value: Maybe): string {
  if (!isKnown(value)) return UNKNOWN;
  if (value <= 0) return "0 s";
  if (value >= 1) return `${digits(value)} s`;
  if (value >= 1e-3) return `${digits(value * 1e3)} ms`;
  if (value >= 1e-6) return `${digits(value * 1e6)} µs`;
  return "< 1 µs";
}

/** Writes the ticks of a linear axis of seconds: in one unit, with as many digits as tell neighbours apart. */
export function tickWriter(ticks: readonly number[]): (value: number) => string {
  const most = Math.max(...ticks.map(Math.abs), 0);
  const step = ticks.length > 1 ? Math.abs((ticks[1] as number) - (ticks[0] as number)) : most;
  const units: [number, string][] = [
    [1, "s"],
    [1e3, "ms"],
    [1e6, "µs"],
    [1e9, "ns"],
  ];
  const [factor, unit] = units.find(([by]) => most * by >= 1) ?? [1, "s"];
  const places = Math.max(0, Math.min(9, -Math.floor(Math.log10(step * factor || 1) + 1e-9)));
  return (value) => (value === 0 ? "0" : `${Number((value * factor).toFixed(places))} ${unit}`);
}

/** A tick of a logarithmic axis of seconds. */
export function secondsTick(value: number): string {
  return tickWriter([value, value * 1.1])(value);
}

/** A difference in seconds, with its sign. */
export function difference(value: Maybe): string {
  if (!isKnown(value)) return UNKNOWN;
  if (value === 0) return "0 s";
  return `${value < 0 ? "−" : "+"}${seconds(Math.abs(value))}`;
}

/** A share from 0 to 1, in per cent. */
export function share(value: Maybe): string {
  if (!isKnown(value)) return UNKNOWN;
  const percent = value * 100;
  if (percent > 0 && percent < 0.05) return "< 0.1 %";
  const small = percent > 0 && percent < 1.95;
  return `${small ? percent.toFixed(1) : percent.toFixed(0)} %`;
}

/** A range of shares: `31–38 %`. */
export function shareRange(least: number, most: number): string {
  const [a, b] = [least, most].map((value) => (value * 100).toFixed(0));
  return a === b ? `${a} %` : `${a}–${b} %`;
}

/** A ratio such as an efficiency: 0.81. */
export function ratio(value: Maybe): string {
  return isKnown(value) ? value.toFixed(2) : UNKNOWN;
}

/** A whole number with thin spaces between thousands. */
export function count(value: Maybe): string {
  if (!isKnown(value)) return UNKNOWN;
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

const BYTES = ["B", "kB", "MB", "GB", "TB", "PB"];

/** Bytes in powers of 1000. */
export function bytes(value: Maybe): string {
  if (!isKnown(value)) return UNKNOWN;
  let [rest, unit] = [value, 0];
  while (rest >= 999.5 && unit < BYTES.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${Math.round(rest)} B` : `${digits(rest)} ${BYTES[unit]}`;
}

/** The units in which the page shows figures. */
export type Unit = "s" | "share" | "ratio" | "count" | "bytes" | "difference";

const WRITERS: Record<Unit, (value: Maybe) => string> = {
  s: seconds,
  share,
  ratio,
  count,
  bytes,
  difference,
};

/** A figure in its unit. */
export function figure(value: Maybe, unit: Unit): string {
  return WRITERS[unit](value);
}
