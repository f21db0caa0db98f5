// Owns: a job's curves with what its progress has told since they were asked for. Does not know: how they are drawn.
import type { Curve, JobCurves, JobUpdate, TaskCurve } from "../api/messages";
import { networkNs } from "./job_state";

/** How one job stood at a moment: what a curve gets between two answers of the service. */
export interface Moment {
  atMs: number; // by the browser's clock
  trials: number;
  networkNs: number; // 0: not each task has a time
  tasksNs: ReadonlyMap<string, number>; // by label; labels that several tasks share are left out
}

export function momentOf(job: JobUpdate, atMs: number): Moment | undefined {
  const { progress } = job;
  if (!progress) return undefined;
  const seen = new Map<string, number>();
  const twice = new Set<string>();
  for (const task of progress.tasks) {
    if (seen.has(task.label)) twice.add(task.label);
    seen.set(task.label, task.bestNs);
  }
  for (const label of twice) seen.delete(label);
  return { atMs, trials: progress.trials, networkNs: networkNs(progress, "bestNs"), tasksNs: seen };
}

/** Seconds since the job began, pauses included, as the service counts them: from its last answer on, whatever its clock shows. */
const elapsedS = (of: Moment, curves: JobCurves, answeredMs: number): number =>
  Math.max(0, curves.lastUnixS - curves.beganUnixS) + Math.max(0, of.atMs - answeredMs) / 1000;

function extended(curve: Curve, moments: readonly Moment[], elapsed: (of: Moment) => number, ns: (of: Moment) => number): Curve {
  const last = curve.trials.at(-1) ?? -1;
  const more = moments.filter((moment) => moment.trials > last && ns(moment) > 0);
  if (more.length === 0) return curve;
  return {
    elapsedS: [...curve.elapsedS, ...more.map((moment) => Math.max(elapsed(moment), curve.elapsedS.at(-1) ?? 0))],
    trials: [...curve.trials, ...more.map((moment) => moment.trials)],
    ns: [...curve.ns, ...more.map(ns)],
  };
}

/** The curves up to the last of these moments. */
export function withMoments(curves: JobCurves, moments: readonly Moment[], answeredMs: number): JobCurves {
  if (moments.length === 0) return curves;
  const elapsed = (of: Moment) => elapsedS(of, curves, answeredMs);
  return {
    ...curves,
    network: extended(curves.network ?? { elapsedS: [], trials: [], ns: [] }, moments, elapsed, (moment) => moment.networkNs),
    tasks: curves.tasks.map((task) => ({ ...task, best: extended(bestOf(task), moments, elapsed, (moment) => moment.tasksNs.get(task.label) ?? 0) })),
  };
}

export const bestOf = (task: TaskCurve): Curve => task.best ?? { elapsedS: [], trials: [], ns: [] };

/** Where the curves end: the last moment that anything is known of, in seconds or trials. */
export function endOf(curves: JobCurves, moments: readonly Moment[], answeredMs: number, against: "time" | "trials"): number {
  const last = moments.at(-1);
  if (against === "time") return Math.max(curves.lastUnixS - curves.beganUnixS, last ? elapsedS(last, curves, answeredMs) : 0, curves.network?.elapsedS.at(-1) ?? 0, 1);
  const counted = Object.values(curves.outcomes).reduce((sum, of) => sum + of, 0);
  return Math.max(counted, last?.trials ?? 0, curves.network?.trials.at(-1) ?? 0, 1);
}

/** The tasks by what they take of the network's time, the most first. */
export const byTime = (tasks: readonly TaskCurve[]): TaskCurve[] =>
  [...tasks].sort((a, b) => b.weight * (b.bestNs || b.untunedNs) - a.weight * (a.bestNs || a.untunedNs));
