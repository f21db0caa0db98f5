// Owns: tables of all pages: rows on a wide screen, cards on a phone.
import type { ComponentChildren } from "preact";

export interface Column<T> {
  head: string;
  cell: (row: T, index: number) => ComponentChildren;
  right?: boolean; // numbers
  hideHead?: boolean;
  wide?: boolean; // on a phone, as wide as the row
}

/** The roles are said because a phone's style takes a table's own away. */
export function Table<T>(props: {
  caption: string;
  columns: Column<T>[];
  rows: readonly T[];
  id: (row: T, index: number) => string | number;
  stack?: boolean;
  empty?: string;
}) {
  if (props.rows.length === 0) return <p class="empty">{props.empty ?? "Nothing yet."}</p>;
  return (
    <div class="scroll" role="region" aria-label={`Table: ${props.caption}`} tabIndex={0}>
      <table role="table" class={props.stack ? "stack" : ""}>
        <caption class="visually-hidden">{props.caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {props.columns.map((column) => (
              <th role="columnheader" scope="col" class={column.right ? "right" : ""}>
                {column.hideHead ? <span class="visually-hidden">{column.head}</span> : column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {props.rows.map((row, index) => (
            <tr role="row" key={props.id(row, index)}>
              {props.columns.map((column) => (
                <td role="cell" data-label={column.hideHead ? "" : column.head} class={column.right ? "right" : column.wide ? "wide" : ""}>
                  {column.cell(row, index)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
