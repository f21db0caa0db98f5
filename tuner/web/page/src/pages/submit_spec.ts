// Owns: what people type of a job, as the service takes it. Does not know: the form.
import type { JobSpec } from "../api/messages";

export interface Typed {
  name: string;
  owner: string;
  deviceKey: string;
  target: string;
  threads: string;
  minutes: string;
  trials: string;
  dims: string; // a line each: NAME=SIZE, or NAME=LEAST..MOST[:MULTIPLE]
  at: string; // a line each: NAME=SIZE,NAME=SIZE: sizes of open dimensions that get kernels of their own
  priority: string;
  slots: string;
  numerics: string[];
}

const dimLine = /^([^=\s]+)\s*=\s*(\d+)(?:\s*\.\.\s*(\d+)(?:\s*:\s*(\d+))?)?$/;
const linesOf = (text: string): string[] => text.split(/[\n;]/).map((line) => line.trim()).filter(Boolean);

function whole(text: string, what: string, least: number): number {
  const value = Number(text.trim() || least);
  if (!Number.isInteger(value)) throw new Error(`${what} is "${text}"; it takes a whole number, as in ${Math.max(1, least)}`);
  return value;
}

/** Throws an Error that says what to type instead. */
export function specOf(typed: Typed): Partial<JobSpec> {
  const dims: JobSpec["dims"] = {};
  const openDims: JobSpec["openDims"] = [];
  for (const line of linesOf(typed.dims)) {
    const found = dimLine.exec(line);
    if (!found) throw new Error(`dimension "${line}": write NAME=SIZE, as in batch=8, or a range, as in batch=1..64 or height=32..512:32`);
    const [, name, least, most, multiple] = found;
    if (most === undefined) dims[name] = least;
    else openDims.push({ name, least, most, multipleOf: multiple ?? "1" });
  }
  const anchors = linesOf(typed.at).map((line) => {
    const sizes: Record<string, string> = {};
    for (const part of line.split(",")) {
      const found = /^\s*([^=\s]+)\s*=\s*(\d+)\s*$/.exec(part);
      if (!found) throw new Error(`sizes "${line}": write NAME=SIZE for each open dimension, as in batch=8 or height=224,width=224`);
      sizes[found[1]] = found[2];
    }
    return { sizes };
  });
  const minutes = Number(typed.minutes || 0);
  if (!(minutes >= 0)) throw new Error(`minutes is "${typed.minutes}"; it takes a number, as in 10 or 1.5`);
  const trials = whole(typed.trials, "trials", 0);
  if (minutes === 0 && trials === 0) throw new Error("the job has no end: give it minutes, or trials");
  return {
    modelName: typed.name,
    deviceKey: typed.deviceKey,
    target: typed.target.trim(),
    threads: whole(typed.threads, "threads", 1),
    minutes,
    trials: String(trials),
    dims,
    openDims,
    anchors,
    priority: whole(typed.priority, "priority", 0),
    slots: whole(typed.slots, "slots", 0),
    allowedNumerics: typed.numerics,
  };
}
