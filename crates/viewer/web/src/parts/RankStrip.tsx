// Ranks as small cells in a row, or in a grid where there are many; some of them marked.
import { useWidth } from "../state/width";
import { setOf } from "../text/ranks";

interface Props {
  of: number;
  marked: readonly number[];
}

/** Only a hint beside the set in words, so it is hidden from readers of text. */
export function RankStrip({ of, marked }: Props) {
  const [box, width] = useWidth<HTMLSpanElement>(200);
  const [cells, set] = binned(of, marked, Math.max(8, Math.floor(Math.min(width, 480) / 5)));
  const size = Math.max(4, Math.min(14, Math.floor(Math.min(width, 480) / cells)));
  return (
    <span class="strip" ref={box} aria-hidden="true">
      <svg width={size * cells} height={14} data-ranks={setOf(marked)}>
        {Array.from({ length: cells }, (_, i) => (
          <rect x={i * size} y={set.has(i) ? 0 : 4} width={size - 1} height={set.has(i) ? 14 : 6} class={set.has(i) ? "on" : "off"} />
        ))}
      </svg>
    </span>
  );
}

/** Where there are more ranks than cells, a cell stands for several and is marked if one of them is. */
export function binned(of: number, marked: readonly number[], most: number): [number, Set<number>] {
  const each = Math.max(1, Math.ceil(of / most));
  return [Math.max(1, Math.ceil(of / each)), new Set(marked.map((rank) => Math.floor(rank / each)))];
}
