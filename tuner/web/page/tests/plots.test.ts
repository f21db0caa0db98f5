import { describe, expect, it } from "vitest";
import { swarm } from "../src/plots/samples";
import { linearTicks, logRange, logTicks, timeTicks, wholeTicks } from "../src/plots/scale";
import { commonAxis, sample } from "../src/plots/steps";

describe("ticks", () => {
  it("are round and inside", () => {
    expect(linearTicks(0, 10)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(wholeTicks(1, 2, 10)).toEqual([1, 2]);
    expect(wholeTicks(0, 10)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(logTicks(90, 1.2e6)).toEqual([100, 1000, 10_000, 100_000, 1_000_000]);
    for (const tick of logTicks(23, 41)) expect(tick).toBeGreaterThan(22);
  });
  it("of times are those that people count by", () => {
    expect(timeTicks(0, 400)).toEqual([0, 120, 240, 360]);
    expect(timeTicks(0, 3 * 86400)).toEqual([0, 43200, 86400, 129600, 172800, 216000, 259200]);
  });
  it("are never none", () => {
    for (const [low, high] of [[1, 1.0001], [3, 8], [1e-9, 1e12], [9.9, 10.1]]) expect(logTicks(low, high).length).toBeGreaterThan(1);
  });
  it("leave out what has no logarithm", () => {
    const [low, high] = logRange([0, 100, Number.NaN, 1000]);
    expect(low).toBeGreaterThan(50);
    expect(high).toBeLessThan(2000);
  });
});

describe("curves of steps", () => {
  it("hold their value until the next", () => {
    expect(sample({ x: [1, 4], y: [10, 5] }, [0, 1, 3, 4, 9])).toEqual([null, 10, 10, 5, 5]);
  });
  it("share an axis that ends where it is told, however many they are", () => {
    expect(commonAxis([{ x: [1, 3], y: [1, 1] }, { x: [2], y: [1] }], 5)).toEqual([1, 2, 3, 5]);
    const many = Array.from({ length: 50_000 }, (_, i) => i);
    const axis = commonAxis([{ x: many, y: many }], 60_000);
    expect(axis.length).toBeLessThan(1000);
    expect(axis.at(-1)).toBe(60_000);
  });
});

describe("swarm", () => {
  it("keeps marks apart", () => {
    const levels = swarm([0, 1, 2, 100], 5);
    expect(new Set(levels.slice(0, 3)).size).toBe(3);
    expect(levels[3]).toBe(0);
  });
});
