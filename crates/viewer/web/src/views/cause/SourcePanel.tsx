// The source around the place, with the heat of each line and the loop marked.
import type { Source } from "../../model";
import { Bar } from "../../parts/Bar";
import { Fig } from "../../parts/Fig";
import { Missing } from "../../parts/Missing";
import { Panel } from "../../parts/Panel";

export function SourcePanel({ source, index, title = "The source" }: { source: Source | null; index: number; title?: string }) {
  if (!source) {
    return (
      <Panel title={title}>
        <Missing what="No source" why="The debug information names no file for this place. Build with -g." />
      </Panel>
    );
  }
  const most = Math.max(0, ...(source.heat_seconds ?? []));
  const [first, last] = source.marked;
  return (
    <Panel title={title} says={<bdi class="code">{source.file}</bdi>}>
      {source.note && <Missing what={source.newer ? "Newer source" : "Source"} why={source.note} />}
      {source.lines.length > 0 && (
        <div class="scroller source" tabIndex={0} role="group" aria-label="Source lines">
          <table>
            <thead>
              <tr>
                <th scope="col" class="figure">
                  CPU time
                </th>
                <th scope="col" class="figure">
                  Line
                </th>
                <th scope="col">Source</th>
              </tr>
            </thead>
            <tbody>
              {source.lines.map((text, i) => {
                const line = source.first_line + i;
                const heat = source.heat_seconds?.[i];
                const marked = first > 0 && line >= first && line <= last;
                return (
                  <tr class={`${marked ? "marked" : ""}${line === source.hot_line ? " hot" : ""}`}>
                    <td class="figure heat-cell">
                      {heat ? (
                        <>
                          <Fig value={heat} unit="s" from={index < 0 ? undefined : `/sources/${index}/heat_seconds/${i}`} />
                          <Bar value={heat} most={most} colour="var(--wait)" />
                        </>
                      ) : null}
                    </td>
                    <td class="figure number">
                      {line === source.hot_line && <span aria-hidden="true">▶ </span>}
                      {line}
                    </td>
                    <td>
                      <code>{text || " "}</code>
                      {line === source.hot_line && <span class="unseen"> (line with the most time)</span>}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      {source.lines.length > 0 && (
        <p class="says">
          {source.heat_seconds ? "CPU time of all ranks at the largest scale, from samples; lines without a figure had no sample." : "– CPU time of lines was not sampled."}
          {first > 0 && " The bar at the left marks the place."}
        </p>
      )}
    </Panel>
  );
}
