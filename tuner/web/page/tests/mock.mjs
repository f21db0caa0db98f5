// A tuner as the page sees it, without one: plausible answers, a job that goes on, events. For work on the page
// (`node tests/mock.mjs`, then `npm run dev`). --page FOLDER serves a build too, with the tuner's policy.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";

const folder = process.argv.includes("--page") ? process.argv[process.argv.indexOf("--page") + 1] : undefined;
const port = Number(process.env.PORT ?? 7180);
let seed = 7;
const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
const normal = () => Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random());
const began = Date.now() / 1000 - 640;

// A network like inception or resnet: blocks with branches.
const kinds = ["conv2d+bias+relu", "conv2d+bias+add+relu", "depthwise+bias+clip", "matmul+bias", "max_pool", "softmax"];
const shapes = ["1x64x56x56", "1x128x28x28", "1x256x14x14", "1x512x7x7", "1x1000"];
const kernels = Array.from({ length: 24 }, (_, i) => {
  const untuned = 10 ** (5 + random() * 1.4);
  return {
    kernelId: (0x1234567890abn * BigInt(i + 3)).toString(16).padStart(16, "a").slice(0, 16),
    label: kinds[Math.floor(random() * (i < 20 ? 4 : 6))], shape: shapes[Math.min(4, Math.floor(i / 5))],
    weight: 1 + Math.floor(random() * 4), untunedNs: untuned, floor: untuned * (0.45 + random() * 0.45), flops: untuned * (20 + random() * 30),
  };
});
const rate = Number(process.env.RATE ?? 9); // trials a second
const trialsNow = () => Math.floor((Date.now() / 1000 - began) * rate);
const bestAt = (k, trials) => Math.max(k.floor, k.untunedNs * (0.2 + 1.9 / (1 + trials / 40)));
function curve(k, from, to, points = 60) {
  const out = { elapsedS: [], trials: [], ns: [] };
  for (let i = 0, last = Infinity; i < points; i++) {
    const trials = from + Math.floor(((to - from) * i) / points);
    const ns = bestAt(k, trials / 8) * 1;
    if (ns < last) { out.elapsedS.push(trials / 9); out.trials.push(trials); out.ns.push(ns); last = ns; }
  }
  return out;
}
const outcomes = (n) => ({ ok: Math.floor(n * 0.82), stopped_early: Math.floor(n * 0.13), wrong_output: Math.floor(n * 0.004), compile_error: Math.floor(n * 0.02), timed_out: Math.floor(n * 0.01), crashed: Math.floor(n * 0.006), out_of_memory: Math.floor(n * 0.003) });
const now = (id) => (id === "3" ? trialsNow() : 4200);
const tasksOf = (id) => kernels.map((k) => ({ label: k.label, weight: k.weight, flops: k.flops, trials: Math.floor(now(id) / 24), bestNs: bestAt(k, now(id) / 8), exhausted: false, givenUp: "", untunedNs: k.untunedNs }));
let paused = false;
const spec = (name, key) => ({ modelName: name, target: "x86_64:cpu=znver4", deviceKey: key, threads: 1, trials: "0", minutes: 20, allowedNumerics: [], dims: { batch: "1" }, seed: "1", strategy: "", untilGainPercent: 0, selector: "", priority: 0, slots: 0, deviceClass: "", openDims: [], anchors: [], inputs: {} });
function job(id) {
  const base = { detail: "", statusCode: 0, modelDigest: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", createdUnixNs: String(Math.floor(began) - 4) + "0".repeat(9), startedUnixNs: String(Math.floor(began)) + "0".repeat(9), finishedUnixNs: "0", trials: String(now(id)), submitter: "ada", slots: [], unchanged: false };
  const progress = { trials: now(id), failures: Math.floor(now(id) * 0.04), notMeasured: 2, tasks: tasksOf(id), failedBy: {}, trialsPerSecond: 8.7 + normal() * 0.3, elapsedS: now(id) / 9, remainingS: Math.max(0, 1200 - now(id) / 9), deviceBusyShare: 0.78, currentTask: 3, expectedGain: 0.0042, nothingNew: false, phase: "PHASE_MEASURING", undecided: false, slots: 2, withoutDeviceS: 0, withdrawn: 310, duplicates: 24 };
  if (id === "1") return { ...base, jobId: "1", state: "JOB_STATE_DONE", spec: spec("resnet18", "zen4"), trials: "4200", finishedUnixNs: String(Math.floor(began) - 900) + "0".repeat(9), progress: { ...progress, remainingS: 0, phase: "PHASE_OVER" } };
  if (id === "2") return { ...base, jobId: "2", state: "JOB_STATE_FAILED", spec: spec("detector", "pi5"), trials: "0", detail: "no device with the key pi5 has 4 threads; tracker devices --key pi5 lists what there is", statusCode: 5, submitter: "grace", finishedUnixNs: String(Math.floor(began) - 300) + "0".repeat(9) };
  if (id === "4") return { ...base, jobId: "4", state: "JOB_STATE_QUEUED", spec: { ...spec("mobilenet_v2", "pi5"), minutes: 0, trials: "2000" }, trials: "0", detail: "waits for a device with the key pi5: 1 is quarantined for 12 min", submitter: "" };
  return { ...base, jobId: "3", state: paused ? "JOB_STATE_PAUSED" : "JOB_STATE_RUNNING", spec: spec("inception_v1", "zen4"), slots: ["bench-1/0", "bench-1/1"], progress };
}
const row = (k, id) => ({ kernelId: k.kernelId, label: k.label, shape: k.shape, target: "x86_64:cpu=znver4", threads: 1, deviceClass: "zen4-bench", trials: Math.floor(now(id) / 24), bestNs: bestAt(k, now(id) / 8), untunedNs: k.untunedNs, gflopsPerS: k.flops / bestAt(k, now(id) / 8), weight: k.weight, share: (k.weight * bestAt(k, now(id) / 8)) / kernels.reduce((s, o) => s + o.weight * bestAt(o, now(id) / 8), 0), lastUnixS: Date.now() / 1000 });
function candidate(k, i, ns, untuned = false) {
  const samplesNs = Array.from({ length: 24 }, () => ns * (1 + Math.abs(normal()) * 0.012));
  return { row: i, digest: "ab12cd34ef".repeat(6) + "0123", schedule: "tile(o=[1,2,28,2], i=[16]); vectorize(i.1, 16); unroll(o.3); parallel(o.0); cache_write(local)", outcome: "ok", detail: "", ns, lowNs: ns * 0.996, highNs: ns * 1.007, samplesNs, maxError: 0.11, untuned, numerics: [], deviceClass: "zen4-bench", deviceModel: "AMD EPYC 9354P", clockMhz: 3712, temperatureC: 58, throttled: false, finishedUnixS: Date.now() / 1000 - 500, from: "" };
}
const loops = (best) => Array.from({ length: 46 }, (_, i) => "  ".repeat(1 + (i % 7)) + (best && i % 5 === 0 ? `vectorized for (i${i}: 0..16) { acc[i${i}] += a[o, i${i}] * b[i${i}]; }` : `for (o${i}: 0..28) { load(a, o${i}); }`)).join("\n");
const asm = (best) => Array.from({ length: best ? 620 : 540 }, (_, i) => `  ${["vfmadd231ps", "vmovups", "vbroadcastss", "add", "cmp", "jne"][(i * (best ? 7 : 5)) % 6]}\t${i % 3 ? "zmm" : "ymm"}${(i * 3) % 32}, zmm${i % 32}, [rsi + ${i * 64}]`).join("\n");
const device = (id, key, over = {}, golden = 0) => ({
  deviceId: id, deviceKey: key, online: true, stopping: false, sinceMs: "7320000", agentVersion: "0.1.0", admission: "ADMISSION_OPEN", health: "HEALTH_HEALTHY", healthReason: "", labels: { room: "lab3" }, reservedFor: "", agentAddress: "10.0.0.7:5050",
  facts: { fingerprint: "", arch: "x86_64", os: "Linux", kernel: "6.1", hostname: id, cpuModel: key === "pi5" ? "Cortex-A76" : "AMD EPYC 9354P", cpuVendor: "", cpuFamily: 0, cpuModelNumber: 0, cpuFeatures: [], cores: key === "pi5" ? 4 : 32, threads: 64, memoryBytes: "8589934592", l1dBytes: "0", l2Bytes: "0", l3Bytes: "0", peakGflops: 60, capabilities: [], gpus: [] },
  slots: [0, 1].map((slot) => ({ slot, cpus: [slot], epoch: "4", holder: "", remainingMs: 0, queued: "0", unacknowledged: "0", answered: "0", heldMs: "0", user: "", purpose: "", ...(over.held ? { lease: { leaseId: "x", epoch: "4" }, holder: "tuner:1", user: "ada", purpose: "job 3 (inception_v1)", queued: "5", answered: "412", heldMs: "640000" } : {}), golden: { baselineNs: 1e6, drift: golden, samples: Array.from({ length: 20 }, (_, i) => ({ slot, kernel: "g1", timeNs: String(Math.round(1e6 * (1 + (golden * i) / 20 + normal() * 0.006))), spread: 0.01, device: { fingerprint: "", model: "", clockMhz: 3600, temperatureC: 57 + golden * 200, throttled: false, governor: "performance", load1min: 1 }, ageMs: String((20 - i) * 30000), detail: "" })) } })),
  ...over,
});
function network() {
  const calls = [];
  const add = (k, inputs, extra = {}) => calls.push({ kernelId: k.kernelId, label: k.label, nodes: [`Conv_${calls.length}`, `Relu_${calls.length}`], inputs, shape: k.shape, untunedNs: k.untunedNs, bestNs: bestAt(k, now("3") / 8), share: 0, isUntuned: false, ...extra }) - 1;
  let last = add(kernels[0], []);
  last = add(kernels[1], [last]);
  for (let block = 0; block < Number(process.env.BLOCKS ?? 9); block++) {
    const of = (i) => kernels[(block * 3 + i) % 20];
    const a = add(of(0), [last]), b0 = add(of(1), [last]), b = add(of(2), [b0]), c0 = add(of(3), [last]), c = add(of(4), [c0]), d0 = add(kernels[20], [last]), d = add(of(5), [d0], block === 2 ? { isUntuned: true, bestNs: 0 } : {});
    last = calls.push({ kernelId: "", label: "concat", nodes: [`Concat_${block}`], inputs: [a, b, c, d], shape: "1x256x28x28", untunedNs: 0, bestNs: 0, share: 0, isUntuned: false }) - 1;
  }
  add(kernels[21], [last]);
  const sum = (f) => calls.reduce((s, c) => s + f(c), 0);
  const best = sum((c) => c.bestNs || c.untunedNs);
  for (const c of calls) c.share = (c.bestNs || c.untunedNs) / best;
  return { name: "inception_v1.onnx", untunedNs: sum((c) => c.untunedNs), bestNs: best, calls };
}
const find = (id) => kernels.find((k) => k.kernelId === id) ?? kernels[0];
const answers = {
  "Tuner/ListJobs": () => ({ jobs: ["1", "2", "3", "4"].map(job), more: false }),
  "Tuner/PauseJob": () => ((paused = true), job("3")), "Tuner/ResumeJob": () => ((paused = false), job("3")), "Tuner/CancelJob": (q) => job(q.jobId), "Tuner/Submit": () => ({ jobId: "3" }),
  "Reports/DescribeJob": ({ jobId: id }) => {
    const n = now(id), steps = 200, tasks = kernels.map((k) => ({ kernelId: k.kernelId, label: k.label, weight: k.weight, untunedNs: k.untunedNs, bestNs: bestAt(k, n / 8), trials: Math.floor(n / 24), best: curve(k, 24, n) }));
    const network = { elapsedS: [], trials: [], ns: [] };
    for (let i = 1; i <= 200; i++) { const t = 60 + Math.floor(((n - 60) * i) / 200); network.trials.push(t); network.elapsedS.push(t / 9); network.ns.push(kernels.reduce((s, k) => s + k.weight * bestAt(k, t / 8), 0)); }
    return { jobId: id, beganUnixS: began, lastUnixS: began + n / 9, network, untunedNetworkNs: kernels.reduce((s, k) => s + k.weight * k.untunedNs, 0), tasks, outcomes: outcomes(n), stepS: n / 9 / steps, trialsPerS: Array.from({ length: steps }, (_, i) => Math.max(0, 9 + 2 * Math.sin(i / 9) + normal())), busyShare: Array.from({ length: steps }, (_, i) => Math.min(1, Math.max(0, 0.78 + 0.1 * Math.sin(i / 14) + 0.03 * normal()))) };
  },
  "Reports/ListKernels": (q) => ({ kernels: kernels.filter((k) => !q.search || k.label.includes(q.search)).map((k) => row(k, "3")), nextPageToken: "", total: 24 }),
  "Reports/DescribeKernel": (q) => { const k = find(q.kernelId), best = candidate(k, 412, bestAt(k, now("3") / 8)), r = row(k, "3"); return { row: r, key: { workload: "ab".repeat(32), binding: "n=1", inLayouts: ["nchw", "oihw"], outLayouts: ["nchw"], target: r.target, threads: 1, reuseDistanceBytes: "4200000" }, workload: "conv2d(x: f32[1,64,56,56], w: f32[64,64,3,3], stride=1, pad=1) + bias |> relu", flops: k.flops, bytes: k.flops / 30, peaks: { flopsPerS: 118e9, l2BytesPerS: 150e9, sharedBytesPerS: 60e9, memoryBytesPerS: 14e9 }, outcomes: outcomes(1e6), best, untuned: candidate(k, 3, k.untunedNs, true), fastest: [best, ...Array.from({ length: 19 }, (_, i) => candidate(k, 400 - i * 13, best.ns * (1.004 + i * 0.006)))] }; },
  "Reports/ListCandidates": (q) => { const k = find(q.kernelId), n = 2000, c = { total: 1000000, rows: [], finishedUnixS: [], ns: [], outcomes: [], outcomeNames: ["ok", "stopped_early", "wrong_output", "compile_error", "timed_out", "crashed"] }; for (let i = 0; i < n; i++) { const r = random(), o = r < 0.82 ? 0 : r < 0.94 ? 1 : r < 0.95 ? 2 : r < 0.98 ? 3 : r < 0.99 ? 4 : 5; c.rows.push(i * 500 + 1); c.finishedUnixS.push(began + i / 3); c.outcomes.push(o); c.ns.push(o < 2 ? bestAt(k, i / 3) * (1 + Math.abs(normal()) * (o ? 1.5 : 0.6)) : 0); } return c; },
  "Reports/DescribeCandidate": (q) => candidate(kernels[0], q.row, 1e5),
  "Reports/ShowProgram": (q) => ({ schedule: q.row ? "tile(o=[1,2,28,2], i=[16]); vectorize(i.1, 16); unroll(o.3)" : "tile(o=[1,4,14,2], i=[8]); vectorize(i.1, 8)", ir: loops(q.row), assembly: asm(q.row) }),
  "Reports/DescribeNetwork": network,
  "Operators/ListDevices": () => ({ devices: [device("bench-1", "zen4", { held: true }), device("bench-2", "zen4", {}, 0.08), device("pi-07", "pi5", { health: "HEALTH_QUARANTINED", healthReason: "3 failures of different candidates in a row", labels: {} }), device("pi-08", "pi5", { online: false, leasesEndInMs: 12000, labels: {} })], nextPageToken: "", knownKeys: [] }),
  "Operators/ListWaiting": () => ({ requests: [{ holder: "tuner:1", user: "grace", deviceKey: "pi5", priority: 0, waitedMs: "740000" }], users: [{ user: "ada", share: 1, slots: 2, waiting: 0, recentSlotSeconds: 1280 }, { user: "grace", share: 1, slots: 0, waiting: 1, recentSlotSeconds: 0 }], nextPageToken: "" }),
  "Operators/ListReservations": () => ({ reservations: [], nextPageToken: "" }),
};
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
createServer(async (request, response) => {
  const url = new URL(request.url, "http://localhost");
  const json = (value, status = 200) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
  if (!url.pathname.startsWith("/api/v1/")) {
    const file = url.pathname === "/" ? "index.html" : url.pathname.slice(1);
    try {
      const content = readFileSync(join(folder ?? "/nowhere", file));
      return response.writeHead(200, { "content-type": types[extname(file)] ?? "text/plain", "content-security-policy": policy }).end(content);
    } catch { return response.writeHead(404).end(); }
  }
  const method = url.pathname.slice("/api/v1/".length);
  let body = "";
  for await (const part of request) body += method === "Tuner/Submit" ? "" : part;
  const asked = body ? JSON.parse(body) : {};
  if (method === "session") return json({ secured: false, role: "admin", name: "", version: "0.1.0" });
  if (method === "Tuner/WatchJob") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = () => response.write(`data: ${JSON.stringify(job(asked.jobId))}\n\n`);
    send();
    if (asked.jobId !== "3") return response.end("event: end\ndata: {}\n\n");
    const timer = setInterval(send, Number(process.env.EVERY_MS ?? 400));
    return request.on("close", () => clearInterval(timer));
  }
  const answer = answers[method];
  return answer ? json(answer(asked)) : json({ code: "UNIMPLEMENTED", message: `no call ${method}` }, 501);
}).listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/`));
