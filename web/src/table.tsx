// Tables that sort by a click on a head and show more rows when asked.
import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";

export interface Column<Row> {
  head: string;
  text: (row: Row) => string;
  order?: (row: Row) => number; // of figures, which stand right; NaN comes last
  show?: (row: Row) => ComponentChildren; // instead of the text
}

const firstRows = 25;

export function Table<Row>(props: { caption: string; columns: Column<Row>[]; rows: Row[] }): JSX.Element {
  const sorted = useSignal<{ column: number; down: boolean } | null>(null);
  const shown = useSignal(firstRows);
  const by = sorted.value;
  const rows = by ? [...props.rows].sort((a, b) => compare(props.columns[by.column]!, a, b) * (by.down ? -1 : 1)) : props.rows;
  return (
    <div class="table">
      <table>
        <caption>{props.caption}</caption>
        <thead>
          <tr>
            {props.columns.map((column, index) => (
              <th
                key={column.head}
                scope="col"
                class={column.order ? "figure" : ""}
                aria-sort={by?.column === index ? (by.down ? "descending" : "ascending") : "none"}
              >
                <button
                  type="button"
                  onClick={() => (sorted.value = { column: index, down: by?.column === index ? !by.down : Boolean(column.order) })}
                >
                  {column.head}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, shown.value).map((row, index) => (
            <tr key={index}>
              {props.columns.map((column) => (
                <td key={column.head} class={column.order ? "figure" : ""}>{column.show ? column.show(row) : column.text(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > shown.value && (
        <button type="button" onClick={() => (shown.value *= 4)}>{`Show more of ${rows.length} rows`}</button>
      )}
    </div>
  );
}

function compare<Row>(column: Column<Row>, a: Row, b: Row): number {
  if (!column.order) return column.text(a).localeCompare(column.text(b));
  const [one, other] = [column.order(a), column.order(b)];
  if (Number.isNaN(one) || Number.isNaN(other)) return Number(Number.isNaN(one)) - Number(Number.isNaN(other));
  return one === other ? 0 : one < other ? -1 : 1;
}

export function Details(props: { title: string; open?: boolean; children: ComponentChildren }): JSX.Element {
  return (
    <details open={props.open ?? false}>
      <summary>{props.title}</summary>
      {props.children}
    </details>
  );
}

export function Pairs(props: { pairs: [string, ComponentChildren][] }): JSX.Element {
  return (
    <dl>
      {props.pairs.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
