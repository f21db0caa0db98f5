// Prints the TypeScript of what the service takes and answers, as protobuf's JSON mapping writes it with primitive
// fields always printed: src/api/messages.ts, made from proto/ by protoc. Nothing of it is written by hand.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { fromBinary, isFieldSet } from "@bufbuild/protobuf";
import {
  FieldDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../../../..");
const out = resolve(here, "../src/api/messages.ts");
// The page calls these services; messages that none of their calls needs are left out.
const services = ["Tuner", "Records", "Reports", "Operators"];

function descriptors() {
  const folder = mkdtempSync(join(tmpdir(), "tunefarm-types-"));
  try {
    const file = join(folder, "set.pb");
    const protos = ["proto/tune/v1/tune.proto", "proto/tune/v1/report.proto", "proto/farm/v1/farm.proto"];
    execFileSync("protoc", ["-I.", "--include_imports", "--include_source_info", `--descriptor_set_out=${file}`, ...protos], {
      cwd: root,
      stdio: ["ignore", "inherit", "inherit"],
    });
    return fromBinary(FileDescriptorSetSchema, readFileSync(file)).file;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const types = new Map(); // full name with a leading dot → { kind, type, comment of each path }

function collect(file) {
  const comments = new Map();
  for (const at of file.sourceCodeInfo?.location ?? [])
    comments.set(at.path.join("."), (at.leadingComments || at.trailingComments).trim().replaceAll("*/", "* /"));
  const visit = (message, scope, path) => {
    types.set(`${scope}.${message.name}`, { kind: "message", type: message, comments, path });
    message.nestedType.forEach((nested, i) => visit(nested, `${scope}.${message.name}`, `${path}.3.${i}`));
    message.enumType.forEach((nested) => types.set(`${scope}.${message.name}.${nested.name}`, { kind: "enum", type: nested }));
  };
  file.messageType.forEach((message, i) => visit(message, `.${file.package}`, `4.${i}`));
  file.enumType.forEach((type) => types.set(`.${file.package}.${type.name}`, { kind: "enum", type }));
}

const shortName = (name) => name.slice(name.lastIndexOf(".") + 1);

function valueType(field) {
  switch (field.type) {
    case Type.MESSAGE: case Type.ENUM: return shortName(field.typeName);
    case Type.STRING: case Type.BYTES:
    case Type.INT64: case Type.UINT64: case Type.SINT64: case Type.FIXED64: case Type.SFIXED64: return "string";
    case Type.BOOL: return "boolean";
    default: return "number";
  }
}

// The field as a member. A list or map is always there; a message, or what is marked optional, may be absent.
function member(field) {
  const entry = field.type === Type.MESSAGE ? types.get(field.typeName) : undefined;
  const repeated = field.label === Label.REPEATED;
  if (entry?.type.options?.mapEntry) return `${field.jsonName}: Record<string, ${valueType(entry.type.field[1])}>`;
  if (repeated) return `${field.jsonName}: ${valueType(field)}[]`;
  const mayLack = field.type === Type.MESSAGE || isFieldSet(field, FieldDescriptorProtoSchema.field.oneofIndex);
  return `${field.jsonName}${mayLack ? "?" : ""}: ${valueType(field)}`;
}

const wanted = new Set();
function want(name) {
  if (wanted.has(name)) return;
  wanted.add(name);
  const { kind, type } = types.get(name);
  if (kind === "message") for (const field of type.field) if (field.typeName) want(field.typeName);
}

function print(name) {
  const { kind, type, comments, path } = types.get(name);
  if (kind === "enum") return `export type ${type.name} = ${type.value.map((value) => `"${value.name}"`).join(" | ")};`;
  const doc = (at, indent) => (comments.get(at) ? `${indent}/** ${comments.get(at).replaceAll(/\s*\n\s*/g, " ")} */\n` : "");
  const members = type.field.map((field, i) => `${doc(`${path}.2.${i}`, "  ")}  ${member(field)};`);
  return `${doc(path, "")}export interface ${type.name} {\n${members.join("\n")}${members.length ? "\n" : ""}}`;
}

const files = descriptors();
files.forEach(collect);
const calls = [];
for (const file of files)
  for (const service of file.service.filter((one) => services.includes(one.name)))
    for (const method of service.method) {
      want(method.inputType);
      want(method.outputType);
      calls.push(`  "${service.name}/${method.name}": { request: ${shortName(method.inputType)}; reply: ${shortName(method.outputType)} };`);
    }
const names = [...wanted].filter((name) => !types.get(name).type.options?.mapEntry).sort((a, b) => shortName(a).localeCompare(shortName(b)));
names.forEach((name, i) => {
  if (i > 0 && shortName(names[i - 1]) === shortName(name)) throw new Error(`types.mjs: ${names[i - 1]} and ${name} would have one name`);
});
writeFileSync(out, `// Made by tools/types.mjs from proto/; not kept in version control.

${names.map(print).join("\n\n")}

/** Every call: what it takes and answers; of a stream, each message of it. */
export interface Calls {
${calls.join("\n")}
}
`);
