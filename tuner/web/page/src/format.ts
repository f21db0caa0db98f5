// Owns: numbers and times as people read them.

/** To three digits, without an exponent where that reads well. */
export function digits(value: number, of = 3): string {
  if (!Number.isFinite(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return value.toLocaleString("en-US");
  const size = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(of)))));
  if (size >= of) return Math.round(value).toLocaleString("en-US");
  if (size < -4) return value.toExponential(of - 1);
  return value.toFixed(Math.min(Math.max(of - 1 - size, 0), 8));
}

const scaled = (value: number, steps: [number, string][]): string => {
  const [by, unit] = steps.find(([least]) => Math.abs(value) >= least * 0.9995) ?? steps.at(-1)!;
  return `${digits(value / by)}\u202f${unit}`;
};

/** A kernel's time. 0 means that there is none. */
export const time = (ns: number): string =>
  ns > 0 ? scaled(ns, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]) : "–";

export const bytes = (count: number): string =>
  count > 0 ? scaled(count, [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]]) : "–";

export const rate = (perSecond: number, unit: string): string =>
  scaled(perSecond, [[1e12, `T${unit}`], [1e9, `G${unit}`], [1e6, `M${unit}`], [1, unit]]);

export const count = (value: number): string => Math.round(value).toLocaleString("en-US");

export const percent = (share: number): string => {
  if (!Number.isFinite(share)) return "–";
  const value = share * 100;
  return `${value !== 0 && Math.abs(value) < 9.95 ? value.toFixed(1) : value.toFixed(0)}\u202f%`;
};

/** "1.42×": how much faster `after` is than `before`; a dash where one of them is not known. */
export const speedup = (before: number, after: number): string =>
  before > 0 && after > 0 ? `${(before / after).toFixed(2)}×` : "–";

/** A length of time: "45 s", "12 min", "3 h 05 min", "2 d 4 h". */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 1) return seconds <= 0 ? "0 s" : "< 1 s";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${String(minutes % 60).padStart(2, "0")} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A time of an axis, exactly: "30 s", "1:30 min", "2:05 h". */
export function clock(seconds: number): string {
  if (seconds < 60) return `${digits(seconds)} s`;
  const [whole, rest, unit] = seconds < 3600 ? [Math.floor(seconds / 60), Math.round(seconds % 60), "min"] : [Math.floor(seconds / 3600), Math.round((seconds % 3600) / 60), "h"];
  return rest === 0 ? `${whole} ${unit}` : `${whole}:${String(rest).padStart(2, "0")} ${unit}`;
}

export const ago = (unixSeconds: number, now = Date.now() / 1000): string =>
  unixSeconds > 0 ? `${duration(Math.max(0, now - unixSeconds))} ago` : "–";

export const moment = (unixSeconds: number): string =>
  unixSeconds > 0 ? new Date(unixSeconds * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }) : "–";

/** A 64-bit number of nanoseconds, which JSON has as a text, in seconds. */
export const secondsOf = (unixNs: string): number => Number(unixNs) / 1e9;

/** JOB_STATE_RUNNING → "running", with the enum's own prefix. */
export const enumWord = (value: string, prefix: string): string => value.replace(prefix, "").toLowerCase().replaceAll("_", " ");

/** "wrong_output" → "wrong output". */
export const words = (name: string): string => name.replaceAll("_", " ");
