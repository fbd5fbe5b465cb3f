import { systemTimer } from "../../lib/kernel/clock.ts";
import { AbortController } from "../../lib/kernel/web.ts";
import { type Answer, Differs, field, type Probe, type Sent, Untried } from "./check.ts";

/** All requests of a trial. */
export interface Trial {
  /** A probe with a last answer of its own: checks run beside work that others look at. */
  probe(): Probe;
  /** Removes what the trial has made. */
  undo(): Promise<void>;
}

export interface TrialOptions {
  /** With the version: `http://127.0.0.1:7400/v1`. */
  readonly base: string;
  readonly key: string | undefined;
  /** Default: the platform's. A test answers in process. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  readonly pause: (ms: number) => Promise<void>;
  readonly timeout_ms?: number;
  readonly patience_ms?: number;
}

/** No answer of the interface is longer. */
const longestBody = 16 * 1024 * 1024;
/** A server that leaves so many requests in a row without an answer is not asked again. */
const mostUnanswered = 3;
/** The longest wait for a window of requests to end. */
const longestWait_s = 5;

export function createTrial({
  base,
  key,
  fetch: ask = fetch,
  pause,
  timeout_ms = 10_000,
  patience_ms = 120_000,
}: TrialOptions): Trial {
  const made = new Map<string, Promise<unknown>>();
  const undos: (() => Promise<unknown>)[] = [];
  let latest: Answer | undefined;
  let unanswered = 0;

  /** One request. Rejects where no whole answer arrives in time. */
  const exchange = async (line: string, url: string, init: RequestInit): Promise<Answer> => {
    const control = new AbortController();
    const stop = systemTimer(`${timeout_ms}ms`, () => control.abort(), { hold: true });
    try {
      const response = await ask(url, { ...init, signal: control.signal, redirect: "manual" });
      const text = await bodyOf(response, line);
      unanswered = 0;
      return { line, status: response.status, headers: response.headers, text, body: parsed(text) };
    } catch (error) {
      if (error instanceof Differs) throw error;
      unanswered += 1;
      const why = control.signal.aborted ? `no answer within ${timeout_ms / 1_000} s` : reasonOf(error);
      throw new Differs(`${line}: ${why}`);
    } finally {
      stop();
    }
  };

  const send = async (method: string, path: string, { body, key: other = key ?? null }: Sent = {}): Promise<Answer> => {
    const line = `${method} ${path}`;
    if (unanswered >= mostUnanswered) throw new Untried(`the server left ${mostUnanswered} requests without an answer`);
    const headers = {
      accept: "application/json",
      ...(other !== null && { authorization: `Bearer ${other}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    for (let tries = 0; ; tries++) {
      const answer = await exchange(line, base + path, init);
      latest = answer;
      if (answer.status !== 429) return answer;
      const wait_s = Number(answer.headers.get("retry-after") ?? Number.NaN);
      if (tries > 0 || !(wait_s <= longestWait_s))
        throw new Untried("the key has used up its requests; try again in ten minutes");
      await pause(wait_s * 1_000);
    }
  };

  const probe = (): Probe => {
    let last: Answer | undefined;
    const noted = async (method: string, path: string, sent?: Sent) => {
      last = await send(method, path, sent);
      return last;
    };
    return {
      send: noted,
      get: (path) => noted("GET", path),
      once<T>(name: string, make: () => Promise<T>) {
        const before = made.get(name) as Promise<T> | undefined;
        const now = before ?? make();
        made.set(name, now);
        return now;
      },
      atEnd: (undo) => void undos.push(undo),
      pause,
      patience_ms,
      get last() {
        return last ?? latest;
      },
    };
  };

  return {
    probe,
    async undo() {
      for (const undo of undos.splice(0).reverse()) await undo().catch(() => {});
    },
  };
}

/** The request's id, in the answer or in its header, as support asks for it. */
export const requestIdOf = (answer: Answer | undefined): string | undefined => {
  const id = field(field(answer?.body, "meta"), "request_id") ?? answer?.headers.get("x-request-id") ?? undefined;
  return typeof id === "string" ? id.slice(0, 128) : undefined;
};

async function bodyOf(response: Response, line: string): Promise<string> {
  let size = 0;
  const parts: Uint8Array[] = [];
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > longestBody) throw new Differs(`${line} answered more than 16 MiB`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Why a connection failed, without the "fetch failed" around it. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message : message;
}

/** Throws where no server answers at all. */
export async function requireServer(base: string): Promise<void> {
  try {
    const answer = await fetch(`${base}/projects`, { signal: AbortSignal.timeout(10_000), redirect: "manual" });
    await answer.body?.cancel();
  } catch (error) {
    throw new Error(`no server answers at ${base}: ${reasonOf(error)}`);
  }
}
