// Owns: one kernel: all its candidates, how near its best is to what the machine can do, and why it is faster than the default.
import { useEffect, useRef, useState } from "preact/hooks";
import { canAsk, report } from "../api/embedded";
import { useAnswer } from "../api/live";
import type { Candidate, KernelReport } from "../api/messages";
import { bytes, count, digits, moment, percent, rate, speedup, time, words } from "../format";
import { Mark, OutcomeBar } from "../plots/outcome_bar";
import { Roofline } from "../plots/roofline";
import { Samples } from "../plots/samples";
import { ScatterPlot } from "../plots/scatter_plot";
import { type Choice, ComparePrograms } from "../programs/compare";
import { jobLink, route } from "../router";
import { isGpu } from "../target";
import { Card, Facts, Fault, Loading, Stat, Stats, Switch, Title } from "../ui/parts";
import { layoutName } from "./layout_name";
import { type Column, Table } from "../ui/table";

const everyMs = 4000;

export function KernelPage(props: { id: string }) {
  const job = route.value.query.get("job") ?? undefined;
  const answer = useAnswer("Reports/DescribeKernel", { kernelId: props.id, jobId: job }, everyMs);
  const candidates = useAnswer("Reports/ListCandidates", { kernelId: props.id, jobId: job });
  const [against, setAgainst] = useState<"order" | "time">("order");
  const [chosen, setChosen] = useState(0);
  const [compared, setCompared] = useState<[Choice, Choice]>();
  const value = answer.value;
  const trials = value?.row?.trials;
  const seen = useRef(trials);
  useEffect(() => {
    if (seen.current !== undefined && seen.current !== trials) candidates.again();
    seen.current = trials;
  }, [trials]);
  if (!value?.row) return answer.error ? <><Title page="Kernel">Kernel</Title><Fault error={answer.error} /></> : <Loading what="the kernel" />;
  const { row, best, untuned } = value;
  const compare = (left: Choice, right: Choice) => {
    setCompared([left, right]);
    requestAnimationFrame(() => document.getElementById("programs")?.scrollIntoView({ behavior: "smooth" }));
  };
  const comparable = (of: Candidate) => canCompare(props.id, of.row);
  const plain: Choice = { row: 0, name: "Default schedule" };
  return (
    <>
      <div class="head">
        <p class="crumbs">
          <a href="#/jobs">{report ? "Report" : "Jobs"}</a> / {job && <><a href={jobLink(job)}>{job}</a> / </>}kernel <span class="mono">{props.id}</span>
        </p>
        <Title page={row.label}>{row.label} <span class="muted mono">{row.shape}</span></Title>
      </div>
      <Fault error={answer.error} stale />
      <Stats>
        <Stat name="Best" note={best ? `95% within ${time(best.lowNs)} – ${time(best.highNs)}` : undefined}>{time(row.bestNs)}</Stat>
        <Stat name="Faster than untuned" note={row.untunedNs > 0 ? `untuned ${time(row.untunedNs)}` : "untuned was not measured"}>{speedup(row.untunedNs, row.bestNs)}</Stat>
        <Stat name="GFLOP/s" note={value.peaks && value.peaks.flopsPerS > 0 && row.gflopsPerS > 0 ? `${percent((row.gflopsPerS * 1e9) / value.peaks.flopsPerS)} of the peak` : undefined}>
          {row.gflopsPerS > 0 ? digits(row.gflopsPerS) : "–"}
        </Stat>
        {row.share > 0 && <Stat name="Share of the network's time" note={row.weight === 1 ? "runs once in it" : `runs ${digits(row.weight)} times in it`}>{percent(row.share)}</Stat>}
        <Stat name="Trials" note={`${count(value.outcomes.ok ?? 0)} ok`}>{count(row.trials)}</Stat>
        {best && (
          <Stat name="Error of the best's answers" note="against the reference, relative">{errorOf(best)}</Stat>
        )}
      </Stats>
      <Card
        title="All candidates"
        end={<>
          {candidates.value && candidates.value.total > candidates.value.rows.length && <span class="muted small">{count(candidates.value.rows.length)} of {count(candidates.value.total)} are drawn</span>}
          <Switch label="Against" value={against} onChange={setAgainst} options={[["order", "Order"], ["time", "Time"]]} />
        </>}
      >
        {candidates.value && candidates.value.rows.length > 0 ? (
          <ScatterPlot label={`Times of ${count(candidates.value.total)} candidates`} candidates={candidates.value} against={against} chosen={chosen} onChoose={setChosen} untunedNs={row.untunedNs} />
        ) : candidates.error ? <Fault error={candidates.error} /> : candidates.value ? <p class="empty">No trials yet.</p> : <Loading what="candidates" />}
        {chosen > 0 && <Chosen row={chosen} near={value} comparable={comparable} onCompare={(of) => compare(plain, { row: of.row, name: `Record ${of.row}` })} />}
      </Card>
      <div class="grid">
        <Card title="Roofline">
          <Roofline
            peaks={value.peaks ?? { flopsPerS: 0, l2BytesPerS: 0, sharedBytesPerS: 0, memoryBytesPerS: 0 }}
            flopsPerByte={value.bytes > 0 ? value.flops / value.bytes : 0}
            points={[
              { name: "best", flopsPerS: row.bestNs > 0 ? (value.flops / row.bestNs) * 1e9 : 0, colour: "series-1", shape: "dot" },
              { name: "untuned", flopsPerS: row.untunedNs > 0 ? (value.flops / row.untunedNs) * 1e9 : 0, colour: "series-2", shape: "ring" },
            ]}
          />
        </Card>
        <Card title="Samples">
          <Samples
            rows={[
              ...(best ? [{ name: "best", candidate: best, colour: "series-1" }] : []),
              ...(untuned && untuned.row !== best?.row ? [{ name: "untuned", candidate: untuned, colour: "series-2" }] : []),
            ]}
          />
        </Card>
      </div>
      <div id="programs">
        <Card title="Programs">
          {compared ? (
            <ComparePrograms kernelId={props.id} target={row.target} left={compared[0]} right={compared[1]} />
          ) : best && canCompare(props.id, best.row) ? (
            <>
              <p class="muted">The default schedule and the best one, with their loop IR and code. Both are compiled first, which may take a second.</p>
              <p class="more-left"><button class="primary" onClick={() => setCompared([plain, { row: best.row, name: `Best (record ${best.row})` }])}>Compare default and best</button></p>
            </>
          ) : <p class="empty">{best ? "This report does not hold the programs of this kernel." : "Nothing to compare yet: no candidate was ok."}</p>}
        </Card>
      </div>
      <div class="grid">
        <Card title="How trials ended"><OutcomeBar outcomes={value.outcomes} /></Card>
        <Card title="The kernel"><KernelFacts of={value} /></Card>
      </div>
      <Card title="The fastest">
        <Table caption="The fastest candidates" stack columns={fastestColumns(value, comparable, (of) => compare(plain, { row: of.row, name: `Record ${of.row}` }))} rows={value.fastest} id={(candidate) => candidate.row} empty="No candidate was ok yet." />
      </Card>
    </>
  );
}

