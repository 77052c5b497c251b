// The time in the place over ranks: bars, a grid where there are many, and the groups of ranks by name.
import { AxisLeft } from "../../draw/axis";
import { linear, ticks } from "../../draw/scale";
import type { RankValues } from "../../model";
import { Bar } from "../../parts/Bar";
import { Fig } from "../../parts/Fig";
import { Panel } from "../../parts/Panel";
import { Table } from "../../parts/Table";
import { csv, saveFile } from "../../state/save";
import { useWidth } from "../../state/width";
import { ranksInWords, ranksOf } from "../../text/ranks";
import { seconds, tickWriter } from "../../text/units";

const HEIGHT = 190;
const LEFT = 64;

export function RankChart({ values, from, name }: { values: RankValues; from: string; name: string }) {
  const save = () => {
    const concerned = new Set(ranksOf(values.concerned));
    const rows = (values.values ?? []).map((value, rank) => [rank, value, concerned.has(rank) ? "yes" : "no"]);
    saveFile(`${name}-ranks.csv`, "text/csv", csv(["rank", "seconds", "of the cause"], rows));
  };
  return (
    <Panel
      title="Its values over ranks"
      picture={values.values ? `${name}-ranks` : undefined}
      says={
        <>
          Seconds in the place on each rank ({values.of}). Least <Fig value={values.least} unit="s" from={`${from}/least`} />, median <Fig value={values.median} unit="s" from={`${from}/median`} />, most <Fig value={values.most} unit="s" from={`${from}/most`} />.
        </>
      }
      actions={
        values.values && (
          <button type="button" class="small" onClick={save} aria-label="Save as CSV: values over ranks">
            CSV
          </button>
        )
      }
    >
      {values.values && (values.values.length <= 200 ? <Bars values={values} list={values.values} /> : <Grid values={values} list={values.values} />)}
      <Table
        name={`${name}-groups`}
        caption="Groups of ranks by their values"
        rows={values.groups.map((group, i) => ({ group, i }))}
        columns={[
          { head: "Group", names: true, value: ({ group }) => group.name },
          { head: "Ranks", value: ({ group }) => group.ranks, show: ({ group }) => ranksInWords(group.ranks, values.ranks, 24) },
          {
            head: "Mean",
            unit: "s",
            figure: true,
            value: ({ group }) => group.mean_seconds,
            show: ({ group, i }) => (
              <div class="barred">
                <Fig value={group.mean_seconds} unit="s" from={`${from}/groups/${i}/mean_seconds`} />
                <Bar value={group.mean_seconds} most={values.most} range={[group.least_seconds, group.most_seconds]} />
              </div>
            ),
          },
        ]}
      />
    </Panel>
  );
}

function Bars({ values, list }: { values: RankValues; list: readonly number[] }) {
  const [box, width] = useWidth<HTMLDivElement>();
  const y = linear([0, values.most || 1], [HEIGHT - 22, 22]);
  const marks = ticks(0, values.most, 4);
  const concerned = new Set(ranksOf(values.concerned));
  const step = Math.min(60, (width - LEFT - 4) / list.length);
  const every = [1, 2, 4, 8, 16, 32, 64].find((n) => n * step >= 26) ?? 128;
  return (
    <div ref={box}>
      <svg class="picture" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={`Seconds by rank: the slow ones are ${values.concerned}`}>
        <AxisLeft scale={y} at={LEFT} ticks={marks} write={tickWriter(marks)} to={LEFT + step * list.length} title="seconds" />
        {list.map((value, rank) => {
          const on = concerned.has(rank);
          const x = LEFT + rank * step;
          return (
            <g>
              <rect class={on ? "value on" : "value"} x={x + step * 0.08} width={Math.max(1, step * 0.84)} y={Math.min(y(value), y(0) - 1)} height={Math.max(1, y(0) - y(value))}>
                <title>{`rank ${rank}: ${seconds(value)}${on ? ", of the cause" : ""}`}</title>
              </rect>
              {rank % every === 0 && (
                <text class={on ? "label strong" : "label soft"} x={x + step / 2} y={HEIGHT - 7} text-anchor="middle">
                  {rank}
                </text>
              )}
            </g>
          );
        })}
        <text class="label soft" x={LEFT - 5} y={HEIGHT - 7} text-anchor="end">
          rank
        </text>
      </svg>
    </div>
  );
}

function Grid({ values, list }: { values: RankValues; list: readonly number[] }) {
  const [box, width] = useWidth<HTMLDivElement>();
  const wide = 2 ** Math.floor(Math.log2(Math.min(128, Math.max(16, Math.sqrt(list.length) * 2))));
  const cell = Math.max(2, Math.min(16, Math.floor((width - LEFT) / wide)));
  const concerned = new Set(ranksOf(values.concerned));
  const rows = Math.ceil(list.length / wide);
  return (
    <div ref={box}>
      <svg class="picture" width={width} height={rows * cell + 22} viewBox={`0 0 ${width} ${rows * cell + 22}`} role="img" aria-label={`Seconds by rank: the slow ones are ${values.concerned}`}>
        {list.map((value, rank) => (
          <rect class={concerned.has(rank) ? "cell on" : "cell"} x={LEFT + (rank % wide) * cell} y={20 + Math.floor(rank / wide) * cell} width={cell - 0.5} height={cell - 0.5} style={{ fill: `color-mix(in srgb, var(--heat-1) ${((value / (values.most || 1)) * 100).toFixed(0)}%, var(--heat-0))` }}>
            <title>{`rank ${rank}: ${seconds(value)}`}</title>
          </rect>
        ))}
        {Array.from({ length: rows }, (_, row) => row)
          .filter((row) => row % Math.max(1, Math.ceil(16 / cell)) === 0)
          .map((row) => (
            <text class="label soft" x={LEFT - 5} y={20 + (row + 0.8) * cell} text-anchor="end">
              {row * wide}
            </text>
          ))}
        <text class="label soft" x={0} y={13}>
          rank; dark is {seconds(values.most)}
        </text>
      </svg>
    </div>
  );
}
