// Owns: reading JSON lines of records (`tuner export`): the best of each kernel, without keeping the lines.
import { lines } from "../api/stream";

/** What a schedule is the answer to, as the lines write it. */
export interface Problem {
  workload: string;
  binding: string;
  in_layouts: string;
  out_layouts: string;
  target: string;
  threads: number;
  reuse_distance_bytes?: number;
}

export interface Best {
  problem: Problem;
  label: string; // the workload's operator
  ns: number;
  lowNs: number;
  highNs: number;
  schedule: string;
  deviceClass: string;
  untuned: boolean;
  measurements: number; // of this kernel, with any outcome
}

interface Line {
  type: string;
  key?: string;
  op?: string;
  problem?: Problem;
  schedule?: string;
  outcome?: string;
  samples?: [number, number][];
  untuned?: boolean;
  device?: { class: string; fingerprint: string };
  semantics_version?: number;
  numerics?: string[];
  match?: { ns: number; low_ns: number; high_ns: number };
  median_ns?: number;
  interval_ns?: [number, number];
}

export const problemKey = (of: Problem): string =>
  JSON.stringify([of.workload, of.binding, of.in_layouts, of.out_layouts, of.target, of.threads, of.reuse_distance_bytes ?? 0]);

/** Times compare within one class of device. */
export const kernelKey = (of: Problem, deviceClass: string): string => `${problemKey(of)} ${deviceClass}`;

const middle = (sorted: readonly number[]): number => {
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

/** A measurement's time and its 95% bounds; those of the median by order statistics where the line does not tell them. */
export function timeOf(line: Line): { ns: number; lowNs: number; highNs: number } | undefined {
  if (line.match) return { ns: line.match.ns, lowNs: line.match.low_ns, highNs: line.match.high_ns };
  const times = (line.samples ?? []).filter(([, runs]) => runs > 0).map(([total, runs]) => total / runs).sort((a, b) => a - b);
  const ns = line.median_ns ?? (times.length > 0 ? middle(times) : undefined);
  if (ns === undefined) return undefined;
  if (line.interval_ns) return { ns, lowNs: line.interval_ns[0], highNs: line.interval_ns[1] };
  const n = times.length;
  const from = Math.max(0, Math.floor((n - 1.96 * Math.sqrt(n)) / 2));
  return { ns, lowNs: times[from] ?? ns, highNs: times[n - 1 - from] ?? ns };
}

/** Takes lines one by one, in the order of the file. */
export class BestOfEach {
  private readonly labels = new Map<string, string>();
  private readonly kernels = new Map<string, { problem: Problem; count: number; programs: Map<string, { best: Best; fingerprint: string }> }>();
  private headed = false;
  count = 0; // measurements

  /** Throws an Error that names what is wrong with the line. */
  add(text: string): void {
    if (text.trim() === "") return;
    let line: Line;
    try {
      line = JSON.parse(text) as Line;
    } catch {
      throw new Error("it is no JSON; a file of `tuner export` has a JSON object on each line");
    }
    if (!this.headed && line.type !== "tunefarm-records") throw new Error("it does not begin as records do; make the file by `tuner export`");
    this.headed = true;
    if (line.type === "workload" && line.key) this.labels.set(line.key, line.op ?? "");
    if (line.type === "measurement" && line.problem) this.measurement(line, line.problem);
  }

  private measurement(line: Line, problem: Problem): void {
    this.count++;
    const { class: deviceClass = "", fingerprint = "" } = line.device ?? {};
    const key = kernelKey(problem, deviceClass);
    let kernel = this.kernels.get(key);
    if (!kernel) this.kernels.set(key, (kernel = { problem, count: 0, programs: new Map() }));
    kernel.count++;
    if (line.outcome === "stopped_early" || line.numerics?.length) return;
    // As database/which_count.h: the last measurement of a program counts. A failure refutes the times of its own machine, and one
    // of the compiler those of all.
    const schedule = line.schedule ?? "";
    const program = `${line.semantics_version} ${schedule}`;
    const time = line.outcome === "ok" ? timeOf(line) : undefined;
    if (time) {
      kernel.programs.set(program, { best: { problem, label: "", ...time, schedule, deviceClass, untuned: line.untuned ?? false, measurements: 0 }, fingerprint });
      return;
    }
    const other = kernel.programs.get(program)?.fingerprint;
    if (line.outcome === "compile_error" || !fingerprint || !other || other === fingerprint) kernel.programs.delete(program);
  }

  /** Of each kernel and class of device that has an ok measurement, the fastest with full precision, by kernelKey. */
  result(): Map<string, Best> {
    const found = new Map<string, Best>();
    for (const [key, { problem, count, programs }] of this.kernels) {
      let best: Best | undefined;
      for (const one of programs.values()) if (!best || one.best.ns < best.ns) best = one.best;
      if (best) found.set(key, { ...best, label: this.labels.get(problem.workload) ?? problem.workload.slice(0, 12), measurements: count });
    }
    return found;
  }
}

/** Reads a file as it comes; `told` hears how many bytes are read. Errors name the line. */
export async function readBest(file: Blob, told: (bytes: number) => void, abort?: AbortSignal): Promise<{ best: Map<string, Best>; count: number }> {
  const each = new BestOfEach();
  let number = 0;
  let bytes = 0;
  for await (const line of lines(file.stream())) {
    number++;
    bytes += line.length + 1;
    try {
      each.add(line);
    } catch (error) {
      throw new Error(`line ${number}: ${(error as Error).message}`);
    }
    if (number % 2000 === 0) {
      told(Math.min(bytes, file.size));
      await new Promise((resolve) => setTimeout(resolve)); // the page goes on
      abort?.throwIfAborted();
    }
  }
  return { best: each.result(), count: each.count };
}
