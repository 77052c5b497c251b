// A made-up page that has something in every view, to develop and to test against.
import type { CauseDetail, Graph, Page, Picture, RankValues, Source } from "../../src/model";
import { LATE, madeDiagnosis, SCALES } from "./diagnosis";
import type { Names } from "./names";
import { madeContexts, madeRanks } from "./program";
import { madeHops, madeTile, madeTimelines } from "./timeline";

function source(names: Names): Source {
  const lines = ["static void boundary(double *x, int n) {", "    for (int k = 0; k < 270; k++)", "        for (int i = n; i >= 1; i--)", names.source, "}"];
  return { file: names.file, module: names.program, state: "shown", note: null, newer: false, first_line: 5, lines, heat_seconds: [0, 0.01, 0.52, 0.2, 0], marked: [7, 8], hot_line: 7 };
}

function values(concerned: string, seconds: number[]): RankValues {
  const sorted = [...seconds].sort((a, b) => a - b);
  const [slow, fast] = [seconds.filter((s) => s > 0.1), seconds.filter((s) => s <= 0.1)];
  const group = (name: string, ranks: string, list: number[]) => ({ name, ranks, size: list.length, least_seconds: Math.min(...list), mean_seconds: list.reduce((a, b) => a + b, 0) / list.length, most_seconds: Math.max(...list) });
  const groups = slow.length > 0 ? [group("the others", "1-3,5-7,9-11,13-15", fast), group("the 4 slow ranks", concerned, slow)] : [group("all ranks", "0-15", fast)];
  return { unit: "seconds", of: "CPU time plus time asleep", ranks: 16, concerned, values: seconds, groups, least: sorted[0]!, median: sorted[8]!, most: sorted[15]! };
}

function details(names: Names): CauseDetail[] {
  const diagnosis = madeDiagnosis(names);
  const tile = madeTile(2, 16, "virtual");
  const picture: Picture = { scale: 2, window: 0, clock: "virtual", caption: "Ranks 0-15 in event window 0, with a core for each rank.", tile, hops: madeHops() };
  const curve = (of: (p: number) => number) => [4, 8, 16, 32, 64, 128].map((p) => [p, of(p)] as [number, number]);
  return diagnosis.causes.map((cause, i) => ({
    title: `${cause.class}: loop in ${names.loop}`,
    class_words: cause.class.replace("-", " "),
    frames: [i === 0 ? 5 : 10],
    steps: cause.path.map((step) => ({ words: `ranks ${step.ranks} ${step.what}`, location: `ring.c:${step.place.first_line}`, frames: [step.place.first_line === 7 ? 5 : 8], source: null })),
    pictures: i === 0 ? [picture, { ...picture, clock: "wall", caption: "The same as recorded." }] : [],
    picture_missing: i === 0 ? null : "No recorded window shows threads that wait for one another.",
    by_rank: values(cause.ranks, cause.by_rank),
    growth: {
      points: cause.by_scale.map(([ranks, mean, most]) => ({ ranks, mean_seconds: mean, most_seconds: most })),
      models: [
        { of: "mean", kind: "line", words: "0.729·p^-1.01", slope: -1.01, r_squared: 0.999, error: null, curve: curve((p) => 0.729 * p ** -1.01), predicted_from: 16 },
        { of: "most", kind: "model", words: "0.02 + 2.84·p^-1", slope: null, r_squared: null, error: 0.03, curve: curve((p) => 0.02 + 2.84 / p), predicted_from: 16 },
      ],
      ideal: curve((p) => 0.728 / p),
    },
    source: i === 0 ? 0 : 1,
    ruled_out: i === 0 ? ["Messages do not grow: each rank sends as many bytes at 16 ranks as at 4."] : [],
    neighbourhood: i === 0 ? 0 : null,
  }));
}

