// Owns: the plot of all candidates of a kernel: each trial a mark, failures in a band below, the best so far as a line.
import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Candidates } from "../api/messages";
import { clock, count, duration, time } from "../format";
import { colour } from "../theme";
import { CanvasPlot, axis } from "./canvas_plot";
import { Mark } from "./outcome_bar";
import { lookOf, pathOf } from "./outcomes";
import { logRange, logTicks, timeTicks, wholeTicks } from "./scale";
import { Values } from "./values";

export interface Point {
  row: number;
  x: number;
  ns: number; // 0: failed
  outcome: string;
  finishedUnixS: number;
}

/** The candidates in the order of x: seconds since the first, or their number; about that where some were left out. */
export function points(of: Candidates, against: "time" | "order"): Point[] {
  const first = of.finishedUnixS.reduce((least, s) => Math.min(least, s), Infinity);
  const all = of.rows.map((row, i) => ({
    row,
    x: against === "time" ? of.finishedUnixS[i] - first : Math.round(((i + 1) * of.total) / of.rows.length),
    ns: of.ns[i],
    outcome: of.outcomeNames[of.outcomes[i]] ?? "",
    finishedUnixS: of.finishedUnixS[i],
  }));
  return against === "time" ? all.sort((a, b) => a.x - b.x) : all;
}

function bestSoFar(all: Point[]): (number | null)[] {
  let best = Infinity;
  return all.map((point) => {
    if (point.outcome === "ok" && point.ns > 0) best = Math.min(best, point.ns);
    return best === Infinity ? null : best;
  });
}

const bandHeight = 26; // CSS pixels below the axis' lowest time, for those without one

