// A table that can be sorted and saved as CSV.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { csv, saveFile } from "../state/save";

export type Cell = string | number | null | undefined;

export interface Column<Row> {
  head: string;
  /** The unit of the column in the file; figures in files are not rounded. */
  unit?: string;
  /** The value by which rows are sorted, and which is written into the file. */
  value: (row: Row) => Cell;
  /** What the page shows, if not the value. */
  show?: (row: Row) => ComponentChildren;
  figure?: boolean;
  /** The column names the row. */
  names?: boolean;
}

interface Props<Row> {
  name: string;
  caption: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  /** At most so many rows are shown; the file has all. */
  most?: number;
  chosen?: ((row: Row) => boolean) | undefined;
  /** On narrow screens each row becomes a block, with the heads beside the values. */
  stacked?: boolean;
}

function compare(a: Cell, b: Cell): number {
  if (a === null || a === undefined) return b === null || b === undefined ? 0 : 1;
  if (b === null || b === undefined) return -1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

/** All rows as CSV, with units in the head. */
export function tableAsCsv<Row>(columns: Column<Row>[], rows: readonly Row[]): string {
  const head = columns.map((column) => (column.unit ? `${column.head} [${column.unit}]` : column.head));
  return csv(
    head,
    rows.map((row) => columns.map((column) => column.value(row))),
  );
}

export function Table<Row>({ name, caption, columns, rows, most = 200, chosen, stacked }: Props<Row>) {
  const [order, setOrder] = useState<{ column: number; down: boolean } | null>(null);
  const [all, setAll] = useState(false);
  const sorted = [...rows];
  const by = order && columns[order.column];
  if (order && by) sorted.sort((a, b) => compare(by.value(a), by.value(b)) * (order.down ? -1 : 1));
  const shown = all ? sorted : sorted.slice(0, most);
  const turn = (column: number) => {
    const down = order?.column === column ? !order.down : (columns[column]?.figure ?? false);
    setOrder({ column, down });
  };
  return (
    <div class="tabled">
      <div class="scroller" tabIndex={0} role="group" aria-label={caption}>
        <table class={stacked ? "stacked" : undefined}>
          <caption class="unseen">{caption}</caption>
          <thead>
            <tr>
              {columns.map((column, i) => (
                <th
                  scope="col"
                  class={column.figure ? "figure" : undefined}
                  aria-sort={order?.column === i ? (order.down ? "descending" : "ascending") : undefined}
                >
                  <button type="button" class="sort" onClick={() => turn(i)}>
                    {column.head}
                    <span aria-hidden="true">{order?.column === i ? (order.down ? " ▾" : " ▴") : ""}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr class={chosen?.(row) ? "chosen" : undefined}>
                {columns.map((column) => {
                  const content = column.show ? column.show(row) : column.value(row);
                  if (column.names) {
                    return (
                      <th scope="row" class={column.figure ? "figure" : undefined}>
                        {content}
                      </th>
                    );
                  }
                  return (
                    <td class={column.figure ? "figure" : undefined} data-head={column.head}>
                      {content}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="below">
        {shown.length < sorted.length && (
          <button type="button" class="small" onClick={() => setAll(true)}>
            Show all {sorted.length} rows
          </button>
        )}
        <button
          type="button"
          class="small"
          aria-label={`Save as CSV: ${caption}`}
          onClick={() => saveFile(`${name}.csv`, "text/csv", tableAsCsv(columns, rows))}
        >
          CSV
        </button>
      </div>
    </div>
  );
}
