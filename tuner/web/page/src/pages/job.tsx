// Owns: one job: how its network and its kernels become faster, live.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { canAsk, report } from "../api/embedded";
import { useAnswer, useStream } from "../api/live";
import type { JobCurves, JobUpdate, TaskCurve } from "../api/messages";
import { clock, count, digits, duration, moment, percent, secondsOf, speedup, time } from "../format";
import { CurvePlot, type Curve } from "../plots/curve_plot";
import { OutcomeBar } from "../plots/outcome_bar";
import { kernelLink, networkLink, route, setQuery } from "../router";
import { isGpu } from "../target";
import { useSlow } from "../ui/slow";
import { Card, Facts, Fault, Loading, Share, Stat, Stats, Switch, Title } from "../ui/parts";
import { type Column, Table } from "../ui/table";
import { type Moment, bestOf, byTime, endOf, momentOf, withMoments } from "./job_curves";
import { JobActions, JobPill, isFinal, networkNs, usedShare } from "./job_state";

type Against = "time" | "trials";
const curvesEveryMs = 1500;
const kernelsEveryMs = 300;
const mostMoments = 600;
const coloured = 6;
const dashes: (number[] | undefined)[] = [undefined, [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 2]];

/** The job as it is told, and its curves, asked for again while it measures. */
function useJob(id: string) {
  const [job, setJob] = useState<JobUpdate>();
  const [moments, setMoments] = useState<readonly Moment[]>([]);
  const curves = useAnswer("Reports/DescribeJob", { jobId: id });
  const asked = useRef({ at: 0, trials: -1, state: "" });
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  // However many come between two frames, the page is drawn once.
  const come = useRef<Moment[]>([]);
  const frame = useRef(0);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  const take = (update: JobUpdate) => {
    const now = momentOf(update, Date.now());
    const trials = Number(update.trials);
    if (now && come.current.at(-1)?.trials !== now.trials) come.current.push(now);
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => {
      setJob(update);
      const more = come.current;
      come.current = [];
      if (more.length > 0) setMoments((old) => [...old, ...more.filter((one) => one.trials > (old.at(-1)?.trials ?? -1))].slice(-mostMoments));
    });
    if (asked.current.trials === trials && asked.current.state === update.state) return;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      asked.current = { at: Date.now(), trials, state: update.state };
      if (!document.hidden) curves.again();
    }, Math.max(0, asked.current.at + curvesEveryMs - Date.now()));
  };
  const answeredMs = useMemo(() => Date.now(), [curves.value]);
  const broken = useStream("Tuner/WatchJob", { jobId: id }, take);
  // What the service has told since replaces what progress said.
  useEffect(() => {
    const last = curves.value?.network?.trials.at(-1);
    if (last !== undefined) setMoments((old) => (old.length > 0 && old[0].trials <= last ? old.filter((one) => one.trials > last) : old));
  }, [curves.value]);
  return { job, curves, moments, answeredMs, broken };
}

/** 0: there is no time any more. */
const known = (ns: readonly number[]): (number | null)[] => ns.map((one) => one || null);

function networkCurves(curves: JobCurves, against: Against): Curve[] {
  const network = curves.network ?? { elapsedS: [], trials: [], ns: [] };
  const x = against === "time" ? network.elapsedS : network.trials;
  const drawn: Curve[] = [{ name: "tuned", x, y: known(network.ns), colour: "series-1" }];
  if (curves.untunedNetworkNs > 0) drawn.push({ name: "untuned", x: [0], y: [curves.untunedNetworkNs], colour: "line-strong", dash: [4, 4] });
  return drawn;
}

type Scale = "relative" | "times";

/** Relative: to the untuned time, or the first where that was not measured. */
function taskCurves(tasks: readonly TaskCurve[], against: Against, scale: Scale): Curve[] {
  const names = new Map<string, number>();
  return tasks.slice(0, 80).map((task, i) => {
    const before = names.get(task.label) ?? 0;
    names.set(task.label, before + 1);
    const best = bestOf(task);
    const by = scale === "times" ? 1 : task.untunedNs || best.ns.find((ns) => ns > 0) || 1;
    return {
      name: before > 0 ? `${task.label} (${before + 1})` : task.label,
      x: against === "time" ? best.elapsedS : best.trials,
      y: known(best.ns).map((ns) => ns && ns / by),
      colour: i < coloured ? `series-${i + 1}` : "series-rest",
      dash: i < coloured ? dashes[i] : undefined,
      thin: i >= coloured,
    };
  });
}

