// Places by ranks as a heat map; ranks and places that behave alike lie beside each other.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { coloursFor, mixed, penFor } from "../../draw/colours";
import type { HeatRow, Page, RankGroup } from "../../model";
import { address, go } from "../../state/route";
import type { Theme } from "../../state/theme";
import { useWidth } from "../../state/width";
import { frameName, whereOf } from "../../text/frame";
import { figure, isKnown } from "../../text/units";
import type { Unit } from "../../text/units";

const TOP = 20;

interface Props {
  page: Page;
  groups: readonly RankGroup[];
  rows: readonly HeatRow[];
  unit: Unit;
  /** Whether each row has its own scale of colours. */
  byRow: boolean;
  theme: Theme;
  /** Frame whose row is marked. */
  chosen: number;
  label: string;
}

function largest(values: readonly (number | null)[]): number {
  let most = 0;
  for (const value of values) if (isKnown(value) && value > most) most = value;
  return most;
}

export function HeatMap({ page, groups, rows, unit, byRow, theme, chosen, label }: Props) {
  const [box, width] = useWidth<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState<[row: number, column: number] | null>(null);
  const left = Math.min(290, Math.max(110, width * 0.28));
  const rowHeight = rows.length > 40 ? 14 : 20;
  const cell = Math.min(64, (width - left - 2) / Math.max(1, groups.length));
  const most = useMemo(() => rows.map((row) => largest(row.values)), [rows]);
  const all = Math.max(...most, 0);
  const height = TOP + rows.length * rowHeight + 2;
  useEffect(() => {
    const pen = canvas.current && penFor(canvas.current, width, height);
    if (!pen) return;
    const colours = coloursFor(pen);
    const style = getComputedStyle(document.documentElement);
    const [low, high] = ["--heat-0", "--heat-1"].map((name) => style.getPropertyValue(name).trim()) as [string, string];
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    const fits = (name: string) => pen.measureText(name).width <= left - 8;
    const shortened = (name: string) => {
      let letters = Math.min(name.length, Math.ceil(left / 3));
      while (letters > 1 && !fits(`${name.slice(0, letters)}…`)) letters -= 1;
      return `${name.slice(0, letters)}…`;
    };
    rows.forEach((row, i) => {
      const y = TOP + i * rowHeight;
      const name = rowName(page, row.frame);
      pen.textAlign = "right";
      pen.fillStyle = row.frame === chosen ? colours.ink : colours.soft;
      pen.fillText(fits(name) ? name : shortened(name), left - 6, y + rowHeight / 2 + 4);
      row.values.forEach((value, column) => {
        const x = left + column * cell;
        const wide = Math.max(0.6, cell - (cell > 5 ? 1 : 0));
        if (!isKnown(value)) {
          // What was not seen is crossed out, never the colour of zero.
          pen.strokeStyle = colours.line;
          pen.beginPath();
          pen.moveTo(x, y + rowHeight - 1);
          pen.lineTo(x + wide, y);
          pen.stroke();
          return;
        }
        const share = value / ((byRow ? most[i] : all) || 1);
        pen.fillStyle = mixed(low, high, Math.max(0, Math.min(1, share)));
        pen.fillRect(x, y, wide, rowHeight - 1);
      });
      if (row.frame === chosen) {
        pen.strokeStyle = colours.path;
        pen.lineWidth = 2;
        pen.strokeRect(left - 1, y - 1, cell * row.values.length + 1, rowHeight + 1);
        pen.lineWidth = 1;
      }
    });
    pen.fillStyle = colours.soft;
    pen.textAlign = "center";
    let free = left - 20;
    groups.forEach((group, column) => {
      const words = group.size === 1 ? group.ranks : group.name;
      const [x, half] = [left + (column + 0.5) * cell, pen.measureText(words).width / 2];
      if (x - half < free || x + half > width) return;
      pen.fillText(words, x, 13);
      free = x + half + 6;
    });
    pen.textAlign = "left";
    pen.fillText("rank", 0, 13);
    if (at) {
      pen.strokeStyle = colours.path;
      pen.lineWidth = 2;
      pen.strokeRect(left + at[1] * cell, TOP + at[0] * rowHeight, Math.max(2, cell), rowHeight);
    }
  }, [page, groups, rows, most, all, byRow, theme, chosen, at, width, height, left, cell, rowHeight]);
  const find = (event: MouseEvent): [number, number] | null => {
    const place = canvas.current?.getBoundingClientRect();
    const row = Math.floor((event.clientY - (place?.top ?? 0) - TOP) / rowHeight);
    const column = Math.floor((event.clientX - (place?.left ?? 0) - left) / cell);
    return rows[row] && groups[column] ? [row, column] : null;
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = moves[event.key];
    if (move) setAt([Math.max(0, Math.min(rows.length - 1, (at?.[0] ?? -move[0]) + move[0])), Math.max(0, Math.min(groups.length - 1, (at?.[1] ?? -move[1]) + move[1]))]);
    else if (event.key === "Enter" && at) open(at);
    else return;
    event.preventDefault();
  };
  const open = ([row]: [number, number]) => go(address("program", [], { place: rows[row]?.frame }));
  const words = at && rows[at[0]] ? cellInWords(page, rows[at[0]] as HeatRow, groups[at[1]] as RankGroup, at[1], unit) : "Point at a cell, or walk with the arrow keys; Enter opens the place.";
  return (
    <div ref={box} class="timeline">
      <canvas ref={canvas} tabIndex={0} role="img" aria-label={`${label}. Arrow keys walk through the cells.`} onKeyDown={onKey} onMouseMove={(event) => setAt(find(event))} onDblClick={() => at && open(at)} />
      <p class="status" aria-live="polite">
        <bdi>{words}</bdi>
      </p>
      <p class="legend">
        <span>
          <span class="ramp" aria-hidden="true" /> {byRow ? "0 to the largest figure of each place" : `0 to ${figure(all, unit)}`}
        </span>
        <span>crossed out: not seen there</span>
      </p>
    </div>
  );
}

/** A name that tells rows of the same function apart. */
function rowName(page: Page, frame: number): string {
  const [name, where] = [frameName(page.contexts, frame), whereOf(page.contexts, frame)];
  if (where.startsWith(name)) return where;
  return name.includes(where) ? name : `${name} ${where}`;
}

function cellInWords(page: Page, row: HeatRow, group: RankGroup, column: number, unit: Unit): string {
  const value = row.values[column];
  const name = rowName(page, row.frame);
  if (!isKnown(value)) return `${group.name}: – in ${name}; it was not seen there`;
  return `${group.name}: ${figure(value, unit)} in ${name}${group.size > 1 ? ", mean of a rank" : ""}`;
}