const canCompare = (kernelId: string, row: number): boolean =>
  canAsk("Reports/ShowProgram", { kernelId }) && canAsk("Reports/ShowProgram", { kernelId, row });

/** The greatest |y - reference| over the sum of magnitudes. */
const errorOf = (of: Candidate): string => (of.maxError > 0 ? of.maxError.toExponential(1) : "0");

/** One candidate that was chosen in the plot. */
function Chosen(props: { row: number; near: KernelReport; comparable: (of: Candidate) => boolean; onCompare: (of: Candidate) => void }) {
  const known = [props.near.best, props.near.untuned, ...props.near.fastest].find((one) => one?.row === props.row);
  const asked = useAnswer("Reports/DescribeCandidate", known ? undefined : { row: props.row });
  const candidate = known ?? asked.value;
  if (!candidate) return asked.error ? <Fault error={asked.error} /> : <Loading what={`record ${props.row}`} />;
  return (
    <div class="chosen" aria-live="polite">
      <Facts
        of={[
          ["Record", <span>{candidate.row} <span class="mono muted">{candidate.digest.slice(0, 16)}</span></span>],
          ["Outcome", <span class="with-mark"><Mark outcome={candidate.outcome} /> {words(candidate.outcome)}{candidate.detail && `: ${candidate.detail}`}</span>],
          ["Time", candidate.ns > 0 ? `${time(candidate.ns)}, 95% within ${time(candidate.lowNs)} – ${time(candidate.highNs)}` : ""],
          ["Error", candidate.maxError > 0 ? errorOf(candidate) : ""],
          ["Measured", `${moment(candidate.finishedUnixS)} on ${candidate.deviceModel || candidate.deviceClass}`],
          ["Schedule", <span class="mono">{candidate.schedule}</span>],
        ]}
      />
      {props.comparable(candidate) && <p class="more-left"><button onClick={() => props.onCompare(candidate)}>Compare with the default</button></p>}
    </div>
  );
}

