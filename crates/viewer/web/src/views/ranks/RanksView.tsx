// Ranks and threads: who does what, who sends to whom, who waits for whom.
import { Group, Pick } from "../../parts/Choice";
import { Missing } from "../../parts/Missing";
import { Panel } from "../../parts/Panel";
import type { Matrix, RankTile } from "../../model";
import { useLive } from "../../state/live";
import { changed, go, numberIn } from "../../state/route";
import { metricOf } from "../../state/tree";
import { csv, saveFile } from "../../state/save";
import type { ViewProps } from "../../state/view";
import { frameName, whereOf } from "../../text/frame";
import { unitOf } from "../../text/metric";
import { HeatMap } from "./HeatMap";
import { MATRIX_METRICS, MessageMatrix } from "./MessageMatrix";
import { RankTable } from "./RankTable";
import { LockTable, ThreadTable } from "./ThreadTables";

/** Columns of a heat map, and rows of a matrix, that are requested. */
const [COLUMNS, BINS] = [512, 128];

export function RanksView({ page, route, theme }: ViewProps) {
  const last = page.ranks.length - 1;
  const scale = Math.max(0, Math.min(last, numberIn(route, "scale", last)));
  const data = page.ranks[scale];
  const from = `/ranks/${scale}`;
  const names = Object.keys(data?.heat ?? {});
  const name = names.includes(route.choices["metric"] ?? "") ? (route.choices["metric"] as string) : (names.find((item) => item === "time") ?? names[0] ?? "");
  const metric = metricOf(page, name);
  const stretch = page.live ? (route.choices["range"] ?? "") : "";
  const asked = stretch === "" ? null : page.live;
  const tile = useLive<RankTile>(asked?.ranks, { scale, metric: name, ranks: stretch, columns: COLUMNS }, asked?.token ?? "");
  const zoomed = useLive<Matrix>(data?.matrix ? asked?.matrix : null, { scale, from: stretch, to: stretch, bins: BINS }, asked?.token ?? "");
  if (!data) return <Missing what="No ranks" why="The page has no data of ranks." />;
  const rows = tile.part?.rows ?? data.heat[name] ?? [];
  const groups = tile.part?.groups ?? data.groups;
  const matrix = zoomed.part ?? data.matrix;
  const byRow = route.choices["colours"] !== "all";
  const wanted = route.choices["messages"];
  // Without messages, ranks may still wait for one another.
  const usual = MATRIX_METRICS.find(([item]) => (matrix?.[item] as number[] | undefined)?.some((value) => value > 0))?.[0] ?? "bytes";
  const pairs = MATRIX_METRICS.find(([item]) => item === wanted)?.[0] ?? usual;
  const save = () => saveFile("heat.csv", "text/csv", csv(["place", "lines", ...groups.map((group) => group.name)], rows.map((row) => [frameName(page.contexts, row.frame), whereOf(page.contexts, row.frame), ...row.values])));
  return (
    <>
      <Panel
        title="Places by ranks"
        wide
        pixels
        picture={rows.length > 0 ? `ranks-${scale}` : undefined}
        says="Own figures of each place on each rank. Ranks that behave alike lie beside each other, and so do places."
        actions={
          <button type="button" class="small" onClick={save} aria-label="Save as CSV: Places by ranks">
            CSV
          </button>
        }
      >
        <div class="choices">
          <Pick label="Scale" route={route} name="scale" value={String(scale)} otherwise={String(last)} options={page.runs.map((run, i) => [String(i), run.scale])} />
          <Pick label="Metric" route={route} name="metric" value={name} otherwise="time" options={names.map((item) => [item, page.contexts.metrics.find((known) => known.name === item)?.title ?? item])} />
          {page.live && (
            <label>
              Only ranks
              <input type="text" size={12} placeholder="such as 0-99" value={stretch} onChange={(event) => go(changed(route, { range: event.currentTarget.value.replaceAll(" ", "") }))} />
            </label>
          )}
          <Group label="Colours" route={route} name="colours" value={byRow ? "row" : "all"} otherwise="row" options={[["row", "each place by itself"], ["all", "one scale for all"]]} />
        </div>
        {rows.length > 0 ? <HeatMap page={page} groups={groups} rows={rows} unit={unitOf(metric)} byRow={byRow} theme={theme} chosen={numberIn(route, "place", -1)} label={`${metric?.title ?? ""} of places on ${data.ranks} ranks`} /> : <Missing what="No figures" why="No place has figures of single ranks." />}
        {[tile.error, zoomed.error].map((error) => error && <Missing what="Not loaded" why={error} />)}
        {data.missing.map((sentence) => (
          <Missing what="Missing" why={sentence} />
        ))}
      </Panel>
      <Panel title="Messages between ranks" wide pixels picture={data.matrix ? `messages-${scale}` : undefined}>
        {matrix ? (
          <>
            <div class="choices">
              <Pick label="Show" route={route} name="messages" value={pairs} otherwise={usual} options={MATRIX_METRICS.map(([item, words]) => [item, words])} />
            </div>
            <MessageMatrix matrix={matrix} metric={pairs} theme={theme} from={zoomed.part ? null : `${from}/matrix`} />
          </>
        ) : (
          <Missing what="No messages" why="No messages between ranks were recorded at this scale." />
        )}
      </Panel>
      {data.per_rank ? <RankTable table={data.per_rank} run={page.runs[scale]} from={from} /> : <Missing what="No table of every rank" why="There are more than 4,096 ranks; the heat map shows groups of them." />}
      {data.threads.length > 0 ? <ThreadTable page={page} data={data} from={from} /> : <Missing what="No threads" why="Every rank has one thread." />}
      {data.locks.length > 0 ? <LockTable page={page} locks={data.locks} from={from} /> : <Missing what="No locks" why="No thread was seen waiting for another thread of its rank." />}
    </>
  );
}