const taskColumns = (id: string, sum: number, told: Map<string, { trials: number; note: string }>): Column<TaskCurve>[] => [
  { head: "Kernel", cell: (task) => <a href={kernelLink(task.kernelId, id)}>{task.label}</a> },
  { head: "Times in the network", right: true, cell: (task) => digits(task.weight) },
  { head: "Untuned", right: true, cell: (task) => time(task.untunedNs) },
  { head: "Best", right: true, cell: (task) => time(task.bestNs) },
  { head: "Faster", right: true, cell: (task) => speedup(task.untunedNs, task.bestNs) },
  {
    head: "Share of time",
    cell: (task) => (task.bestNs > 0 && sum > 0 ? <Share of={(task.weight * task.bestNs) / sum} text={percent((task.weight * task.bestNs) / sum)} /> : "–"),
  },
  { head: "Trials", right: true, cell: (task) => count(Math.max(task.trials, told.get(task.label)?.trials ?? 0)) },
  ...([...told.values()].some(({ note }) => note) ? [{ head: "Now", cell: (task: TaskCurve) => <span class="muted small">{told.get(task.label)?.note ?? ""}</span> }] : []),
];

function TaskTable(props: { id: string; tasks: readonly TaskCurve[]; job?: JobUpdate }) {
  const { tasks, job } = props;
  const sum = tasks.reduce((total, task) => total + task.weight * task.bestNs, 0);
  const told = new Map(
    (job?.progress?.tasks ?? []).map((task, i) => [
      task.label,
      { trials: task.trials, note: task.givenUp || (task.exhausted ? "nothing new to try" : i === job?.progress?.currentTask && job.state === "JOB_STATE_RUNNING" ? "being tried" : "") },
    ]),
  );
  return <Table caption="Kernels of this job" stack columns={taskColumns(props.id, sum, told)} rows={tasks} id={(task, i) => task.kernelId || i} empty="The model is not read yet." />;
}

export function JobPage(props: { id: string }) {
  const { id } = props;
  const { job, curves, moments, answeredMs, broken } = useJob(id);
  const [against, setAgainst] = useState<Against>(route.value.query.get("against") === "trials" ? "trials" : "time");
  const [scale, setScale] = useState<Scale>("relative");
  const [acted, setActed] = useState<JobUpdate>();
  useEffect(() => setActed(undefined), [job]);
  const value = curves.value;
  const now = acted ?? job;
  const all = useMemo(() => value && withMoments(value, moments, answeredMs), [value, moments]);
  // The network's curve follows each frame; the many curves and rows of kernels need not.
  const slowMoments = useSlow(moments, kernelsEveryMs);
  const tasks = useMemo(() => byTime(value ? withMoments(value, slowMoments, answeredMs).tasks : []), [value, slowMoments]);
  const networks = useMemo(() => (all ? networkCurves(all, against) : []), [all, against]);
  const kernels = useMemo(() => taskCurves(tasks, against, scale), [tasks, against, scale]);
  const until = all ? endOf(all, moments, answeredMs, against) : 1;
  const kernelsUntil = value ? endOf(value, slowMoments, answeredMs, against) : 1;
  const rates = useMemo((): Curve[] => {
    const x = (value?.trialsPerS ?? []).map((_, i) => i * (value?.stepS ?? 0));
    return [{ name: "trials a second", x, y: value?.trialsPerS ?? [], colour: "series-1", fill: true }];
  }, [value]);
  const busy = useMemo((): Curve[] => {
    const x = (value?.busyShare ?? []).map((_, i) => i * (value?.stepS ?? 0));
    return [{ name: "inside timed samples", x, y: value?.busyShare ?? [], colour: "series-3", fill: true }];
  }, [value]);

  const slowNow = useSlow(now, kernelsEveryMs);
  const table = useMemo(() => <TaskTable id={id} tasks={tasks} job={slowNow} />, [tasks, slowNow]);

  const error = curves.error ?? broken;
  if (!now && !value) return error ? <><Title page={`Job ${id}`}>Job {id}</Title><Fault error={error} /></> : <Loading what={`job ${id}`} />;
  const progress = now?.progress;
  const before = networkNs(progress, "untunedNs") || (all?.untunedNetworkNs ?? 0);
  const best = networkNs(progress, "bestNs") || (all?.network?.ns.at(-1) ?? 0);
  const formatX = against === "time" ? clock : count;
  const choose = (to: Against) => {
    setAgainst(to);
    setQuery({ against: to === "trials" ? to : "" });
  };
  const which = <Switch label="Against" value={against} onChange={choose} options={[["time", "Time"], ["trials", "Trials"]]} />;
  const outcomes = value?.outcomes ?? {};
  const trials = Math.max(Number(now?.trials ?? 0), Object.values(outcomes).reduce((a, b) => a + b, 0));
  const share = now && usedShare(now);
  return (
    <>
      <div class="head">
        <p class="crumbs"><a href="#/jobs">{report ? "Report" : "Jobs"}</a> / {id}</p>
        <Title page={`Job ${id}`}>{now?.spec?.modelName || report?.title || `Job ${id}`}</Title>
        {now && <JobPill job={now} />}
        <div class="actions">
          {canAsk("Reports/DescribeNetwork", { jobId: id }) && <a class="button" href={networkLink(id)}>Network graph</a>}
          {now && <JobActions job={now} onChange={setActed} />}
        </div>
      </div>
      {now?.detail && <p class={`notice ${now.state === "JOB_STATE_FAILED" ? "bad" : ""}`}>{now.detail}</p>}
      <Fault error={error} stale={value !== undefined} />
      <Stats>
        <Stat name="Network, best of each kernel" note={before > 0 ? `untuned ${time(before)}` : undefined}>{time(best)}</Stat>
        <Stat name="Faster than untuned" note={before > 0 && best > 0 ? `saves ${percent(1 - best / before)}` : undefined}>{speedup(before, best)}</Stat>
        <Stat
          name="Trials"
          note={progress && [now && !isFinal(now.state) && `${digits(progress.trialsPerSecond)}/s now`, `${count(progress.failures)} failed`].filter(Boolean).join(", ")}
        >
          {count(trials)}
        </Stat>
        {now && !isFinal(now.state) && (
          <Stat name="Gain of the next minute" note="of the network's time">{progress?.expectedGain === undefined ? "–" : percent(progress.expectedGain)}</Stat>
        )}
        {now && (
          <Stat name={isFinal(now.state) ? "Took" : "Time left"} note={share === undefined ? undefined : <progress aria-label="Budget used" value={share} max={1}>{percent(share)}</progress>}>
            {isFinal(now.state) ? duration(progress?.elapsedS ?? Math.max(0, secondsOf(now.finishedUnixNs) - secondsOf(now.startedUnixNs))) : progress?.remainingS === undefined ? "–" : duration(progress.remainingS)}
          </Stat>
        )}
        {progress && <Stat name="Devices busy" note={now && isFinal(now.state) ? "inside timed samples" : `${count(progress.slots)} ${progress.slots === 1 ? "slot" : "slots"} measuring`}>{percent(progress.deviceBusyShare)}</Stat>}
      </Stats>
      {!value ? <Loading what="curves" /> : (
        <>
          <div class="grid">
            <Card title="Time of the network" end={<>{against === "time" && <span class="muted small">since its begin, pauses included</span>}{which}</>}>
              <CurvePlot label="Time of the network with the best of each kernel" curves={networks.length > 1 && networks[0].y.length === 0 ? [] : networks} until={until} seconds={against === "time"} formatX={formatX} formatY={time} log height={tasks.length > 2 ? 330 : 240} />
            </Card>
            <Card title="Best of each kernel" end={<>
              {tasks.length > coloured && <span class="muted small">the {coloured} that take most are coloured</span>}
              <Switch<Scale> label="Times of kernels" value={scale} onChange={setScale} options={[["relative", "Relative to untuned"], ["times", "Times"]]} />
            </>}>
              <CurvePlot label={scale === "times" ? "Best time of each kernel" : "Best time of each kernel, relative to untuned"} curves={kernels} until={kernelsUntil} seconds={against === "time"} formatX={formatX} formatY={scale === "times" ? time : percent} log />
            </Card>
          </div>
          <div class="grid">
            <Card title="Trials a second">
              <CurvePlot label="Trials a second" curves={rates} until={endOf(value, [], 0, "time")} seconds formatX={clock} formatY={(y) => digits(y)} zero height={150} />
            </Card>
            <Card title="Devices' time inside timed samples">
              <CurvePlot label="Share of time inside timed samples" curves={busy} until={endOf(value, [], 0, "time")} seconds formatX={clock} formatY={percent} zero height={150} />
            </Card>
          </div>
          <div class="grid">
            <Card title="How trials ended"><OutcomeBar outcomes={outcomes} /></Card>
            {now?.spec && <Card title="What was asked for"><JobFacts job={now} /></Card>}
          </div>
          <Card title="Kernels">
            {table}
          </Card>
        </>
      )}
    </>
  );
}

