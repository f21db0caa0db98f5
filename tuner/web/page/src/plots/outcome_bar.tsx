// Owns: how many trials ended how, as one bar with its numbers.
import { count, percent } from "../format";
import { lookOf, outcomeNames, pathOf } from "./outcomes";

export function Mark(props: { outcome: string }) {
  const look = lookOf(props.outcome);
  const { d, stroked } = pathOf(look.shape, 4);
  const paint = `var(--${look.colour})`;
  return (
    <svg width="12" height="12" viewBox="-6 -6 12 12" aria-hidden="true" class="mark">
      <path d={d} fill={stroked ? "none" : paint} stroke={stroked ? paint : "none"} stroke-width="1.8" />
    </svg>
  );
}

export function OutcomeBar(props: { outcomes: Record<string, number> }) {
  const known = outcomeNames.filter((name) => props.outcomes[name] > 0);
  const names = [...known, ...Object.keys(props.outcomes).filter((name) => !outcomeNames.includes(name))];
  const all = names.reduce((sum, name) => sum + props.outcomes[name], 0);
  if (all === 0) return <p class="empty">No trials yet.</p>;
  return (
    <div>
      <div class="outcome-bar" aria-hidden="true">
        {names.map((name) => (
          <span key={name} style={{ flexGrow: props.outcomes[name], background: `var(--${lookOf(name).colour})` }} />
        ))}
      </div>
      <ul class="legend columns">
        {names.map((name) => (
          <li key={name}>
            <Mark outcome={name} /> {lookOf(name).word}
            <span class="num end">
              {count(props.outcomes[name])} <span class="muted">{percent(props.outcomes[name] / all)}</span>
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
