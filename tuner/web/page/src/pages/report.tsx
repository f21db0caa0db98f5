// Owns: the first page of a report file: which jobs and kernels are in it.
import { answered, report } from "../api/embedded";
import type { DescribeJobRequest, DescribeKernelRequest, DescribeNetworkRequest, ListKernelsRequest } from "../api/messages";
import { moment } from "../format";
import { jobLink, networkLink } from "../router";
import { Card, Title } from "../ui/parts";
import { KernelTable } from "./kernel_table";

export function ReportPage() {
  const jobs = answered<DescribeJobRequest>("Reports/DescribeJob");
  const networks = new Set(answered<DescribeNetworkRequest>("Reports/DescribeNetwork").map((request) => request.jobId));
  const lists = answered<ListKernelsRequest>("Reports/ListKernels").filter((request) => !request.pageToken);
  const shown = new Set(answered<DescribeKernelRequest>("Reports/DescribeKernel").map((request) => request.kernelId));
  return (
    <>
      <div class="head">
        <Title page="Report">{report?.title || "Tuning report"}</Title>
        {jobs.length === 1 && (
          <div class="actions">
            <a class="button" href={jobLink(jobs[0].jobId)}>Job {jobs[0].jobId}</a>
            {networks.has(jobs[0].jobId) && <a class="button" href={networkLink(jobs[0].jobId)}>Network graph</a>}
          </div>
        )}
        <p class="muted">made {moment(report?.made ?? 0)} by tuner {report?.version}</p>
      </div>
      {jobs.length > 1 && (
        <Card title="Jobs">
          <ul>
            {jobs.map(({ jobId }) => (
              <li key={jobId}>
                <a href={jobLink(jobId)}>Job {jobId}</a>
                {networks.has(jobId) && <> · <a href={networkLink(jobId)}>its network</a></>}
              </li>
            ))}
          </ul>
        </Card>
      )}
      {lists.map((request) => (
        <Card key={request.jobId} title={request.jobId ? `Kernels of job ${request.jobId}` : "Kernels"}>
          <KernelTable request={request} has={(id) => shown.has(id)} />
        </Card>
      ))}
    </>
  );
}
