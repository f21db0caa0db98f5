import { webcrypto } from "node:crypto";
import { describe, expect, it } from "vitest";
import { fold, pair } from "../src/programs/side_by_side";
import { compare, meanRatio } from "../src/records/compare";
import { kernelIdOf } from "../src/records/kernel_id";
import { BestOfEach, kernelKey, readBest } from "../src/records/lines";

globalThis.crypto ??= webcrypto as Crypto; // node.js 18 has it not by itself

const problem = { workload: "ab".repeat(32), binding: "n=1", in_layouts: "", out_layouts: "", target: "x86_64", threads: 1 };
const measured = (schedule: string, ns: number, more = {}) =>
  JSON.stringify({ type: "measurement", problem, schedule, outcome: "ok", samples: [[ns * 10, 10]], device: { class: "zen" }, ...more });
const header = '{"type":"tunefarm-records","version":2}';
const workload = JSON.stringify({ type: "workload", key: problem.workload, op: "conv2d", text: "…", flops: 1 });
const best = (...lines: string[]) => {
  const each = new BestOfEach();
  for (const line of [header, workload, ...lines]) each.add(line);
  return each.result();
};

describe("records in lines", () => {
  it("keep the fastest of each kernel with its operator", () => {
    const found = best(measured("a", 100), measured("b", 80), measured("c", 0, { outcome: "crashed", samples: [] }));
    expect(found.get(kernelKey(problem, "zen"))).toMatchObject({ label: "conv2d", ns: 80, schedule: "b", measurements: 3 });
  });
  it("take a schedule's last measurement, and no time that a later failure refutes", () => {
    expect([...best(measured("a", 50), measured("a", 100)).values()][0].ns).toBe(100);
    expect(best(measured("a", 50), measured("a", 0, { outcome: "wrong_output", samples: [] })).size).toBe(0);
    expect([...best(measured("a", 50), measured("a", 70, { outcome: "stopped_early" })).values()][0].ns).toBe(50);
  });
  it("keep classes of devices apart, and what another machine's failure does not refute", () => {
    const on = (kind: string, fingerprint: string) => ({ device: { class: kind, fingerprint } });
    const two = best(measured("a", 50, on("desk", "1")), measured("a", 900, on("phone", "2")), measured("b", 10, { ...on("desk", "1"), numerics: ["bf16"] }));
    expect([...two.values()].map((one) => [one.deviceClass, one.ns])).toEqual([["desk", 50], ["phone", 900]]);
    const crashed = { outcome: "crashed", samples: [] };
    expect(best(measured("a", 50, on("desk", "1")), measured("a", 0, { ...on("desk", "2"), ...crashed })).size).toBe(1);
    expect(best(measured("a", 50, on("desk", "1")), measured("a", 0, { ...on("desk", "1"), ...crashed })).size).toBe(0);
  });
  it("take the bounds that the line tells, and what met others by their match", () => {
    const [one] = best(measured("a", 100, { median_ns: 100, interval_ns: [98, 104] })).values();
    expect(one).toMatchObject({ lowNs: 98, highNs: 104 });
    const [met] = best(measured("a", 100, { match: { ns: 97, low_ns: 96, high_ns: 98 } })).values();
    expect(met).toMatchObject({ ns: 97, lowNs: 96, highNs: 98 });
  });
  it("say which line is none", async () => {
    await expect(readBest(new Blob([`${header}\n{"type":`]), () => {})).rejects.toThrow("line 2: it is no JSON");
    await expect(readBest(new Blob(["{}\n"]), () => {})).rejects.toThrow("line 1: it does not begin as records do");
  });
  it("name a kernel as the service does", async () => {
    // printf '%s' "$(printf 'ab%.0s' {1..32})|n=1|||x86_64|1|0" | sha256sum
    expect(await kernelIdOf(problem)).toBe("2b314a1c7ca62655");
  });
});

describe("compare", () => {
  it("calls none faster whose bounds overlap", () => {
    const left = best(measured("a", 100, { interval_ns: [99, 101], median_ns: 100 }));
    const far = best(measured("b", 110, { interval_ns: [108, 112], median_ns: 110 }));
    const near = best(measured("b", 101, { interval_ns: [100, 102], median_ns: 101 }));
    expect(compare(left, far)[0]).toMatchObject({ verdict: "left", ratio: 1.1 });
    expect(compare(far, left)[0].verdict).toBe("right");
    expect(compare(left, near)[0].verdict).toBe("same");
    expect(compare(left, new Map())[0].verdict).toBe("only left");
    expect(meanRatio(compare(left, far))).toBeCloseTo(1.1);
    expect(meanRatio([])).toBeUndefined();
  });
});

describe("texts side by side", () => {
  it("pair what differs and number what each has", () => {
    const pairs = pair("a\nb\nc\n", "a\nB\nc\nd\n");
    expect(pairs.map((one) => one.kind)).toEqual(["same", "changed", "same", "added"]);
    expect(pairs[3].right).toEqual({ number: 4, text: "d" });
  });
  it("take lines for the same that are indented otherwise", () => expect(pair("  a", "a")[0].kind).toBe("same"));
  it("fold long runs of the same, and lose no line", () => {
    const left = Array.from({ length: 60 }, (_, i) => `line ${i}`);
    const right = [...left];
    right[30] = "other";
    const pieces = fold(pair(left.join("\n"), right.join("\n")));
    expect(pieces.filter((piece) => "folded" in piece).length).toBe(2);
    expect(pieces.flatMap((piece) => ("folded" in piece ? piece.folded : piece.pairs)).length).toBe(60);
  });
  it("come to an end with texts that have nothing in common", () => {
    const of = (mark: string) => Array.from({ length: 6000 }, (_, i) => `${mark}${i}`).join("\n");
    expect(pair(of("a"), of("b")).length).toBe(6000);
  });
});
