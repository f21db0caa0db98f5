// What ONNX Runtime allocates for activations. Called by memory.sh, first to run a network and log its arena, then to report.
//   memory.js MODEL.onnx                    two runs, with the log of the arena on standard error
//   memory.js --report NAME BUILT.json LOG  one row: ours of `compiler build --json`, theirs of that log
'use strict';
const fs = require('fs');

async function run(model) {
  const ort = require('onnxruntime-node');
  const { feeds } = require('../../support/onnxruntime/session.js');
  ort.env.logLevel = 'verbose';
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    // Weights do not come from the arena.
    extra: { session: { use_device_allocator_for_initializers: '1' } },
  });
  const inputs = feeds(session);
  // The first run finds out what is needed when; from the second on, one block holds all activations.
  for (let i = 0; i < 2; ++i) {
    process.stderr.write(`RUN ${i}\n`);
    await session.run(inputs);
  }
}

// A block that fits into what the arena already has is not logged.
const megabytes = (bytes) => (Number.isNaN(bytes) ? '-' : (bytes / 1e6).toFixed(2));

function report(name, built, log) {
  const ours = JSON.parse(fs.readFileSync(built, 'utf8'));
  const lines = fs.readFileSync(log, 'utf8').split('RUN ');
  const numbers = (text, pattern) => [...text.matchAll(pattern)].map((match) => +match[1]);
  const most = (values) => (values.length === 0 ? NaN : Math.max(...values));
  const plan = most(numbers(lines[2], /\(requested\) num_bytes: (\d+)/g));
  const arena = numbers(lines.slice(1).join(''), /Extended allocation by (\d+) bytes/g).reduce((a, b) => a + b, 0);
  console.log(
    `${name.padEnd(20)} ${megabytes(ours.arena_bytes).padStart(10)} ${megabytes(ours.workspace_bytes).padStart(10)}   ` +
      `${megabytes(plan).padStart(18)} ${megabytes(arena).padStart(14)}`
  );
}

const [first, ...rest] = process.argv.slice(2);
if (first === '--report') report(...rest);
else
  run(first).catch((error) => {
    console.error(`memory.js: ${error.message}`);
    process.exit(1);
  });
