// Owns: two texts put beside each other: which lines they share, and which long runs are folded. Does not know: how it looks.
import { diffArrays } from "diff";

export interface Side {
  number: number;
  text: string;
}

export interface Pair {
  kind: "same" | "changed" | "removed" | "added";
  left?: Side;
  right?: Side;
}

export type Piece = { pairs: Pair[] } | { folded: Pair[] };

const budgetMs = 400;
const context = 3;
const leastFolded = 8;

/** Registers and labels are numbered anew in each program: lines that differ in nothing else are the same to a reader. */
const plain = (line: string): string => line.trim().replace(/\s+/g, " ");

export function pair(left: string, right: string): Pair[] {
  const a = left.replace(/\n$/, "").split("\n");
  const b = right.replace(/\n$/, "").split("\n");
  const parts = diffArrays(a.map(plain), b.map(plain), { timeout: budgetMs }) ?? [
    { removed: true, added: false, count: a.length, value: a },
    { removed: false, added: true, count: b.length, value: b },
  ];
  const pairs: Pair[] = [];
  let i = 0;
  let j = 0;
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at];
    if (part.removed || part.added) {
      const next = parts[at + 1];
      const both = part.removed && next?.added;
      const gone = part.removed ? part.count! : 0;
      const come = part.added ? part.count! : both ? next.count! : 0;
      for (let k = 0; k < Math.max(gone, come); k++)
        pairs.push({
          kind: k < gone && k < come ? "changed" : k < gone ? "removed" : "added",
          left: k < gone ? { number: i + k + 1, text: a[i + k] } : undefined,
          right: k < come ? { number: j + k + 1, text: b[j + k] } : undefined,
        });
      i += gone;
      j += come;
      if (both) at++;
    } else {
      for (let k = 0; k < part.count!; k++)
        pairs.push({ kind: "same", left: { number: i + k + 1, text: a[i + k] }, right: { number: j + k + 1, text: b[j + k] } });
      i += part.count!;
      j += part.count!;
    }
  }
  return pairs;
}

/** Long runs of lines that both have are folded, but a few lines around each difference. */
export function fold(pairs: readonly Pair[]): Piece[] {
  const pieces: Piece[] = [];
  for (let from = 0; from < pairs.length; ) {
    const same = pairs[from].kind === "same";
    let until = from;
    while (until < pairs.length && (pairs[until].kind === "same") === same) until++;
    const head = from === 0 ? 0 : context;
    const tail = until === pairs.length ? 0 : context;
    if (same && until - from - head - tail >= leastFolded && pairs.length > until - from) {
      if (head > 0) pieces.push({ pairs: pairs.slice(from, from + head) });
      pieces.push({ folded: pairs.slice(from + head, until - tail) });
      if (tail > 0) pieces.push({ pairs: pairs.slice(until - tail, until) });
    } else {
      pieces.push({ pairs: pairs.slice(from, until) });
    }
    from = until;
  }
  return pieces;
}
