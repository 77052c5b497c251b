// What is known of one place: its lines, its figures at all scales, its callers, and where else to look.
import type { ContextMetric, Metric, Page, Source } from "../../model";
import { Fig } from "../../parts/Fig";
import { Missing } from "../../parts/Missing";
import { Panel } from "../../parts/Panel";
import { PlaceName } from "../../parts/PlaceName";
import { Table } from "../../parts/Table";
import type { Column } from "../../parts/Table";
import { useLive } from "../../state/live";
import { address, changed, numberIn } from "../../state/route";
import type { Route } from "../../state/route";
import { metricOf } from "../../state/tree";
import { frameName, framePlace, pathOf } from "../../text/frame";
import { capitalised } from "../../text/words";
import { unitOf } from "../../text/metric";
import { SourcePanel } from "../cause/SourcePanel";

/** The source text in the page that has the lines of a place; -1 if none has. */
export function sourceOf(page: Page, frame: number): number {
  const place = framePlace(page.contexts, frame);
  if (!place.file || place.first_line === 0) return -1;
  return page.sources.findIndex((source) => source.file === place.file && source.lines.length > 0 && place.first_line >= source.first_line && place.first_line < source.first_line + source.lines.length);
}

export function PlacePanel({ page, frame, route }: { page: Page; frame: number; route: Route }) {
  const contexts = page.contexts;
  const place = framePlace(contexts, frame);
  const source = sourceOf(page, frame);
  const live = useLive<Source>(source < 0 && place.file ? page.live?.source : null, { frame }, page.live?.token ?? "");
  const metrics = contexts.metrics.filter((metric) => contexts.scales.some((scale) => scale.metrics[metric.name]?.inclusive[frame] != null));
  const causes = page.causes.map((cause, i) => ({ cause, i })).filter(({ cause }) => cause.frames.includes(frame) || cause.frames.some((other) => contexts.site[other] === contexts.site[frame]));
  const parts = page.graph.neighbourhoods.map((part, i) => ({ part, i })).filter(({ part }) => part.frame === frame || part.vertices.some((vertex) => vertex.frame === frame));
  const wanted = metricOf(page, route.choices["metric"]);
  const last = page.runs.length - 1;
  const scale = Math.max(0, Math.min(last, numberIn(route, "scale", last)));
  const line = (metric: Metric, s: number): Line => ({ metric, s, figure: page.runs[s]?.figure ?? "", of: contexts.scales[s]?.metrics[metric.name] });
  const overScales = wanted ? page.runs.map((_, s) => line(wanted, s)) : [];
  const others = metrics.filter((metric) => (contexts.scales[scale]?.metrics[metric.name]?.inclusive[frame] ?? 0) > 0).map((metric) => line(metric, scale));
  return (
    <>
      <Panel title={`Place: ${frameName(contexts, frame)}`}>
        <p>
          <PlaceName place={place} />
          {place.hot_line > 0 && place.hot_line !== place.first_line && <>, most time in line {place.hot_line}</>}
        </p>
        <ol class="stack crumbs">
          {pathOf(contexts, frame).map((at) => (
            <li>
              <a href={changed(route, { place: at })}>
                <bdi>{frameName(contexts, at)}</bdi>
              </a>
            </li>
          ))}
        </ol>
        <p class="links">
          <a href={address("ranks", [], { place: frame })}>Its ranks</a>
          {causes.map(({ cause, i }) => (
            <a href={address("cause", [i + 1])}>
              Cause {i + 1}: {cause.class_words}
            </a>
          ))}
          {parts.slice(0, 3).map(({ i }) => (
            <a href={address("graph", [], { part: i })}>Graph {i + 1}</a>
          ))}
          {page.live && parts.length === 0 && <a href={address("graph", [], { place: frame, scale })}>Graph around it</a>}
        </p>
        <h3>{capitalised(wanted?.title ?? "")} at each scale</h3>
        <Figures name="scales" caption={`${wanted?.title ?? ""} in the place at each scale`} rows={overScales} frame={frame} first={{ head: capitalised(page.added), figure: true, value: (row) => row.figure }} />
        <h3>All that was measured, at {page.runs[scale]?.scale}</h3>
        <Figures name="metrics" caption="All metrics of the place" rows={others} frame={frame} first={{ head: "Metric", value: (row) => row.metric.title }} />
      </Panel>
      {source >= 0 && <SourcePanel source={page.sources[source] ?? null} index={source} />}
      {live.part && <SourcePanel source={live.part} index={-1} />}
      {live.error && <Missing what="No source" why={live.error} />}
    </>
  );
}

interface Line {
  metric: Metric;
  s: number;
  figure: string;
  of: ContextMetric | undefined;
}

/** Figures of one place, a row for each scale or metric. */
function Figures({ name, caption, rows, frame, first }: { name: string; caption: string; rows: Line[]; frame: number; first: Column<Line> }) {
  const column = (head: string, field: "inclusive" | "exclusive" | "largest", why: string): Column<Line> => ({
    head,
    figure: true,
    value: ({ of }) => of?.[field][frame],
    show: ({ of, metric, s }) => (
      <>
        <Fig value={of?.[field][frame]} unit={unitOf(metric)} from={`/contexts/scales/${s}/metrics/${metric.name}/${field}/${frame}`} why={why} />
        {field === "largest" && of?.largest[frame] != null && (of.largest_rank[frame] ?? -1) >= 0 && <span class="soft"> rank {of.largest_rank[frame]}</span>}
      </>
    ),
  });
  return <Table name={`place-${name}`} caption={caption} rows={rows} columns={[{ ...first, names: true }, column("With all inside", "inclusive", "not seen at this scale"), column("Its own", "exclusive", "it has no figure of its own"), column("Most of a rank", "largest", "it has no figure of its own")]} />;
}
