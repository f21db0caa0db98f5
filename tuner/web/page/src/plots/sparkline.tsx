// Owns: a few numbers as a line in a table.

/** With the level to compare with as a thin line. */
export function Sparkline(props: { values: readonly number[]; base: number; label: string }) {
  const width = 120;
  const height = 26;
  if (props.values.length < 2) return <span class="muted">–</span>;
  const low = Math.min(props.base || Infinity, ...props.values);
  const high = Math.max(props.base, ...props.values);
  const span = Math.max(high - low, high * 0.02) || 1;
  const middle = (low + high) / 2;
  const x = (i: number) => 3 + ((width - 6) * i) / (props.values.length - 1);
  const y = (value: number) => height / 2 - ((value - middle) / span) * (height - 8);
  const d = props.values.map((value, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  return (
    <svg class="spark" width={width} height={height} role="img" aria-label={props.label}>
      {props.base > 0 && <line x1="0" x2={width} y1={y(props.base)} y2={y(props.base)} stroke="var(--line-strong)" stroke-dasharray="2 3" />}
      <path d={d} fill="none" stroke="var(--series-1)" stroke-width="1.6" stroke-linejoin="round" />
      <circle cx={x(props.values.length - 1)} cy={y(props.values.at(-1)!)} r="2.4" fill="var(--series-1)" />
    </svg>
  );
}
