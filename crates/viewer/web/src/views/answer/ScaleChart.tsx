// Where the time of each scale goes, as bars over the number of ranks, against the ideal.
import { useId } from "preact/hooks";
import { fillNamed, paint, Patterns, Swatch } from "../../draw/Patterns";
import { linear } from "../../draw/scale";
import type { Page, ScalePart, ScaleTimes } from "../../model";
import { Fig, Unknown } from "../../parts/Fig";
import { Panel } from "../../parts/Panel";
import { changed } from "../../state/route";
import type { Route } from "../../state/route";
import { csv, saveFile } from "../../state/save";
import { useWidth } from "../../state/width";
import { isKnown, seconds, share } from "../../text/units";

const ROW = 44;

/** Time without a core is set aside where it would hide everything else. */
const ASIDE_FROM = 0.05;

interface Shown {
  scale: string;
  /** The run time, without what is set aside. */
  total: number;
  aside: number;
  ideal: number | null;
  parts: ScalePart[];
}

export function shownTimes(scales: readonly ScaleTimes[], aside: boolean): Shown[] {
  return scales.map(({ scale, ideal_seconds, parts, seconds: whole }) => {
    const without = parts.find((part) => part.kind === "without-core")?.seconds ?? 0;
    const kept = parts.filter((part) => !aside || part.kind !== "without-core");
    return { scale, ideal: ideal_seconds, parts: kept, aside: aside ? without : 0, total: whole - (aside ? without : 0) };
  });
}

export function ScaleChart({ page, route }: { page: Page; route: Route }) {
  const { scales } = page;
  const one = page.is_process ? "thread" : "rank";
  const id = useId();
  const [box, width] = useWidth<HTMLDivElement>();
  const margin = scales.some(({ scale }) => scale.length > 12) ? 140 : 96;
  const crowded = scales.some(({ parts }) => parts.some((part) => part.kind === "without-core" && part.share > ASIDE_FROM));
  const aside = crowded && route.choices["cores"] !== "all";
  const absolute = route.choices["bars"] === "seconds";
  const rows = shownTimes(scales, aside);
  const most = Math.max(...rows.map((row) => Math.max(row.total, row.ideal ?? 0)));
  const x = linear([0, absolute ? most : 1], [margin, width - 8]);
  const at = (row: Shown, value: number) => x(absolute ? value : row.total > 0 ? value / row.total : 0);
  const height = rows.length * ROW + 26;
  const kinds = [...new Map(scales.flatMap(({ parts }) => parts.map((part) => [part.kind, part.words] as const)))];
  const legend = kinds.filter(([kind]) => !aside || kind !== "without-core");
  const ideals = rows.map((row, i) => (isKnown(row.ideal) ? ([Math.min(at(row, row.ideal), width - 4), i] as const) : null)).filter((mark) => mark !== null);
  const save = () => {
    const head = ["scale", "run time [s]", "ideal [s]", ...kinds.map(([, words]) => `${words} [s]`)];
    const lines = scales.map((scale) => [scale.scale, scale.seconds, scale.ideal_seconds, ...kinds.map(([kind]) => scale.parts.find((part) => part.kind === kind)?.seconds)]);
    saveFile("scales.csv", "text/csv", csv(head, lines));
  };
  return (
    <Panel
      title="Where the time goes"
      picture="scales"
      says={
        <>
          One {one} on average, at each scale. The black line is the ideal: the computation of the smallest scale, without any loss.
          {aside && <> Time without a core is set aside: there were more threads than cores.</>}
        </>
      }
      actions={
        <>
          <a class="small" href={changed(route, { bars: absolute ? null : "seconds" })}>
            {absolute ? "as shares" : "in seconds"}
          </a>
          {crowded && (
            <a class="small" href={changed(route, { cores: aside ? "all" : null })}>
              {aside ? "with time without a core" : "set time without a core aside"}
            </a>
          )}
          <button type="button" class="small" onClick={save} aria-label="Save as CSV: Where the time goes">
            CSV
          </button>
        </>
      }
    >
      <div ref={box}>
        <svg class="picture" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label="Bars of where the time goes at each scale. The table below has the figures.">
          <Patterns id={id} />
          {rows.map((row, i) => {
            let from = 0;
            return (
              <g>
                <text x={0} y={i * ROW + 19} class="label">
                  {row.scale}
                </text>
                <text x={0} y={i * ROW + 34} class="label soft">
                  {seconds(row.total)}
                </text>
                {row.parts.map((part) => {
                  const [left, right] = [at(row, from), at(row, from + part.seconds)];
                  from += part.seconds;
                  const label = share(row.total > 0 ? part.seconds / row.total : null);
                  return (
                    <g>
                      <rect x={left} y={i * ROW + 6} width={Math.max(0, right - left - 0.5)} height={ROW - 14} fill={paint(id, fillNamed(part.kind))}>
                        <title>{`${part.words}: ${seconds(part.seconds)} (${label})`}</title>
                      </rect>
                    </g>
                  );
                })}
              </g>
            );
          })}
          <polyline class="ideal" points={ideals.flatMap(([px, i]) => [`${px},${i * ROW + 2}`, `${px},${(i + 1) * ROW - 4}`]).join(" ")} />
          {rows.map((row, i) => {
            let from = 0;
            return row.parts.map((part) => {
              const [left, right] = [at(row, from), at(row, from + part.seconds)];
              from += part.seconds;
              return right - left > 52 && <Share x={left + 4} y={i * ROW + 12} label={share(row.total > 0 ? part.seconds / row.total : null)} />;
            });
          })}
          {ideals.length > 0 && (
            <text x={Math.min(ideals.at(-1)?.[0] ?? 0, width - 8)} y={height - 8} class="label" text-anchor={(ideals.at(-1)?.[0] ?? 0) > width / 2 ? "end" : "start"}>
              ideal
            </text>
          )}
        </svg>
      </div>
      <div class="scroller" tabIndex={0} role="group" aria-label="Parts of the time at each scale">
        <table class="compact">
          <thead>
            <tr>
              <th scope="col">Seconds of a {one}, at</th>
              {scales.map((scale) => (
                <th scope="col" class="figure">
                  {scale.scale}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {kinds.map(([kind, words]) => (
              <tr>
                <th scope="row">
                  <Swatch id={id} fill={fillNamed(kind)} /> {words}
                  {!legend.some(([known]) => known === kind) && " (set aside)"}
                </th>
                {scales.map((scale, s) => {
                  const p = scale.parts.findIndex((part) => part.kind === kind);
                  return <td class="figure">{p < 0 ? <Unknown why="not among the parts of this scale" /> : <Fig value={scale.parts[p]?.seconds} unit="s" from={`/scales/${s}/parts/${p}/seconds`} />}</td>;
                })}
              </tr>
            ))}
            <tr>
              <th scope="row">ideal run time</th>
              {scales.map((scale, s) => (
                <td class="figure">
                  <Fig value={scale.ideal_seconds} unit="s" from={`/scales/${s}/ideal_seconds`} why="scales cannot be compared" />
                </td>
              ))}
            </tr>
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

/** A share on a bar, legible over the line of the ideal. */
function Share({ x, y, label }: { x: number; y: number; label: string }) {
  return (
    <g>
      <rect x={x} y={y} width={label.length * 7.5 + 6} height={18} rx={3} class="label-paper" />
      <text x={x + 3} y={y + 13} class="label">
        {label}
      </text>
    </g>
  );
}
