// A built network against ONNX Runtime, in turns within one window: these machines drift, so what counts is the
// median of the ratios of neighbouring turns. Called by run.sh.
'use strict';
const { execFileSync } = require('child_process');
const { parseArgs } = require('util');
const { open, feeds } = require('../../support/onnxruntime/session.js');

const OPTIONS = {
  compiler: { type: 'string' }, // the program
  model: { type: 'string' }, // ONNX file
  built: { type: 'string' }, // what `compiler build` wrote for it
  name: { type: 'string' }, // of this row
  threads: { type: 'string', default: '1' },
  rounds: { type: 'string', default: '15' },
  runs: { type: 'string', default: '10' }, // of each side in a round
};

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

async function timeOnnxRuntime(session, inputs, runs) {
  const samples = [];
  for (let i = -1; i < runs; ++i) {
    const start = process.hrtime.bigint();
    await session.run(inputs);
    if (i >= 0) samples.push(Number(process.hrtime.bigint() - start) / 1e6);
  }
  return { median_ms: median(samples), min_ms: Math.min(...samples) };
}

function timeBuilt({ compiler, built, threads, runs }) {
  const arguments_ = ['bench', built, '--threads', threads, '--runs', runs, '--json'];
  return JSON.parse(execFileSync(compiler, arguments_, { encoding: 'utf8' }));
}

async function main() {
  const { values: options } = parseArgs({ options: OPTIONS });
  const session = await open(options.model, +options.threads);
  const inputs = feeds(session);
  await timeOnnxRuntime(session, inputs, 5); // warm-up
  const ours = [];
  const theirs = [];
  for (let round = 0; round < +options.rounds; ++round) {
    ours.push(timeBuilt(options));
    theirs.push(await timeOnnxRuntime(session, inputs, +options.runs));
  }
  const ratios = ours.map((turn, i) => turn.median_ms / theirs[i].median_ms);
  const of = (turns, field) => turns.map((turn) => turn[field]);
  const row = {
    name: options.name,
    threads: +options.threads,
    tunefarm_ms: median(of(ours, 'median_ms')),
    onnxruntime_ms: median(of(theirs, 'median_ms')),
    ratio: median(ratios), // below 1: faster than ONNX Runtime
    ratios,
    // For a machine that never is calm: the best that each side was seen to do.
    tunefarm_min_ms: Math.min(...of(ours, 'min_ms')),
    onnxruntime_min_ms: Math.min(...of(theirs, 'min_ms')),
  };
  console.error(
    `${row.name.padEnd(24)} ${row.tunefarm_ms.toFixed(3).padStart(10)} ms ` +
      `${row.onnxruntime_ms.toFixed(3).padStart(10)} ms   ${row.ratio.toFixed(2)} times ONNX Runtime's ` +
      `(at best ${row.tunefarm_min_ms.toFixed(3)} and ${row.onnxruntime_min_ms.toFixed(3)} ms)`
  );
  console.log(JSON.stringify(row));
}

main().catch((error) => {
  console.error(`compare.js: ${error.message}`);
  process.exit(1);
});
