// Paints a tile of a timeline onto a canvas.
import type { Colours } from "../../draw/colours";
import { linear, ticks } from "../../draw/scale";
import type { Scale } from "../../draw/scale";
import { segments } from "../../draw/segments";
import type { TimelineTile } from "../../model";
import { NS } from "../../text/slice";
import { tickWriter } from "../../text/units";

/** Where things are on the canvas, in pixels. */
export interface Layout {
  /** The time that the axis calls 0. */
  zero: number;
  width: number;
  height: number;
  left: number;
  /** Height of a row, with the gap below it. */
  row: number;
  top: number;
  time: Scale;
}

export const AXIS = 34;
const LEFT = 78;

/** Rows are as high as they can be without the picture becoming higher than a screen. */
export function layoutFor(tile: TimelineTile, width: number, zero: number, begin: number, end: number): Layout {
  const row = Math.max(2, Math.min(26, Math.floor(600 / Math.max(1, tile.rows.length))));
  return { zero, width, height: row * tile.rows.length + AXIS, left: LEFT, row, top: 0, time: linear([begin, Math.max(begin + 1, end)], [LEFT, width - 4]) };
}

export interface Options {
  messages: boolean;
  critical: boolean;
  /** Slice that is chosen; -1 for none. */
  chosen: number;
}

export function paintTile(pen: CanvasRenderingContext2D, tile: TimelineTile, starts: readonly number[], layout: Layout, colours: Colours, options: Options): void {
  const { width, height, left, row, time } = layout;
  pen.fillStyle = colours.paper;
  pen.fillRect(0, 0, width, height);
  paintAxis(pen, tile, layout, colours);
  const gap = row >= 6 ? 2 : 0;
  pen.save();
  pen.beginPath();
  pen.rect(left, 0, width - left - 4, height - AXIS);
  pen.clip();
  if (tile.density) paintDensity(pen, tile, layout, colours, gap);
  for (let i = 0; i < tile.rows.length && tile.slices; i += 1) {
    for (const segment of segments(tile, starts, i, time)) {
      const wide = segment.to - segment.from;
      pen.fillStyle = segment.kind === "wait" ? (row >= 6 ? colours.wait : colours.waitPlain) : segment.kind === "call" ? colours.call : colours.computation;
      pen.fillRect(segment.from, i * row, Math.max(0.5, wide > 3 ? wide - 0.6 : wide), row - gap);
    }
  }
  if (options.messages && !tile.density) paintMessages(pen, tile, layout, colours, row - gap);
  if (options.critical) paintCritical(pen, tile, layout, colours, row - gap);
  if (options.chosen >= 0 && tile.slices) {
    const from = tile.slices.begin_ns[options.chosen] as number;
    const to = from + (tile.slices.length_ns[options.chosen] as number);
    pen.strokeStyle = colours.path;
    pen.lineWidth = 2.5;
    pen.strokeRect(time(from), (tile.slices.row[options.chosen] as number) * row, Math.max(2, time(to) - time(from)), row - gap);
  }
  pen.restore();
  paintNames(pen, tile, layout, colours);
}

function paintAxis(pen: CanvasRenderingContext2D, tile: TimelineTile, { zero, width, height, left, time }: Layout, colours: Colours): void {
  const [begin, end] = time.domain;
  const bottom = height - AXIS;
  pen.font = "12px system-ui, sans-serif";
  pen.strokeStyle = colours.grid;
  pen.fillStyle = colours.soft;
  pen.lineWidth = 1;
  pen.textAlign = "center";
  let free = left - 20;
  const marks = ticks((begin - zero) * NS, (end - zero) * NS, Math.max(2, Math.floor((width - left) / 110)));
  const write = tickWriter(marks);
  for (const tick of marks) {
    const x = time(tick / NS + zero);
    pen.beginPath();
    pen.moveTo(x, 0);
    pen.lineTo(x, bottom + 4);
    pen.stroke();
    const label = write(tick);
    const half = pen.measureText(label).width / 2;
    if (x - half < free || x + half > width) continue;
    pen.fillText(label, x, bottom + 16);
    free = x + half + 8;
  }
  const title = "time since the beginning";
  const full = tile.clock === "virtual" ? `${title}, with a core for each rank` : title;
  pen.fillText(pen.measureText(full).width > width - left ? title : full, (left + width) / 2, bottom + 31);
}

