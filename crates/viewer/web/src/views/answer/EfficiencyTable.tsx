// POP's efficiencies over the scales as a heat table, and the times that they are of.
import type { Diagnosis, Page, ThreadEfficiencies } from "../../model";
import { Fig } from "../../parts/Fig";
import { Panel } from "../../parts/Panel";
import { csv, saveFile } from "../../state/save";
import { isKnown } from "../../text/units";
import type { Unit } from "../../text/units";
import { capitalised, EFFICIENCIES } from "../../text/words";

type Scale = Diagnosis["scales"][number];

/** POP's accepted mark: what is below it is worth a look. */
const MARK = 0.8;

const COUNTED = new Set(["instruction_scaling", "ipc_scaling", "frequency_scaling"]);

/** What happens between ranks, which one process without MPI does not have. */
const BETWEEN_RANKS = new Set(["parallel", "load_balance", "communication", "serialisation", "transfer", "startup_seconds", "window_share", "replayed_share"]);

const TIMES: [field: keyof Scale & string, name: string, unit: Unit][] = [
  ["wall_seconds", "Wall time", "s"],
  ["model_seconds", "With cores enough", "s"],
  ["startup_seconds", "Before MPI_Init returned", "s"],
  ["runq_share", "Waiting for a core", "share"],
  ["window_share", "All events recorded", "share"],
  ["replayed_share", "… and replayed", "share"],
];

function why(field: string, single: boolean): string {
  if (single && (field.endsWith("scaling") || field === "global")) return "needs two scales";
  return COUNTED.has(field) ? "hardware counters were not recorded" : "needs event windows that cover the run";
}

export function EfficiencyTable({ page }: { page: Page }) {
  const { diagnosis, added } = page;
  const scales = diagnosis.scales;
  const value = (scale: Scale, field: string): number | null => {
    const { threads, ...own } = scale.efficiencies;
    const [first, of] = field.split("/");
    return (of ? threads?.[of as keyof ThreadEfficiencies] : own[first as keyof typeof own]) ?? null;
  };
  const ofAll = ([field]: readonly [string, ...unknown[]]) => !page.is_process || !BETWEEN_RANKS.has(field);
  const shown = EFFICIENCIES.filter((row) => ofAll(row) && ((!COUNTED.has(row[0]) && !row[0].includes("/")) || scales.some((scale) => isKnown(value(scale, row[0])))));
  const uncounted = !scales.some((scale) => isKnown(scale.efficiencies.instruction_scaling));
  const crowded = scales.some((scale) => scale.model_seconds !== scale.wall_seconds);
  const times = TIMES.filter((row) => ofAll(row) && (crowded || row[0] !== "model_seconds"));
  const save = () => {
    const rows = [...shown.map(([field, name]) => [name, ...scales.map((scale) => value(scale, field))]), ...times.map(([field, name]) => [name, ...scales.map((scale) => scale[field] as number | null)])];
    saveFile("efficiencies.csv", "text/csv", csv([added, ...page.runs.map((run) => run.figure)], rows as (string | number | null)[][]));
  };
  return (
    <Panel
      title="Efficiencies"
      says={
        <>
          POP's efficiencies, by number of {added}; 1 is ideal. Below {MARK}, the accepted mark, a figure is marked <strong class="low">!</strong>
        </>
      }
      actions={
        <button type="button" class="small" onClick={save} aria-label="Save as CSV: Efficiencies">
          CSV
        </button>
      }
    >
      <div class="scroller" tabIndex={0} role="group" aria-label={`Efficiencies by number of ${added}`}>
        <table class="heat">
          <thead>
            <tr>
              <th scope="col">{capitalised(added)}</th>
              {page.runs.map((run) => (
                <th scope="col" class="figure">
                  {run.figure}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map(([field, name, depth]) => (
              <tr>
                <th scope="row" style={{ paddingLeft: `${0.6 + depth * 0.9}rem` }}>
                  {name}
                </th>
                {scales.map((scale, i) => (
                  <Heat value={value(scale, field)} from={`/diagnosis/scales/${i}/efficiencies/${field}`} why={why(field, diagnosis.scaling === "single")} />
                ))}
              </tr>
            ))}
            {times.map(([field, name, unit]) => (
              <tr class="time">
                <th scope="row">{name}</th>
                {scales.map((scale, i) => (
                  <td class="figure">
                    <Fig value={scale[field] as number | null} unit={unit} from={`/diagnosis/scales/${i}/${field}`} why="no event windows" />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {uncounted && <p class="says">– Instruction, IPC and frequency scaling: hardware counters were not recorded.</p>}
    </Panel>
  );
}

function Heat({ value, from, why: reason }: { value: number | null | undefined; from: string; why: string }) {
  const low = isKnown(value) && value < MARK;
  const loss = isKnown(value) ? Math.min(1, Math.max(0, (1 - value) / 0.6)) : 0;
  return (
    <td class="figure" style={{ background: `color-mix(in srgb, var(--wait) ${(loss * 45).toFixed(0)}%, transparent)` }}>
      <Fig value={value} unit="ratio" from={from} why={reason} />
      <span class="low">
        {low ? " !" : ""}
        {low && <span class="unseen"> below the mark</span>}
      </span>
    </td>
  );
}