function KernelFacts(props: { of: KernelReport }) {
  const { row, key, best } = props.of;
  return (
    <>
      <Facts
        of={[
          ["Target", <span class="mono">{row?.target}</span>],
          ["Threads", row && !isGpu(row.target) ? String(row.threads) : ""],
          ["Device class", row?.deviceClass],
          ["Device", best?.deviceModel],
          ["Work of a run", `${rate(props.of.flops, "FLOP")}, ${bytes(props.of.bytes)} of compulsory traffic`],
          ["Layouts", key && (key.inLayouts.some(Boolean) || key.outLayouts.some(Boolean) ? <span title={[...key.inLayouts, "→", ...key.outLayouts].join(" ")}>{key.inLayouts.map(layoutName).join(", ")} → {key.outLayouts.map(layoutName).join(", ")}</span> : "")],
          ["Reuse distance", key && key.reuseDistanceBytes !== "0" ? bytes(Number(key.reuseDistanceBytes)) : ""],
          ["Numerics", best?.numerics.join(", ")],
        ]}
      />
      <details class="spaced"><summary>Workload</summary><pre class="mono text" tabIndex={0}>{props.of.workload}</pre></details>
    </>
  );
}

const fastestColumns = (of: KernelReport, comparable: (candidate: Candidate) => boolean, compare: (candidate: Candidate) => void): Column<Candidate>[] => [
  { head: "Record", cell: (one) => <span class="num">{one.row}{one.untuned && <span class="muted small"> untuned</span>}</span> },
  { head: "Time", right: true, cell: (one) => time(one.ns) },
  { head: "95% bounds", right: true, cell: (one) => `${time(one.lowNs)} – ${time(one.highNs)}` },
  { head: "Over the best", right: true, cell: (one) => (of.row && of.row.bestNs > 0 && one.ns > 0 ? `+${percent(one.ns / of.row.bestNs - 1)}` : "–") },
  { head: "Error", right: true, cell: errorOf },
  { head: "Device", cell: (one) => <span class="clip" title={one.deviceModel}>{one.deviceModel || one.deviceClass}{one.from && ` (from ${one.from})`}</span> },
  {
    head: "Clock, temperature",
    right: true,
    cell: (one) => [one.clockMhz > 0 && `${count(one.clockMhz)} MHz`, one.temperatureC > 0 && `${digits(one.temperatureC)} °C`, one.throttled && "throttled"].filter(Boolean).join(", ") || "–",
  },
  { head: "Schedule", wide: true, cell: (one) => <span class="clip mono" title={one.schedule}>{one.schedule}</span> },
  { head: "Compare", hideHead: true, cell: (one) => comparable(one) && <span class="row-actions"><button aria-label={`Compare record ${one.row} with the default`} onClick={() => compare(one)}>Compare</button></span> },
];
