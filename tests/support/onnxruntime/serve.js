// ONNX Runtime's answers to one ONNX backend test after another: for each line with a folder it runs FOLDER/model.onnx on
// FOLDER/test_data_set_0/input_*.pb, writes output_*.pb beside these, and prints "ok", or why it cannot.
//   NODE_PATH=PEERS/node_modules node serve.js [LEVEL of its optimizations, disabled if not given]
'use strict';
const fs = require('fs');
const path = require('path');
const readline = require('readline');
const { open, readTensor, writeTensor } = require('./session.js');

async function answer(folder) {
  const data = path.join(folder, 'test_data_set_0');
  const session = await open(path.join(folder, 'model.onnx'), 1, process.argv[2] || 'disabled');
  const inputs = {};
  session.inputNames.forEach((name, i) => {
    inputs[name] = readTensor(path.join(data, `input_${i}.pb`));
  });
  const outputs = await session.run(inputs);
  session.outputNames.forEach((name, i) => writeTensor(path.join(data, `output_${i}.pb`), outputs[name]));
  await session.release();
}

async function main() {
  for await (const folder of readline.createInterface({ input: process.stdin })) {
    let line = 'ok';
    try {
      await answer(folder);
    } catch (error) {
      line = `refused: ${error.message}`.replace(/\s+/g, ' ');
    }
    fs.writeSync(1, `${line}\n`);
  }
}

main();
