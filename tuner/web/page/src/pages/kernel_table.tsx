// Owns: a table of kernels: of one job, or of the whole database.
import type { KernelRow, ListKernelsRequest } from "../api/messages";
import { useAnswer } from "../api/live";
import { count, digits, percent, speedup, time } from "../format";
import { kernelLink } from "../router";
import { isGpu } from "../target";
import { Fault, Loading, Share } from "../ui/parts";
import { type Column, Table } from "../ui/table";

export function kernelColumns(job: string | undefined, has: (id: string) => boolean = () => true): Column<KernelRow>[] {
  return [
    {
      head: "Kernel",
      cell: (row) => (
        <span>
          {has(row.kernelId) ? <a href={kernelLink(row.kernelId, job)}>{row.label}</a> : row.label} <span class="muted mono">{row.shape}</span>
          {job && row.weight === 0 && <span class="muted small"> in another layout; not in the network</span>}
        </span>
      ),
    },
    ...(job ? [{ head: "Times in the network", right: true, cell: (row: KernelRow) => digits(row.weight) }] : []),
    { head: "Untuned", right: true, cell: (row) => time(row.untunedNs) },
    { head: "Best", right: true, cell: (row) => time(row.bestNs) },
    { head: "Faster", right: true, cell: (row) => speedup(row.untunedNs, row.bestNs) },
    { head: "GFLOP/s", right: true, cell: (row) => (row.gflopsPerS > 0 ? digits(row.gflopsPerS) : "–") },
    ...(job ? [{ head: "Share of time", cell: (row: KernelRow) => <Share of={row.share} text={percent(row.share)} /> }] : []),
    { head: "Trials", right: true, cell: (row) => count(row.trials) },
    ...(job ? [] : [{ head: "Device", cell: (row: KernelRow) => <span class="clip" title={isGpu(row.target) ? row.target : `${row.target}, ${row.threads} threads`}>{row.deviceClass || row.target}</span> }]),
  ];
}

export function KernelTable(props: { request: Partial<ListKernelsRequest>; has?: (id: string) => boolean; everyMs?: number }) {
  const answer = useAnswer("Reports/ListKernels", props.request, props.everyMs);
  if (!answer.value) return answer.error ? <Fault error={answer.error} /> : <Loading what="kernels" />;
  const job = props.request.jobId && props.request.jobId !== "0" ? props.request.jobId : undefined;
  return (
    <>
      <Fault error={answer.error} stale />
      <Table caption="Kernels" stack columns={kernelColumns(job, props.has)} rows={answer.value.kernels} id={(row) => row.kernelId} empty="No kernel was measured yet." />
    </>
  );
}
