import { describe, expect, it } from "vitest";
import { bytes, clock, digits, duration, percent, speedup, time } from "../src/format";
import { type Typed, specOf } from "../src/pages/submit_spec";

const plain = (text: string) => text.replaceAll("\u202f", " ");

describe("format", () => {
  it("has three digits and the unit that fits", () => {
    expect(plain(time(12345))).toBe("12.3 µs");
    expect(plain(time(999.9))).toBe("1.00 µs");
    expect(plain(time(1.5e9))).toBe("1.50 s");
    expect(plain(bytes(3 * 2 ** 20))).toBe("3 MiB");
    expect(digits(1234567)).toBe("1,234,567");
    expect(digits(0.00123)).toBe("0.00123");
  });
  it("has a dash for what is not known", () => {
    expect(time(0)).toBe("–");
    expect(speedup(0, 5)).toBe("–");
    expect(percent(Number.NaN)).toBe("–");
  });
  it("says times of an axis exactly", () => expect([30, 90, 120, 7500, 0].map(clock)).toEqual(["30 s", "1:30 min", "2 min", "2:05 h", "0 s"]));
  it("says durations as people do", () => {
    expect(duration(45)).toBe("45 s");
    expect(duration(3599)).toBe("1 h 00 min");
    expect(duration(3 * 3600 + 300)).toBe("3 h 05 min");
    expect(duration(50 * 3600)).toBe("2 d 2 h");
  });
});

describe("specOf", () => {
  const typed: Typed = { name: "n", owner: "", deviceKey: "k", target: " host ", threads: "2", minutes: "1.5", trials: "", dims: "", at: "", priority: "-3", slots: "", numerics: ["bf16"] };
  it("takes sizes, ranges and anchors", () => {
    const spec = specOf({ ...typed, dims: "batch=8\nheight=32..512:32; length = 1 .. 64", at: "height=64,length=8" });
    expect(spec.dims).toEqual({ batch: "8" });
    expect(spec.openDims).toEqual([
      { name: "height", least: "32", most: "512", multipleOf: "32" },
      { name: "length", least: "1", most: "64", multipleOf: "1" },
    ]);
    expect(spec.anchors).toEqual([{ sizes: { height: "64", length: "8" } }]);
    expect(spec).toMatchObject({ target: "host", threads: 2, minutes: 1.5, trials: "0", priority: -3, slots: 0 });
  });
  it("says what to type instead", () => {
    expect(() => specOf({ ...typed, dims: "batch 8" })).toThrow("write NAME=SIZE, as in batch=8");
    expect(() => specOf({ ...typed, minutes: "", trials: "" })).toThrow("give it minutes, or trials");
    expect(() => specOf({ ...typed, threads: "1.5" })).toThrow('threads is "1.5"');
  });
});
