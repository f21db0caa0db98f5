// Owns: the best records that the service has of given kernels, and an export of its records.
import { call, stream } from "../api/client";
import type { KernelKey } from "../api/messages";
import { type Best, BestOfEach, type Problem, kernelKey } from "./lines";

const atOnce = 6;

// Layouts are joined as the database joins them (compiler/tensor: join_layouts).
const layouts = (joined: string): string[] => (joined === "" ? [] : joined.split(";"));

const keyMessage = (of: Problem): KernelKey => ({
  workload: of.workload,
  binding: of.binding,
  inLayouts: layouts(of.in_layouts),
  outLayouts: layouts(of.out_layouts),
  target: of.target,
  threads: of.threads,
  reuseDistanceBytes: String(of.reuse_distance_bytes ?? 0),
});

/** The best that the service has of each of these kernels, of the same class of device. */
export async function bestHere(of: ReadonlyMap<string, Best>, told: (done: number) => void, abort: AbortSignal): Promise<Map<string, Best>> {
  const found = new Map<string, Best>();
  const left = [...of.values()];
  let done = 0;
  const worker = async () => {
    for (let one = left.pop(); one; one = left.pop()) {
      const { lines } = await call("Records/Best", { kernel: keyMessage(one.problem), deviceClass: one.deviceClass, limit: 1 }, abort);
      if (lines.length > 0) {
        const each = new BestOfEach();
        each.add('{"type":"tunefarm-records"}');
        for (const line of lines) each.add(line);
        const [best] = each.result().values();
        if (best) found.set(kernelKey(one.problem, one.deviceClass), { ...best, label: one.label });
      }
      told(++done);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return found;
}

/** All records in the form of `tuner export`; paths in details of failures are cut by the HTTP API. `told` hears how many measurements there are so far. */
export async function exportAll(told: (count: number) => void, abort: AbortSignal): Promise<Blob> {
  const parts: string[] = ['{"type":"tunefarm-records","version":2}\n'];
  for await (const { lines } of stream("Records/ListWorkloads", {}, abort)) parts.push(lines.map((line) => `${line}\n`).join(""));
  let count = 0;
  for await (const { lines } of stream("Records/Scan", {}, abort)) {
    parts.push(lines.map((line) => `${line}\n`).join(""));
    told((count += lines.length));
  }
  for await (const { lines } of stream("Records/ListVerdicts", {}, abort)) parts.push(lines.map((line) => `${line}\n`).join(""));
  return new Blob(parts, { type: "application/x-ndjson" });
}

export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
