// A graph as boxes and arrows. Arrow keys walk from box to box.
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { arrange, curve, nearest } from "./arrange";
import type { Box } from "./arrange";

export interface DrawnBox {
  lines: [first: string, second: string];
  /** What the box is, in words. */
  words: string;
  kind: string;
  /** Number of a step of the path, from 1. */
  badge?: number | undefined;
}

export interface DrawnArrow {
  from: number;
  to: number;
  kind: "flow" | "message" | "collective" | "thread";
  label: string;
  back?: boolean;
  words: string;
}

interface Props {
  boxes: DrawnBox[];
  arrows: DrawnArrow[];
  label: string;
  onOpen?: (box: number) => void;
}

const HEIGHT = 42;
const LETTER = 7.3;
const LONGEST = 34;

function cut(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

export function Drawing({ boxes, arrows, label, onOpen }: Props) {
  const id = useId();
  const [at, setAt] = useState(Math.max(0, boxes.findIndex((box) => box.kind === "place")));
  const laid = useMemo(() => {
    const widths = boxes.map((box) => Math.max(...box.lines.map((line) => cut(line).length)) * LETTER + (box.badge === undefined ? 20 : 42));
    return arrange(widths, HEIGHT, arrows);
  }, [boxes, arrows]);
  const scroller = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const [shown, box] = [scroller.current, laid.boxes[at]];
    if (!shown || !box) return;
    if (box.x < shown.scrollLeft || box.x + box.width > shown.scrollLeft + shown.clientWidth) shown.scrollLeft = box.x + box.width / 2 - shown.clientWidth / 2;
    if (box.y < shown.scrollTop || box.y + box.height > shown.scrollTop + shown.clientHeight) shown.scrollTop = box.y + box.height / 2 - shown.clientHeight / 2;
  }, [at, laid]);
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.startsWith("Arrow")) setAt(nearest(laid.boxes, at, event.key));
    else if (event.key === "Enter") onOpen?.(at);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <div class="scroller graph" ref={scroller} role="group" aria-label={label}>
        <svg class="picture" width={laid.width} height={laid.height} viewBox={`0 0 ${laid.width} ${laid.height}`} tabindex={0} role="listbox" aria-label={`${label}. Arrow keys walk, Enter opens.`} aria-activedescendant={`${id}-${at}`} onKeyDown={onKey}>
          <defs>
            <marker id={`${id}-head`} viewBox="0 0 10 10" refX="9" refY="5" markerUnits="userSpaceOnUse" markerWidth="10" markerHeight="10" orient="auto-start-reverse">
              <path d="M0,0 L10,5 L0,10 z" class="arrow-head" />
            </marker>
          </defs>
          {arrows.map((arrow, i) => {
            const points = laid.arrows[i]?.points ?? [];
            const middle = points[Math.floor(points.length / 2)];
            return (
              <g>
                <path class={`arrow ${arrow.kind}${arrow.back ? " back" : ""}${arrow.from === at || arrow.to === at ? " near" : ""}`} d={curve(points)} marker-end={`url(#${id}-head)`}>
                  <title>{arrow.words}</title>
                </path>
                {arrow.label && middle && (
                  <g>
                    <rect class="label-paper" x={middle.x + 2} y={middle.y - 9} width={arrow.label.length * 6.8 + 6} height={17} rx={3} />
                    <text class="label soft" x={middle.x + 5} y={middle.y + 4}>
                      {arrow.label}
                    </text>
                  </g>
                )}
              </g>
            );
          })}
          {boxes.map((box, i) => {
            const place = laid.boxes[i];
            if (!place) return null;
            return (
              <g id={`${id}-${i}`} role="option" aria-selected={i === at} aria-label={box.words} onClick={() => setAt(i)} onDblClick={() => onOpen?.(i)}>
                <title>{box.words}</title>
                <rect class={`node ${box.kind}${i === at ? " chosen" : ""}`} x={place.x} y={place.y} width={place.width} height={place.height} rx={5} />
              </g>
            );
          })}
          <g aria-hidden="true" class="names">
            {boxes.map((box, i) => (
              <Name box={box} place={laid.boxes[i]} />
            ))}
          </g>
        </svg>
      </div>
      <p class="status" aria-live="polite">
        <bdi>{boxes[at]?.words ?? ""}</bdi>
      </p>
    </>
  );
}

/** What stands in a box. */
function Name({ box, place }: { box: DrawnBox; place: Box | undefined }) {
  if (!place) return null;
  const left = place.x + (box.badge === undefined ? 10 : 32);
  return (
    <g>
      {box.badge !== undefined && (
        <g>
          <circle class="hop-badge" cx={place.x + 17} cy={place.y + HEIGHT / 2} r={10} />
          <text class="hop-number" x={place.x + 17} y={place.y + HEIGHT / 2 + 4} text-anchor="middle">
            {box.badge}
          </text>
        </g>
      )}
      <text class="label strong" x={left} y={place.y + 17}>
        {cut(box.lines[0])}
      </text>
      <text class="label soft" x={left} y={place.y + 34}>
        {cut(box.lines[1])}
      </text>
    </g>
  );
}
