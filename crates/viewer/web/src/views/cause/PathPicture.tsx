// The path from wait to cause in space and time: ranks down, time across, with the hops of the text highlighted.
import { useId, useMemo } from "preact/hooks";
import { AxisBelow } from "../../draw/axis";
import { paint, Patterns } from "../../draw/Patterns";
import { linear, ticks } from "../../draw/scale";
import type { Scale } from "../../draw/scale";
import { rowStarts, segments } from "../../draw/segments";
import type { Contexts, Hop, Picture, RankSet, TimelineTile } from "../../model";
import { useWidth } from "../../state/width";
import { ranksOf } from "../../text/ranks";
import { NS, sliceInWords } from "../../text/slice";
import { tickWriter } from "../../text/units";

const LEFT = 70;
/** With more rows than this, only those around the hops are shown. */
const MOST_ROWS = 32;

/** The row of a rank in the tile; -1 if it has none. */
function rowOf(tile: TimelineTile, rank: number): number {
  return tile.rows.findIndex((row) => row.thread <= 0 && (row.ranks === String(rank) || (row.ranks.length < 200 && ranksOf(row.ranks).includes(rank))));
}

/** The rows to show: all, or those of the hops and their neighbours. */
export function shownRows(tile: TimelineTile, hops: readonly Hop[]): number[] {
  const all = tile.rows.map((_, row) => row);
  if (all.length <= MOST_ROWS) return all;
  const near = new Set<number>();
  for (const hop of hops) {
    for (const rank of [hop.rank, hop.to_rank ?? hop.rank]) for (const step of [-1, 0, 1]) near.add(rowOf(tile, rank) + step);
  }
  return all.filter((row) => near.has(row)).slice(0, MOST_ROWS);
}

/** The time that the hops take, with a margin. */
export function hopTimes(picture: Picture): [number, number] {
  const { begin_ns, end_ns } = picture.tile;
  if (picture.hops.length === 0) return [begin_ns, end_ns];
  const [from, to] = [Math.min(...picture.hops.map((hop) => hop.begin_ns)), Math.max(...picture.hops.map((hop) => hop.end_ns))];
  const margin = (to - from) * 0.08;
  return [Math.max(begin_ns, from - margin), Math.min(end_ns, to + margin)];
}

interface Props {
  picture: Picture;
  contexts: Contexts;
  whole: boolean;
  /** The step whose hops are drawn in front. */
  chosen: number | null;
  steps: number;
  /** Ranks of the cause. */
  ranks: RankSet;
}

/** Only the longest hop of each step carries its number. */
function numbered(hops: readonly Hop[]): Set<Hop> {
  const longest = new Map<number, Hop>();
  for (const hop of hops) {
    if (hop.step === null) continue;
    const known = longest.get(hop.step);
    if (!known || hop.end_ns - hop.begin_ns > known.end_ns - known.begin_ns) longest.set(hop.step, hop);
  }
  return new Set(longest.values());
}

