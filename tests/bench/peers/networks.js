// A built network against ONNX Runtime, in turns within one window: these machines drift, so what counts is the
// median of the ratios of neighbouring turns. Before that both answer the same inputs. Called by run.sh.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const { execFileSync } = require('child_process');
const { parseArgs } = require('util');
const { open, feeds, writeTensor } = require('../../support/onnxruntime/session.js');

const OPTIONS = {
  compiler: { type: 'string' }, // the program
  model: { type: 'string' }, // ONNX file
  built: { type: 'string' }, // what `compiler build` wrote for it
  name: { type: 'string' }, // of this row
  dim: { type: 'string', multiple: true, default: [] }, // NAME=N: a size of the run
  threads: { type: 'string', default: '1' },
  rounds: { type: 'string', default: '15' },
  ranges: { type: 'boolean', default: false }, // it was built for ranges of sizes
  runs: { type: 'string', default: '10' }, // of each side in a round
  tolerance: { type: 'string', default: '1e-4' }, // of answers, as a share of the largest element
};

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

// The 95% bounds of a median: the order statistics x(k) and x(n+1-k), k the largest with
// P(Binomial(n, 1/2) < k) <= 0.025; as median_of in comparison.h.
function bounds(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const n = sorted.length;
  let k = 0;
  // Logarithms, as 0.5 ** n is 0 from n = 1075 on.
  for (let logTerm = -n * Math.LN2, below = Math.exp(logTerm); below <= 0.025; ++k) {
    logTerm += Math.log((n - k) / (k + 1));
    below += Math.exp(logTerm);
  }
  return [sorted[Math.max(0, k - 1)], sorted[n - Math.max(1, k)]];
}

// The elements of a .npy file of little-endian floats or 64-bit integers.
function readNpy(file) {
  const bytes = fs.readFileSync(file);
  const start = 10 + bytes.readUInt16LE(8);
  const head = bytes.toString('latin1', 10, start);
  const array = head.includes("'<f4'") ? Float32Array : head.includes("'<i8'") ? BigInt64Array : null;
  if (!array) throw new Error(`${file} holds neither floats nor 64-bit integers`);
  return new array(bytes.buffer.slice(bytes.byteOffset + start, bytes.byteOffset + bytes.length));
}

// Throws unless the built network gives ONNX Runtime's outputs; returns the largest difference, as a share of the
// largest element.
async function checkAnswers(options, session, inputs) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'networks-'));
  try {
    const given = Object.entries(inputs).flatMap(([name, tensor], i) => {
      const file = path.join(folder, `input_${i}.pb`);
      writeTensor(file, tensor);
      return ['--input', `${name}=${file}`];
    });
    const command = ['run', options.built, ...given, '--npy', '--output', folder, '--threads', options.threads];
    execFileSync(options.compiler, command, { stdio: 'ignore' });
    const wanted = await session.run(inputs);
    return Math.max(
      ...session.outputNames.map((name, i) =>
        difference(name, readNpy(path.join(folder, `output_${i}.npy`)), wanted[name].data, +options.tolerance)
      )
    );
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

function difference(name, got, wanted, tolerance) {
  if (got.length !== wanted.length) throw new Error(`output ${name} has ${got.length} elements, not ${wanted.length}`);
  let worst = 0;
  let largest = 0;
  for (let i = 0; i < got.length; ++i) {
    worst = Math.max(worst, Math.abs(Number(got[i]) - Number(wanted[i]))); // NaN stays
    largest = Math.max(largest, Math.abs(Number(wanted[i])));
  }
  const allowed = wanted instanceof BigInt64Array ? 0 : tolerance * largest; // whole numbers are equal
  if (worst <= allowed) return worst / largest;
  throw new Error(`output ${name} differs from ONNX Runtime's by ${worst}, its largest element is ${largest}`);
}

async function timeOnnxRuntime(session, inputs, runs) {
  const samples = [];
  for (let i = -3; i < runs; ++i) {
    const start = process.hrtime.bigint();
    await session.run(inputs);
    if (i >= 0) samples.push(Number(process.hrtime.bigint() - start) / 1e6);
  }
  return median(samples);
}

// The sizes only for a build that is for a range of them.
function bench({ compiler, built, threads, runs, dim, ranges }, ...more) {
  const sizes = ranges ? dim.flatMap((size) => ['--dim', size]) : [];
  const command = ['bench', built, '--threads', threads, '--runs', runs, '--json', ...sizes, ...more];
  return JSON.parse(execFileSync(compiler, command, { encoding: 'utf8' }));
}

async function main() {
  const { values: options } = parseArgs({ options: OPTIONS });
  const session = await open(options.model, +options.threads);
  const dims = Object.fromEntries(options.dim.map((size) => [size.split('=')[0], +size.split('=')[1]]));
  const inputs = feeds(session, { dims });
  const worst = await checkAnswers(options, session, inputs);
  const ours = [];
  const theirs = [];
  for (let round = 0; round < +options.rounds; ++round) {
    ours.push(bench(options).median_ms);
    theirs.push(await timeOnnxRuntime(session, inputs, +options.runs));
  }
  const profile = bench(options, '--profile');
  const flops = profile.kernels.reduce((sum, kernel) => sum + kernel.flops, 0);
  const ratios = ours.map((ms, i) => theirs[i] / ms);
  const [low, high] = bounds(ratios);
  const row = {
    name: options.name,
    threads: +options.threads,
    tunefarm_ms: median(ours),
    onnxruntime_ms: median(theirs),
    share_of_peak: flops / (median(ours) * 1e6) / profile.peak_gflops,
    times_as_fast: { median: median(ratios), low, high }, // above 1: faster than ONNX Runtime
    difference: worst,
    ratios,
  };
  console.error(
    `${row.name.padEnd(24)} ${String(row.threads).padStart(2)} ${row.tunefarm_ms.toFixed(3).padStart(10)} ` +
      `${row.onnxruntime_ms.toFixed(3).padStart(10)} ${(100 * row.share_of_peak).toFixed(1).padStart(6)}%  ` +
      `${row.times_as_fast.median.toFixed(2).padStart(5)} [${low.toFixed(2)}, ${high.toFixed(2)}]   ` +
      `${worst.toExponential(1)}`
  );
  console.log(JSON.stringify(row));
}

main().catch((error) => {
  console.error(`networks.js: ${error.message}`);
  process.exit(1);
});
