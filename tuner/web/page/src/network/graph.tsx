// Owns: the drawing of a network: a box a kernel, coloured by its part of the time.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { NetworkCall } from "../api/messages";
import { percent, speedup, time } from "../format";
import { useWidth } from "../ui/width";
import { type Layout, layOut } from "./layout";
import { PanZoom } from "./pan_zoom";
import "./network.css";

export type Shown = "after" | "before" | "saved";

const sizes = { width: 200, height: 60, gapX: 18, gapY: 30 };
const readable = 0.45; // texts are drawn from this scale on

/** Of each call, its part of the whole: of the time, or of what was saved; 0 where that is not known. */
export function partsOf(calls: readonly NetworkCall[], shown: Shown): number[] {
  const ns = calls.map((call) => {
    if (shown === "before") return call.untunedNs;
    if (shown === "after") return call.bestNs || call.untunedNs;
    return call.untunedNs > 0 && call.bestNs > 0 ? Math.max(0, call.untunedNs - call.bestNs) : 0;
  });
  const sum = ns.reduce((a, b) => a + b, 0);
  return ns.map((of) => (sum > 0 ? of / sum : 0));
}

/** How a call stands: "default": tried, and nothing is surely faster than the schedule of a build without tuning. */
export type Standing = "none" | "tuned" | "default" | "unmeasured";

export function standingOf(call: NetworkCall): Standing {
  if (!call.kernelId) return "none";
  if (!call.isUntuned) return "tuned";
  return call.bestNs > 0 ? "default" : "unmeasured";
}

export function describe(call: NetworkCall, shown: Shown, part: number): string {
  if (!call.kernelId) return "not a kernel";
  if (shown === "before") return call.untunedNs > 0 ? `${time(call.untunedNs)} · ${percent(part)}` : "not measured";
  if (standingOf(call) === "unmeasured") return call.untunedNs > 0 ? `not tuned · ${time(call.untunedNs)}` : "not measured";
  if (shown === "saved") return call.isUntuned ? "default is best" : speedup(call.untunedNs, call.bestNs);
  return `${time(call.bestNs)} · ${percent(part)}`;
}

function curveOf(points: Layout["edges"][number]["points"]): string {
  let d = `M${points[0].x} ${points[0].y}`;
  for (let i = 1; i < points.length; i++) {
    const [a, b] = [points[i - 1], points[i]];
    const middle = (a.y + b.y) / 2;
    d += a.x === b.x ? `L${b.x} ${b.y}` : `C${a.x} ${middle} ${b.x} ${middle} ${b.x} ${b.y}`;
  }
  return d;
}

export function NetworkGraph(props: { calls: NetworkCall[]; shown: Shown; chosen: number | undefined; onChoose: (index: number | undefined) => void }) {
  const { calls, shown, chosen } = props;
  const [frame, width, element] = useWidth<HTMLDivElement>();
  const drawing = useRef<SVGGElement>(null);
  const panZoom = useRef<PanZoom | undefined>(undefined);
  const [far, setFar] = useState(false);
  // Asked again, the same network has new times and lies where it did.
  const form = JSON.stringify(calls.map((call) => call.inputs));
  const layout = useMemo(() => layOut(JSON.parse(form) as number[][], sizes), [form]);
  const parts = useMemo(() => partsOf(calls, shown), [calls, shown]);
  const most = Math.max(...parts, 1e-9);

  const fit = (whole: boolean) => {
    if (!element) return;
    const across = element.clientWidth / layout.width;
    const scale = whole ? Math.min(across, element.clientHeight / layout.height, 1.2) : Math.max(0.5, Math.min(across, 1));
    panZoom.current?.show({ x: (element.clientWidth - layout.width * scale) / 2, y: whole ? (element.clientHeight - layout.height * scale) / 2 : 4, scale });
  };
  useEffect(() => {
    if (!element || !drawing.current) return;
    panZoom.current = new PanZoom(element, drawing.current, (scale) => setFar(scale < readable));
    return () => panZoom.current?.destroy();
  }, [element]);
  useEffect(() => fit(false), [element, layout, width > 0]);

  const edges = useMemo(
    () => layout.edges.map((edge) => ({ ...edge, d: curveOf(edge.points) })),
    [layout],
  );
  return (
    <div class="graph">
      <div class="graph-frame" ref={frame} tabIndex={0} role="group" aria-label="Graph of the network. Arrow keys move it, plus and minus scale it. The table below has the same.">
        <svg width="100%" height="100%" class={far ? "far" : ""} aria-hidden="true">
          <g ref={drawing}>
            {edges.map((edge) => (
              <path key={`${edge.from}-${edge.to}`} d={edge.d} class={`edge ${edge.from === chosen || edge.to === chosen ? "near" : ""}`} />
            ))}
            {layout.nodes.map((box, i) => {
              const call = calls[i];
              const heat = Math.round((parts[i] / most) * 58);
              return (
                <g
                  key={i}
                  class={`call ${call.kernelId ? "" : "host"} ${standingOf(call)} ${i === chosen ? "chosen" : ""}`}
                  transform={`translate(${box.x - sizes.width / 2} ${box.y})`}
                  onClick={() => props.onChoose(i === chosen ? undefined : i)}
                >
                  <title>{`${call.label}\n${call.nodes.join(", ")}`}</title>
                  <rect width={sizes.width} height={sizes.height} rx="6" style={{ fill: call.kernelId ? `color-mix(in srgb, var(--${shown === "saved" ? "series-3" : "heat"}) ${heat}%, var(--surface))` : "var(--raised)" }} />
                  <svg width={sizes.width - 6} height={sizes.height}>
                    <text x="10" y="19" class="name">{call.label}</text>
                    <text x="10" y="34" class="shape">{call.shape}</text>
                    <text x="10" y="51" class="value">{describe(call, shown, parts[i])}</text>
                  </svg>
                </g>
              );
            })}
          </g>
        </svg>
      </div>
      <div class="graph-buttons">
        <button aria-label="Larger" onClick={() => panZoom.current?.zoom(1.3)}>+</button>
        <button aria-label="Smaller" onClick={() => panZoom.current?.zoom(1 / 1.3)}>−</button>
        <button onClick={() => fit(true)}>All</button>
        <button onClick={() => fit(false)}>Start</button>
      </div>
    </div>
  );
}
