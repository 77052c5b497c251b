// One window of a run as a picture: ranks down, time across. Zoom by keys, by marking a stretch, or with Ctrl and the wheel.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { coloursFor, penFor } from "../../draw/colours";
import { rowStarts, sliceAt } from "../../draw/segments";
import type { Page } from "../../model";
import type { Theme } from "../../state/theme";
import { useWidth } from "../../state/width";
import { sliceInWords } from "../../text/slice";
import { layoutFor, paintTile } from "./paint";
import type { Shown } from "./tile";

interface Props {
  page: Page;
  shown: Shown;
  begin: number;
  end: number;
  /** Asks for another stretch of time. */
  onStretch: (begin: number, end: number) => void;
  /** Tells which place was chosen. */
  onPlace: (frame: number) => void;
  messages: boolean;
  critical: boolean;
  theme: Theme;
  label: string;
}

export function TimelineCanvas({ page, shown, begin, end, onStretch, onPlace, messages, critical, theme, label }: Props) {
  const [box, width] = useWidth<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [chosen, setChosen] = useState(-1);
  const [marked, setMarked] = useState<[number, number] | null>(null);
  const { tile, zero, error } = shown;
  const starts = useMemo(() => rowStarts(tile), [tile]);
  const layout = useMemo(() => layoutFor(tile, width, zero, begin, end), [tile, width, zero, begin, end]);
  useEffect(() => setChosen(-1), [tile]);
  useEffect(() => {
    const pen = canvas.current && penFor(canvas.current, layout.width, layout.height);
    if (!pen) return;
    const colours = coloursFor(pen);
    paintTile(pen, tile, starts, layout, colours, { messages, critical, chosen });
    if (!marked) return;
    pen.fillStyle = colours.mark;
    pen.globalAlpha = 0.2;
    pen.fillRect(Math.min(...marked), 0, Math.abs(marked[1] - marked[0]), layout.height);
    pen.globalAlpha = 1;
  }, [tile, starts, layout, messages, critical, chosen, marked, theme]);
  const at = (event: MouseEvent): [x: number, row: number] => {
    const place = canvas.current?.getBoundingClientRect();
    return [event.clientX - (place?.left ?? 0), Math.floor((event.clientY - (place?.top ?? 0)) / layout.row)];
  };
  const find = (event: MouseEvent) => {
    const [x, row] = at(event);
    return row >= 0 && row < tile.rows.length && x >= layout.left ? sliceAt(tile, starts, row, layout.time.invert(x)) : -1;
  };
  const zoom = (factor: number, around: number) => onStretch(around - (around - begin) * factor, around + (end - around) * factor);
  const onWheel = (event: WheelEvent) => {
    if (event.ctrlKey) {
      event.preventDefault();
      zoom(1.0015 ** event.deltaY, layout.time.invert(at(event)[0]));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      const by = (((event.deltaX || event.deltaY) / (width || 1)) * (end - begin)) as number;
      onStretch(begin + by, end + by);
    }
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const length = end - begin;
    const middle = (begin + end) / 2;
    const slices = tile.slices;
    const walk = (step: number) => slices && setChosen(Math.max(0, Math.min(slices.row.length - 1, chosen + step)));
    if (event.key === "ArrowLeft") onStretch(begin - length / 4, end - length / 4);
    else if (event.key === "ArrowRight") onStretch(begin + length / 4, end + length / 4);
    else if (event.key === "+" || event.key === "=") zoom(0.5, middle);
    else if (event.key === "-") zoom(2, middle);
    else if (event.key === "0") onStretch(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
    else if (event.key === "ArrowDown") walk(1);
    else if (event.key === "ArrowUp") walk(-1);
    else if (event.key === "Enter" && slices && chosen >= 0) onPlace(slices.frame[chosen] ?? -1);
    else return;
    event.preventDefault();
  };
  const words = chosen >= 0 ? sliceInWords(tile, page.contexts, chosen) : "";
  return (
    <div ref={box} class="timeline">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={`${label}. Arrow keys left and right move, plus and minus zoom, up and down walk through calls. The table of waits below has the figures.`}
        onWheel={onWheel}
        onKeyDown={onKey}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          setMarked([at(event)[0], at(event)[0]]);
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          if (marked) setMarked([marked[0], at(event)[0]]);
          else if (event.pointerType === "mouse") setChosen(find(event));
        }}
        onPointerCancel={() => setMarked(null)}
        onPointerUp={(event) => {
          if (marked && Math.abs(marked[1] - marked[0]) > 6) {
            const [a, b] = [Math.min(...marked), Math.max(...marked)].map((x) => layout.time.invert(Math.max(layout.left, x)));
            onStretch(a as number, b as number);
          } else setChosen(find(event));
          setMarked(null);
        }}
        onDblClick={() => chosen >= 0 && onPlace(tile.slices?.frame[chosen] ?? -1)}
      />
      <p class="status" aria-live="polite">
        <bdi>{words || (tile.density ? `Too many calls to show each: cells show how the time divides.${page.live ? " Zoom in for calls." : ""}` : "Point at a call, or walk with the arrow keys up and down, to see what it is.")}</bdi>
      </p>
      {error && <p class="missing">– Finer data: {error}</p>}
    </div>
  );
}
