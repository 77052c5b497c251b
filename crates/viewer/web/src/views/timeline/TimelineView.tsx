// The timeline: event windows of a run, and the same stretch at another scale beside it.
import { useCallback, useEffect, useId, useRef, useState } from "preact/hooks";
import { Swatch } from "../../draw/Patterns";
import type { Page, WindowInfo } from "../../model";
import { Group, Pick } from "../../parts/Choice";
import { Missing } from "../../parts/Missing";
import { Panel } from "../../parts/Panel";
import { address, changed, go, numberIn } from "../../state/route";
import type { Route } from "../../state/route";
import { useKeys } from "../../state/keys";
import type { ViewProps } from "../../state/view";
import { count, seconds } from "../../text/units";
import { NS } from "../../text/slice";
import { TimelineCanvas } from "./TimelineCanvas";
import { tileOf, useTile } from "./tile";
import { Waits } from "./Waits";

/** Columns of a tile that is requested. */
const COLUMNS = 1200;

/** Shortest stretch that can be shown, nanoseconds. */
const SHORTEST = 200;

/** A stretch moved and cut so that it lies in the window. */
export function within(begin: number, end: number, from: number, to: number): [number, number] {
  if (!Number.isFinite(begin) || !Number.isFinite(end)) return [from, to];
  const length = Math.max(SHORTEST, Math.min(end - begin, to - from));
  const start = Math.max(from, Math.min(begin, to - length));
  return [Math.round(start), Math.round(Math.min(to, start + length))];
}

/** The window of another scale that shows the same stretch of the program, and how far its times are from ours. */
export function alike(page: Page, window: WindowInfo, scale: number): { window: WindowInfo; shift: number } | null {
  const match = window.alike.find((other) => other.scale === scale);
  const found = match && page.timeline[scale]?.windows.find((other) => other.window === match.window);
  return found ? { window: found, shift: match.their_begin_ns - match.begin_ns } : null;
}

/** The stretch in the address; while the reader zooms, a newer one that the address follows. */
function useStretch(route: Route, from: number, to: number): [number, number, (begin: number, end: number) => void] {
  const given = within(numberIn(route, "from", from), numberIn(route, "to", to), from, to);
  const [moving, setMoving] = useState<[number, number] | null>(null);
  const latest = useRef(route);
  latest.current = route;
  useEffect(() => setMoving(null), [given[0], given[1], from, to]);
  useEffect(() => {
    if (!moving) return undefined;
    const whole = moving[0] <= from && moving[1] >= to;
    const timer = setTimeout(() => go(changed(latest.current, { from: whole ? null : moving[0], to: whole ? null : moving[1] }), true), 250);
    return () => clearTimeout(timer);
  }, [moving, from, to]);
  const move = useCallback((begin: number, end: number) => setMoving(within(begin, end, from, to)), [from, to]);
  const [begin, end] = moving ?? given;
  return [begin, end, move];
}

export function TimelineView({ page, route, theme }: ViewProps) {
  const known = page.timeline.map((_, i) => i).filter((i) => (page.timeline[i]?.windows.length ?? 0) > 0);
  const wanted = numberIn(route, "scale", known.at(-1) ?? page.timeline.length - 1);
  const timeline = page.timeline[wanted];
  const windows = timeline?.windows ?? [];
  const at = Math.max(0, windows.findIndex((item) => item.window === numberIn(route, "window", -1)));
  const window = windows[at];
  if (!timeline || !window) {
    return (
      <Panel title="Timeline" wide>
        {known.length > 0 && <Scales page={page} route={route} scale={wanted} />}
        <Missing what="No timeline" why={timeline?.missing ?? "No event window was recorded at this scale."} />
      </Panel>
    );
  }
  return <OneWindow page={page} route={route} theme={theme} scale={wanted} at={at} window={window} windows={windows} />;
}

function Scales({ page, route, scale }: { page: Page; route: Route; scale: number }) {
  const runs = page.runs.map((run, i) => [String(i), run.scale] as [string, string]);
  const cleared = { ...route, choices: { ...route.choices, window: "", from: "", to: "" } };
  return <Pick label="Scale" route={cleared} name="scale" value={String(scale)} otherwise="" options={runs} />;
}

interface WindowProps extends ViewProps {
  scale: number;
  at: number;
  window: WindowInfo;
  windows: WindowInfo[];
}

