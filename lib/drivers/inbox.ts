import type { Outbound, OutboundRequest, Sent } from "./outbound.ts";

/** Answers a delivery in the process: a test's receiver, without a socket. */
export type Sink = (request: Request) => Response | Promise<Response>;

/** How much of an answer is kept with a try. */
const kept = 1024;

/** What goes out through a function instead of a socket. */
async function through(sink: Sink, { url, headers, body }: OutboundRequest): Promise<Sent> {
  try {
    const response = await sink(new Request(url, { method: "POST", headers, body }));
    const text = (await response.text()).slice(0, kept);
    return { status: response.status, error: null, response: text, duration_ms: 0 };
  } catch (error) {
    return {
      status: null,
      error: error instanceof Error ? error.message : String(error),
      response: null,
      duration_ms: 0,
    };
  }
}

const nameOf = (url: string): string | undefined => /^([^.]+)\.inbox\.test$/.exec(new URL(url).hostname)?.[1];

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
