// Owns: a kernel under the roofs of its machine: what it computes a second against what it computes for each byte.
import type { Peaks } from "../api/messages";
import { digits, rate } from "../format";
import { useWidth } from "../ui/width";
import { logTicks } from "./scale";
import { Values } from "./values";

export interface RoofPoint {
  name: string;
  flopsPerS: number;
  colour: string;
  shape: "dot" | "ring";
}

const roofs = [
  ["l2BytesPerS", "L2", "series-3", "6 3"],
  ["sharedBytesPerS", "shared cache", "series-4", "2 3"],
  ["memoryBytesPerS", "memory", "series-5", ""],
] as const;

export function Roofline(props: { peaks: Peaks; flopsPerByte: number; points: RoofPoint[] }) {
  const [place, width] = useWidth<HTMLDivElement>();
  const height = 280;
  const known = roofs.filter(([name]) => props.peaks[name] > 0);
  const peak = props.peaks.flopsPerS;
  const drawn = props.points.filter((point) => point.flopsPerS > 0);
  if (!(props.flopsPerByte > 0) || drawn.length === 0 || (peak <= 0 && known.length === 0))
    return <p class="empty">Drawn once the kernel has a time and its machine's peaks were measured.</p>;

  const knees = known.map(([name]) => (peak > 0 ? peak / props.peaks[name] : props.flopsPerByte));
  const xLow = Math.min(props.flopsPerByte, ...knees) / 4;
  const xHigh = Math.max(props.flopsPerByte, ...knees) * 4;
  const roof = peak > 0 ? peak : Math.max(...known.map(([name]) => props.peaks[name] * props.flopsPerByte));
  const yHigh = Math.max(roof, ...drawn.map((point) => point.flopsPerS)) * 1.9;
  const slowest = Math.min(...known.map(([name]) => props.peaks[name] * xLow), ...drawn.map((point) => point.flopsPerS));
  const yLow = Math.max(slowest / 1.6, yHigh / 1e5);
  const box = { left: 62, right: width - 8, top: 8, bottom: height - 34 };
  const x = (value: number) => box.left + ((box.right - box.left) * Math.log(value / xLow)) / Math.log(xHigh / xLow);
  const y = (value: number) => box.bottom - ((box.bottom - box.top) * Math.log(value / yLow)) / Math.log(yHigh / yLow);
  const attainable = Math.min(peak > 0 ? peak : Infinity, ...known.filter(([name]) => name === "memoryBytesPerS").map(([name]) => props.peaks[name] * props.flopsPerByte));
  const rows = () => [
    ...(peak > 0 ? [["peak of the FMA units", rate(peak, "FLOP/s")]] : []),
    ...known.map(([name, word]) => [`peak of ${word}`, rate(props.peaks[name], "B/s")]),
    ...drawn.map((point) => [point.name, rate(point.flopsPerS, "FLOP/s")]),
  ];
  const label =
    `Roofline: ${digits(props.flopsPerByte)} FLOP a byte. ` + rows().map(([name, value]) => `${name} ${value}`).join(", ");
  return (
    <div ref={place}>
      {width > 0 && (
        <svg class="drawing" width={width} height={height} role="img" aria-label={label}>
          {logTicks(xLow, xHigh, width / 70).map((tick) => (
            <g key={`x${tick}`}>
              <line class="grid-line" x1={x(tick)} x2={x(tick)} y1={box.top} y2={box.bottom} />
              <text x={x(tick)} y={box.bottom + 15} text-anchor="middle">{digits(tick, 2)}</text>
            </g>
          ))}
          {logTicks(yLow, yHigh, 6).map((tick) => (
            <g key={`y${tick}`}>
              <line class="grid-line" x1={box.left} x2={box.right} y1={y(tick)} y2={y(tick)} />
              <text x={box.left - 6} y={y(tick) + 4} text-anchor="end">{digits(tick / 1e9, 2)}</text>
            </g>
          ))}
          <text x={(box.left + box.right) / 2} y={height - 4} text-anchor="middle">FLOP a byte of compulsory traffic</text>
          <text x={12} y={(box.top + box.bottom) / 2} text-anchor="middle" transform={`rotate(-90 12 ${(box.top + box.bottom) / 2})`}>GFLOP/s</text>
          {known.map(([name, , hue, dash]) => {
            const end = Math.min((peak > 0 ? peak : yHigh) / props.peaks[name], xHigh);
            const from = Math.max(xLow, yLow / props.peaks[name]);
            if (end <= from) return null;
            return (
              <g key={name}>
                <line x1={x(from)} y1={y(from * props.peaks[name])} x2={x(end)} y2={y(end * props.peaks[name])} stroke={`var(--${hue})`} stroke-width="2" stroke-dasharray={dash} />
              </g>
            );
          })}
          {peak > 0 && known.length > 0 && (
            <line x1={x(Math.min(...knees))} x2={box.right} y1={y(peak)} y2={y(peak)} stroke="var(--line-strong)" stroke-width="2" />
          )}
          {peak > 0 && <text class="strong" x={box.right} y={y(peak) - 6} text-anchor="end">{rate(peak, "FLOP/s")}</text>}
          <line class="axis-line" x1={x(props.flopsPerByte)} x2={x(props.flopsPerByte)} y1={box.top} y2={box.bottom} stroke-dasharray="2 4" />
          {drawn.map((point) => (
            <circle key={point.name} cx={x(props.flopsPerByte)} cy={y(point.flopsPerS)} r="5.5" stroke={`var(--${point.colour})`} stroke-width="2.2" fill={point.shape === "dot" ? `var(--${point.colour})` : "var(--surface)"} />
          ))}
        </svg>
      )}
      <ul class="legend">
        {drawn.map((point) => (
          <li class="key" key={point.name}>
            <svg width="14" height="14" aria-hidden="true"><circle cx="7" cy="7" r="4.6" stroke={`var(--${point.colour})`} stroke-width="2" fill={point.shape === "dot" ? `var(--${point.colour})` : "none"} /></svg>
            {point.name} <span class="num muted">{rate(point.flopsPerS, "FLOP/s")}{Number.isFinite(attainable) && `, ${Math.round((100 * point.flopsPerS) / attainable)}\u202f% of the roof`}</span>
          </li>
        ))}
        {known.map(([name, word, hue, dash]) => (
          <li class="key" key={name}>
            <svg width="22" height="8" aria-hidden="true"><line x1="0" y1="4" x2="22" y2="4" stroke={`var(--${hue})`} stroke-width="2.5" stroke-dasharray={dash} /></svg>
            {word} <span class="num muted">{rate(props.peaks[name], "B/s")}</span>
          </li>
        ))}
      </ul>
      <Values caption="Roofline" head={["", "Measured"]} rows={rows} />
    </div>
  );
}
