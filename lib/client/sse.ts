export interface ServerSentEvent {
  /** `message` if the stream gives no name. */
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** Parses a stream of Server-Sent Events from chunks of any size. An incomplete last event is dropped. */
export async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let rest = "";
  let block: string[] = [];
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true });
    // A lone CR at the end may be half of a CRLF.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line !== "") block.push(line);
      else {
        const event = eventOf(block);
        block = [];
        if (event) yield event;
      }
    }
  }
}

function eventOf(lines: readonly string[]): ServerSentEvent | undefined {
  const data: string[] = [];
  let event = "message";
  let id: string | undefined;
  for (const line of lines) {
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "data") data.push(value);
    if (name === "event") event = value;
    if (name === "id") id = value;
  }
  return data.length > 0 || event !== "message" ? { event, data: data.join("\n"), id } : undefined;
}
