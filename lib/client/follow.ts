import { ClientProblem, problemOf } from "./problem.ts";
import type { CallOptions, Request, Sender } from "./send.ts";
import { eventsOf } from "./sse.ts";

/** Ends with the `end` event, whose data it returns. After a broken connection it resumes, three times in a row. */
export async function* follow(
  { send, sleep }: Sender,
  request: Request,
  options: CallOptions,
): AsyncGenerator<unknown, unknown> {
  let last: string | undefined;
  for (let lost = 0; lost <= 3; lost++) {
    if (lost > 0) await sleep(250 * 2 ** lost, options.signal);
    const headers = { accept: "text/event-stream", ...(last !== undefined && { "last-event-id": last }) };
    const response = await send({ ...request, headers, extra_ms: day_ms }, options);
    if (!response.headers.get("content-type")?.startsWith("text/event-stream"))
      throw new ClientProblem("unreadable", "this service does not stream; read the list instead", {
        status: response.status,
      });
    try {
      for await (const { event, data, id } of eventsOf(chunksOf(response.body))) {
        if (event === "end") return JSON.parse(data);
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
  throw new ClientProblem("unreachable", "the stream broke off four times in a row");
}

/** Added to the timeout: a stream lasts as long as the work it reports on. */
const day_ms = 86_400_000;

/** Reads with a reader, because some browsers cannot iterate over a stream. */
async function* chunksOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  try {
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) yield read.value;
  } finally {
    await reader?.cancel().catch(() => {});
  }
}
