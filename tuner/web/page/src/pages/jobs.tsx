// Owns: all jobs of the tuner, and submitting one.
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/client";
import type { JobUpdate } from "../api/messages";
import { ago, count, duration, percent, secondsOf, speedup } from "../format";
import { jobLink } from "../router";
import { maySubmit } from "../session";
import { Card, Fault, Loading, Share, Switch, Title } from "../ui/parts";
import { type Column, Table } from "../ui/table";
import { JobActions, JobPill, isFinal, networkNs, usedShare } from "./job_state";
import { SubmitCard } from "./submit";

const everyMs = 2000;

/** All jobs, page by page, in order of submission. */
async function listJobs(abort: AbortSignal): Promise<JobUpdate[]> {
  const jobs: JobUpdate[] = [];
  for (let after = "0"; ; ) {
    const page = await call("Tuner/ListJobs", { inPages: true, afterJobId: after }, abort);
    jobs.push(...page.jobs);
    if (!page.more || page.jobs.length === 0) return jobs;
    after = page.jobs.at(-1)!.jobId;
  }
}

function Progress(props: { job: JobUpdate }) {
  const share = usedShare(props.job);
  const trials = `${count(Number(props.job.trials))} trials`;
  return share === undefined ? <span class="num">{trials}</span> : <Share of={share} text={isFinal(props.job.state) ? trials : `${percent(share)} · ${trials}`} />;
}

function left(job: JobUpdate): string {
  if (isFinal(job.state)) return `ended ${ago(secondsOf(job.finishedUnixNs))}`;
  if (job.state === "JOB_STATE_RUNNING" && job.progress?.remainingS !== undefined) return duration(job.progress.remainingS);
  return "–";
}

const columns = (again: () => void): Column<JobUpdate>[] => [
  {
    head: "Job",
    cell: (job) => <a href={jobLink(job.jobId)}>{job.spec?.modelName || "unnamed"} <span class="muted num">#{job.jobId}</span></a>,
  },
  {
    head: "State",
    wide: true,
    cell: (job) => (
      <span>
        <JobPill job={job} />
        {job.detail && job.state !== "JOB_STATE_DONE" && <span class="block muted small detail">{job.detail}</span>}
      </span>
    ),
  },
  { head: "Owner", cell: (job) => job.submitter || <span class="muted">not known</span> },
  { head: "Device key", cell: (job) => <span class="clip">{job.spec?.deviceKey || "this machine"}</span> },
  { head: "Progress", cell: (job) => <Progress job={job} /> },
  {
    head: "Faster",
    right: true,
    cell: (job) => speedup(networkNs(job.progress, "untunedNs"), networkNs(job.progress, "bestNs")),
  },
  {
    head: "Gain of next minute",
    right: true,
    cell: (job) => (job.state === "JOB_STATE_RUNNING" && job.progress?.expectedGain !== undefined ? percent(job.progress.expectedGain) : "–"),
  },
  { head: "Time left", right: true, cell: (job) => <span title={isFinal(job.state) ? "finished" : undefined}>{left(job)}</span> },
  {
    head: "Actions",
    hideHead: true,
    cell: (job) => <span class="row-actions"><JobActions job={job} onChange={again} named /></span>,
  },
];

export function JobsPage() {
  const [jobs, setJobs] = useState<JobUpdate[]>();
  const [error, setError] = useState<Error>();
  const [wish, setWish] = useState(0);
  const [which, setWhich] = useState<"all" | "open">("all");
  const [shown, setShown] = useState(100);
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const run = async () => {
      if (!document.hidden) {
        try {
          const now = await listJobs(abort.signal);
          setJobs(now);
          setError(undefined);
        } catch (failure) {
          if (!abort.signal.aborted) setError(failure as Error);
        }
      }
      if (!abort.signal.aborted) timer = setTimeout(run, everyMs);
    };
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [wish]);
  const again = () => setWish((old) => old + 1);
  const listed = (jobs ?? []).filter((job) => which === "all" || !isFinal(job.state)).reverse();
  const open = (jobs ?? []).filter((job) => !isFinal(job.state)).length;
  return (
    <>
      <div class="head">
        <Title page="Jobs">Jobs</Title>
        {jobs && <p class="muted">{count(jobs.length)} in all, {count(open)} open</p>}
      </div>
      <Fault error={error} stale={jobs !== undefined} />
      {maySubmit() && <SubmitCard onSubmitted={again} />}
      {jobs ? (
        <Card title="All jobs, latest first" end={<Switch label="Which jobs" value={which} onChange={setWhich} options={[["all", "All"], ["open", "Open"]]} />}>
          <Table caption="Jobs" stack columns={columns(again)} rows={listed.slice(0, shown)} id={(job) => job.jobId} empty={which === "open" ? "No job is open." : "No job was submitted yet."} />
          {listed.length > shown && <p class="more"><button onClick={() => setShown(shown + 200)}>Show older ones ({count(listed.length - shown)})</button></p>}
        </Card>
      ) : (
        !error && <Loading what="jobs" />
      )}
    </>
  );
}
