// POP's efficiencies over the scales as a heat table, and the times that they are of.
import type { Diagnosis } from "../../model";
import { Fig } from "../../parts/Fig";
import { Panel } from "../../parts/Panel";
import { csv, saveFile } from "../../state/save";
import { isKnown } from "../../text/units";
import type { Unit } from "../../text/units";
import { EFFICIENCIES } from "../../text/words";

type Scale = Diagnosis["scales"][number];

/** POP's accepted mark: what is below it is worth a look. */
const MARK = 0.8;

const COUNTED = new Set(["instruction_scaling", "ipc_scaling", "frequency_scaling"]);

const TIMES: [field: keyof Scale & string, name: string, unit: Unit][] = [
  ["wall_seconds", "Wall time", "s"],
  ["model_seconds", "With a core for each rank", "s"],
  ["startup_seconds", "Before MPI_Init returned", "s"],
  ["runq_share", "Waiting for a core", "share"],
  ["window_share", "All events recorded", "share"],
  ["replayed_share", "… and replayed", "share"],
];

function why(field: string, single: boolean): string {
  if (single && (field.endsWith("scaling") || field === "global")) return "needs two scales";
  return COUNTED.has(field) ? "hardware counters were not recorded" : "needs event windows that cover the run";
}

export function EfficiencyTable({ diagnosis }: { diagnosis: Diagnosis }) {
  const scales = diagnosis.scales;
  const value = (scale: Scale, field: string) => scale.efficiencies[field as keyof Scale["efficiencies"]];
  const shown = EFFICIENCIES.filter(([field]) => !COUNTED.has(field) || scales.some((scale) => isKnown(value(scale, field))));
  const crowded = scales.some((scale) => scale.model_seconds !== scale.wall_seconds);
  const times = TIMES.filter(([field]) => crowded || field !== "model_seconds");
  const save = () => {
    const rows = [...EFFICIENCIES.map(([field, name]) => [name, ...scales.map((scale) => value(scale, field))]), ...TIMES.map(([field, name]) => [name, ...scales.map((scale) => scale[field] as number | null)])];
    saveFile("efficiencies.csv", "text/csv", csv(["ranks", ...scales.map((scale) => String(scale.ranks))], rows as (string | number | null)[][]));
  };
  return (
    <Panel
      title="Efficiencies"
      says={
        <>
          POP's efficiencies, by number of ranks; 1 is ideal. Below {MARK}, the accepted mark, a figure is marked <strong class="low">!</strong>
        </>
      }
      actions={
        <button type="button" class="small" onClick={save} aria-label="Save as CSV: Efficiencies">
          CSV
        </button>
      }
    >
      <div class="scroller" tabIndex={0} role="group" aria-label="Efficiencies by number of ranks">
        <table class="heat">
          <thead>
            <tr>
              <th scope="col">Ranks</th>
              {scales.map((scale) => (
                <th scope="col" class="figure">
                  {scale.ranks}
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
      {shown.length < EFFICIENCIES.length && <p class="says">– Instruction, IPC and frequency scaling: hardware counters were not recorded.</p>}
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
