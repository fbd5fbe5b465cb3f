import { systemTimer } from "../../lib/kernel/clock.ts";
import { AbortController } from "../../lib/kernel/node/web.ts";
import { type Answer, Differs, field, type Probe, type Sent, Untried } from "./check.ts";

export interface Trial {
  /** A probe with its own last response, because checks run while other probes poll. */
  probe(): Probe;
  /** Removes everything that the trial created, and ends all waits. */
  undo(): Promise<void>;
}

export interface TrialOptions {
  /** Includes the version: `http://127.0.0.1:7400/v1`. */
  readonly base: string;
  readonly key: string | undefined;
  /** Default: the global `fetch`. Tests answer without a network. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  readonly pause: (ms: number) => Promise<void>;
  readonly timeout_ms?: number;
  readonly patience_ms?: number;
}

const needsKey = "it needs an API key of the server: set SVC_API_KEY, or give it with --key";
/** After this many unanswered requests in a row, the server is not asked again. */
const maxUnanswered = 3;
const maxBody_bytes = 16 * 1024 * 1024;
/** The longest wait for a rate-limit window to end. */
const maxWait_s = 5;

export function createTrial({
  base,
  key,
  fetch: ask = fetch,
  pause,
  timeout_ms = 10_000,
  patience_ms = 120_000,
}: TrialOptions): Trial {
  const shared = new Map<string, Promise<unknown>>();
  const undos: (() => Promise<unknown>)[] = [];
  let latest: Answer | undefined;
  let unanswered = 0;
  let isLimited = false;
  let isEnding = false;
  const seen: Answer[] = [];

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
    if (unanswered >= maxUnanswered) throw new Untried(`the server left ${maxUnanswered} requests without an answer`);
    const headers = {
      accept: "application/json",
      ...(other !== null && { authorization: `Bearer ${other}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const usedUp = new Untried("the key has used up its requests; try again in ten minutes");
    if (isLimited) throw usedUp;
    for (let tries = 0; ; tries++) {
      const answer = await exchange(line, base + path, init);
      latest = answer;
      if (answer.status !== 429) {
        seen.push(answer);
        return answer;
      }
      const wait_s = Number(answer.headers.get("retry-after") ?? Number.NaN);
      isLimited = tries > 0 || !(wait_s <= maxWait_s);
      if (isLimited) throw usedUp;
      await pause(wait_s * 1_000);
    }
  };

  const probe = (): Probe => {
    let last: Answer | undefined;
    const noted = async (method: string, path: string, sent?: Sent) => {
      if (key === undefined && sent?.key === undefined) throw new Untried(needsKey);
      last = await send(method, path, sent);
      // The key lacks a role or scope, so the refusal does not show whether the sentence holds.
      if (last.status === 403 && sent?.key === undefined)
        throw new Untried(`the key may not ${last.line.split("?")[0]} (403)`);
      return last;
    };
    return {
      send: noted,
      get: (path) => noted("GET", path),
      open: (url) => exchange(`GET ${url.slice(0, 200)}`, new URL(url, base).href, { method: "GET" }),
      seen,
      once<T>(name: string, make: () => Promise<T>) {
        const before = shared.get(name) as Promise<T> | undefined;
        const now = before ?? make();
        shared.set(name, now);
        return now;
      },
      atEnd: (undo) => void undos.push(undo),
      async pause(ms) {
        if (isEnding) throw new Untried("the trial ends");
        await pause(ms);
      },
      patience_ms,
      get last() {
        return last ?? latest;
      },
    };
  };

  const removeAll = async () => {
    for (const undo of undos.splice(0).reverse()) await undo().catch(() => {});
  };
  return {
    probe,
    async undo() {
      isEnding = true;
      await removeAll();
      // Creations that ran in parallel with the checks are complete only now.
      await Promise.allSettled(shared.values());
      await removeAll();
    },
  };
}

/** The request id from the body or the header, which support asks for. */
export const requestIdOf = (answer: Answer | undefined): string | undefined => {
  const id = field(field(answer?.body, "meta"), "request_id") ?? answer?.headers.get("x-request-id") ?? undefined;
  return typeof id === "string" ? id.slice(0, 128) : undefined;
};

/** An endless body must not fill the memory. */
async function bodyOf(response: Response, line: string): Promise<string> {
  let size = 0;
  const parts: Uint8Array[] = [];
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > maxBody_bytes) throw new Differs(`${line} answered more than 16 MiB`);
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

/** Why a connection failed, without the surrounding "fetch failed". */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message : message;
}

/** Throws if the server does not answer, redirects, or refuses the key: every sentence would then differ. */
export async function requireServer(base: string, key: string | undefined): Promise<void> {
  const answer = await fetch(`${base}/projects?per_page=1`, {
    headers: { accept: "application/json", ...(key !== undefined && { authorization: `Bearer ${key}` }) },
    signal: AbortSignal.timeout(10_000),
    redirect: "manual",
  }).catch((error: unknown) => {
    throw new Error(`no server answers at ${base}: ${reasonOf(error)}`);
  });
  await answer.body?.cancel();
  const to = answer.headers.get("location");
  if (answer.status >= 300 && answer.status < 400 && to !== null)
    throw new Error(`${base} redirects to ${to}; give the address that answers itself as --url`);
  if (key !== undefined && answer.status === 401)
    throw new Error(`${base} refuses the API key (401); it is unknown, revoked or expired there`);
}