export function PathPicture({ picture, contexts, whole, chosen, steps, ranks }: Props) {
  const id = useId();
  const [box, width] = useWidth<HTMLDivElement>();
  const { tile, hops } = picture;
  const starts = useMemo(() => rowStarts(tile), [tile]);
  const rows = useMemo(() => shownRows(tile, hops), [tile, hops]);
  const height = Math.max(14, Math.min(30, 460 / rows.length));
  const [begin, end] = whole ? [tile.begin_ns, tile.end_ns] : hopTimes(picture);
  const time = linear([begin, end], [LEFT, width - 8]);
  const bottom = rows.length * height + 6;
  const y = (row: number) => rows.indexOf(row) * height + 4;
  const bar = height - 5;
  const late = tile.messages;
  const withNumber = useMemo(() => numbered(hops), [hops]);
  const causers = useMemo(() => new Set(ranksOf(ranks)), [ranks]);
  const axis = ticks(0, (end - begin) * NS, Math.max(2, Math.floor(width / 130)));
  const axisScale: Scale = linear([0, (end - begin) * NS], [LEFT, width - 8]);
  return (
    <div ref={box}>
      <svg class="picture path" width={width} height={bottom + 38} viewBox={`0 0 ${width} ${bottom + 38}`} role="img" aria-label={`${picture.caption} The steps below say the same in words.`}>
        <Patterns id={id} />
        <AxisBelow scale={axisScale} at={bottom} ticks={axis} write={tickWriter(axis)} to={0} title={`time from the left edge${tile.clock === "virtual" ? ", with a core for each rank" : ", as recorded"}`} />
        {rows.map((row) => (
          <text class="label soft" x={LEFT - 6} y={y(row) + bar / 2 + 4} text-anchor="end">
            {tile.rows[row]?.name.replace(/^rank (\d+) thread /, "$1, thread ")}
          </text>
        ))}
        {rows.map((row) =>
          segments(tile, starts, row, time).map((segment) => (
            <rect x={segment.from} width={Math.max(0.6, segment.to - segment.from - 0.4)} y={y(row)} height={bar} fill={paint(id, segment.kind)} class="segment">
              {segment.slice >= 0 && <title>{sliceInWords(tile, contexts, segment.slice)}</title>}
            </rect>
          )),
        )}
        {late.from_row.map((from, i) => {
          const to = late.to_row[i] as number;
          if (rows.indexOf(from) < 0 || rows.indexOf(to) < 0) return null;
          const [sent, received] = [late.sent_ns[i] as number, late.received_ns[i] as number];
          if (received < begin || sent > end) return null;
          return <line class={late.late[i] ? "message late" : "message"} x1={Math.max(LEFT, time(sent))} y1={y(from) + bar / 2} x2={Math.min(width - 8, time(received))} y2={y(to) + bar / 2} />;
        })}
        {hops.map((hop) => (
          <HopMark hop={hop} time={time} y={y} bar={bar} tile={tile} id={id} chosen={chosen} cause={isCauseHop(hop, steps, causers)} badge={withNumber.has(hop)} right={width - 8} />
        ))}
      </svg>
    </div>
  );
}

/** Whether a hop is the last step of the path, on a rank of the cause. */
export function isCauseHop(hop: Hop, steps: number, causers: ReadonlySet<number>): boolean {
  return hop.kind === "computation" && hop.step === steps - 1 && causers.has(hop.rank);
}

interface MarkProps {
  hop: Hop;
  time: Scale;
  y: (row: number) => number;
  bar: number;
  tile: TimelineTile;
  id: string;
  chosen: number | null;
  /** Whether it is the work that causes the waits. */
  cause: boolean;
  badge: boolean;
  right: number;
}

function HopMark({ hop, time, y, bar, tile, id, chosen, cause, badge, right }: MarkProps) {
  const row = rowOf(tile, hop.rank);
  if (row < 0) return null;
  const faded = chosen !== null && hop.step !== chosen;
  const [x1, x2] = [Math.max(LEFT, time(hop.begin_ns)), Math.min(right, time(hop.end_ns))];
  if (hop.kind === "message" && hop.to_rank !== null) {
    const to = rowOf(tile, hop.to_rank);
    if (to < 0) return null;
    const down = to > row;
    const [y1, y2] = [y(row) + (down ? bar : 0), y(to) + (down ? 0 : bar)];
    const head = down ? -6 : 6;
    return (
      <g class={faded ? "hop faded" : "hop"}>
        <title>{hop.words}</title>
        <line class="hop-line" x1={x1} y1={y1} x2={x2} y2={y2 + head / 2} />
        <path class="hop-head" d={`M${x2},${y2} l-5,${head} h10 z`} />
      </g>
    );
  }
  const wide = x2 - x1;
  return (
    <g class={faded ? "hop faded" : "hop"}>
      <title>{hop.words}</title>
      <rect class={hop.step === null ? "hop-box between" : "hop-box"} x={x1} y={y(row) - 1.5} width={Math.max(2, wide)} height={bar + 3} fill={cause ? paint(id, "cause") : "none"} />
      {hop.step !== null && badge && (
        <g>
          <circle class="hop-badge" cx={Math.min(right - 8, x1 + Math.max(2, wide) / 2)} cy={y(row) + bar / 2} r={8} />
          <text class="hop-number" x={Math.min(right - 8, x1 + Math.max(2, wide) / 2)} y={y(row) + bar / 2 + 4} text-anchor="middle">
            {hop.step + 1}
          </text>
          {cause && wide > 110 && (
            <g>
              <rect class="label-paper" x={x1 + 4} y={y(row) + bar / 2 - 8} width={44} height={16} rx={3} />
              <text class="label strong" x={x1 + 8} y={y(row) + bar / 2 + 4}>
                cause
              </text>
            </g>
          )}
        </g>
      )}
    </g>
  );
}
