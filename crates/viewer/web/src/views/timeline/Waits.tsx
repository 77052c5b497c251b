// The longest waits in the shown stretch, as a table.
import { useMemo } from "preact/hooks";
import type { Page, TimelineTile } from "../../model";
import { Panel } from "../../parts/Panel";
import { Table } from "../../parts/Table";
import { address } from "../../state/route";
import { whereOf } from "../../text/frame";
import { NS } from "../../text/slice";
import { bytes, seconds } from "../../text/units";

/** Indices of the slices that wait in a stretch, the longest wait first. */
export function longestWaits(tile: TimelineTile, begin: number, end: number, most: number): number[] {
  const slices = tile.slices;
  if (!slices) return [];
  const found: number[] = [];
  for (let i = 0; i < slices.row.length; i += 1) {
    const from = slices.begin_ns[i] as number;
    if ((slices.wait_ns[i] as number) > 0 && from < end && from + (slices.length_ns[i] as number) > begin) found.push(i);
  }
  return found.sort((a, b) => (slices.wait_ns[b] as number) - (slices.wait_ns[a] as number) || a - b).slice(0, most);
}

interface Props {
  page: Page;
  tile: TimelineTile;
  /** The window's begin. */
  zero: number;
  begin: number;
  end: number;
  /** Where the tile is in the page's data; null if it is not. */
  from: string | null;
}

export function Waits({ page, tile, zero, begin, end, from }: Props) {
  const slices = tile.slices;
  const rows = useMemo(() => longestWaits(tile, begin, end, 200), [tile, begin, end]);
  if (!slices) return null;
  const frame = (i: number) => slices.frame[i] as number;
  return (
    <Panel title="Longest waits in this stretch" wide>
      {rows.length === 0 ? (
        <p class="says">Nobody waits in this stretch.</p>
      ) : (
        <Table
          name="waits"
        stacked
          caption="Longest waits in this stretch"
          rows={rows}
          most={15}
          columns={[
            { head: "Who", names: true, value: (i) => tile.rows[slices.row[i] as number]?.name, show: (i) => <span class="fig">{tile.rows[slices.row[i] as number]?.name}</span> },
            { head: "Waits", unit: "s", figure: true, value: (i) => (slices.wait_ns[i] as number) * NS, show: (i) => <span class="fig" data-unit="ns" data-from={from === null ? undefined : `${from}/slices/wait_ns/${i}`}>{seconds((slices.wait_ns[i] as number) * NS)}</span> },
            { head: "For rank", figure: true, value: (i) => ((slices.partner[i] as number) >= 0 ? slices.partner[i] : null), show: (i) => ((slices.partner[i] as number) >= 0 ? slices.partner[i] : "–") },
            { head: "Wait state", value: (i) => slices.states[slices.state[i] as number], show: (i) => slices.states[slices.state[i] as number] ?? "–" },
            {
              head: "In",
              value: (i) => `${slices.functions[slices.function[i] as number] ?? ""} ${frame(i) >= 0 ? whereOf(page.contexts, frame(i)) : ""}`,
              show: (i) => (
                <>
                  <bdi>{slices.functions[slices.function[i] as number]}</bdi>{" "}
                  {frame(i) >= 0 && (
                    <a href={address("program", [], { place: frame(i) })}>
                      <bdi class="where">{whereOf(page.contexts, frame(i))}</bdi>
                    </a>
                  )}
                </>
              ),
            },
            { head: "From", unit: "s", figure: true, value: (i) => ((slices.begin_ns[i] as number) - zero) * NS, show: (i) => seconds(((slices.begin_ns[i] as number) - zero) * NS) },
            { head: "Data", unit: "B", figure: true, value: (i) => slices.bytes[i], show: (i) => bytes(slices.bytes[i]) },
          ]}
        />
      )}
    </Panel>
  );
}
