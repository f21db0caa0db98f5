// Owns: ranges and ticks of axes. Does not know: how they are drawn.

const niceSteps = [1, 2, 2.5, 5, 10];

/** Round numbers inside [low, high], about `most` of them. */
export function linearTicks(low: number, high: number, most = 6): number[] {
  if (!(high > low)) return [low];
  const rough = (high - low) / most;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = size * niceSteps.find((nice) => size * nice >= rough * 0.999)!;
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-12); i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/** Whole numbers inside [low, high], about `most` of them. */
export function wholeTicks(low: number, high: number, most = 6): number[] {
  return linearTicks(low, high, Math.min(most, Math.max(1, high - low))).filter(Number.isInteger);
}

const timeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200];

/** Times that people count by, of an axis in seconds. */
export function timeTicks(low: number, high: number, most = 6): number[] {
  const rough = (high - low) / most;
  if (rough < 1) return linearTicks(low, high, most);
  const step = timeSteps.find((one) => one >= rough) ?? Math.ceil(rough / 86400) * 86400;
  const ticks: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(tick);
  return ticks;
}

/** Round numbers of a logarithmic axis: powers of ten where there are many, more between them where there are few. */
export function logTicks(low: number, high: number, most = 7): number[] {
  if (!(low > 0) || !(high > low)) return [low];
  if (high / low < 4) return linearTicks(low, high, Math.min(most, 5)).filter((tick) => tick > 0);
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const every = Math.ceil((last - first) / most);
  for (const within of every > 1 ? [[1]] : [[1, 2, 3, 5], [1, 2, 5], [1, 3], [1]]) {
    const ticks: number[] = [];
    for (let power = first; power <= last; power += every)
      for (const digit of within) {
        const tick = Number((digit * 10 ** power).toPrecision(12));
        if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
      }
    if (ticks.length <= most + 1 || within.length === 1) return ticks;
  }
  return [];
}

/** Of positive numbers, with some space around them. */
export function logRange(values: Iterable<number>, pad = 0.08): [number, number] {
  let low = Infinity;
  let high = 0;
  for (const value of values)
    if (value > 0 && Number.isFinite(value)) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  if (high === 0) return [1, 10];
  const by = Math.max((high / low) ** pad, 1.04);
  return [low / by, high * by];
}
