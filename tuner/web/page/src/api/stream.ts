// Owns: reading server-sent events and lines from a stream of bytes.

export interface StreamEvent {
  name: string; // "message" unless it says another
  data: string;
}

/** The stream's lines, without their ends; the last one too if it has none. */
export async function* lines(bytes: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = bytes.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      let from = 0;
      for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n", from)) {
        yield rest.slice(from, rest[end - 1] === "\r" ? end - 1 : end);
        from = end + 1;
      }
      rest = rest.slice(from);
      if (done) break;
    }
    if (rest) yield rest;
  } finally {
    reader.cancel().catch(() => {}); // it may have failed already, which the reader has told
  }
}

/** EventSource can't send a token; so the page reads events of a fetch. */
export async function* events(bytes: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  let name = "message";
  let data: string[] = [];
  for await (const line of lines(bytes)) {
    if (line === "") {
      if (data.length > 0 || name !== "message") yield { name, data: data.join("\n") };
      name = "message";
      data = [];
      continue;
    }
    const colon = line.indexOf(":");
    if (colon === 0) continue; // a comment keeps the connection open
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") name = value;
    if (field === "data") data.push(value);
  }
}
