// Owns: what a page does with 60 news a second of a job with many kernels and long curves: the page's own code, fed in place of the
// network.

const seconds = 4;

/** Updates and frames a second, and for how many milliseconds each update kept the page's thread busy. */
export async function manyUpdates(page, url, list, curves) {
  await page.addInitScript(
    ({ job, curves, perSecond }) => {
      const real = window.fetch;
      let trials = 100_000;
      let sent = 0;
      window.sentUpdates = () => sent;
      const encode = (value) => new TextEncoder().encode(`data: ${JSON.stringify(value)}\n\n`);
      window.fetch = async (address, options) => {
        const at = String(address);
        if (at.endsWith("Reports/DescribeJob")) return new Response(JSON.stringify(curves));
        if (!at.endsWith("Tuner/WatchJob")) return real(address, options);
        const stream = new ReadableStream({
          start(controller) {
            setInterval(() => {
              trials += 17;
              sent++;
              job.trials = String(trials);
              job.progress = { ...job.progress, trials, elapsedS: trials / 20, tasks: job.progress.tasks.map((task) => ({ ...task, bestNs: task.bestNs * (1 - 1e-5), trials })) };
              controller.enqueue(encode(job));
            }, 1000 / perSecond);
          },
        });
        return new Response(stream, { headers: { "content-type": "text/event-stream" } });
      };
    },
    { job: list.jobs[0], curves: long(curves), perSecond: 60 },
  );
  await page.goto(url);
  await page.locator("canvas").first().waitFor();
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" }); // what others compute does not count
  const busyS = async () => (await devtools.send("Performance.getMetrics")).metrics.find((one) => one.name === "TaskDuration").value;
  await page.waitForTimeout(1000);
  const before = await busyS();
  const [updates, drawn] = await page.evaluate(async (s) => {
    const from = window.sentUpdates();
    const end = performance.now() + s * 1000;
    let frames = 0;
    while (performance.now() < end) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      frames++;
    }
    return [(window.sentUpdates() - from) / s, frames / s];
  }, seconds);
  return { updates, drawn, busyMs: (((await busyS()) - before) / seconds / updates) * 1000 };
}

/** The same with 500 points in each curve, as the service answers about 1,000,000 measurements. */
function long(curves) {
  const stretch = (curve, ns) => {
    const from = curve?.ns?.at(-1) || ns || 1e5;
    const index = Array.from({ length: 500 }, (_, i) => i);
    return { elapsedS: index.map((i) => i * 10), trials: index.map((i) => i * 200), ns: index.map((i) => from * (2 - i / 500)) };
  };
  const steps = Array.from({ length: 500 }, (_, i) => 10 + Math.sin(i));
  return { ...curves, network: stretch(curves.network, curves.untunedNetworkNs), tasks: curves.tasks.map((task) => ({ ...task, best: stretch(task.best, task.untunedNs) })), trialsPerS: steps, busyShare: steps.map((one) => one / 20), stepS: 10 };
}
