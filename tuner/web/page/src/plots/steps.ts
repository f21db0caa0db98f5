// Owns: curves that change at some moments, put on one axis. Does not know: how they are drawn.

export interface Steps {
  x: readonly number[]; // ascending
  y: readonly (number | null)[]; // from each x until the next
}

/** More columns than this no screen shows. */
const mostColumns = 600;

/** The x of all curves up to `until`, or as many evenly between the first and the last as a screen shows. */
export function commonAxis(curves: readonly Steps[], until: number): number[] {
  const all = new Set<number>();
  for (const curve of curves) for (const x of curve.x) if (x <= until) all.add(x);
  all.add(until);
  const sorted = [...all].sort((a, b) => a - b);
  if (sorted.length <= mostColumns) return sorted;
  const from = sorted[0];
  return Array.from({ length: mostColumns }, (_, i) => from + ((until - from) * i) / (mostColumns - 1));
}

/** The curve's value at each of `xs`, which ascend; null before its first. */
export function sample(curve: Steps, xs: readonly number[]): (number | null)[] {
  let at = -1;
  return xs.map((x) => {
    while (at + 1 < curve.x.length && curve.x[at + 1] <= x) at++;
    return at < 0 ? null : curve.y[at];
  });
}
