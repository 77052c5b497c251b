// The threads of the rank that loses most, for a cause between threads.
import type { Cause } from "../../model";
import { Bar } from "../../parts/Bar";
import { Fig } from "../../parts/Fig";
import { Panel } from "../../parts/Panel";
import { Table } from "../../parts/Table";

export function ThreadChart({ threads, from, name }: { threads: NonNullable<Cause["by_thread"]>; from: string; name: string }) {
  const most = Math.max(...threads.seconds);
  return (
    <Panel title={`Threads of rank ${threads.rank}`} says="The rank that loses most by it. Seconds that each thread computed or, where threads contend, waited.">
      <Table
        name={`${name}-threads`}
        caption="Seconds by thread"
        rows={threads.threads.map((thread, i) => ({ thread, i, seconds: threads.seconds[i] ?? null, concerned: threads.concerned.includes(thread) }))}
        chosen={(row) => row.concerned}
        columns={[
          { head: "Thread", names: true, value: (row) => row.thread, show: (row) => `thread ${row.thread}${row.concerned ? " (of the cause)" : ""}` },
          {
            head: "Time",
            unit: "s",
            figure: true,
            value: (row) => row.seconds,
            show: (row) => (
              <div class="barred">
                <Fig value={row.seconds} unit="s" from={`${from}/seconds/${row.i}`} />
                <Bar value={row.seconds ?? 0} most={most} colour={row.concerned ? "var(--compute-deep)" : "var(--core)"} striped={row.concerned} />
              </div>
            ),
          },
        ]}
      />
    </Panel>
  );
}