function OneWindow({ page, route, theme, scale, window, windows }: WindowProps) {
  const id = useId();
  const clock = !window.wall || (window.virtual && route.choices["clock"] !== "wall") ? "virtual" : "wall";
  const base = tileOf(window, clock);
  const whole: [number, number] = clock === "virtual" ? [base.begin_ns, base.begin_ns + Math.max(window.virtual_length_ns ?? 0, base.end_ns - base.begin_ns)] : [base.begin_ns, base.begin_ns + Math.max(window.length_ns, base.end_ns - base.begin_ns)];
  const [begin, end, move] = useStretch(route, whole[0], whole[1]);
  const beside = numberIn(route, "beside", -1);
  const other = beside >= 0 ? alike(page, window, beside) : null;
  const shift = other?.shift ?? 0;
  const shownBeside = useTile(page, other?.window ?? window, clock, begin + shift, end + shift, COLUMNS, other !== null);
  const others = [...new Set(window.alike.map((item) => item.scale))];
  const details = base.slices ? [] : window.detail.filter((tile) => tile.clock === base.clock);
  const shown = useTile(page, window, clock, begin, end, COLUMNS);
  const messages = route.choices["messages"] !== "no";
  const critical = route.choices["critical"] !== "no";
  const toPlace = (frame: number) => frame >= 0 && go(address("program", [], { place: frame }));
  const length = end - begin;
  const zoom = (factor: number) => move((begin + end) / 2 - (length * factor) / 2, (begin + end) / 2 + (length * factor) / 2);
  useKeys({ "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => move(...whole) });
  const without = { ...route, choices: { ...route.choices, from: "", to: "" } };
  const nameOf = (item: WindowInfo) => (item.whole ? `whole run, ${seconds((item.virtual_length_ns ?? 0) * NS)}` : `${item.window}${item.begin_seconds === null ? "" : `: at ${seconds(item.begin_seconds)}`}, ${seconds(item.length_ns * NS)}`);
  const names = (list: WindowInfo[]) => list.map((item) => [String(item.window), `${nameOf(item)}, ${count(item.calls)} calls`] as [string, string]);
  const ranks = page.runs[scale]?.scale;
  const from = `/timeline/${scale}/windows/${page.timeline[scale]?.windows.indexOf(window) ?? 0}`;
  return (
    <>
      <Panel title="Timeline" wide picture={`timeline-${scale}-${window.window}`} pixels says={
          <>
            {window.whole ? `The whole run at ${ranks}, simulated from its trace: a core for each rank, an ideal network, and the mean time of each computation.` : `An event window at ${ranks}: every event of every rank.`} Mark a stretch with the pointer to zoom in; + − 0 zoom, ← → move.
          </>
        }>
        <div class="choices">
          <Scales page={page} route={route} scale={scale} />
          {windows.length > 1 && <Pick label="Window" route={without} name="window" value={String(window.window)} otherwise={String(windows[0]?.window)} options={names(windows)} />}
          {window.virtual && window.wall && <Group label="Times" route={without} name="clock" value={clock} otherwise="virtual" options={[["virtual", "a core for each rank"], ["wall", "as recorded"]]} />}
          {others.length > 0 && <Pick label="Beside it" route={route} name="beside" value={beside >= 0 ? String(beside) : ""} otherwise="" options={[["", "nothing"], ...others.map((i) => [String(i), page.runs[i]?.scale] as [string, string])]} />}
          <Group label="Messages" route={route} name="messages" value={messages ? "yes" : "no"} otherwise="yes" options={[["yes", "show"], ["no", "hide"]]} />
          {base.critical.row.length > 0 && <Group label="Critical path" route={route} name="critical" value={critical ? "yes" : "no"} otherwise="yes" options={[["yes", "show"], ["no", "hide"]]} />}
          <fieldset>
            <legend>Zoom</legend>
            <div class="group">
              <button type="button" aria-label="Zoom in" onClick={() => zoom(0.5)}>
                +
              </button>
              <button type="button" aria-label="Zoom out" onClick={() => zoom(2)}>
                −
              </button>
              <button type="button" aria-label="Move left" onClick={() => move(begin - length / 2, end - length / 2)}>
                ←
              </button>
              <button type="button" aria-label="Move right" onClick={() => move(begin + length / 2, end + length / 2)}>
                →
              </button>
              <button type="button" onClick={() => move(...whole)}>
                all
              </button>
            </div>
          </fieldset>
        </div>
        <TimelineCanvas page={page} shown={shown} begin={begin} end={end} onStretch={move} onPlace={toPlace} messages={messages} critical={critical} theme={theme} label={`Timeline of ${page.runs[scale]?.scale}, ${seconds(length * NS)}`} />
        {other && (
          <>
            <h3>The same stretch at {page.runs[beside]?.scale}</h3>
            <TimelineCanvas page={page} shown={shownBeside} begin={begin + shift} end={end + shift} onStretch={(a, b) => move(a - shift, b - shift)} onPlace={toPlace} messages={messages} critical={critical} theme={theme} label={`Timeline of ${page.runs[beside]?.scale}`} />
          </>
        )}
        <p class="legend">
          <span>
            <Swatch id={id} fill="computation" /> computes
          </span>
          <span>
            <Swatch id={id} fill="wait" /> waits in MPI
          </span>
          <span>
            <Swatch id={id} fill="call" /> in MPI, not waiting
          </span>
          <span>thin line: message, stronger if its receiver waited (zoom in where there are many)</span>
          {critical && base.critical.row.length > 0 && <span>thick line: critical path</span>}
        </p>
        {details.length > 0 && (
          <p class="links">
            Stretches with every call:
            {details.map((tile) => (
              <a href={changed(route, { from: tile.begin_ns, to: tile.end_ns })}>
                {seconds((tile.begin_ns - base.begin_ns) * NS)} to {seconds((tile.end_ns - base.begin_ns) * NS)}
              </a>
            ))}
          </p>
        )}
        {page.timeline[scale]?.missing && <Missing what="No whole run" why={page.timeline[scale]?.missing ?? ""} />}
        {base.thinned && !shown.tile.slices && <Missing what="Thinned out" why={page.live ? "Zoom in; finer data are then loaded." : `This file has only part of the ${window.whole ? "run" : "window"}. headwater view shows all of it.`} />}
      </Panel>
      <Waits page={page} tile={shown.tile} zero={shown.zero} begin={begin} end={end} from={shown.from === null ? null : `${from}/${shown.from}`} />
    </>
  );
}
