import { describe, expect, it } from "vitest";
import { keyOf } from "../src/api/key";
import { events, lines } from "../src/api/stream";

const bytes = (...parts: string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(new TextEncoder().encode(part));
      controller.close();
    },
  });
const all = async <T>(of: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = [];
  for await (const one of of) found.push(one);
  return found;
};

describe("keyOf", () => {
  it("sorts keys at all depths and leaves defaults out", () => {
    expect(keyOf("Reports/ListKernels", { search: "", pageSize: 0, jobId: "3" })).toBe('Reports/ListKernels {"jobId":"3"}');
    expect(keyOf("A/B", { b: { d: 1, c: "x" }, a: [], e: "0", f: undefined })).toBe('A/B {"b":{"c":"x","d":1}}');
  });
  it("keeps lists in their order", () => expect(keyOf("A/B", { list: ["b", "a"] })).toBe('A/B {"list":["b","a"]}'));
});

describe("lines", () => {
  it("joins what the network has cut, also within a character", async () => {
    const text = new TextEncoder().encode("µs\r\nrest");
    const cut = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(text.slice(0, 1));
        controller.enqueue(text.slice(1));
        controller.close();
      },
    });
    expect(await all(lines(cut))).toEqual(["µs", "rest"]);
  });
  it("has no line after a last line end", async () => expect(await all(lines(bytes("a\n", "b\n")))).toEqual(["a", "b"]));
});

describe("events", () => {
  it("reads messages, names and comments", async () => {
    const read = await all(events(bytes(": still there\n\n", 'data: {"a":1}\n\nevent: err', 'or\ndata: {"code":"X"}\n\nevent: end\n\n')));
    expect(read).toEqual([
      { name: "message", data: '{"a":1}' },
      { name: "error", data: '{"code":"X"}' },
      { name: "end", data: "" },
    ]);
  });
});
