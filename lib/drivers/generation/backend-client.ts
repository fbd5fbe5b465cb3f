import * as v from "valibot";
import { TextDecoder } from "../../kernel/node/web.ts";
import { milliseconds } from "../../kernel/text/duration.ts";
import { parseUrl } from "../../kernel/text/url.ts";
import type { BackendResponse } from "../outbound/backend-request.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { GenerationWork, Progress } from "./contract.ts";
import { isWhole, mediaTypeOf } from "./media-type.ts";

export interface BackendOptions {
  /** The base URL, such as `http://localhost:8080/v1`. */
  readonly url: string;
  /** Sent as bearer token. It never appears in a log or a response. */
  readonly key?: string | undefined;
  /** Additional origins for file downloads, if the backend returns URLs. */
  readonly downloads: readonly string[];
  /** The time limit of the whole generation. */
  readonly timeout_ms: number;
}

export type BackendNetwork = Pick<Outbound, "callBackend">;

/** A file as a backend reports it. Each may also be a data URI. */
export interface ReportedFile {
  readonly base64?: string | null | undefined;
  readonly url?: string | null | undefined;
}

/** The cost that a backend reports, as a number or a text. A malformed cost counts as none, and keeps the file. */
export const usage = v.fallback(
  v.nullish(
    v.object({
      cost: v.fallback(
        v.nullish(v.pipe(v.union([v.number(), v.string()]), v.transform(Number), v.minValue(0), v.maxValue(1_000_000))),
        null,
      ),
    }),
  ),
  null,
);

/** A failed generation costs nothing here, so its message names the cost that the backend reported. */
export const withCost = (failure: Progress, cost_usd: number | null | undefined): Progress =>
  failure.state === "failed" && cost_usd
    ? { ...failure, message: `${failure.message}; the backend reported a cost of ${cost_usd} USD` }
    : failure;

export const maxResponse = 64 * 1024 * 1024;
export const maxFile = 32 * 1024 * 1024;
const retryFor_ms = milliseconds("10m");
const retryAfter = { min: milliseconds("1s"), default: milliseconds("5s"), max: milliseconds("60s") } as const;

const errorBody = v.union([
  v.pipe(
    v.object({ error: v.union([v.string(), v.object({ message: v.string() })]) }),
    v.transform(({ error }) => (typeof error === "string" ? error : error.message)),
  ),
  v.pipe(
    v.object({ detail: v.string() }),
    v.transform(({ detail }) => detail),
  ),
  v.pipe(
    v.object({ message: v.string() }),
    v.transform(({ message }) => message),
  ),
]);

/** Errors before a connection: the backend received nothing, so a retry costs nothing extra. */
const notConnected = ["connection refused", "name not found", "name lookup failed", "host unreachable"];

/** The result of fetching a file. With `again_ms`, a later request may succeed. */
export type Fetched = Progress & { readonly again_ms?: number };

export const failed = (code: string, message: string): Progress & { state: "failed" } => ({
  state: "failed",
  code,
  message,
});

export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** The wait before a retry: the backend's `Retry-After`, within limits. */
export const againAfter = ({ retry_after_ms = retryAfter.default }: BackendResponse): number =>
  Math.min(retryAfter.max, Math.max(retryAfter.min, retry_after_ms));

/** Redirects to a file are followed only to origins where files may be. */
const maxRedirects = 3;
const isMoved = (status: number | null) => status !== null && [301, 302, 303, 307, 308].includes(status);

const wanted = { image: "picture", video: "film" } as const;

/** Accepts a file whose bytes are complete and of the kind. The type that a backend reports is often wrong. */
export function checkFile(bytes: Uint8Array, kind: GenerationWork["kind"]): Progress {
  if (!mediaTypeOf(bytes).startsWith(`${kind}/`))
    return failed("backend_failed", `the backend's file is not a ${wanted[kind]}`);
  if (!isWhole(bytes)) return failed("backend_failed", "the backend's file is incomplete: it ends in the middle");
  return { state: "done", bytes, cost_usd: null };
}

/** Whether a later request may get a different response. */
export const isPassing = ({ status, error }: BackendResponse): boolean =>
  error !== null || status === null || status === 408 || status === 429 || status >= 500;

/** A file over the limit and a forbidden URL fail again on every retry. */
const isLasting = ({ error }: BackendResponse) =>
  /^(over \d|address_not_allowed|certificate: |the URL |not a URL)/.test(error ?? "");

