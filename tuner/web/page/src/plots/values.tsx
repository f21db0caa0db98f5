// Owns: a plot's numbers as a table, for who does not see it or wants the figures.
import { useState } from "preact/hooks";

export function Values(props: { caption: string; head: string[]; rows: () => string[][] }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="values" onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>As a table</summary>
      {open && (
        <div class="scroll short" role="region" aria-label={`${props.caption}, as a table`} tabIndex={0}>
          <table>
            <caption class="visually-hidden">{props.caption}</caption>
            <thead>
              <tr>{props.head.map((name) => <th scope="col" class="right">{name}</th>)}</tr>
            </thead>
            <tbody>
              {props.rows().map((row) => <tr>{row.map((value) => <td class="right">{value}</td>)}</tr>)}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
