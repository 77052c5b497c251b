// Axes with ticks and the unit written on them.
import type { Scale } from "./scale";

interface Props {
  scale: Scale;
  at: number;
  ticks: readonly number[];
  write: (value: number) => string;
  /** Grid lines reach to here. */
  to: number;
  title: string;
}

/** A horizontal axis below a picture. */
export function AxisBelow({ scale, at, ticks, write, to, title }: Props) {
  const [left, right] = scale.range;
  // On a narrow screen, what follows the comma is left out; the choices above the picture say it too.
  const said = title.length * 6.6 > right - left + 16 ? title.split(", ")[0] : title;
  const labels = spaced(ticks.map((tick) => ({ tick, x: scale(tick), width: write(tick).length * 7 + 8 })));
  return (
    <g>
      {labels.map(({ tick, x }) => (
        <g>
          <line class="grid" x1={x} x2={x} y1={at} y2={to} />
          <text class="label soft" x={x} y={at + 15} text-anchor={x > right - 20 ? "end" : x < left + 12 ? "start" : "middle"}>
            {write(tick)}
          </text>
        </g>
      ))}
      <line class="axis" x1={left} x2={right} y1={at} y2={at} />
      <text class="label soft" x={(left + right) / 2} y={at + 32} text-anchor="middle">
        {said}
      </text>
    </g>
  );
}

/** A vertical axis at the left of a picture. */
export function AxisLeft({ scale, at, ticks, write, to, title }: Props) {
  return (
    <g>
      {ticks.map((tick) => (
        <g>
          <line class="grid" x1={at} x2={to} y1={scale(tick)} y2={scale(tick)} />
          <text class="label soft" x={at - 5} y={scale(tick) + 4} text-anchor="end">
            {write(tick)}
          </text>
        </g>
      ))}
      <text class="label soft" x={0} y={11}>
        {title}
      </text>
    </g>
  );
}

interface Label {
  tick: number;
  x: number;
  width: number;
}

/** Leaves out labels that would touch the one before. */
function spaced(labels: readonly Label[]): Label[] {
  let end = -Infinity;
  return labels.filter(({ x, width }) => {
    if (x - width / 2 < end) return false;
    end = x + width / 2;
    return true;
  });
}