/** The shared part of all HTTP backends: key, address checks, readable errors and file downloads. */
export function createBackendClient(options: BackendOptions, outbound: BackendNetwork) {
  const { key, timeout_ms } = options;
  const base = options.url.replace(/\/+$/, "");
  const origin = new URL(base).origin;
  const bearer: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const trustedOrigins = [origin, ...options.downloads];
  const withoutKey = (text: string) => (key ? text.replaceAll(key, "[redacted]") : text);

  const download = async (
    text: string,
    kind: GenerationWork["kind"],
    signal: AbortSignal | undefined,
    from = `${base}/`,
    redirects = maxRedirects,
  ): Promise<Fetched> => {
    const url = parseUrl(text, from);
    if (!url || !trustedOrigins.includes(url.origin)) {
      const wrong = "the backend's file is on another origin; add that origin to the backend's downloads";
      return failed("backend_failed", wrong);
    }
    const headers = url.origin === origin ? bearer : {};
    const file = { method: "GET", url: url.href, headers, max_bytes: maxFile } as const;
    const response = await outbound.callBackend({ ...file, trustedOrigins, timeout_ms, signal });
    const { location } = response.headers ?? {};
    if (response.error === null && isMoved(response.status) && location !== undefined && redirects > 0)
      return download(location, kind, signal, url.href, redirects - 1);
    if (response.error !== null || response.status !== 200) {
      const reason = response.error ?? response.status;
      const failure = failed("backend_failed", `the backend's file could not be fetched: ${reason}`);
      return isPassing(response) && !isLasting(response) ? { ...failure, again_ms: againAfter(response) } : failure;
    }
    return checkFile(response.bytes, kind);
  };

  /** The failure for a response without a result, in the backend's own words. */
  const errorOf = ({ status, error, bytes }: BackendResponse): Progress & { state: "failed" } => {
    if (error !== null) return failed("backend_failed", `the backend could not be called: ${error}`);
    const { success, output } = v.safeParse(errorBody, parseJson(bytes));
    const code = status !== null && status >= 400 && status < 500 ? "backend_refused" : "backend_failed";
    return failed(code, `the backend answered ${status}${success ? `: ${withoutKey(output)}` : ""}`);
  };

  return {
    withoutKey,

    get: (path: string, limit_ms = timeout_ms): Promise<BackendResponse> =>
      outbound.callBackend({
        ...{ method: "GET", url: `${base}${path}`, headers: { ...bearer, accept: "application/json" } },
        ...{ trustedOrigins, max_bytes: maxResponse, timeout_ms: limit_ms },
      }),

    /** Posts `body` without the fields that are null. */
    post: (
      path: string,
      body: object,
      more: { idempotencyKey?: string; signal?: AbortSignal; limit_ms?: number } = {},
    ) =>
      outbound.callBackend({
        method: "POST",
        url: `${base}${path}`,
        body: JSON.stringify(Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))),
        ...{ trustedOrigins, max_bytes: maxResponse, timeout_ms: more.limit_ms ?? timeout_ms, signal: more.signal },
        headers: {
          ...bearer,
          "content-type": "application/json",
          accept: "application/json",
          ...(more.idempotencyKey && { "idempotency-key": more.idempotencyKey }),
        },
      }),

    /** A retry, or a failure after ten minutes, if the backend accepted nothing; undefined after any other response. */
    retryBusy(
      response: BackendResponse,
      { elapsed_ms }: GenerationWork,
      busyStatuses: readonly number[] = [429, 503],
    ): Progress | undefined {
      const { status, error } = response;
      const busy = status === null ? notConnected.includes(error ?? "") : busyStatuses.includes(status);
      if (!busy) return undefined;
      if (elapsed_ms < retryFor_ms) return { state: "running", again_ms: againAfter(response), handle: null };
      const reason = error ?? `it answered ${status}`;
      return failed("backend_busy", `the backend accepted no work for ten minutes: ${reason}`);
    },

    errorOf,

    /** The failure that a response with any status describes in words; undefined if it has none. */
    refusalIn: (response: BackendResponse) =>
      v.is(errorBody, parseJson(response.bytes)) ? errorOf(response) : undefined,

    async fetchFile(
      { base64, url }: ReportedFile,
      kind: GenerationWork["kind"],
      signal?: AbortSignal,
    ): Promise<Fetched> {
      const text = base64 || url || "";
      const inline = /^data:[\w.+/;=-]{0,200};base64,/.exec(text);
      if (inline) return checkFile(Buffer.from(text.slice(inline[0].length), "base64"), kind);
      return base64 ? checkFile(Buffer.from(base64, "base64"), kind) : download(text, kind, signal);
    },
  };
}

/** The latest progress in the output of a program, as `40%` or `8/20`. */
export function progressIn(text: string): number | undefined {
  const [, percent, part, whole] =
    [...text.slice(-4096).matchAll(/(?<![\d./])(?:(100|\d{1,2})%|(\d{1,6})\/(\d{1,6})(?![\d/]))/g)].at(-1) ?? [];
  if (percent !== undefined) return Number(percent) / 100;
  const share = Number(part) / Number(whole);
  return share >= 0 && share <= 1 ? share : undefined;
}
