// How the time in the place grows over the scales, log-log, with the fitted models and their predictions.
import { useId } from "preact/hooks";
import { AxisBelow, AxisLeft } from "../../draw/axis";
import { logarithmic, logTicks } from "../../draw/scale";
import type { Growth, GrowthModel } from "../../model";
import { Fig } from "../../parts/Fig";
import { Missing } from "../../parts/Missing";
import { Panel } from "../../parts/Panel";
import { Table } from "../../parts/Table";
import { useWidth } from "../../state/width";
import { count, isKnown, seconds, secondsTick } from "../../text/units";
import { capitalised } from "../../text/words";

const HEIGHT = 300;
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 14, 24, 40];

type Point = [ranks: number, seconds: number];

function positive(points: readonly (readonly [number, number | null])[]): Point[] {
  return points.filter((point): point is Point => isKnown(point[1]) && point[1] > 0 && point[0] > 0);
}

/** Only the part of a curve that fits below and above what was measured by some factor, so that points stay apart. */
function clipped(curve: readonly Point[], low: number): Point[] {
  return positive(curve).filter(([, y]) => y >= low);
}

export function GrowthPanel({ growth, added, from, name }: { growth: Growth; added: string; from: string; name: string }) {
  const id = useId();
  const [box, width] = useWidth<HTMLDivElement>();
  const mean = positive(growth.points.map((point) => [point.ranks, point.mean_seconds]));
  const most = positive(growth.points.map((point) => [point.ranks, point.most_seconds]));
  const measured = [...mean, ...most];
  const title = "How it grows";
  if (growth.points.length < 2 || measured.length === 0) {
    return (
      <Panel title={title}>
        <Missing what="No growth" why={growth.points.length < 2 ? "There is one scale only; record the program at other scales." : "The place takes no time at any scale."} />
      </Panel>
    );
  }
  const low = Math.min(...measured.map(([, y]) => y)) / 30;
  const curves = growth.models.map((model) => clipped(model.curve, low));
  const ideal = clipped(growth.ideal, low);
  const all = [...measured, ...curves.flat(), ...ideal];
  const [xs, ys] = [all.map(([x]) => x), all.map(([, y]) => y)];
  const x = logarithmic([Math.min(...xs) / 1.15, Math.max(...xs) * 1.15], [LEFT, width - RIGHT]);
  const y = logarithmic([Math.min(...ys) / 1.3, Math.max(...ys) * 1.3], [HEIGHT - BOTTOM, TOP]);
  const line = (points: readonly Point[]) => points.map(([px, py]) => `${x(px).toFixed(1)},${y(py).toFixed(1)}`).join(" ");
  const later = growth.models.flatMap((model) => model.curve.map(([p]) => p).filter((p) => p > model.predicted_from));
  const ranks = [...new Set([...growth.points.map((point) => point.ranks), ...later])].sort((a, b) => a - b);
  const last = Math.max(...growth.points.map((point) => point.ranks));
  const beyond = Math.max(...xs) > last;
  return (
    <Panel title={title} picture={`${name}-growth`} says={`Seconds in the place over the number of ${added}, both logarithmic. Dashed: predicted for larger runs.`}>
      <div ref={box}>
        <svg class="picture" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label="Growth of the place over the scales. The table below has the figures.">
          {beyond && <rect class="predicted" x={x(last)} y={TOP} width={width - RIGHT - x(last)} height={HEIGHT - BOTTOM - TOP} />}
          <AxisBelow scale={x} at={HEIGHT - BOTTOM} ticks={ranks} write={count} to={TOP} title={added} />
          <AxisLeft scale={y} at={LEFT} ticks={logTicks(...y.domain)} write={secondsTick} to={width - RIGHT} title="seconds of a rank" />
          <polyline class="curve ideal-curve" points={line(ideal)} />
          {growth.models.map((model, i) => (
            <Curve model={model} points={curves[i] ?? []} line={line} />
          ))}
          {mean.map(([px, py]) => (
            <circle class="point mean" cx={x(px)} cy={y(py)} r={5}>
              <title>{`mean at ${px} ${added}: ${seconds(py)}`}</title>
            </circle>
          ))}
          {most.map(([px, py]) => (
            <path class="point most" d={`M${x(px)},${y(py) - 6} l6,10 h-12 z`}>
              <title>{`most at ${px} ${added}: ${seconds(py)}`}</title>
            </path>
          ))}
          {beyond && (
            <text class="label soft" x={x(last) + 5} y={TOP + 13}>
              predicted
            </text>
          )}
        </svg>
      </div>
      <p class="legend" id={id}>
        <span>
          <span aria-hidden="true" class="key mean">
            ●
          </span>{" "}
          mean over ranks
        </span>
        <span>
          <span aria-hidden="true" class="key most">
            ▲
          </span>{" "}
          slowest rank
        </span>
        {ideal.length > 0 && (
          <span>
            <span aria-hidden="true" class="key ideal-key">
              ┅
            </span>{" "}
            ideal
          </span>
        )}
      </p>
      <Table
        name={`${name}-growth`}
        caption="Time in the place at each scale"
        rows={growth.points.map((point, i) => ({ ...point, i }))}
        columns={[
          { head: capitalised(added), figure: true, names: true, value: (point) => point.ranks },
          { head: "Mean", unit: "s", figure: true, value: (point) => point.mean_seconds, show: (point) => <Fig value={point.mean_seconds} unit="s" from={`${from}/points/${point.i}/mean_seconds`} why="the place was not seen at this scale" /> },
          { head: "Slowest rank", unit: "s", figure: true, value: (point) => point.most_seconds, show: (point) => <Fig value={point.most_seconds} unit="s" from={`${from}/points/${point.i}/most_seconds`} why="the place was not seen at this scale" /> },
        ]}
      />
      {growth.models.length > 0 ? (
        <ul class="sentences">
          {growth.models.map((model, i) => (
            <li>
              <Fit model={model} added={added} from={`${from}/models/${i}`} />
            </li>
          ))}
        </ul>
      ) : (
        <Missing what="No model" why="There are too few scales for one." />
      )}
    </Panel>
  );
}

function Curve({ model, points, line }: { model: GrowthModel; points: readonly Point[]; line: (points: readonly Point[]) => string }) {
  const known = points.filter(([ranks]) => ranks <= model.predicted_from);
  const later = points.slice(Math.max(0, known.length - 1));
  return (
    <g>
      <polyline class={`curve ${model.of}`} points={line(known)} />
      <polyline class={`curve ${model.of} later`} points={line(later)} />
    </g>
  );
}

function Fit({ model, added, from }: { model: GrowthModel; added: string; from: string }) {
  const [ranks, predicted] = model.curve.at(-1) ?? [0, null];
  return (
    <>
      {model.of === "mean" ? "Mean" : "Slowest rank"}: <span class="code">{model.words}</span> seconds, p {added} ({model.kind === "line" ? "log-log line" : "model chosen by cross-validation"}
      {isKnown(model.r_squared) && (
        <>
          , R² <Fig value={model.r_squared} unit="ratio" from={`${from}/r_squared`} />
        </>
      )}
      {model.kind === "line" && !isKnown(model.r_squared) && " through two scales, so nothing shows how well it fits"}
      {isKnown(model.error) && (
        <>
          , mean error <Fig value={model.error} unit="share" from={`${from}/error`} />
        </>
      )}
      )
      {ranks > model.predicted_from && isKnown(predicted) && (
        <>
          ; at {count(ranks)} {added} it predicts <Fig value={predicted} unit="s" from={`${from}/curve/${model.curve.length - 1}/1`} />
        </>
      )}
      .
    </>
  );
}