function JobFacts(props: { job: JobUpdate }) {
  const { job } = props;
  const spec = job.spec!;
  const dims = [
    ...Object.entries(spec.dims).map(([name, size]) => `${name}=${size}`),
    ...spec.openDims.map((dim) => `${dim.name}=${dim.least}..${dim.most}${dim.multipleOf !== "1" ? `:${dim.multipleOf}` : ""}`),
  ].join(", ");
  const budget = [spec.minutes > 0 && `${digits(spec.minutes)} min`, Number(spec.trials) > 0 && `${count(Number(spec.trials))} trials`, spec.untilGainPercent > 0 && `until a minute saves less than ${digits(spec.untilGainPercent)} %`].filter(Boolean).join(", ");
  return (
    <Facts
      of={[
        ["Owner", job.submitter || "not known"],
        ["Device key", spec.deviceKey + (spec.selector ? `, where ${spec.selector}` : "")],
        ["Measures on", job.slots.join(", ")],
        ["Target", <span class="mono">{spec.target}</span>],
        ["Threads", isGpu(spec.target) ? "" : String(spec.threads)],
        ["Budget", budget || "none"],
        ["Sizes", dims],
        ["Numerics", spec.allowedNumerics.join(", ")],
        ["Priority", String(spec.priority)],
        ["Strategy", spec.strategy || "evolutionary"],
        ["Submitted", moment(secondsOf(job.createdUnixNs))],
        ["Model", <span class="mono" title={job.modelDigest}>{job.modelDigest.slice(0, 16)}</span>],
      ]}
    />
  );
}
