import type { Agent, ClientRequest, IncomingMessage } from "node:http";
import type { RequestOptions, request } from "node:https";
import { systemTimer } from "../../kernel/clock.ts";
import { sameAddress } from "./addresses.ts";
import { faultOf } from "./failure-reasons.ts";
import type { Cut } from "./request-timeout.ts";
import type { Destination } from "./target.ts";

const mostRead = 64 * 1024;
const mostShown = 1024;
const mostInterim = 16;
const mostHeaders = 16 * 1024;
/** How long a request may still be on its way once it was answered. */
const patienceAfter = "1s";

/** One request to one checked address. */
export interface Call {
  readonly method: "GET" | "POST";
  readonly to: Destination;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly address: string;
  readonly agent: Agent;
  readonly cut: Cut;
  /** How long the connection itself may take; undefined where no other address is left to try. */
  readonly patience: number | undefined;
  /** How much of the body is read and kept whole; without it, it is a receiver's, of which only the beginning counts. */
  readonly most?: number | undefined;
}

export interface Outcome {
  readonly status: number | null;
  readonly error: string | null;
  readonly response: string | null;
  readonly retry_after?: string | undefined;
  readonly bytes?: Buffer;
  /** Why the body is not whole. */
  readonly cut?: string | undefined;
  /** `next`: nothing was connected, so another address may be tried. `stale`: an idle connection turned out to be closed. */
  readonly but?: "next" | "stale" | undefined;
}

export const failed = (error: string, but?: Outcome["but"]): Outcome => ({ status: null, error, response: null, but });

/** The headers in a row, which Node writes as they are: ours are the last word about length and host. */
const headersOf = ({ method, to, headers, body }: Call): string[] => {
  const all: string[] = [];
  for (const [name, value] of Object.entries(headers))
    if (!/^(host|content-length)$/i.test(name)) all.push(name, value);
  all.push("host", to.authority);
  if (method === "POST") all.push("content-length", String(Buffer.byteLength(body)));
  return all;
};

const optionsOf = (call: Call): RequestOptions => ({
  agent: call.agent,
  maxHeaderSize: mostHeaders,
  method: call.method,
  // An address instead of the name: nothing is looked up between the check and the connection.
  host: call.address,
  port: call.to.port,
  // An address must not be a server's name; Node compares the certificate with `host` then.
  servername: call.to.address === undefined ? call.to.host : "",
  path: call.to.path,
  headers: headersOf(call),
});

/**
 * Connections that have shaken hands, and whether anything was received since the last request was begun. `reusedSocket`
 * is not set for one that a waiting request takes over at once.
 */
const ready = new WeakMap<object, { answered: boolean }>();

interface Progress {
  connected: boolean;
  reused: { readonly answered: boolean } | undefined;
}

/** Writes the request once the connection stands, and leads to the address that was checked. */
function launch(asked: ClientRequest, call: Call, seen: Progress, fail: (outcome: Outcome) => void): void {
  asked.on("socket", (socket) => {
    const begin = () => {
      if (sameAddress(socket.remoteAddress ?? "", call.address)) asked.end(call.body);
      else fail(failed("address_not_allowed"));
    };
    const known = ready.get(socket);
    if (known) {
      known.answered = false;
      seen.reused = known;
      return begin();
    }
    const { patience } = call;
    const cancel =
      patience === undefined ? () => {} : systemTimer(patience, () => fail(failed("host unreachable", "next")));
    socket.once("connect", () => {
      seen.connected = true;
      cancel();
    });
    socket.once("close", cancel);
    socket.once(call.to.secure ? "secureConnect" : "connect", () => {
      const since = { answered: false };
      ready.set(socket, since);
      socket.on("data", () => {
        since.answered = true;
      });
      begin();
    });
  });
}

/** Reads as much of an answer as is kept or must be read for the connection to serve again; `done` tells why it was not all. */
function collect(answer: IncomingMessage, most: number | undefined, done: (cut?: string) => void): () => Buffer {
  const [read, kept] = most === undefined ? [mostRead, mostShown + 1] : [most, most];
  const chunks: Buffer[] = [];
  let size = 0;
  answer.on("data", (chunk: Buffer) => {
    if (size < kept) chunks.push(chunk.subarray(0, kept - size));
    size += chunk.length;
    if (most === undefined ? size >= read : size > read) done(`over ${read} bytes`);
  });
  answer.on("end", () => done());
  answer.on("error", () => done("connection reset"));
  return () => Buffer.concat(chunks);
}

const whole = new TextDecoder();
/** A character that the limit cut in two is left out; PostgreSQL takes no NUL in a text. */
const textOf = (bytes: Buffer): string => {
  const text =
    bytes.length > mostShown
      ? new TextDecoder().decode(bytes.subarray(0, mostShown), { stream: true })
      : whole.decode(bytes);
  return text.replaceAll("\0", "\ufffd");
};

/** `Retry-After` is a number of seconds, or a date. */
export function retryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const at = /^[A-Z][a-z]{2}, /.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/** Sends one request. It is handed what sends (`request` of node:https), because only outbound.ts may hold that. */
export function exchange(start: typeof request, call: Call): Promise<Outcome> {
  if (call.cut.done) return Promise.resolve(failed(String(call.cut.reason)));
  return new Promise((resolve) => {
    const asked = start(optionsOf(call));
    const seen: Progress = { connected: false, reused: undefined };
    let answered: (() => Outcome) | undefined;
    let interim = 0;
    let over = false;

    const end = (outcome: Outcome, keep = false) => {
      // What was destroyed may fail once more, when the cut and the connection are another request's already.
      if (over) return;
      over = true;
      call.cut.ends(() => {});
      if (!keep) asked.destroy();
      else if (!asked.writableFinished) finish();
      resolve(answered ? { ...answered(), cut: keep ? undefined : (outcome.error ?? undefined) } : outcome);
    };
    /** A connection serves again only once the request is through as well: some answer before they have read it. */
    const finish = () => {
      const cancel = systemTimer(patienceAfter, () => asked.destroy());
      asked.once("finish", cancel).once("close", cancel);
    };
    const take = (answer: IncomingMessage) => {
      const status = answer.statusCode ?? 0;
      if (status < 100) return end(failed("not an HTTP answer"));
      const read = collect(answer, call.most, (cut) => end(failed(cut ?? ""), cut === undefined));
      const retry_after = answer.headers["retry-after"];
      answered = () => {
        const bytes = read();
        return { status, error: null, response: textOf(bytes), retry_after, bytes };
      };
    };

    call.cut.ends(() => end(failed(String(call.cut.reason))));
    launch(asked, call, seen, end);
    asked.on("response", take);
    // Nobody asked for another protocol, so 101 is an answer like any other, and what follows it is of no interest.
    asked.on("upgrade", (answer, socket) => {
      take(answer);
      socket.destroy();
      end(failed("connection reset"));
    });
    asked.on("information", () => {
      interim += 1;
      if (interim > mostInterim) end(failed("too many interim answers"));
    });
    asked.on("error", (error) => {
      const but = seen.reused ? (seen.reused.answered ? undefined : "stale") : seen.connected ? undefined : "next";
      end(failed(faultOf(error), but));
    });
  });
}
