// The calling contexts as a flame graph: the outermost frame at the top, width is time.
import { useMemo } from "preact/hooks";
import type { Contexts } from "../../model";
import { changed, go } from "../../state/route";
import type { Route } from "../../state/route";
import type { Figures, Node } from "../../state/tree";
import { useWidth } from "../../state/width";
import { whereOf } from "../../text/frame";
import { figure } from "../../text/units";
import type { Unit } from "../../text/units";
import { flame, step } from "./boxes";
import type { Box } from "./boxes";

const ROW = 24;

interface Props {
  root: Node;
  contexts: Contexts;
  unit: Unit;
  route: Route;
  chosen: number;
  /** Waiting inside each frame, drawn as stripes; null where it is not known. */
  waiting: Figures | null;
  /** Differences to another scale, which then give the colours. */
  change: Figures | null;
  label: string;
}

/** A colour for what a frame is. */
function kindClass(contexts: Contexts, frame: number): string {
  const kind = contexts.kind[frame];
  if (kind === "mpi-call") return "mpi";
  if (kind === "loop" || kind === "irreducible-loop") return "loop";
  if (kind === "lock-call" || kind === "thread-call") return "lock";
  return kind === "branch" ? "branch" : "function";
}

function changeColour(value: number | null | undefined, most: number): string | undefined {
  if (value === null || value === undefined) return undefined;
  const strength = Math.min(1, Math.abs(value) / (most || 1)) ** 0.5;
  return `color-mix(in srgb, var(${value > 0 ? "--more" : "--less"}) ${(strength * 75).toFixed(0)}%, var(--grid))`;
}

export function FlameGraph({ root, contexts, unit, route, chosen, waiting, change, label }: Props) {
  const [box, width] = useWidth<HTMLDivElement>();
  const boxes = useMemo(() => flame(root, 1 / width), [root, width]);
  const depth = Math.max(...boxes.map((item) => item.depth)) + 1;
  const most = change ? Math.max(...boxes.slice(1).map((item) => Math.abs(change[item.node.frame] ?? 0)), 0) : 0;
  const at = boxes.find(({ node }) => node.frame === chosen || node.folded.includes(chosen)) ?? boxes[0];
  const choose = (to: Box | undefined) => to && go(changed(route, { place: to.node.frame }), true);
  const zoom = (to: Box | undefined) => to && go(changed(route, { root: to.node.frame === 0 ? null : to.node.frame, place: to.node.frame }));
  const onKey = (event: KeyboardEvent) => {
    if (!at || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.startsWith("Arrow")) choose(step(boxes, at, event.key));
    else if (event.key === "Enter") zoom(at);
    else if (event.key === "Escape") go(changed(route, { root: (contexts.parent[root.frame] ?? 0) > 0 ? contexts.parent[root.frame] : null }));
    else return;
    event.preventDefault();
  };
  return (
    <div ref={box}>
      <svg class="picture flame" width={width} height={depth * ROW + 2} viewBox={`0 0 ${width} ${depth * ROW + 2}`} tabindex={0} role="tree" aria-label={label} aria-activedescendant={at ? `frame-${at.node.frame}` : undefined} onKeyDown={onKey}>
        {boxes.map((item) => {
          const { node } = item;
          const [x, wide] = [item.left * width, Math.max(1, (item.right - item.left) * width - 1)];
          const waits = waiting?.[node.frame] ?? 0;
          const words = `${node.name} (${whereOf(contexts, node.frame)}): ${figure(node.whole, unit)}, ${figure(node.own, unit)} of its own${waits > 0 ? `, waits ${figure(waits, unit)}` : ""}${change ? `, changed by ${figure(change[node.frame], "difference")}` : ""}`;
          return (
            <g id={`frame-${node.frame}`} role="treeitem" aria-level={item.depth + 1} aria-selected={node.frame === at?.node.frame} aria-label={words} onClick={() => choose(item)} onDblClick={() => zoom(item)}>
              <title>{words}</title>
              <rect class={`box ${kindClass(contexts, node.frame)}`} style={change ? { fill: changeColour(change[node.frame], most) } : undefined} x={x} y={item.depth * ROW} width={wide} height={ROW - 1.5} />
              {!change && waits > 0 && node.whole > 0 && <rect class="box-wait" x={x + wide * (1 - Math.min(1, waits / node.whole))} y={item.depth * ROW + ROW - 7} width={wide * Math.min(1, waits / node.whole)} height={5.5} />}
            </g>
          );
        })}
        <g aria-hidden="true">
          {boxes.map((item) => (
            <Name item={item} width={width} unit={unit} />
          ))}
        </g>
        {at && <rect class="box-chosen" x={at.left * width} y={at.depth * ROW} width={Math.max(2, (at.right - at.left) * width - 1)} height={ROW - 1.5} />}
      </svg>
    </div>
  );
}

/** The name of a box, as much of it as fits. */
function Name({ item, width, unit }: { item: Box; width: number; unit: Unit }) {
  const wide = (item.right - item.left) * width - 1;
  const letters = Math.floor((wide - 8) / 7);
  if (letters < 3) return null;
  const text = wide > 150 ? `${item.node.name} ${figure(item.node.whole, unit)}` : item.node.name;
  return (
    <text x={item.left * width + 4} y={item.depth * ROW + 15}>
      {text.length > letters ? `${text.slice(0, letters - 1)}…` : text}
    </text>
  );
}
