// Places whose figures differ most between two scales.
import type { Contexts } from "../../model";
import { Bar } from "../../parts/Bar";
import { Table } from "../../parts/Table";
import { changed } from "../../state/route";
import type { Route } from "../../state/route";
import type { Figures } from "../../state/tree";
import { frameName, whereOf } from "../../text/frame";
import { figure, isKnown } from "../../text/units";
import type { Unit } from "../../text/units";

interface Props {
  own: Figures;
  contexts: Contexts;
  unit: Unit;
  unitName: string;
  route: Route;
  chosen: number;
}

export function ChangeTable({ own, contexts, unit, unitName, route, chosen }: Props) {
  const rows = own.map((value, frame) => ({ value, frame })).filter((row): row is { value: number; frame: number } => isKnown(row.value) && row.value !== 0);
  rows.sort((a, b) => Math.abs(b.value) - Math.abs(a.value) || a.frame - b.frame);
  const most = Math.abs(rows[0]?.value ?? 0);
  return (
    <Table
      name="changes"
        stacked
      caption="Places by how much they change"
      rows={rows}
      most={60}
      chosen={(row) => row.frame === chosen}
      columns={[
        {
          head: "Place",
          names: true,
          value: (row) => frameName(contexts, row.frame),
          show: (row) => (
            <a href={changed(route, { place: row.frame })}>
              <bdi>{frameName(contexts, row.frame)}</bdi>
            </a>
          ),
        },
        { head: "Lines", value: (row) => whereOf(contexts, row.frame), show: (row) => <bdi class="where">{whereOf(contexts, row.frame)}</bdi> },
        {
          head: "Change of its own",
          unit: unitName,
          figure: true,
          value: (row) => row.value,
          show: (row) => (
            <div class="barred">
              {figure(Math.abs(row.value), unit)} {row.value > 0 ? "more" : "less"}
              <Bar value={Math.abs(row.value)} most={most} colour={row.value > 0 ? "var(--more)" : "var(--less)"} striped={row.value > 0} />
            </div>
          ),
        },
      ]}
    />
  );
}
