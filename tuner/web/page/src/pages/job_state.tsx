// Owns: how a job stands, in words and signs, and the buttons that change it.
import { useState } from "preact/hooks";
import { type Method, call } from "../api/client";
import type { JobState, JobUpdate, Progress } from "../api/messages";
import { enumWord } from "../format";
import { mayChange } from "../session";
import { Fault, Pill, type Tone } from "../ui/parts";

const looks: Record<string, [Tone, string]> = {
  JOB_STATE_QUEUED: ["warn", "◷"],
  JOB_STATE_RUNNING: ["info", "●"],
  JOB_STATE_PAUSED: ["", "❚❚"],
  JOB_STATE_DONE: ["good", "✓"],
  JOB_STATE_FAILED: ["bad", "✕"],
  JOB_STATE_CANCELLED: ["", "⊘"],
};

export const isFinal = (state: JobState): boolean =>
  state === "JOB_STATE_DONE" || state === "JOB_STATE_FAILED" || state === "JOB_STATE_CANCELLED";

export function JobPill(props: { job: JobUpdate }) {
  const { state, progress } = props.job;
  const [tone, sign] = looks[state] ?? ["", "?"];
  const finals = state === "JOB_STATE_RUNNING" && progress?.phase === "PHASE_FINALS";
  return (
    <Pill tone={tone} sign={sign} live={state === "JOB_STATE_RUNNING"}>
      {finals ? "final measurements" : enumWord(state, "JOB_STATE_")}
    </Pill>
  );
}

/** The share of its budget that a job has used, 0 to 1; nothing: it has no budget. */
export function usedShare(job: JobUpdate): number | undefined {
  if (isFinal(job.state) && job.state === "JOB_STATE_DONE") return 1;
  const trials = Number(job.spec?.trials ?? 0);
  const shares: number[] = [];
  if (trials > 0) shares.push(Number(job.trials) / trials);
  const minutes = job.spec?.minutes ?? 0;
  if (minutes > 0 && job.progress) shares.push((job.progress.elapsedS - job.progress.withoutDeviceS) / (minutes * 60));
  return shares.length > 0 ? Math.min(1, Math.max(...shares)) : undefined;
}

/** The network's time by the tasks' times: 0 unless each has one. */
export function networkNs(progress: Progress | undefined, of: "bestNs" | "untunedNs"): number {
  const tasks = progress?.tasks.filter((task) => task.weight > 0) ?? [];
  if (tasks.length === 0 || tasks.some((task) => !(task[of] > 0))) return 0;
  return tasks.reduce((sum, task) => sum + task.weight * task[of], 0);
}

const actions: [Method & `Tuner/${string}`, string, (state: JobState) => boolean][] = [
  ["Tuner/PauseJob", "Pause", (state) => state === "JOB_STATE_QUEUED" || state === "JOB_STATE_RUNNING"],
  ["Tuner/ResumeJob", "Resume", (state) => state === "JOB_STATE_PAUSED"],
  ["Tuner/CancelJob", "Cancel", (state) => !isFinal(state)],
];

export function JobActions(props: { job: JobUpdate; onChange: (job?: JobUpdate) => void; named?: boolean }) {
  const [busy, setBusy] = useState("");
  const [error, setError] = useState<Error>();
  const { job } = props;
  if (!mayChange(job.submitter)) return null;
  const act = async (method: "Tuner/PauseJob" | "Tuner/ResumeJob" | "Tuner/CancelJob", word: string) => {
    if (method === "Tuner/CancelJob" && !confirm(`Cancel job ${job.jobId} (${job.spec?.modelName})? What it measured is kept.`)) return;
    setBusy(word);
    setError(undefined);
    try {
      props.onChange(await call(method, { jobId: job.jobId }));
    } catch (failure) {
      setError(failure as Error);
    }
    setBusy("");
  };
  return (
    <>
      {actions.filter(([, , fits]) => fits(job.state)).map(([method, word]) => (
        <button key={word} class={word === "Cancel" ? "danger" : ""} disabled={busy !== ""} aria-label={props.named ? `${word} job ${job.jobId}` : undefined} onClick={() => act(method as "Tuner/PauseJob", word)}>
          {busy === word ? `${word} …` : word}
        </button>
      ))}
      <Fault error={error} />
    </>
  );
}
