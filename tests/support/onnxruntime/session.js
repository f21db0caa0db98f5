// What tests and benchmarks need of ONNX Runtime: a session that uses so many threads and nothing of its own
// choice, seeded inputs that fit it, and TensorProto files as ONNX's backend tests hold them.
'use strict';
const fs = require('fs');
const ort = require('onnxruntime-node');

// Of TensorProto.DataType, what networks here take and give.
const ELEMENTS = {
  float32: { code: 1, array: Float32Array },
  uint8: { code: 2, array: Uint8Array },
  int8: { code: 3, array: Int8Array },
  int32: { code: 6, array: Int32Array },
  int64: { code: 7, array: BigInt64Array },
  float64: { code: 11, array: Float64Array },
  uint16: { code: 4, array: Uint16Array },
  int16: { code: 5, array: Int16Array },
  bool: { code: 9, array: Uint8Array },
  float16: { code: 10, array: Uint16Array }, // as bits
  uint32: { code: 12, array: Uint32Array },
  uint64: { code: 13, array: BigUint64Array },
};

function element(type) {
  const found = ELEMENTS[type];
  if (!found) throw new Error(`no support for tensors of ${type}; add it to ELEMENTS in ${__filename}`);
  return found;
}

function open(model, threads, optimization = 'all') {
  return ort.InferenceSession.create(model, {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: optimization,
    logSeverityLevel: 3,
  });
}

// xorshift32: the same numbers everywhere.
function generator(seed) {
  let state = (seed * 2654435761 + 1) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 4294967296;
  };
}

// The bits of the number as float16, to nearest; of less than 2^-14, those of 0.
function halfBits(value) {
  const [bits] = new Uint32Array(new Float32Array([value]).buffer);
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 255) - 112;
  return exponent <= 0 ? sign : sign | (((exponent << 10) | ((bits >>> 13) & 0x3ff)) + ((bits >>> 12) & 1));
}

// Element i of N: uniform in [-1, 1), or i / N ("ramp"); whole numbers below 100 for wide integers, any
// for bytes.
function values(type, count, fill, random) {
  const data = new (element(type).array)(count);
  for (let i = 0; i < count; ++i) {
    if (type === 'int64') data[i] = BigInt(Math.floor(random() * 100));
    else if (type === 'uint8' || type === 'int8') data[i] = Math.floor(random() * 256);
    else if (type === 'int32') data[i] = Math.floor(random() * 100);
    else {
      const value = fill === 'ramp' ? i / count : 2 * random() - 1;
      data[i] = type === 'float16' ? halfBits(value) : value;
    }
  }
  return data;
}

// One tensor for each input. `dims` gives the named dimensions.
function feeds(session, { dims = {}, fill = 'uniform', seed = 1 } = {}) {
  const random = generator(seed);
  const result = {};
  for (const { name, type, shape } of session.inputMetadata) {
    const extents = shape.map((extent) => {
      const n = typeof extent === 'number' ? extent : dims[extent];
      if (!(n > 0)) throw new Error(`input ${name} has dimension ${extent}: give --dim ${extent}=N`);
      return n;
    });
    const count = extents.reduce((a, b) => a * b, 1);
    result[name] = new ort.Tensor(type, values(type, count, fill, random), extents);
  }
  return result;
}

function varint(value) {
  const bytes = [];
  for (let v = BigInt(value); ; v >>= 7n) {
    if (v < 128n) return [...bytes, Number(v)];
    bytes.push(Number(v & 127n) | 128);
  }
}

// TensorProto: dims = 1, data_type = 2, raw_data = 9.
function writeTensor(file, tensor) {
  const raw = Buffer.from(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength);
  const head = tensor.dims.flatMap((extent) => [0x08, ...varint(extent)]);
  head.push(0x10, ...varint(element(tensor.type).code), 0x4a, ...varint(raw.length));
  fs.writeFileSync(file, Buffer.concat([Buffer.from(head), raw]));
}

// A TensorProto whose elements are in raw_data.
function readTensor(file) {
  const bytes = fs.readFileSync(file);
  let at = 0;
  const number = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(value);
    }
  };
  const dims = [];
  let code = 0;
  let raw = Buffer.alloc(0);
  while (at < bytes.length) {
    const tag = number();
    const isBlock = (tag & 7) === 2;
    const value = number();
    if (tag >> 3 === 1 && !isBlock) dims.push(value);
    if (tag >> 3 === 2) code = value;
    if (tag >> 3 === 9) raw = bytes.subarray(at, at + value);
    if (isBlock) at += value;
  }
  const type = Object.keys(ELEMENTS).find((name) => ELEMENTS[name].code === code);
  if (!type) throw new Error(`no support for tensors of data type ${code}`);
  const { array } = ELEMENTS[type];
  return new ort.Tensor(type, new array(new Uint8Array(raw).buffer), dims);
}

module.exports = { open, feeds, readTensor, writeTensor };
