// Owns: how outcomes of trials look: each has a colour and a shape of its own.

export interface OutcomeLook {
  word: string;
  colour: string; // a custom property of the theme
  shape: "dot" | "ring" | "cross" | "plus" | "up" | "down" | "square" | "diamond";
}

const looks: Record<string, OutcomeLook> = {
  ok: { word: "ok", colour: "series-1", shape: "dot" },
  stopped_early: { word: "stopped early", colour: "series-rest", shape: "ring" },
  wrong_output: { word: "wrong output", colour: "series-2", shape: "cross" },
  crashed: { word: "crashed", colour: "series-4", shape: "up" },
  timed_out: { word: "timed out", colour: "series-5", shape: "down" },
  compile_error: { word: "compile error", colour: "series-6", shape: "square" },
  out_of_memory: { word: "out of memory", colour: "series-3", shape: "diamond" },
  implausible: { word: "implausible", colour: "muted", shape: "plus" },
};

export const outcomeNames = Object.keys(looks);
export const lookOf = (outcome: string): OutcomeLook =>
  looks[outcome] ?? { word: outcome.replaceAll("_", " "), colour: "muted", shape: "plus" };

/** The shape around (0, 0) as an SVG path; those with an open end are to be stroked, others filled. */
export function pathOf(shape: OutcomeLook["shape"], r: number): { d: string; stroked: boolean } {
  switch (shape) {
    case "dot": return { d: `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`, stroked: false };
    case "ring": return { d: `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`, stroked: true };
    case "cross": return { d: `M${-r} ${-r}L${r} ${r}M${r} ${-r}L${-r} ${r}`, stroked: true };
    case "plus": return { d: `M${-r} 0H${r}M0 ${-r}V${r}`, stroked: true };
    case "up": return { d: `M0 ${-r}L${r} ${r}H${-r}z`, stroked: false };
    case "down": return { d: `M0 ${r}L${r} ${-r}H${-r}z`, stroked: false };
    case "square": return { d: `M${-r} ${-r}H${r}V${r}H${-r}z`, stroked: false };
    case "diamond": return { d: `M0 ${-r * 1.2}L${r * 1.2} 0L0 ${r * 1.2}L${-r * 1.2} 0z`, stroked: false };
  }
}