export function ScatterPlot(props: {
  label: string;
  candidates: Candidates;
  against: "time" | "order";
  chosen?: number; // a row
  onChoose: (row: number) => void;
  untunedNs: number;
}) {
  const all = useMemo(() => points(props.candidates, props.against), [props.candidates, props.against]);
  const data = useMemo((): uPlot.AlignedData => [all.map((point) => point.x), bestSoFar(all)], [all]);
  const plot = useRef<uPlot | undefined>(undefined);
  const tip = useRef<HTMLParagraphElement>(null);
  const near = useRef<Point | null>(null);
  const latest = useRef({ all, props });
  latest.current = { all, props };

  useEffect(() => plot.current?.redraw(false), [props.chosen, props.untunedNs]);

  const failed = all.some((point) => point.ns <= 0);
  const band = failed ? bandHeight : 0;
  const yOf = (u: uPlot, point: Point): number =>
    point.ns > 0 ? u.valToPos(point.ns, "y", true) : u.bbox.top + u.bbox.height - (band / 2) * devicePixelRatio;

  const draw = (u: uPlot) => {
    const { all: drawn, props: now } = latest.current;
    const c = u.ctx;
    const ratio = devicePixelRatio;
    c.save();
    c.beginPath();
    c.rect(u.bbox.left - 6 * ratio, u.bbox.top, u.bbox.width + 12 * ratio, u.bbox.height);
    c.clip();
    const floor = u.bbox.top + u.bbox.height - band * ratio;
    c.strokeStyle = colour("line-strong");
    c.lineWidth = ratio;
    c.setLineDash([2 * ratio, 3 * ratio]);
    c.beginPath();
    if (failed) {
      c.moveTo(u.bbox.left, floor);
      c.lineTo(u.bbox.left + u.bbox.width, floor);
    }
    if (now.untunedNs > 0) {
      const y = u.valToPos(now.untunedNs, "y", true);
      c.moveTo(u.bbox.left, y);
      c.lineTo(u.bbox.left + u.bbox.width, y);
    }
    c.stroke();
    c.setLineDash([]);
    c.lineWidth = 1.4 * ratio;
    const shapes = new Map<string, { path: Path2D; stroked: boolean }>();
    for (const point of drawn) {
      const look = lookOf(point.outcome);
      let shape = shapes.get(point.outcome);
      if (!shape) {
        const { d, stroked } = pathOf(look.shape, (look.shape === "dot" ? 2.2 : 3) * ratio);
        shapes.set(point.outcome, (shape = { path: new Path2D(d), stroked }));
      }
      const x = u.valToPos(point.x, "x", true);
      const y = yOf(u, point);
      c.translate(x, y);
      c.globalAlpha = point.ns > 0 ? 0.75 : 0.9;
      c.fillStyle = c.strokeStyle = colour(look.colour);
      shape.stroked ? c.stroke(shape.path) : c.fill(shape.path);
      c.translate(-x, -y);
    }
    c.globalAlpha = 1;
    for (const point of drawn) {
      if (point.row !== now.chosen) continue;
      c.strokeStyle = colour("text");
      c.lineWidth = 2 * ratio;
      c.beginPath();
      c.arc(u.valToPos(point.x, "x", true), yOf(u, point), 7 * ratio, 0, 7);
      c.stroke();
    }
    c.restore();
  };

  const options = () => ({
    scales: {
      x: { time: false, range: (_: uPlot, low: number, high: number): [number, number] => (high > low ? [low, high] : [low - 1, low + 1]) },
      y: {
        distr: 3 as const,
        range: (u: uPlot): [number, number] => {
          const { all: drawn, props: now } = latest.current;
          const [low, high] = logRange([...drawn.map((point) => point.ns), now.untunedNs]);
          const height = u.over?.clientHeight || 260;
          return [low / (high / low) ** (band / Math.max(60, height - band)), high];
        },
      },
    },
    axes: [
      axis({
        size: 26,
        splits: (_: uPlot, __: number, low: number, high: number) => (props.against === "time" ? timeTicks : wholeTicks)(low, high, Math.max(3, (plot.current?.width ?? 400) / 95)),
        values: (_: uPlot, ticks: number[]) => ticks.map((tick) => (props.against === "time" ? clock(tick) : count(tick))),
      }),
      axis({
        size: 62,
        splits: (_: uPlot, __: number, low: number, high: number) => logTicks(low, high, 7),
        filter: (_: uPlot, ticks: number[]) => ticks,
        values: (_: uPlot, ticks: number[]) => ticks.map((tick) => time(tick)),
      }),
    ],
    series: [
      {},
      { label: "best so far", stroke: () => colour("series-2"), width: 2, paths: uPlot.paths.stepped!({ align: 1 }), points: { show: false } },
    ],
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    hooks: { drawAxes: [draw], ready: [(u: uPlot) => u.over.addEventListener("click", () => near.current && latest.current.props.onChoose(near.current.row))] },
  });

  const onCursor = (index: number | null) => {
    const u = plot.current;
    if (!u || !tip.current) return;
    near.current = index === null ? null : nearest(u, latest.current.all, index);
    const point = near.current;
    tip.current.textContent = point
      ? `Record ${point.row}: ${point.ns > 0 ? time(point.ns) : "no time"}, ${lookOf(point.outcome).word}, ${
          props.against === "time" ? `${duration(point.x)} after the first` : `number ${count(point.x)}`
        }. Click or Enter shows it.`
      : "";
  };
  const nearest = (u: uPlot, of: Point[], index: number): Point | null => {
    const left = u.cursor.left ?? 0;
    const top = u.cursor.top ?? 0;
    let best = of[index] ?? null;
    let least = Infinity;
    for (const point of of) {
      const dx = u.valToPos(point.x, "x") - left;
      if (Math.abs(dx) > 24) continue;
      const dy = (point.ns > 0 ? u.valToPos(point.ns, "y") : u.over.clientHeight - band / 2) - top;
      const distance = dx * dx + dy * dy;
      if (distance < least) [best, least] = [point, distance];
    }
    return best;
  };

  const seen = [...new Set(all.map((point) => point.outcome))];
  return (
    <div onKeyDown={(event) => event.key === "Enter" && near.current && props.onChoose(near.current.row)}>
      <CanvasPlot label={props.label} options={options} shape={`${props.against} ${failed}`} data={data} height={300} onCursor={onCursor} onPlot={(of) => (plot.current = of)} />
      <ul class="legend">
        {seen.map((outcome) => (
          <li class="key" key={outcome}><Mark outcome={outcome} /> {lookOf(outcome).word}</li>
        ))}
        <li class="key">
          <svg width="22" height="8" aria-hidden="true"><line x1="0" y1="4" x2="22" y2="4" stroke="var(--series-2)" stroke-width="2.5" /></svg>
          best so far
        </li>
        {failed && <li class="key muted">without a time: below the lower line</li>}
        {props.untunedNs > 0 && (
          <li class="key">
            <svg width="22" height="8" aria-hidden="true"><line x1="0" y1="4" x2="22" y2="4" stroke="var(--line-strong)" stroke-width="1.5" stroke-dasharray="2 3" /></svg>
            untuned {time(props.untunedNs)}
          </li>
        )}
      </ul>
      <p class="tip muted" ref={tip} />
      <Values
        caption={props.label}
        head={["Record", "At", "Time", "Outcome"]}
        rows={() => {
          const every = Math.max(1, Math.ceil(all.length / 200));
          return all.filter((_, i) => i % every === 0).map((point) => [
            String(point.row),
            props.against === "time" ? duration(point.x) : count(point.x),
            time(point.ns),
            lookOf(point.outcome).word,
          ]);
        }}
      />
    </div>
  );
}
