// Owns: the distributions of a few candidates' samples on one axis: each sample a mark, with median and 95% bounds.
import type { Candidate } from "../api/messages";
import { useState } from "preact/hooks";
import { percent, time } from "../format";
import { Switch } from "../ui/parts";
import { useWidth } from "../ui/width";
import { linearTicks } from "./scale";
import { Values } from "./values";

export interface SampleRow {
  name: string;
  candidate: Candidate;
  colour: string;
}

/** Puts marks that would cover each other above and below the line: the offset of each, in marks. */
export function swarm(positions: readonly number[], apart: number): number[] {
  const order = positions.map((_, i) => i).sort((a, b) => positions[a] - positions[b]);
  const placed: { at: number; level: number }[] = [];
  const offsets = new Array<number>(positions.length).fill(0);
  for (const i of order) {
    const close = new Set(placed.filter((one) => positions[i] - one.at < apart).map((one) => one.level));
    let level = 0;
    while (close.has(level)) level = level > 0 ? -level : 1 - level;
    offsets[i] = level;
    placed.push({ at: positions[i], level });
    if (placed.length > 64) placed.shift();
  }
  return offsets;
}

export function Samples(props: { rows: SampleRow[] }) {
  const [place, width] = useWidth<HTMLDivElement>();
  const [picked, setPicked] = useState<"times" | "spread">();
  const rows = props.rows.filter((row) => row.candidate.samplesNs.length > 0);
  if (rows.length === 0) return <p class="empty">No samples are kept.</p>;
  // Times that are far apart leave no room to see how far each scatters.
  const times = rows.map((row) => row.candidate.ns);
  const against = picked ?? (Math.max(...times) > 1.3 * Math.min(...times) ? "spread" : "times");
  const valueOf = (row: SampleRow, ns: number) => (against === "spread" ? ns / row.candidate.ns - 1 : ns);
  const all = rows.flatMap((row) => [...row.candidate.samplesNs, row.candidate.lowNs, row.candidate.highNs].filter((ns) => ns > 0).map((ns) => valueOf(row, ns)));
  const low = Math.min(...all);
  const high = Math.max(...all);
  const pad = (high - low) * 0.05 || Math.abs(low) * 0.05 || 0.01;
  const rowHeight = 74;
  const height = rows.length * rowHeight + 24;
  const at = (value: number) => 8 + ((width - 16) * (value - low + pad)) / (high - low + 2 * pad);
  const label = rows
    .map((row) => `${row.name}: ${row.candidate.samplesNs.length} samples, ${time(row.candidate.ns)}, 95% between ${time(row.candidate.lowNs)} and ${time(row.candidate.highNs)}`)
    .join(". ");
  return (
    <div ref={place}>
      <Switch label="Samples as" value={against} onChange={setPicked} options={[["times", "Times"], ["spread", "Spread around each one's time"]]} />
      {width > 0 && (
        <svg class="drawing" width={width} height={height} role="img" aria-label={label}>
          {linearTicks(low - pad, high + pad, Math.max(3, width / 110)).map((tick) => (
            <g key={tick}>
              <line class="grid-line" x1={at(tick)} x2={at(tick)} y1={0} y2={height - 20} />
              <text x={at(tick)} y={height - 5} text-anchor="middle">{against === "spread" ? `${tick > 0 ? "+" : ""}${percent(tick)}` : time(tick)}</text>
            </g>
          ))}
          {rows.map((row, i) => {
            const middle = i * rowHeight + 44;
            const x = (ns: number) => at(valueOf(row, ns));
            const offsets = swarm(row.candidate.samplesNs.map(x), 5);
            const paint = `var(--${row.colour})`;
            const nearEnd = x(row.candidate.lowNs) > width - 190;
            return (
              <g key={row.name}>
                <rect x={x(row.candidate.lowNs)} width={Math.max(2, x(row.candidate.highNs) - x(row.candidate.lowNs))} y={middle - 20} height={40} fill={paint} opacity="0.16" rx="2" />
                {row.candidate.samplesNs.map((ns, sample) => (
                  <circle key={sample} cx={x(ns)} cy={middle + Math.max(-4, Math.min(4, offsets[sample])) * 5} r="2.6" fill={paint} opacity="0.8" />
                ))}
                <line x1={x(row.candidate.ns)} x2={x(row.candidate.ns)} y1={middle - 22} y2={middle + 22} stroke="var(--text)" stroke-width="2" />
                <text class="strong" x={nearEnd ? width - 8 : Math.max(8, x(row.candidate.lowNs))} text-anchor={nearEnd ? "end" : "start"} y={middle - 28}>
                  {row.name} {time(row.candidate.ns)}
                </text>
              </g>
            );
          })}
        </svg>
      )}
      <Values
        caption="Samples"
        head={["", "Samples", "Fastest", "Time", "95% bounds", "Slowest"]}
        rows={() =>
          rows.map(({ name, candidate }) => [
            name,
            String(candidate.samplesNs.length),
            time(Math.min(...candidate.samplesNs)),
            time(candidate.ns),
            `${time(candidate.lowNs)} – ${time(candidate.highNs)}`,
            time(Math.max(...candidate.samplesNs)),
          ])
        }
      />
    </div>
  );
}
