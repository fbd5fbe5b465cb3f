import { type Outcome, retryAfter } from "./http-request.ts";

/** A request to a backend that an operator has named, whose whole answer is wanted. */
export interface BackendRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Origins that may be called although their addresses are not public. */
  readonly trusted: readonly string[];
  /** The largest answer, in bytes. */
  readonly most: number;
  /** For everything together. */
  readonly timeout_ms: number;
  readonly signal?: AbortSignal | undefined;
}

/** What came of it: an answer that is whole, or an error in a few words, which name no address. */
export interface BackendAnswer {
  /** Null where there was no answer. */
  readonly status: number | null;
  readonly error: string | null;
  readonly bytes: Buffer;
  readonly retry_after_ms: number | undefined;
}

/** An http or https URL without credentials. */
export function urlOf(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "" ? url : undefined;
}

export const questioned = ({ status, error, bytes, cut, retry_after }: Outcome, now: number): BackendAnswer => ({
  status,
  error: error ?? cut ?? null,
  bytes: bytes ?? Buffer.alloc(0),
  retry_after_ms: retryAfter(retry_after, now),
});
