// Owns: the network that a job tunes: which kernels it is made of, what each takes, before and after.
import { useState } from "preact/hooks";
import { report } from "../api/embedded";
import { useAnswer } from "../api/live";
import type { NetworkCall } from "../api/messages";
import { count, percent, speedup, time } from "../format";
import { NetworkGraph, type Shown, partsOf, standingOf } from "../network/graph";
import { jobLink, kernelLink } from "../router";
import { Card, Facts, Fault, Loading, Pill, Share, Stat, Stats, Switch, Title } from "../ui/parts";
import { type Column, Table } from "../ui/table";

const everyMs = 5000;

export function NetworkPage(props: { id: string }) {
  const { id } = props;
  const answer = useAnswer("Reports/DescribeNetwork", { jobId: id }, everyMs);
  const [shown, setShown] = useState<Shown>("after");
  const [chosen, setChosen] = useState<number>();
  const value = answer.value;
  const crumbs = <p class="crumbs"><a href="#/jobs">{report ? "Report" : "Jobs"}</a> / <a href={jobLink(id)}>{id}</a> / network</p>;
  if (!value)
    return answer.error ? <><div class="head">{crumbs}<Title page="Network">Network of job {id}</Title></div><Fault error={answer.error} /></> : <Loading what="the network" />;
  const calls = value.calls;
  const kernels = calls.filter((call) => call.kernelId);
  const standing = (of: string) => kernels.filter((call) => standingOf(call) === of).length;
  const parts = partsOf(calls, shown);
  const call = chosen === undefined ? undefined : calls[chosen];
  return (
    <>
      <div class="head">{crumbs}<Title page={`Network of job ${id}`}>{value.name || `Network of job ${id}`}</Title></div>
      <Fault error={answer.error} stale />
      <Stats>
        <Stat name="Untuned" note={value.untunedNs > 0 ? undefined : "not all kernels were measured"}>{time(value.untunedNs)}</Stat>
        <Stat name="Best of each kernel" note={value.bestNs > 0 ? undefined : "not all kernels were measured"}>{time(value.bestNs)}</Stat>
        <Stat name="Faster" note="sum over the kernels">{speedup(value.untunedNs, value.bestNs)}</Stat>
        <Stat name="Calls" note={`${count(kernels.length)} of kernels, ${count(calls.length - kernels.length)} of others`}>{count(calls.length)}</Stat>
        <Stat name="Tuned" note={`the default is best for ${count(standing("default"))}, ${count(standing("unmeasured"))} not measured`}>{count(standing("tuned"))}</Stat>
      </Stats>
      <Card
        title="Graph"
        end={<Switch<Shown> label="What is shown" value={shown} onChange={setShown} options={[["before", "Before"], ["after", "After"], ["saved", "Saved"]]} />}
      >
        <NetworkGraph calls={calls} shown={shown} chosen={chosen} onChoose={setChosen} />
        <ul class="legend">
          <li class="key"><span class={`swatch heat ${shown === "saved" ? "saved" : ""}`} aria-hidden="true" /> {shown === "saved" ? "part of what was saved" : "part of the network's time"}</li>
          <li class="key"><span class="swatch default" aria-hidden="true" /> the default schedule is best</li>
          <li class="key"><span class="swatch unmeasured" aria-hidden="true" /> not measured</li>
          <li class="key muted">Drag moves, Ctrl and wheel or two fingers scale, a click selects.</li>
        </ul>
        {call && (
          <div class="chosen" aria-live="polite">
            <Facts
              of={[
                ["Kernel", call.kernelId ? <a href={kernelLink(call.kernelId, id)}>{call.label}</a> : call.label],
                ["Result", <span class="mono">{call.shape}</span>],
                ["Nodes", call.nodes.join(", ")],
                ["Untuned", time(call.untunedNs)],
                ["Best", `${time(call.bestNs)}${call.untunedNs > 0 && call.bestNs > 0 ? ` (${speedup(call.untunedNs, call.bestNs)})` : ""}`],
                ["Part of the time", percent(call.share)],
              ]}
            />
          </div>
        )}
      </Card>
      <Card title="Calls, in order of execution">
        <Table caption="Calls of the network" stack columns={columns(id, shown, parts)} rows={calls} id={(_, i) => i} />
      </Card>
    </>
  );
}

const states = {
  none: "",
  tuned: <Pill tone="good" sign="✓">tuned</Pill>,
  default: <Pill tone="" sign="=">default is best</Pill>,
  unmeasured: <Pill tone="warn" sign="○">not measured</Pill>,
};

const columns = (job: string, shown: Shown, parts: number[]): Column<NetworkCall>[] => [
  { head: "Call", cell: (call, i) => <span>{call.kernelId ? <a href={kernelLink(call.kernelId, job)}>{call.label}</a> : call.label} <span class="muted num small">{i}</span></span> },
  { head: "Result", cell: (call) => <span class="mono">{call.shape}</span> },
  { head: "Reads", cell: (call) => <span class="num muted">{call.inputs.join(", ") || "input"}</span> },
  { head: "Nodes", wide: true, cell: (call) => <span class="clip" title={call.nodes.join(", ")}>{call.nodes.join(", ")}</span> },
  { head: "Untuned", right: true, cell: (call) => time(call.untunedNs) },
  { head: "Best", right: true, cell: (call) => time(call.bestNs) },
  { head: "Faster", right: true, cell: (call) => speedup(call.untunedNs, call.bestNs) },
  { head: shown === "saved" ? "Part of what was saved" : "Part of the time", cell: (_, i) => <Share of={parts[i]} text={percent(parts[i])} /> },
  { head: "State", cell: (call) => states[standingOf(call)] },
];
