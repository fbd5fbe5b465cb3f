import { ClientProblem, problemOf } from "./problem.ts";
import type { CallOptions, Request, Sender } from "./send.ts";
import { eventsOf } from "./sse.ts";

/**
 * The entries of a stream that can be resumed, until its `end` event. A connection that breaks is made again after the
 * last entry that arrived, three times in a row at most.
 */
export async function* follow({ send, sleep }: Sender, of: Request, options: CallOptions): AsyncGenerator<unknown> {
  let last: string | undefined;
  for (let lost = 0; lost <= 3; lost++) {
    if (lost > 0) await sleep(250 * 2 ** lost, options.signal);
    const headers = { accept: "text/event-stream", ...(last !== undefined && { "last-event-id": last }) };
    const response = await send({ ...of, headers, more_ms: aDay }, options);
    if (!response.headers.get("content-type")?.startsWith("text/event-stream"))
      throw new ClientProblem("unreadable", "this service does not stream; read the list instead", {
        status: response.status,
      });
    try {
      for await (const { event, data, id } of eventsOf(chunksOf(response.body))) {
        if (event === "end") return;
        if (event === "problem") throw problemOf(response, { error: JSON.parse(data) });
        last = id ?? last;
        lost = 0;
        yield JSON.parse(data);
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof ClientProblem) throw error;
      if (error instanceof SyntaxError) throw new ClientProblem("unreadable", "an entry is not JSON", { cause: error });
    }
  }
  throw new ClientProblem("unreachable", "the stream broke off again and again");
}

/** A stream is as long as what it tells of, so that it has no time-out of its own. */
const aDay = 86_400_000;

/** Not every browser iterates over a stream by itself. */
async function* chunksOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  try {
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) yield read.value;
  } finally {
    await reader?.cancel().catch(() => {});
  }
}