function paintNames(pen: CanvasRenderingContext2D, tile: TimelineTile, { left, row }: Layout, colours: Colours): void {
  const every = Math.max(1, Math.ceil(13 / row));
  pen.font = "12px system-ui, sans-serif";
  pen.fillStyle = colours.soft;
  pen.textAlign = "right";
  tile.rows.forEach(({ name }, i) => {
    if (i % every !== 0) return;
    const words = name.replace(/^rank (\d+) thread /, "$1 thread ").replace(/^ranks /, "");
    pen.fillText(words, left - 6, i * row + Math.max(10, row / 2 + 3), left - 8);
  });
}

function paintDensity(pen: CanvasRenderingContext2D, tile: TimelineTile, { row, time }: Layout, colours: Colours, gap: number): void {
  const density = tile.density;
  if (!density) return;
  const { columns } = density;
  const each = (tile.end_ns - tile.begin_ns) / columns;
  for (let i = 0; i < tile.rows.length; i += 1) {
    for (let column = 0; column < columns; column += 1) {
      const cell = i * columns + column;
      const [x0, x1] = [time(tile.begin_ns + column * each), time(tile.begin_ns + (column + 1) * each)];
      let y = i * row;
      const shares: [number | undefined, string | CanvasPattern][] = [
        [density.computing[cell], colours.computation],
        [density.calling[cell], colours.call],
        [density.waiting[cell], row >= 6 ? colours.wait : colours.waitPlain],
      ];
      for (const [share, colour] of shares) {
        const high = ((share ?? 0) / 1000) * (row - gap);
        pen.fillStyle = colour;
        pen.fillRect(x0, y, x1 - x0 + 0.3, high);
        y += high;
      }
    }
  }
}

/** More messages in view than this are a blur; only late ones are drawn then, or none. */
const MOST_MESSAGES = 400;

/** With more pieces of the critical path in view than this, the lines between them are faint. */
const MOST_PIECES = 60;

function paintMessages(pen: CanvasRenderingContext2D, tile: TimelineTile, { row, time }: Layout, colours: Colours, high: number): void {
  const { from_row, sent_ns, to_row, received_ns, late } = tile.messages;
  const [begin, end] = time.domain;
  const seen: number[] = [];
  for (let i = 0; i < from_row.length; i += 1) if ((received_ns[i] as number) >= begin && (sent_ns[i] as number) <= end) seen.push(i);
  let drawn = seen;
  if (drawn.length > MOST_MESSAGES) drawn = drawn.filter((i) => late[i] === 1);
  if (drawn.length > MOST_MESSAGES) return;
  pen.lineWidth = 1;
  for (const i of drawn) {
    pen.strokeStyle = late[i] === 1 ? colours.ink : colours.soft;
    pen.globalAlpha = late[i] === 1 ? 0.75 : 0.4;
    pen.beginPath();
    pen.moveTo(time(sent_ns[i] as number), (from_row[i] as number) * row + high / 2);
    pen.lineTo(time(received_ns[i] as number), (to_row[i] as number) * row + high / 2);
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

function paintCritical(pen: CanvasRenderingContext2D, tile: TimelineTile, { row, time }: Layout, colours: Colours, high: number): void {
  const { critical } = tile;
  const [begin, end] = time.domain;
  const seen = critical.row.map((_, i) => i).filter((i) => (critical.end_ns[i] as number) >= begin && (critical.begin_ns[i] as number) <= end);
  const y = (i: number) => (critical.row[i] as number) * row + high / 2;
  const thick = Math.max(1.5, Math.min(4, row / 5));
  pen.strokeStyle = colours.path;
  // The lines from rank to rank, then the pieces on a rank over them.
  pen.lineWidth = seen.length > MOST_PIECES ? 0.6 : thick;
  pen.globalAlpha = seen.length > MOST_PIECES ? 0.25 : 1;
  pen.beginPath();
  for (const i of seen.slice(1)) {
    pen.moveTo(time(critical.end_ns[i - 1] as number), y(i - 1));
    pen.lineTo(time(critical.begin_ns[i] as number), y(i));
  }
  pen.stroke();
  pen.globalAlpha = 1;
  pen.lineWidth = thick;
  pen.beginPath();
  for (const i of seen) {
    pen.moveTo(time(critical.begin_ns[i] as number), y(i));
    pen.lineTo(time(critical.end_ns[i] as number), y(i));
  }
  pen.stroke();
}
