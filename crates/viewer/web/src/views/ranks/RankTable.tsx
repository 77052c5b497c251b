// What each rank spends its time on.
import type { PerRank, RunInfo } from "../../model";
import { Bar } from "../../parts/Bar";
import { Fig } from "../../parts/Fig";
import { Panel } from "../../parts/Panel";
import { Table } from "../../parts/Table";
import type { Column } from "../../parts/Table";

const TIMES: [keyof PerRank & string, string, string, boolean][] = [
  ["wall_seconds", "Wall time", "var(--core)", false],
  ["computation_seconds", "Computes", "var(--compute)", false],
  ["mpi_seconds", "In MPI", "var(--move)", false],
  ["wait_seconds", "of it waiting", "var(--wait)", true],
  ["without_core_seconds", "Without a core", "var(--core)", true],
  ["startup_seconds", "Before MPI_Init returned", "var(--core)", false],
];

export function RankTable({ table, run, from }: { table: PerRank; run: RunInfo | undefined; from: string }) {
  const rows = table.rank.map((_, i) => i);
  const node = (i: number) => run?.nodes[table.node[i] ?? -1];
  const nodes = (run?.nodes.length ?? 0) > 1;
  const times: Column<number>[] = TIMES.map(([field, head, colour, striped]) => {
    const values = table[field] as number[];
    const most = Math.max(...values, 0);
    return {
      head,
      unit: "s",
      figure: true,
      value: (i) => values[i],
      show: (i) => (
        <>
          <Fig value={values[i]} unit="s" from={`${from}/per_rank/${field}/${i}`} />
          <Bar value={values[i] ?? 0} most={most} colour={colour} striped={striped} />
        </>
      ),
    };
  });
  const where: Column<number>[] = nodes ? [{ head: "Node", value: (i) => node(i) ?? null, show: (i) => <bdi>{node(i) ?? "–"}</bdi> }] : [];
  return (
    <Panel title="Every rank" wide>
      <Table name="ranks" caption="Times of every rank" rows={rows} most={32} columns={[{ head: "Rank", figure: true, names: true, value: (i) => table.rank[i], show: (i) => <>{table.rank[i]}{table.complete[i] === false && <span class="soft"> incomplete</span>}</> }, ...where, ...times]} />
    </Panel>
  );
}
