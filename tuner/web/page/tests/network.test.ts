import { describe, expect, it } from "vitest";
import { isotonic, layOut } from "../src/network/layout";
import { layoutName } from "../src/pages/layout_name";

const sizes = { width: 100, height: 40, gapX: 10, gapY: 20 };

describe("layOut", () => {
  it("puts each node below what it reads, and none upon another", () => {
    const inputs: number[][] = [[]];
    for (let i = 1; i < 600; i++) inputs.push(i % 7 === 0 ? [i - 1, Math.max(0, i - 6)] : [Math.max(0, i - 1 - (i % 3))]);
    const { nodes, edges } = layOut(inputs, sizes);
    inputs.forEach((of, i) => of.forEach((input) => expect(nodes[i].y).toBeGreaterThan(nodes[input].y)));
    const rows = new Map<number, number[]>();
    for (const { x, y } of nodes) rows.set(y, [...(rows.get(y) ?? []), x]);
    for (const xs of rows.values()) {
      xs.sort((a, b) => a - b);
      for (let i = 1; i < xs.length; i++) expect(xs[i] - xs[i - 1]).toBeGreaterThan(sizes.width);
    }
    for (const { points } of edges) expect(points.length % 2).toBe(0);
  });
  it("draws a chain as a straight line, and blocks below each other", () => {
    const chain = layOut([[], [0], [1], [2]], sizes);
    expect(new Set(chain.nodes.map((node) => Math.round(node.x))).size).toBe(1);
    const blocks: number[][] = [[]];
    for (let block = 0, last = 0; block < 6; block++) {
      const at = blocks.length;
      blocks.push([last], [last], [at + 1], [last], [at + 3], [at, at + 2, at + 4]);
      last = at + 5;
    }
    const { nodes } = layOut(blocks, sizes);
    expect(Math.abs(nodes.at(-1)!.x - nodes[0].x)).toBeLessThan(sizes.width);
  });
  it("takes no nodes", () => expect(layOut([], sizes).nodes).toEqual([]));
});

describe("layoutName", () => {
  it("is what people write", () => expect(["0,1,2,3,1:16", "", "1,0", "0,2,3,1"].map(layoutName)).toEqual(["NCHW16c", "-", "BA", "NHWC"]));
});

describe("isotonic", () => {
  it("is the nearest that ascends", () => {
    expect(isotonic([{ value: 3, weight: 1 }, { value: 1, weight: 1 }, { value: 5, weight: 1 }])).toEqual([2, 2, 5]);
    expect(isotonic([{ value: 3, weight: 3 }, { value: 1, weight: 1 }])).toEqual([2.5, 2.5]);
  });
});
