// Owns: plots of curves over time or trials, with a legend that reads them and hides them.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { colour } from "../theme";
import { CanvasPlot, axis } from "./canvas_plot";
import { linearTicks, logRange, logTicks, timeTicks } from "./scale";
import { type Steps, commonAxis, sample } from "./steps";
import { Values } from "./values";

export interface Curve extends Steps {
  name: string;
  colour: string; // a custom property of the theme
  dash?: number[];
  thin?: boolean; // of many: without an entry in the legend
  fill?: boolean;
}

export interface CurvePlotProps {
  label: string;
  curves: Curve[];
  until: number; // the end of x
  seconds?: boolean; // x is a time, else a count
  formatX: (x: number) => string;
  formatY: (y: number) => string;
  log?: boolean;
  zero?: boolean; // of a linear y: from 0
  height?: number;
}

const stepped = uPlot.paths.stepped!({ align: 1 });

export function CurvePlot(props: CurvePlotProps) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const plot = useRef<uPlot | undefined>(undefined);
  const values = useRef(new Map<string, HTMLElement>());
  const latest = useRef(props);
  latest.current = props;

  const data = useMemo((): uPlot.AlignedData => {
    const xs = commonAxis(props.curves, props.until);
    return [xs, ...props.curves.map((curve) => sample(curve, xs))];
  }, [props.curves, props.until]);

  const shape = [props.log, props.label, props.zero, ...props.curves.map((curve) => `${curve.name}${curve.colour}${curve.dash}${curve.thin}`), ...hidden].join("|");
  const options = () => ({
    scales: {
      x: { time: false, range: (_: uPlot, low: number, high: number): [number, number] => (high > low ? [low, high] : [low, low + 1]) },
      y: props.log
        ? {
            distr: 3 as const,
            range: (u: uPlot): [number, number] =>
              logRange(u.data.slice(1).flatMap((column, i) => (u.series[i + 1].show ? (column as number[]) : []))),
          }
        : {
            range: (_: uPlot, low: number, high: number): [number, number] => {
              const top = high > 0 ? high * 1.08 : 1;
              return [props.zero ? 0 : low - (top - low) * 0.05, top];
            },
          },
    },
    axes: [
      axis({
        size: 26,
        splits: (_: uPlot, __: number, low: number, high: number) => (latest.current.seconds ? timeTicks : linearTicks)(low, high, Math.max(3, Math.floor((plot.current?.width ?? 400) / 95))),
        values: (_: uPlot, ticks: number[]) => ticks.map(latest.current.formatX),
      }),
      axis({
        size: 62,
        splits: (_: uPlot, __: number, low: number, high: number) =>
          props.log ? logTicks(low, high, (props.height ?? 240) / 36) : linearTicks(low, high, (props.height ?? 240) / 44),
        filter: (_: uPlot, ticks: number[]) => ticks,
        values: (_: uPlot, ticks: number[]) => ticks.map(latest.current.formatY),
      }),
    ],
    series: [
      {},
      ...props.curves.map((curve) => ({
        label: curve.name,
        show: !hidden.has(curve.name),
        paths: stepped,
        stroke: () => colour(curve.colour),
        fill: curve.fill ? () => `color-mix(in srgb, ${colour(curve.colour)} 16%, transparent)` : undefined,
        width: curve.thin ? 1 : 2,
        dash: curve.dash,
        points: { show: false },
        spanGaps: false,
      })),
    ],
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
  });

  // Written past Preact: the cursor moves more often than anything is rendered.
  const onCursor = (index: number | null) => {
    const drawn = plot.current;
    for (const [i, curve] of latest.current.curves.entries()) {
      const place = values.current.get(curve.name);
      if (!place) continue;
      const value = index === null || !drawn ? curve.y.at(-1) : drawn.data[i + 1]?.[index];
      place.textContent = value == null ? "" : latest.current.formatY(value);
    }
    const where = values.current.get("");
    if (where) where.textContent = index === null || !drawn ? "" : latest.current.formatX(drawn.data[0][index]);
  };
  useEffect(() => onCursor(plot.current?.cursor.idx ?? null), [data]);
  const toggle = (name: string) =>
    setHidden((old) => {
      const next = new Set(old);
      if (!next.delete(name)) next.add(name);
      return next;
    });

  if (props.curves.every((curve) => curve.y.every((y) => y == null))) return <p class="empty">No trials yet.</p>;
  return (
    <>
      <CanvasPlot label={props.label} options={options} shape={shape} data={data} height={props.height ?? 240} onCursor={onCursor} onPlot={(of) => (plot.current = of)} />
      <ul class="legend">
        {props.curves.filter((curve) => !curve.thin).map((curve) => (
          <li key={curve.name}>
            <button class="plain" aria-pressed={!hidden.has(curve.name)} onClick={() => toggle(curve.name)} title={`Show or hide ${curve.name}`}>
              <svg width="22" height="8" aria-hidden="true">
                <line x1="0" y1="4" x2="22" y2="4" stroke={`var(--${curve.colour})`} stroke-width="2.5" stroke-dasharray={curve.dash?.join(" ")} />
              </svg>
              <span>{curve.name}</span>
              <span class="num muted" ref={(element) => void (element ? values.current.set(curve.name, element) : values.current.delete(curve.name))} />
            </button>
          </li>
        ))}
        <li class="where num muted" ref={(element) => void (element ? values.current.set("", element) : values.current.delete(""))} />
      </ul>
      <Values caption={props.label} head={["At", ...props.curves.filter((curve) => !curve.thin).map((curve) => curve.name)]} rows={() => rowsOf(data, props)} />
    </>
  );
}

function rowsOf(data: uPlot.AlignedData, props: CurvePlotProps): string[][] {
  const xs = data[0];
  const most = 40;
  const picked = xs.length <= most ? xs.map((_, i) => i) : Array.from({ length: most }, (_, i) => Math.round((i * (xs.length - 1)) / (most - 1)));
  return Array.from(picked, (at) => [
    props.formatX(xs[at]),
    ...props.curves.flatMap((curve, i) => (curve.thin ? [] : [data[i + 1][at] == null ? "–" : props.formatY(data[i + 1][at]!)])),
  ]);
}