function graph(names: Names): Graph {
  const at = (frame: number, rank: number, name: string, seconds: number, wait: number, step: number | null) => ({ frame, rank, thread: 0, name, seconds, wait_seconds: wait, is_place: frame === 5, step });
  const edge = (from: number, to: number, kind: string, wait: number | null) => ({ from, to, kind, count: kind === "flow" ? null : 64, bytes: kind === "flow" ? null : 4_194_304, wait_seconds: wait, back: false });
  return {
    neighbourhoods: [
      {
        scale: 2,
        frame: 5,
        vertices: [at(5, 0, `loop ${names.loop}`, 0.18, 0, 3), at(8, 0, "MPI_Waitall", 0.01, 0.001, null), at(8, 1, "MPI_Waitall", 0.19, 0.181, 2), at(10, 1, `loop ${names.relax}`, 0.05, 0, null), at(8, 2, "MPI_Waitall", 0.19, 0.183, 1), at(12, 2, "MPI_Allreduce", 0.01, 0.006, 0)],
        edges: [edge(0, 1, "flow", null), edge(1, 2, "point-to-point", 0.181), edge(2, 3, "flow", null), edge(3, 4, "point-to-point", 0.183), edge(4, 5, "flow", null), { ...edge(5, 3, "flow", null), back: true }],
        thinned: false,
      },
    ],
    flow: {
      name: "scalability",
      nodes: [
        { name: "runs", about: "", kind: "input", parameters: "", returned: "3 runs", step: 0 },
        { name: "phases", about: "Divides the loss by uneven work over phases.", kind: "pass", parameters: "share=0.02", returned: "12 phases", step: 1 },
        { name: "find-imbalance", about: "Looks for uneven work.", kind: "pass", parameters: "", returned: "1 candidate", step: 2 },
        { name: "delay-cost", about: "Divides each wait over what the late rank did longer.", kind: "pass", parameters: "", returned: null, step: 2 },
        { name: "rank", about: "Orders causes by their gain.", kind: "pass", parameters: "", returned: "2 causes", step: 3 },
      ],
      edges: [{ from: 0, to: 1 }, { from: 1, to: 2 }, { from: 1, to: 3 }, { from: 2, to: 4 }, { from: 3, to: 4 }],
    },
  };
}

export function madePage(names: Names): Page {
  const diagnosis = madeDiagnosis(names);
  return {
    version: 1,
    tool: "headwater 0.0.0",
    program: names.program,
    live: null,
    thinned: [],
    runs: SCALES.map((ranks) => ({ name: `${names.run}.${ranks}`, ranks, scale: `${ranks} ranks`, figure: `${ranks}`, size: ranks, threads: ranks, cores: 2, nodes: ["node1"], duration_seconds: 3.4, command: [names.program, "100"], mpi_library: "Open MPI v4.1.4", started_unix: 1_790_000_000, recordings: 1, imported: false, counters: [], missing: [] })),
    added: "ranks",
    is_process: false,
    diagnosis,
    scales: SCALES.map((ranks, i) => {
      const [computation, uneven, serial, transfer, core] = [1.6 / 2 ** i, 0.06 * (i + 1), 0.006, 0.002, 2 - 0.2 * i];
      const seconds = computation + uneven + serial + transfer + core;
      const part = (kind: Page["scales"][number]["parts"][number]["kind"], words: string, time: number) => ({ kind, words, seconds: time, share: time / seconds });
      return { ranks, scale: `${ranks} ranks`, seconds, ideal_seconds: 1.6 / 2 ** i, parts: [part("computation", "useful computation", computation), part("uneven-work", "uneven work", uneven), part("serialisation", "ranks waiting in turn", serial), part("transfer", "moving data", transfer), part("without-core", "without a core", core)] };
    }),
    causes: details(names),
    contexts: madeContexts(names),
    ranks: madeRanks(names),
    timeline: madeTimelines(),
    graph: graph(names),
    sources: [source(names), { ...source(names), state: "gone", note: "The file is no longer there.", lines: [], heat_seconds: null }],
    tables: [
      {
        name: "wait-states",
        title: "Wait states",
        note: "Waiting by Scalasca's names.",
        columns: [{ name: "state", title: "State", unit: "none" }, { name: "seconds", title: "Waiting", unit: "seconds" }, { name: "share", title: "Share", unit: "share" }],
        rows: [{ state: "late sender", seconds: 2.1, share: 0.4 }, { state: "wait at n-to-n", seconds: 0.1, share: null }],
      },
    ],
  };
}

export { LATE };
