// The calling contexts as a table, top-down or bottom-up, that opens row by row.
import { useState } from "preact/hooks";
import type { Contexts } from "../../model";
import { Bar } from "../../parts/Bar";
import { Fig } from "../../parts/Fig";
import { changed } from "../../state/route";
import type { Route } from "../../state/route";
import { csv, saveFile } from "../../state/save";
import type { Node } from "../../state/tree";
import { whereOf } from "../../text/frame";
import { figure, share } from "../../text/units";
import type { Unit } from "../../text/units";

interface Row {
  node: Node;
  depth: number;
  key: string;
}

/** Rows of a forest: those that are open show what is inside. */
export function openRows(forest: readonly Node[], isOpen: (key: string, depth: number, node: Node) => boolean): Row[] {
  const rows: Row[] = [];
  const add = (nodes: readonly Node[], depth: number, above: string) => {
    for (const node of nodes) {
      const key = `${above}/${node.frame}`;
      rows.push({ node, depth, key });
      if (node.children.length > 0 && isOpen(key, depth, node)) add(node.children, depth + 1, key);
    }
  };
  add(forest, 0, "");
  return rows;
}

interface Props {
  forest: readonly Node[];
  contexts: Contexts;
  unit: Unit;
  unitName: string;
  total: number;
  route: Route;
  chosen: number;
  name: string;
  caption: string;
  /** Where the figures are in the page's data; null where they are sums. */
  from: { own: string; whole: string } | null;
  /** From this share of the total on, rows are open at first. */
  openFrom: number;
}

const MOST = 400;

export function ProgramTable({ forest, contexts, unit, unitName, total, route, chosen, name, caption, from, openFrom }: Props) {
  const [turned, setTurned] = useState<ReadonlyMap<string, boolean>>(new Map());
  const isOpen = (key: string, _depth: number, node: Node) => turned.get(key) ?? node.whole >= openFrom * total;
  const rows = openRows(forest, isOpen);
  const all = () => openRows(forest, () => true);
  const save = () => saveFile(`${name}.csv`, "text/csv", csv(["depth", "name", "place", `whole [${unitName}]`, `own [${unitName}]`], all().map(({ node, depth }) => [depth, node.name, whereOf(contexts, node.frame), node.whole, node.own])));
  const onKey = (event: KeyboardEvent) => {
    const links = [...(event.currentTarget as HTMLElement).querySelectorAll("tbody a")] as HTMLElement[];
    const at = links.indexOf(document.activeElement as HTMLElement);
    if (at < 0) return;
    const row = rows[at];
    if (event.key === "ArrowDown") links[at + 1]?.focus();
    else if (event.key === "ArrowUp") links[at - 1]?.focus();
    else if (row && event.key === "ArrowRight") setTurned(new Map(turned).set(row.key, true));
    else if (row && event.key === "ArrowLeft") setTurned(new Map(turned).set(row.key, false));
    else return;
    event.preventDefault();
  };
  return (
    <div class="tabled">
      <div class="scroller" tabIndex={0} role="group" aria-label={caption} onKeyDown={onKey}>
        <table>
          <caption class="unseen">{caption}</caption>
          <thead>
            <tr>
              <th scope="col">Place</th>
              <th scope="col">Lines</th>
              <th scope="col" class="figure">
                Whole
              </th>
              <th scope="col" class="figure">
                Share
              </th>
              <th scope="col" class="figure">
                Own
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MOST).map(({ node, depth, key }) => {
              const open = isOpen(key, depth, node);
              return (
                <tr class={node.frame === chosen || node.folded.includes(chosen) ? "chosen" : undefined}>
                  <th scope="row" style={{ paddingLeft: `${0.3 + Math.min(depth, 14) * 0.8}rem` }}>
                    {node.children.length > 0 ? (
                      <button type="button" class="turn" aria-expanded={open} aria-label={`${open ? "Close" : "Open"} ${node.name}`} onClick={() => setTurned(new Map(turned).set(key, !open))}>
                        {open ? "▾" : "▸"}
                      </button>
                    ) : (
                      <span class="turn" />
                    )}
                    <a href={changed(route, { place: node.frame })}>
                      <bdi>{node.name}</bdi>
                    </a>
                  </th>
                  <td>
                    <bdi class="where">{whereOf(contexts, node.frame)}</bdi>
                  </td>
                  <td class="figure">
                    <span class="fig" data-unit={unit} data-from={from ? `${from.whole}/${node.frame}` : undefined}>
                      {figure(node.whole, unit)}
                    </span>
                  </td>
                  <td class="figure">
                    {total > 0 ? share(node.whole / total) : "–"}
                    <Bar value={node.whole} most={total} />
                  </td>
                  <td class="figure">
                    <Fig value={node.own} unit={unit} from={from ? `${from.own}/${node.frame}` : undefined} why="it has no figure of its own" />
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <div class="below">
        {rows.length > MOST && <span class="soft">{rows.length - MOST} more rows are in the file.</span>}
        <button type="button" class="small" onClick={save} aria-label={`Save as CSV: ${caption}`}>
          CSV
        </button>
      </div>
    </div>
  );
}
