// ONNX Runtime's answer to seeded inputs.
//   NODE_PATH=PEERS/node_modules node answer.js MODEL.onnx FOLDER [--dim NAME=N]… [--fill uniform|ramp] [--seed N]
// writes FOLDER/input_<i>.pb and FOLDER/output_<i>.pb and prints their names, one a line: "input NAME FILE".
'use strict';
const fs = require('fs');
const path = require('path');
const { parseArgs } = require('util');
const { open, feeds, writeTensor } = require('./session.js');

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      dim: { type: 'string', multiple: true, default: [] },
      fill: { type: 'string', default: 'uniform' },
      seed: { type: 'string', default: '1' },
    },
  });
  const [model, folder] = positionals;
  if (positionals.length !== 2) throw new Error('want MODEL.onnx and FOLDER');
  const dims = Object.fromEntries(values.dim.map((text) => text.split('=')).map(([name, n]) => [name, +n]));
  fs.mkdirSync(folder, { recursive: true });
  const save = (kind, names, tensors) =>
    names.forEach((name, i) => {
      const file = path.join(folder, `${kind}_${i}.pb`);
      writeTensor(file, tensors[name]);
      console.log(`${kind} ${name} ${file}`);
    });
  const session = await open(model, 1);
  const inputs = feeds(session, { dims, fill: values.fill, seed: +values.seed });
  save('input', session.inputNames, inputs);
  save('output', session.outputNames, await session.run(inputs));
}

main().catch((error) => {
  console.error(`answer.js: ${error.message}`);
  process.exit(1);
});
