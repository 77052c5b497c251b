// Threads by team, and locks with who waits and who holds.
import type { LockRow, Page, RankData, ThreadRow } from "../../model";
import { Bar } from "../../parts/Bar";
import { Fig } from "../../parts/Fig";
import { Panel } from "../../parts/Panel";
import { Table } from "../../parts/Table";
import type { Column } from "../../parts/Table";
import { address } from "../../state/route";
import { frameName, whereOf } from "../../text/frame";

function PlaceLink({ page, frame }: { page: Page; frame: number }) {
  if (frame < 0) return <span class="soft">–</span>;
  return (
    <a href={address("program", [], { place: frame })}>
      <bdi class="where">{whereOf(page.contexts, frame)}</bdi>
    </a>
  );
}

const TIMES: [keyof ThreadRow & string, string, string][] = [
  ["busy_seconds", "Computes", "var(--compute)"],
  ["barrier_seconds", "Waits at the team's barriers", "var(--wait)"],
  ["lock_seconds", "Waits for locks and threads", "var(--lost)"],
  ["without_core_seconds", "Without a core", "var(--core)"],
];

export function ThreadTable({ page, data, from }: { page: Page; data: RankData; from: string }) {
  const rows = data.threads.map((thread, i) => ({ thread, i }));
  const most = Math.max(...data.threads.map((thread) => thread.wall_seconds), 0);
  type Row = (typeof rows)[number];
  const times: Column<Row>[] = TIMES.map(([field, title, colour]) => ({
    head: title,
    unit: "s",
    figure: true,
    value: ({ thread }) => thread[field],
    show: ({ thread, i }) => (
      <>
        <Fig value={thread[field]} unit="s" from={`${from}/threads/${i}/${field}`} />
        <Bar value={thread[field]} most={most} colour={colour} striped={field.endsWith("k_seconds") || field.startsWith("barrier")} />
      </>
    ),
  }));
  return (
    <Panel title="Threads" wide says="Threads of ranks that have several, by the call or region that made their team.">
      <Table
        name="threads"
        stacked
        caption="Threads"
        rows={rows}
        most={40}
        columns={[
          { head: "Rank", figure: true, names: true, value: ({ thread }) => thread.rank },
          { head: "Thread", figure: true, value: ({ thread }) => thread.thread },
          { head: "Team", value: ({ thread }) => (thread.team < 0 ? "" : frameName(page.contexts, thread.team)), show: ({ thread }) => (thread.team < 0 ? <span class="soft">first thread</span> : <PlaceLink page={page} frame={thread.team} />) },
          { head: "Wall time", unit: "s", figure: true, value: ({ thread }) => thread.wall_seconds, show: ({ thread, i }) => <Fig value={thread.wall_seconds} unit="s" from={`${from}/threads/${i}/wall_seconds`} /> },
          { head: "CPU time", unit: "s", figure: true, value: ({ thread }) => thread.cpu_seconds, show: ({ thread, i }) => <Fig value={thread.cpu_seconds} unit="s" from={`${from}/threads/${i}/cpu_seconds`} /> },
          ...times,
        ]}
      />
    </Panel>
  );
}

export function LockTable({ page, locks, from }: { page: Page; locks: readonly LockRow[]; from: string }) {
  return (
    <Panel title="Locks" wide says="Waits between threads of one rank, the longest first: who waits, and who held the lock.">
      <Table
        name="locks"
        stacked
        caption="Locks"
        rows={locks.map((lock, i) => ({ lock, i }))}
        most={40}
        columns={[
          { head: "Rank", figure: true, names: true, value: ({ lock }) => lock.rank },
          { head: "What", value: ({ lock }) => lock.kind },
          { head: "Waits", value: ({ lock }) => `thread ${lock.waiter}`, show: ({ lock }) => <>thread {lock.waiter} at <PlaceLink page={page} frame={lock.waiter_frame} /></> },
          { head: "Holds", value: ({ lock }) => (lock.holder < 0 ? null : `thread ${lock.holder}`), show: ({ lock }) => (lock.holder < 0 ? <span class="soft">– not known</span> : <>thread {lock.holder} at <PlaceLink page={page} frame={lock.holder_frame} /></>) },
          { head: "Times", figure: true, value: ({ lock }) => lock.count, show: ({ lock, i }) => <Fig value={lock.count} unit="count" from={`${from}/locks/${i}/count`} /> },
          { head: "Waiting", unit: "s", figure: true, value: ({ lock }) => lock.wait_seconds, show: ({ lock, i }) => <Fig value={lock.wait_seconds} unit="s" from={`${from}/locks/${i}/wait_seconds`} /> },
          { head: "Longest", unit: "s", figure: true, value: ({ lock }) => lock.longest_seconds, show: ({ lock, i }) => <Fig value={lock.longest_seconds} unit="s" from={`${from}/locks/${i}/longest_seconds`} /> },
        ]}
      />
    </Panel>
  );
}
