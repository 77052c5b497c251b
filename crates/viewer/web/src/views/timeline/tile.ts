// The tile that is shown: the one in the page, or a finer one from the server that sent the page.
import { useEffect, useState } from "preact/hooks";
import type { Page, TimelineTile, WindowInfo } from "../../model";
import { loadTile } from "../../state/load";

/** How long a view must rest before a finer tile is requested, milliseconds. */
const REST = 120;

export interface Shown {
  tile: TimelineTile;
  /** Where the tile is in its window's data; null if the server sent it. */
  from: string | null;
  /** The window's begin, from which times are shown. */
  zero: number;
  /** Why no finer tile could be had. */
  error: string | null;
}

/** What the page has of a window on a time axis, or on the other one if it has nothing on this one. */
export function tileOf(window: WindowInfo, clock: "wall" | "virtual"): TimelineTile {
  const tile = (clock === "virtual" ? window.virtual : window.wall) ?? window.virtual ?? window.wall;
  if (!tile) throw new Error("a window without times");
  return tile;
}

export function useTile(page: Page, window: WindowInfo, clock: "wall" | "virtual", begin: number, end: number, columns: number, isShown = true): Shown {
  const whole = tileOf(window, clock);
  const [finer, setFiner] = useState<{ of: TimelineTile; tile: TimelineTile } | null>(null);
  const [error, setError] = useState<string | null>(null);
  const live = page.live;
  useEffect(() => {
    if (!live || !isShown || !whole.thinned) return undefined;
    let wanted = true;
    const timer = setTimeout(() => {
      loadTile<TimelineTile>(live.timeline, { scale: whole.scale, window: whole.window, clock: whole.clock, from_ns: Math.round(begin), to_ns: Math.round(end), rows: whole.rows.length, columns }, live.token).then(
        (tile) => wanted && (setFiner({ of: whole, tile }), setError(null)),
        (reason: unknown) => wanted && setError(String(reason instanceof Error ? reason.message : reason)),
      );
    }, REST);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [live, isShown, whole, begin, end, columns]);
  const part = whole.slices ? undefined : window.detail.find((tile) => tile.clock === whole.clock && tile.begin_ns <= begin && tile.end_ns >= end);
  const usable = finer && finer.of === whole && finer.tile.begin_ns <= begin && finer.tile.end_ns >= end;
  if (usable) return { tile: finer.tile, from: null, zero: whole.begin_ns, error };
  return { tile: part ?? whole, from: part ? `detail/${window.detail.indexOf(part)}` : whole.clock, zero: whole.begin_ns, error };
}
