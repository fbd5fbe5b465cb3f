import { machineTimer } from "../kernel/clock.ts";
import type { Outbound, OutboundRequest, Sent } from "./outbound.ts";

/** Answers a delivery in the process: a test's receiver, without a socket. */
export type Sink = (request: Request) => Response | Promise<Response>;

/** How much of an answer is read, and how much of it is kept with a try. */
const read = 64 * 1024;
const kept = 1024;

/** The beginning of an answer, and no more of it than that. */
async function beginning(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part && !part.done && size < read; part = await reader?.read()) {
    chunks.push(part.value);
    size += part.value.length;
  }
  await reader?.cancel();
  return Buffer.concat(chunks).subarray(0, kept).toString("utf8").replaceAll("\u0000", "\ufffd").toWellFormed();
}

/** What goes out through a function instead of a socket, with the same limits: ten seconds, no redirects. */
async function through(sink: Sink, { url, headers, body, signal }: OutboundRequest): Promise<Sent> {
  let cancel = () => {};
  const abort = new AbortController();
  const late = new Promise<never>((_, reject) => {
    const stop = (reason: unknown) => {
      reject(new Error(String(reason)));
      abort.abort();
    };
    if (signal?.aborted) stop(signal.reason);
    signal?.addEventListener("abort", () => stop(signal.reason));
    cancel = machineTimer("10s", () => stop("timeout after 10 s"));
  });
  late.catch(() => {});
  const answer = async (): Promise<Sent> => {
    const request = new Request(url, { method: "POST", headers, body, redirect: "manual", signal: abort.signal });
    const response = await sink(request);
    return { status: response.status, error: null, response: await beginning(response), duration_ms: 0 };
  };
  try {
    return await Promise.race([answer(), late]);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { status: null, error: reason, response: null, duration_ms: 0 };
  } finally {
    cancel();
  }
}

const nameOf = (url: string): string | undefined =>
  URL.canParse(url) ? /^([^.]+)\.inbox\.test$/.exec(new URL(url).hostname)?.[1] : undefined;

export interface Inbox extends Outbound {
  /** Answers what is sent to `https://NAME.inbox.test/…`; without a sink it is answered 200. */
  sink(name: string, answer: Sink): void;
}

/**
 * What is sent to `https://NAME.inbox.test/…` stays in the process. Everything else goes through `transport`, where one
 * is given, or over the network.
 */
export function createInbox(network: Outbound, transport: Sink | undefined): Inbox {
  const sinks = new Map<string, Sink>();
  const sinkOf = (url: string): Sink | undefined => {
    const name = nameOf(url);
    return name === undefined ? transport : (sinks.get(name) ?? (() => new Response(null, { status: 200 })));
  };
  return {
    sink: (name, answer) => void sinks.set(name, answer),
    send(request) {
      const sink = sinkOf(request.url);
      return sink ? through(sink, request) : network.send(request);
    },
    judge: async (url) => (sinkOf(url) ? undefined : network.judge(url)),
    close: () => network.close(),
  };
}
