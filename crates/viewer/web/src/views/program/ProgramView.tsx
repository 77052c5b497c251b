// The program: its calling contexts by any metric, scale and rank, and the place that is chosen.
import { useMemo } from "preact/hooks";
import { Group, Pick } from "../../parts/Choice";
import { Missing } from "../../parts/Missing";
import { Panel } from "../../parts/Panel";
import { numberIn } from "../../state/route";
import { readingOf } from "../../state/reading";
import { bottomUp, topDown, wholeFigures } from "../../state/tree";
import type { ViewProps } from "../../state/view";
import { capitalised } from "../../text/words";
import { unitOf, unitWord } from "../../text/metric";
import { ChangeTable } from "./ChangeTable";
import { FlameGraph } from "./Flame";
import { PlacePanel } from "./PlacePanel";
import { ProgramTable } from "./ProgramTable";

/** More groups of ranks than this are not listed one by one. */
const MOST_GROUPS = 520;

export function ProgramView({ page, route }: ViewProps) {
  const contexts = page.contexts;
  const reading = useMemo(() => readingOf(page, route), [page, route]);
  const { metric, scale, own, whole } = reading;
  const mode = route.choices["show"] ?? "flame";
  const last = contexts.parent.length - 1;
  const chosen = Math.max(0, Math.min(last, numberIn(route, "place", 0)));
  const rootFrame = Math.max(0, Math.min(last, numberIn(route, "root", 0)));
  const unit = unitOf(metric);
  const runs = page.runs.map((run, i) => [String(i), run.scale] as [string, string]);
  const builds = contexts.others.map((build, i) => [`b${i}`, `${build.name}, another build`] as [string, string]);
  const others = [...runs.filter(([value]) => value !== String(scale)), ...builds];
  const groups = page.ranks[scale]?.groups ?? [];
  // Widths of a comparison are those of the shown scale; only colours are differences.
  const shape = useMemo(() => {
    const [o, w] = reading.against === null ? [own, whole] : [contexts.scales[scale]?.metrics[metric?.name ?? ""]?.exclusive ?? null, wholeFigures(contexts, scale, metric?.name ?? "")];
    return o && w ? { tree: topDown(contexts, o, w, rootFrame), callers: mode === "callers" ? bottomUp(contexts, o) : [], total: w[0] ?? 0 } : null;
  }, [contexts, own, whole, rootFrame, mode, scale, metric, reading.against]);
  const waiting = metric?.name === "time" && reading.group === null ? wholeFigures(contexts, scale, "wait") : null;
  const says = (
    <>
      {capitalised(metric?.title ?? "")}, {reading.words}.{mode === "flame" && " Width is the figure with everything inside; the outermost frame is at the top. Arrow keys walk, Enter zooms in, Escape zooms out."}
      {mode === "flame" && waiting && " The striped line below a frame is its waiting."}
    </>
  );
  return (
    <>
      <Panel title="The program" wide picture={mode === "flame" ? "program" : undefined} says={says}>
        <div class="choices">
          <Group label="Show as" route={route} name="show" value={mode} otherwise="flame" options={[["flame", "flame graph"], ["table", "table"], ["callers", "bottom-up"]]} />
          <Pick label="Metric" route={route} name="metric" value={metric?.name ?? ""} otherwise={contexts.metrics[0]?.name ?? ""} options={contexts.metrics.map((item) => [item.name, item.title])} />
          <Pick label="Scale" route={route} name="scale" value={String(scale)} otherwise={String(page.runs.length - 1)} options={runs} />
          {others.length > 0 && <Pick label="Compare with" route={route} name="against" value={reading.against ?? ""} otherwise="" options={[["", "nothing"], ...others]} />}
          {groups.length > 1 && groups.length <= MOST_GROUPS && (
            <Pick label="Ranks" route={route} name="ranks" value={reading.group === null ? "" : String(reading.group)} otherwise="" options={[["", "all ranks"], ...groups.map((group, i) => [String(i), group.name] as [string, string]).sort((a, b) => a[1].localeCompare(b[1], "en", { numeric: true }))]} />
          )}
        </div>
        {reading.note && <Missing what={own ? "Not all places" : "No figures"} why={reading.note} />}
        {shape && shape.tree.whole > 0 && mode === "flame" && <FlameGraph root={shape.tree} contexts={contexts} unit={unit} route={route} chosen={chosen} waiting={waiting} change={reading.against === null ? null : whole} label={`Flame graph: ${metric?.title ?? ""}, ${reading.words}`} />}
        {shape && shape.tree.whole > 0 && mode === "flame" && reading.against === null && <FlameLegend waiting={waiting !== null} />}
        {reading.against !== null && mode === "flame" && <p class="says">Orange: more than in the other run; blue: less. The table below has the figures.</p>}
        {shape && shape.tree.whole <= 0 && <Missing what="Nothing to draw" why="No place has a figure above zero." />}
        {shape && mode !== "flame" && (
          <ProgramTable
            key={`${mode}-${metric?.name}-${scale}-${reading.group}`}
            forest={mode === "callers" ? shape.callers : [shape.tree]}
            contexts={contexts}
            unit={unit}
            unitName={unitWord(metric)}
            total={mode === "callers" ? shape.callers.reduce((sum, node) => sum + (node.own ?? 0), 0) : shape.total}
            route={route}
            chosen={chosen}
            name={mode === "callers" ? "bottom-up" : "contexts"}
            caption={`${mode === "callers" ? "Places and their callers" : "Calling contexts"}: ${metric?.title ?? ""}, ${reading.words}`}
            from={mode === "callers" || reading.against !== null ? null : reading.from}
            openFrom={mode === "callers" ? 2 : 0.05}
          />
        )}
      </Panel>
      {reading.against !== null && own && (
        <Panel title="What changes most" says={reading.words}>
          <ChangeTable own={own} contexts={contexts} unit={unit} unitName={unitWord(metric)} route={route} chosen={chosen} />
        </Panel>
      )}
      <PlacePanel page={page} frame={chosen} route={route} />
    </>
  );
}

function FlameLegend({ waiting }: { waiting: boolean }) {
  const kinds = [
    ["function", "function"],
    ["loop", "loop"],
    ["branch", "branch"],
    ["mpi", "MPI call"],
    ["lock", "threads, locks"],
  ];
  return (
    <p class="legend">
      {kinds.map(([kind, words]) => (
        <span>
          <svg class="swatch" width="16" height="12" aria-hidden="true">
            <rect class={`box ${kind}`} width="16" height="12" />
          </svg>{" "}
          {words}
        </span>
      ))}
      {waiting && (
        <span>
          <svg class="swatch" width="16" height="12" aria-hidden="true">
            <rect class="box mpi" width="16" height="12" />
            <rect class="box-wait" y="7" width="16" height="5" />
          </svg>{" "}
          waiting
        </span>
      )}
    </p>
  );
}
