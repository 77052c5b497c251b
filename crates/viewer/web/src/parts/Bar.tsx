// A bar in a table: a figure against the largest of its column, with the range in which it likely is.
interface Props {
  value: number;
  most: number;
  range?: readonly [number, number] | undefined;
  colour?: string;
  /** Stripes tell waiting from work without colour. */
  striped?: boolean;
}

export function Bar({ value, most, range, colour = "var(--compute-deep)", striped }: Props) {
  const at = (x: number) => `${Math.max(0, Math.min(100, (x / (most || 1)) * 100))}%`;
  return (
    <span class="bar" aria-hidden="true">
      <span class={striped ? "fill striped" : "fill"} style={{ width: at(value), background: colour }} />
      {range && range[1] > range[0] && (
        <span class="range" style={{ left: at(range[0]), width: `calc(${at(range[1])} - ${at(range[0])})` }} />
      )}
    </span>
  );
}
