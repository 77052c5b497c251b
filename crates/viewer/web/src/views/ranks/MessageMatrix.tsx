// Who sends to whom, and who waits for whom: ranks by ranks.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { coloursFor, mixed, penFor } from "../../draw/colours";
import type { Matrix } from "../../model";
import { Table } from "../../parts/Table";
import type { Theme } from "../../state/theme";
import { useWidth } from "../../state/width";
import { figure } from "../../text/units";
import type { Unit } from "../../text/units";

export const MATRIX_METRICS: [name: keyof Matrix & string, words: string, unit: Unit][] = [
  ["bytes", "Bytes", "bytes"],
  ["count", "Messages", "count"],
  ["late_sender_seconds", "Waiting for late senders", "s"],
  ["late_receiver_seconds", "Waiting for late receivers", "s"],
  ["collective_seconds", "Waiting in collectives", "s"],
];

const [LEFT, TOP] = [52, 34];

interface Props {
  matrix: Matrix;
  metric: keyof Matrix & string;
  theme: Theme;
  /** Where the matrix is in the page's data; null if it is not. */
  from: string | null;
}

export function MessageMatrix({ matrix, metric, theme, from }: Props) {
  const [box, width] = useWidth<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState<[row: number, column: number] | null>(null);
  const [, words, unit] = MATRIX_METRICS.find(([name]) => name === metric) ?? (MATRIX_METRICS[0] as [keyof Matrix & string, string, Unit]);
  const values = matrix[metric] as number[];
  const receivers = matrix.to_bins ?? matrix.bins;
  const cells = useMemo(() => new Map(matrix.from.map((row, i) => [row * receivers.length + (matrix.to[i] as number), i])), [matrix, receivers]);
  const side = Math.min(width - LEFT - 4, 560);
  const [cw, ch] = [Math.min(26, side / receivers.length), Math.min(26, side / matrix.bins.length)];
  const height = TOP + ch * matrix.bins.length + 4;
  const most = Math.max(...values, 0);
  useEffect(() => {
    const pen = canvas.current && penFor(canvas.current, width, height);
    if (!pen) return;
    const colours = coloursFor(pen);
    const style = getComputedStyle(document.documentElement);
    const [low, high] = ["--heat-0", "--heat-1"].map((name) => style.getPropertyValue(name).trim()) as [string, string];
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, width, height);
    pen.strokeStyle = colours.line;
    pen.strokeRect(LEFT - 0.5, TOP - 0.5, cw * receivers.length + 1, ch * matrix.bins.length + 1);
    for (let i = 0; i < values.length; i += 1) {
      const value = values[i] as number;
      if (value <= 0) continue;
      pen.fillStyle = mixed(low, high, 0.12 + 0.88 * (value / (most || 1)));
      pen.fillRect(LEFT + (matrix.to[i] as number) * cw, TOP + (matrix.from[i] as number) * ch, Math.max(1, cw - (cw > 4 ? 1 : 0)), Math.max(1, ch - (ch > 4 ? 1 : 0)));
    }
    pen.font = "12px system-ui, sans-serif";
    pen.fillStyle = colours.soft;
    const each = (size: number) => [1, 2, 4, 8, 16, 32, 64, 128, 256].find((n) => n * size >= 30) ?? 512;
    pen.textAlign = "right";
    matrix.bins.forEach((ranks, i) => i % each(ch) === 0 && pen.fillText(ranks.split("-")[0] as string, LEFT - 5, TOP + i * ch + Math.min(ch, 24) / 2 + 4));
    pen.textAlign = "left";
    receivers.forEach((ranks, i) => i % each(cw) === 0 && pen.fillText(ranks.split("-")[0] as string, LEFT + i * cw + 1, TOP - 5));
    pen.fillText("to rank →", LEFT, 12);
    pen.fillText("from ↓", 0, TOP - 5);
    if (at) {
      pen.strokeStyle = colours.path;
      pen.lineWidth = 2;
      pen.strokeRect(LEFT + at[1] * cw, TOP + at[0] * ch, Math.max(3, cw), Math.max(3, ch));
    }
  }, [matrix, values, receivers, most, theme, at, width, height, cw, ch]);
  const find = (event: MouseEvent): [number, number] | null => {
    const place = canvas.current?.getBoundingClientRect();
    const [row, column] = [Math.floor((event.clientY - (place?.top ?? 0) - TOP) / ch), Math.floor((event.clientX - (place?.left ?? 0) - LEFT) / cw)];
    return matrix.bins[row] !== undefined && receivers[column] !== undefined ? [row, column] : null;
  };
  const onKey = (event: KeyboardEvent) => {
    const moves: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    setAt([Math.max(0, Math.min(matrix.bins.length - 1, (at?.[0] ?? 0) + (at ? move[0] : 0))), Math.max(0, Math.min(receivers.length - 1, (at?.[1] ?? 0) + (at ? move[1] : 0)))]);
  };
  const cell = at ? cells.get(at[0] * receivers.length + at[1]) : undefined;
  const said = !at
    ? "Point at a cell, or walk with the arrow keys."
    : cell === undefined
      ? `from rank ${matrix.bins[at[0]]} to rank ${receivers[at[1]]}: nothing was sent`
      : `from rank ${matrix.bins[at[0]]} to rank ${receivers[at[1]]}: ${MATRIX_METRICS.map(([name, title, as]) => `${title.toLowerCase()} ${figure((matrix[name] as number[])[cell], as)}`).join("; ")}`;
  const order = values.map((_, i) => i).sort((a, b) => (values[b] as number) - (values[a] as number) || a - b);
  return (
    <div class="matrix">
      <div ref={box} class="timeline">
        <canvas ref={canvas} tabIndex={0} role="img" aria-label={`${words} between ranks. Arrow keys walk through the cells; the table beside has the figures.`} onKeyDown={onKey} onMouseMove={(event) => setAt(find(event))} />
        <p class="status" aria-live="polite">
          {said}
        </p>
        <p class="legend">
          <span>
            <span class="ramp" aria-hidden="true" /> up to {figure(most, unit)}
          </span>
          <span>empty: nothing was sent</span>
        </p>
      </div>
      <Table
        name={`messages-${metric}`}
        caption="Pairs of ranks"
        rows={order}
        most={12}
        columns={[
          { head: "From", figure: true, names: true, value: (i) => matrix.bins[matrix.from[i] as number] },
          { head: "To", figure: true, value: (i) => receivers[matrix.to[i] as number] },
          ...MATRIX_METRICS.map(([name, title, as]) => ({
            head: title,
            unit: as === "s" ? "s" : as === "bytes" ? "B" : "count",
            figure: true,
            value: (i: number) => (matrix[name] as number[])[i],
            show: (i: number) => (
              <span class="fig" data-unit={as} data-from={from === null ? undefined : `${from}/${name}/${i}`}>
                {figure((matrix[name] as number[])[i], as)}
              </span>
            ),
          })),
        ]}
      />
    </div>
  );
}
