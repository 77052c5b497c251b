// The numbers behind the page: its data as JSON, its tables as CSV, and the runs that they are from.
import type { Page, Section } from "../../model";
import { Fig } from "../../parts/Fig";
import { Panel } from "../../parts/Panel";
import { PlaceName } from "../../parts/PlaceName";
import { Table } from "../../parts/Table";
import { saveFile } from "../../state/save";
import type { ViewProps } from "../../state/view";
import { location } from "../../text/place";
import { ranksInWords } from "../../text/ranks";
import type { Unit } from "../../text/units";
import { capitalised } from "../../text/words";

const UNITS: Record<string, { unit: Unit; word: string }> = {
  seconds: { unit: "s", word: "s" },
  bytes: { unit: "bytes", word: "B" },
  count: { unit: "count", word: "" },
  share: { unit: "share", word: "" },
  ratio: { unit: "ratio", word: "" },
};

export function NumbersView({ page }: ViewProps) {
  return (
    <>
      <Panel title="The data of this page" wide says="Every table of the page has a button CSV, every picture SVG or PNG. Figures in files are not rounded.">
        <p class="links">
          <button type="button" onClick={() => saveFile("diagnosis.json", "application/json", JSON.stringify(page.diagnosis))}>
            Diagnosis as JSON
          </button>
          <button type="button" onClick={() => saveFile("page.json", "application/json", JSON.stringify(page))}>
            All data as JSON
          </button>
        </p>
        {page.thinned.length > 0 && (
          <ul class="sentences">
            {page.thinned.map((sentence) => (
              <li>{sentence}</li>
            ))}
          </ul>
        )}
      </Panel>
      <Runs page={page} />
      <Marks page={page} />
      {page.tables.map((section, i) => (
        <SectionTable section={section} from={`/tables/${i}`} />
      ))}
    </>
  );
}

function Runs({ page }: { page: Page }) {
  return (
    <Panel title="Runs" wide>
      <Table
        name="runs"
        stacked
        caption="Runs"
        rows={page.runs.map((run, i) => ({ run, i }))}
        columns={[
          { head: "Run", names: true, value: ({ run }) => run.name, show: ({ run }) => <bdi class="code">{run.name}</bdi> },
          { head: "Ranks", figure: true, value: ({ run }) => run.ranks },
          { head: "Threads", figure: true, value: ({ run }) => run.threads },
          { head: "Cores", figure: true, value: ({ run }) => run.cores || null, show: ({ run }) => run.cores || "–" },
          { head: "Duration", unit: "s", figure: true, value: ({ run }) => run.duration_seconds, show: ({ run, i }) => <Fig value={run.duration_seconds} unit="s" from={`/runs/${i}/duration_seconds`} /> },
          { head: "Recordings", figure: true, value: ({ run }) => run.recordings },
          { head: "Started", value: ({ run }) => (run.started_unix === null ? null : new Date(run.started_unix * 1000).toISOString()), show: ({ run }) => (run.started_unix === null ? "–" : `${new Date(run.started_unix * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`) },
          { head: "Command", value: ({ run }) => run.command.join(" "), show: ({ run }) => <bdi class="code command">{run.command.join(" ")}</bdi> },
          { head: "Missing", value: ({ run }) => run.missing.join(" "), show: ({ run }) => run.missing.join(" ") || "nothing" },
        ]}
      />
    </Panel>
  );
}

/** Places that the detection marked before causes were sought. */
function Marks({ page }: { page: Page }) {
  const { non_scalable, abnormal } = page.diagnosis;
  const lists = [
    { title: "Places that do not scale", list: non_scalable, from: "/diagnosis/non_scalable" },
    { title: "Places that differ between ranks", list: abnormal, from: "/diagnosis/abnormal" },
  ];
  const of = page.runs.at(-1)?.ranks ?? 0;
  return (
    <>
      {lists
        .filter(({ list }) => list.length > 0)
        .map(({ title, list, from }) => (
          <Panel title={title} says="Marked before causes were sought, at the largest scale.">
            <Table
              stacked
              name={title.toLowerCase().replaceAll(" ", "-")}
              caption={title}
              rows={list.map((mark, i) => ({ mark, i }))}
              most={20}
              columns={[
                { head: "Place", names: true, value: ({ mark }) => location(mark.place), show: ({ mark }) => <PlaceName place={mark.place} /> },
                { head: "Ranks", value: ({ mark }) => mark.ranks, show: ({ mark }) => ranksInWords(mark.ranks, of, 20) },
                { head: "Mean", unit: "s", figure: true, value: ({ mark }) => mark.seconds, show: ({ mark, i }) => <Fig value={mark.seconds} unit="s" from={`${from}/${i}/seconds`} /> },
                { head: "Slope", figure: true, value: ({ mark }) => mark.slope, show: ({ mark, i }) => <Fig value={mark.slope} unit="ratio" from={`${from}/${i}/slope`} why="too few scales" /> },
                { head: "Most over median", figure: true, value: ({ mark }) => mark.ratio, show: ({ mark, i }) => <Fig value={mark.ratio} unit="ratio" from={`${from}/${i}/ratio`} /> },
              ]}
            />
          </Panel>
        ))}
    </>
  );
}

interface Line {
  row: Section["rows"][number];
  i: number;
}

function SectionTable({ section, from }: { section: Section; from: string }) {
  return (
    <Panel title={capitalised(section.title)} says={section.note ?? undefined}>
      <Table
        name={section.name}
        caption={section.title}
        rows={section.rows.map((row, i) => ({ row, i }))}
        most={30}
        columns={section.columns.map((column, c) => {
          const known = UNITS[column.unit];
          return {
            head: column.title,
            ...(known?.word ? { unit: known.word } : {}),
            figure: known !== undefined,
            names: c === 0,
            value: ({ row }: Line) => row[column.name],
            show: ({ row, i }: Line) => {
              const value = row[column.name];
              if (known && typeof value !== "string") return <Fig value={value} unit={known.unit} from={`${from}/rows/${i}/${column.name}`} />;
              return <bdi>{value ?? "–"}</bdi>;
            },
          };
        })}
      />
    </Panel>
  );
}
