import type { IncomingHttpHeaders } from "node:http";
import type { HttpResult } from "./http-request.ts";
import { parseRetryAfter } from "./http-response.ts";

/** A request to a configured backend or to a registry. The whole response is read. */
export interface BackendRequest {
  readonly method: "GET" | "HEAD" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Origins that may be called even if their addresses are not public. */
  readonly trustedOrigins: readonly string[];
  /** Whether a caller chose the host. If so, the mode decides which addresses are open, as for deliveries. */
  readonly isOfCaller?: boolean;
  readonly max_bytes: number;
  readonly timeout_ms: number;
  readonly signal?: AbortSignal | undefined;
}

/** A whole response, or a short error without an address. */
export interface BackendResponse {
  /** Null if there was no response. */
  readonly status: number | null;
  readonly error: string | null;
  readonly bytes: Buffer;
  readonly retry_after_ms: number | undefined;
  readonly headers?: IncomingHttpHeaders | undefined;
}

export const backendResponse = (
  { status, error, bytes, incomplete, retry_after, headers }: HttpResult,
  now: number,
): BackendResponse => ({
  status,
  error: error ?? incomplete ?? null,
  bytes: bytes ?? Buffer.alloc(0),
  retry_after_ms: parseRetryAfter(retry_after, now),
  headers,
});
