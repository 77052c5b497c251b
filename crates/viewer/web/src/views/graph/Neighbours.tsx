// The parallel view around a place: who comes before, who sends, who waits.
import { useMemo } from "preact/hooks";
import type { Neighbourhood, Page } from "../../model";
import { Group } from "../../parts/Choice";
import { Table } from "../../parts/Table";
import { address, go } from "../../state/route";
import type { Route } from "../../state/route";
import { near } from "./near";
import { whereOf } from "../../text/frame";
import { bytes, count, isKnown, seconds } from "../../text/units";
import { Drawing } from "./Drawing";
import type { DrawnArrow, DrawnBox } from "./Drawing";

type Vertex = Neighbourhood["vertices"][number];
type Edge = Neighbourhood["edges"][number];

function who(vertex: Vertex): string {
  return `rank ${vertex.rank}${vertex.thread > 0 ? ` thread ${vertex.thread}` : ""}`;
}

function vertexKind(page: Page, vertex: Vertex): string {
  if (vertex.is_place) return "place";
  return page.contexts.kind[vertex.frame] === "mpi-call" ? "mpi" : "work";
}

function boxOf(page: Page, vertex: Vertex): DrawnBox {
  const waits = vertex.wait_seconds > 0 ? `, waits ${seconds(vertex.wait_seconds)}` : "";
  return {
    lines: [vertex.name, `${who(vertex)}: ${seconds(vertex.seconds)}${waits}`],
    words: `${vertex.name} at ${whereOf(page.contexts, vertex.frame)}, ${who(vertex)}: ${seconds(vertex.seconds)}${waits}${vertex.is_place ? "; this is the place" : ""}`,
    kind: vertexKind(page, vertex),
    badge: vertex.step === null ? undefined : vertex.step + 1,
  };
}

const ARROWS: Record<string, DrawnArrow["kind"]> = { flow: "flow", "data-flow": "flow", "control-flow": "flow", collective: "collective", team: "thread", lock: "thread" };

function arrowOf(part: Neighbourhood, edge: Edge): DrawnArrow {
  const kind = ARROWS[edge.kind] ?? "message";
  const figures = [isKnown(edge.count) ? `${count(edge.count)} times` : "", isKnown(edge.bytes) ? bytes(edge.bytes) : "", isKnown(edge.wait_seconds) && edge.wait_seconds > 0 ? `wait ${seconds(edge.wait_seconds)}` : ""].filter(Boolean);
  const [from, to] = [part.vertices[edge.from], part.vertices[edge.to]];
  return {
    from: edge.from,
    to: edge.to,
    kind,
    back: edge.back,
    label: kind === "flow" ? "" : isKnown(edge.wait_seconds) && edge.wait_seconds > 0 ? `wait ${seconds(edge.wait_seconds)}` : isKnown(edge.bytes) && edge.bytes > 0 ? bytes(edge.bytes) : "",
    words: `${edge.kind} from ${from?.name ?? ""} (${from ? who(from) : ""}) to ${to?.name ?? ""} (${to ? who(to) : ""})${figures.length > 0 ? `: ${figures.join(", ")}` : ""}`,
  };
}

/** The graph as drawn has at most so many vertices, unless all are wanted. */
const MOST = 14;

export function Neighbours({ page, part, from, route }: { page: Page; part: Neighbourhood; from: string | null; route: Route }) {
  const all = route.choices["show"] === "all" || part.vertices.length <= MOST;
  const shown = useMemo(() => (all ? part.vertices.map((_, i) => i) : near(part, MOST)), [part, all]);
  const boxes = useMemo(() => shown.map((i) => boxOf(page, part.vertices[i] as Vertex)), [page, part, shown]);
  const arrows = useMemo(() => {
    const at = new Map(shown.map((vertex, i) => [vertex, i]));
    return part.edges.filter((edge) => at.has(edge.from) && at.has(edge.to)).map((edge) => ({ ...arrowOf(part, edge), from: at.get(edge.from) as number, to: at.get(edge.to) as number }));
  }, [part, shown]);
  const open = (i: number) => go(address("program", [], { place: part.vertices[shown[i] ?? -1]?.frame }));
  return (
    <>
      {part.vertices.length > MOST && (
        <div class="choices">
          <Group label="Show" route={route} name="show" value={all ? "all" : "near"} otherwise="near" options={[["near", "what waits most"], ["all", `all ${part.vertices.length} vertices`]]} />
        </div>
      )}
      <Drawing key={`${part.scale}-${part.frame}-${all}`} boxes={boxes} arrows={arrows} label={`Graph around ${whereOf(page.contexts, part.frame)}`} onOpen={open} />
      <p class="legend">
        <span>
          <Line kind="flow" /> order of the program; dashed: back to the start of a loop
        </span>
        <span>
          <Line kind="message" /> message
        </span>
        <span>
          <Line kind="collective" /> collective
        </span>
        <span>
          <Line kind="thread" /> threads, locks
        </span>
        <span>
          <span class="badge">1</span> step of the cause's path
        </span>
      </p>
      <Table
        name="graph"
        stacked
        caption="Vertices of the graph"
        rows={part.vertices.map((vertex, i) => ({ vertex, i }))}
        most={20}
        chosen={({ vertex }) => vertex.is_place}
        columns={[
          {
            head: "Place",
            names: true,
            value: ({ vertex }) => vertex.name,
            show: ({ vertex }) => (
              <a href={address("program", [], { place: vertex.frame })}>
                <bdi>{vertex.name}</bdi>
              </a>
            ),
          },
          { head: "Lines", value: ({ vertex }) => whereOf(page.contexts, vertex.frame), show: ({ vertex }) => <bdi class="where">{whereOf(page.contexts, vertex.frame)}</bdi> },
          { head: "Who", value: ({ vertex }) => who(vertex) },
          { head: "Time", unit: "s", figure: true, value: ({ vertex }) => vertex.seconds, show: ({ vertex, i }) => <span class="fig" data-unit="s" data-from={from === null ? undefined : `${from}/vertices/${i}/seconds`}>{seconds(vertex.seconds)}</span> },
          { head: "Waits", unit: "s", figure: true, value: ({ vertex }) => vertex.wait_seconds, show: ({ vertex, i }) => <span class="fig" data-unit="s" data-from={from === null ? undefined : `${from}/vertices/${i}/wait_seconds`}>{seconds(vertex.wait_seconds)}</span> },
        ]}
      />
    </>
  );
}

function Line({ kind }: { kind: string }) {
  return (
    <svg class="line-sample" width="30" height="10" aria-hidden="true">
      <path class={`arrow ${kind}`} d="M0,5 L30,5" />
    </svg>
  );
}
