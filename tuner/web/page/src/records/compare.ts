// Owns: two sets of best records beside each other. Does not know: where they are from.
import type { Best } from "./lines";

export interface Compared {
  key: string;
  label: string;
  left?: Best;
  right?: Best;
  ratio?: number; // right's time over left's: above 1, left is faster
  verdict: "left" | "right" | "same" | "only left" | "only right";
}

/** Who is faster beyond the 95% bounds of both; "same": these overlap. */
export function compare(left: ReadonlyMap<string, Best>, right: ReadonlyMap<string, Best>): Compared[] {
  const rows: Compared[] = [];
  for (const key of new Set([...left.keys(), ...right.keys()])) {
    const a = left.get(key);
    const b = right.get(key);
    const label = (a ?? b)!.label;
    if (!a || !b) {
      rows.push({ key, label, left: a, right: b, verdict: a ? "only left" : "only right" });
      continue;
    }
    const verdict = a.highNs < b.lowNs ? "left" : b.highNs < a.lowNs ? "right" : "same";
    rows.push({ key, label, left: a, right: b, ratio: b.ns / a.ns, verdict });
  }
  const far = (row: Compared) => (row.ratio === undefined ? -1 : Math.abs(Math.log(row.ratio)));
  return rows.sort((a, b) => far(b) - far(a));
}

/** Of the kernels that both have, the geometric mean of right's times over left's; nothing: there are none. */
export function meanRatio(rows: readonly Compared[]): number | undefined {
  const ratios = rows.flatMap((row) => (row.ratio === undefined ? [] : [Math.log(row.ratio)]));
  return ratios.length > 0 ? Math.exp(ratios.reduce((sum, of) => sum + of, 0) / ratios.length) : undefined;
}
