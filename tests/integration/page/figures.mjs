// How fast the pages of a running tuner are: node figures.mjs http://127.0.0.1:7180/. Run by hand, as on a database of
// 1,000,000 measurements (tests/bench/report: report_latency --keep FILE makes one).
import { Browser } from "./browser.mjs";
import { manyUpdates } from "./many_updates.mjs";

const url = process.argv[2];
if (!url) throw new Error("usage: node figures.mjs URL");
const call = async (method, request) =>
  (await fetch(`${url}api/v1/${method}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(request) })).json();

const { jobs } = await call("Tuner/ListJobs", {});
const job = jobs.at(-1).jobId;
const { kernels } = await call("Reports/ListKernels", { jobId: job });
const browser = await Browser.launch();
const pages = { jobs: "/jobs", job: `/jobs/${job}`, kernel: `/kernels/${kernels[0].kernelId}?job=${job}`, records: "/records" };
for (const [name, hash] of Object.entries(pages)) {
  const runs = [];
  for (let i = 0; i < 5; i++) {
    const page = await browser.page();
    await page.goto(`${url}#${hash}`);
    await page.locator(name === "job" || name === "kernel" ? "canvas" : "table").first().waitFor();
    runs.push(await page.evaluate(() => [performance.getEntriesByName("first-contentful-paint")[0].startTime, performance.now()]));
    await page.context().close();
  }
  const median = (i) => runs.map((run) => run[i]).sort((a, b) => a - b)[2].toFixed(0);
  console.log(`${name.padEnd(8)} first paint ${median(0)} ms, its data is drawn after ${median(1)} ms`);
}
const curves = await call("Reports/DescribeJob", { jobId: job });
const progress = { trials: 0, failures: 0, elapsedS: 0, trialsPerSecond: 9, deviceBusyShare: 0.5, slots: 1, withoutDeviceS: 0, currentTask: 0, phase: "PHASE_MEASURING", failedBy: {} };
const tasks = curves.tasks.map((task) => ({ label: task.label, weight: task.weight, bestNs: task.bestNs, untunedNs: task.untunedNs, trials: task.trials, givenUp: "", exhausted: false }));
const running = { ...jobs.at(-1), state: "JOB_STATE_RUNNING", progress: { ...progress, tasks } };
const { updates, drawn, busyMs } = await manyUpdates(await browser.page(), `${url}#/jobs/${job}`, { jobs: [running] }, curves);
console.log(`updates  ${updates.toFixed(0)} a second of ${tasks.length} kernels: ${drawn.toFixed(0)} frames a second, ${busyMs.toFixed(1)} ms busy for each`);
await browser.close();
