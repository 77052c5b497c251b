// The program abstraction graph around a place, and the dataflow of passes that made the diagnosis.
import { useMemo } from "preact/hooks";
import type { Flow, Neighbourhood } from "../../model";
import { Pick } from "../../parts/Choice";
import { Missing } from "../../parts/Missing";
import { Panel } from "../../parts/Panel";
import { Table } from "../../parts/Table";
import { useLive } from "../../state/live";
import { numberIn } from "../../state/route";
import type { ViewProps } from "../../state/view";
import { frameName } from "../../text/frame";
import { Drawing } from "./Drawing";
import { Neighbours } from "./Neighbours";

export function GraphView({ page, route }: ViewProps) {
  const parts = page.graph.neighbourhoods;
  const at = Math.max(0, Math.min(parts.length - 1, numberIn(route, "part", 0)));
  const scale = numberIn(route, "scale", page.runs.length - 1);
  const frame = numberIn(route, "place", -1);
  const live = useLive<Neighbourhood>(frame >= 0 ? page.live?.graph : null, { scale, frame }, page.live?.token ?? "");
  const part = frame >= 0 && page.live ? live.part : parts[at];
  const causeOf = (i: number) => page.causes.findIndex((cause) => cause.neighbourhood === i);
  const name = (i: number) => {
    const other = parts[i];
    const cause = causeOf(i);
    return `${other ? frameName(page.contexts, other.frame) : ""}, ${page.runs[other?.scale ?? 0]?.scale}${cause >= 0 ? ` (cause ${cause + 1})` : ""}`;
  };
  return (
    <>
      <Panel title="Graph around a place" wide picture={part ? `graph-${at + 1}` : undefined} says="Places on ranks, in the order of time from top to bottom: what the program does next, and messages, collectives and locks between ranks and threads.">
        {part ? (
          <>
            {part !== live.part && parts.length > 1 && (
              <div class="choices">
                <Pick label="Place" route={route} name="part" value={String(at)} otherwise="0" options={parts.map((_, i) => [String(i), name(i)])} />
              </div>
            )}
            {part === live.part && (
              <p class="says">
                {frameName(page.contexts, part.frame)}, {page.runs[part.scale]?.scale}
              </p>
            )}
            {part !== live.part && parts.length === 1 && <p class="says">{name(0)}</p>}
            <Neighbours page={page} part={part} route={route} from={part === live.part ? null : `/graph/neighbourhoods/${at}`} />
            {part.thinned && <Missing what="Thinned out" why="The graph around this place is larger; its nearest part is shown." />}
          </>
        ) : (
          <Missing what="No graph" why={live.error ?? (frame >= 0 && page.live ? "It is being loaded." : "No cause has a place whose surroundings were recorded.")} />
        )}
      </Panel>
      <Panel title="How the diagnosis was made" wide picture={page.graph.flow ? "dataflow" : undefined} says="The dataflow of passes, and what each step returned.">
        {page.graph.flow ? <FlowPart flow={page.graph.flow} /> : <Missing what="No dataflow" why="This page does not say which passes were run." />}
      </Panel>
    </>
  );
}

function FlowPart({ flow }: { flow: Flow }) {
  const boxes = useMemo(
    () =>
      flow.nodes.map((node) => ({
        lines: [node.name, node.returned ?? "–"] as [string, string],
        words: `${node.name}${node.parameters ? ` (${node.parameters})` : ""}: ${node.about || "Input."} Returned: ${node.returned ?? "not known"}.`,
        kind: node.kind === "input" ? "input" : "work",
      })),
    [flow],
  );
  const arrows = useMemo(() => flow.edges.map(({ from, to }) => ({ from, to, kind: "flow" as const, label: "", words: `${flow.nodes[from]?.name} to ${flow.nodes[to]?.name}` })), [flow]);
  return (
    <>
      <Drawing boxes={boxes} arrows={arrows} label={`Dataflow ${flow.name}`} />
      <Table
        name="dataflow"
        stacked
        caption="Steps of the dataflow"
        rows={flow.nodes}
        most={60}
        columns={[
          { head: "Pass", names: true, value: (node) => node.name, show: (node) => <bdi class="code">{node.name}</bdi> },
          { head: "What it does", value: (node) => node.about || node.kind },
          { head: "Parameters", value: (node) => node.parameters, show: (node) => <bdi class="code">{node.parameters}</bdi> },
          { head: "Returned", value: (node) => node.returned, show: (node) => <bdi>{node.returned ?? "–"}</bdi> },
        ]}
      />
    </>
  );
}
