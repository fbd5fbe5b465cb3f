import * as v from "valibot";
import { milliseconds } from "../../kernel/duration.ts";
import { parseUrl } from "../../kernel/url.ts";
import { AbortController, TextDecoder } from "../../kernel/web.ts";
import type { BackendResponse } from "../outbound/backend-request.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { GenerationDriver, GenerationWork, Progress } from "./contract.ts";
import { mediaTypeOf } from "./media-type.ts";

/** How the backend names and runs a model. */
export interface OpenaiModel {
  /** The backend's name of the model; ours by default. */
  readonly model?: string | undefined;
  /** The sizes that it makes, such as `1024x1536`, of which the nearest is requested; any multiple of 16 by default. */
  readonly sizes?: readonly string[] | undefined;
  /** Further fields of the request's body; null removes a field that the backend refuses: `{"response_format":null}`. */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
}

export interface OpenaiOptions {
  /** The base URL, such as `http://localhost:8080/v1`. */
  readonly url: string;
  /** Sent as bearer key; it never appears in a log or a response. */
  readonly key?: string | undefined;
  readonly models: Readonly<Record<string, OpenaiModel>>;
  /** Further origins that files may be downloaded from, for a backend that answers with a URL. */
  readonly downloads: readonly string[];
  readonly timeout_ms: number;
}

const maxResponse = 64 * 1024 * 1024;
const maxFile = 32 * 1024 * 1024;
/** How long a busy backend is retried. */
const retryFor_ms = milliseconds("10m");
const retryAfter = { min: milliseconds("1s"), default: milliseconds("5s"), max: milliseconds("60s") } as const;

const images = v.object({
  data: v.pipe(
    v.array(v.object({ b64_json: v.optional(v.nullable(v.string())), url: v.optional(v.nullable(v.string())) })),
    v.minLength(1),
  ),
});
const errorBody = v.object({ error: v.union([v.string(), v.object({ message: v.string() })]) });

/** Errors before any connection: the backend received nothing, so a second request costs nothing extra. */
const notConnected = ["connection refused", "name not found", "name lookup failed", "host unreachable"];

const failed = (code: string, message: string): Progress => ({ state: "failed", code, message });

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** The nearest of the sizes by shape, then by area; without sizes both sides as multiples of 16, which every model takes. */
export function sizeFor(
  { width, height }: Pick<GenerationWork, "width" | "height">,
  sizes?: readonly string[],
): string {
  const by16 = (side: number) => Math.max(16, 16 * Math.round(side / 16));
  const distance = (size: string) => {
    const [w = 1, h = 1] = size.split("x").map(Number);
    return Math.abs(Math.log((w * height) / (h * width))) * 1000 + Math.abs(Math.log((w * h) / (width * height)));
  };
  const [nearest] = [...(sizes ?? [])].sort((a, b) => distance(a) - distance(b));
  return nearest ?? `${by16(width)}x${by16(height)}`;
}

/** sd-server reads parameters from the prompt; only the operator may set them, not a caller. */
const withoutArguments = (prompt: string) => prompt.replace(/<\/?sd_cpp_extra_args>/gi, " ");

/**
 * Pictures from the images interface of OpenAI, which LocalAI, vLLM-Omni, stable-diffusion.cpp and many gateways offer.
 * They respond when the picture is done, so there is no handle: after a crash the request is sent again, with the
 * generation's id as `Idempotency-Key`. A file keeps the backend's format.
 */
export function openaiImages(options: OpenaiOptions, outbound: Pick<Outbound, "callBackend">): GenerationDriver {
  const { key, timeout_ms } = options;
  const base = options.url.replace(/\/+$/, "");
  const origin = new URL(base).origin;
  const running = new Map<string, AbortController>();
  const bearer: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const trustedOrigins = [origin, ...options.downloads];
  const withoutKey = (text: string) => (key ? text.replaceAll(key, "[redacted]") : text);

  /** The retry after a response that says the backend accepted nothing; undefined after any other response. */
  const retryBusy = (
    { status, error, retry_after_ms }: BackendResponse,
    { elapsed_ms }: GenerationWork,
  ): Progress | undefined => {
    const busy = status === null ? notConnected.includes(error ?? "") : status === 429 || status === 503;
    if (!busy) return undefined;
    if (elapsed_ms >= retryFor_ms) {
      return failed(
        "backend_busy",
        `the backend accepted no work for ten minutes: ${error ?? `it answered ${status}`}`,
      );
    }
    const again_ms = Math.min(retryAfter.max, Math.max(retryAfter.min, retry_after_ms ?? retryAfter.default));
    return { state: "running", again_ms, handle: null };
  };

  const errorOf = ({ status, bytes }: BackendResponse): Progress => {
    const { success, output } = v.safeParse(errorBody, parseJson(bytes));
    const message = success ? (typeof output.error === "string" ? output.error : output.error.message) : undefined;
    const code = status !== null && status >= 400 && status < 500 ? "backend_refused" : "backend_failed";
    return failed(code, `the backend answered ${status}${message ? `: ${withoutKey(message)}` : ""}`);
  };

  const fileOf = (bytes: Uint8Array): Progress => {
    if (!mediaTypeOf(bytes).startsWith("image/"))
      return failed("backend_failed", "the backend's file is not a picture");
    return { state: "done", bytes, cost_usd: null };
  };

  const download = async (text: string, signal: AbortSignal): Promise<Progress> => {
    const url = parseUrl(text, `${base}/`);
    if (!url || !trustedOrigins.includes(url.origin)) {
      const wrong = "the backend's file is on another origin; add that origin to the backend's downloads";
      return failed("backend_failed", wrong);
    }
    const headers = url.origin === origin ? bearer : {};
    const file = { method: "GET", url: url.href, headers, max_bytes: maxFile } as const;
    const response = await outbound.callBackend({ ...file, trustedOrigins, timeout_ms, signal });
    if (response.error !== null)
      return failed("backend_failed", `the backend's file could not be fetched: ${response.error}`);
    if (response.status !== 200)
      return failed("backend_failed", `the backend's file could not be fetched: ${response.status}`);
    return fileOf(response.bytes);
  };

  const submit = async (work: GenerationWork, signal: AbortSignal): Promise<Progress> => {
    const { model = work.model, sizes, extra = {} } = options.models[work.model] ?? {};
    const size = sizeFor(work, sizes);
    const fields = { model, prompt: withoutArguments(work.prompt), n: 1, size, response_format: "b64_json", ...extra };
    const body = JSON.stringify(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)));
    const response = await outbound.callBackend({
      method: "POST",
      url: `${base}/images/generations`,
      body,
      trustedOrigins,
      max_bytes: maxResponse,
      timeout_ms,
      signal,
      headers: {
        ...bearer,
        "content-type": "application/json",
        accept: "application/json",
        "idempotency-key": work.generation_id,
      },
    });
    const retry = retryBusy(response, work);
    if (retry) return retry;
    if (response.error !== null) return failed("backend_failed", `the backend could not be called: ${response.error}`);
    if (response.status !== 200) return errorOf(response);
    const { success, output } = v.safeParse(images, parseJson(response.bytes));
    const [first] = success ? output.data : [];
    if (first?.b64_json) return fileOf(Buffer.from(first.b64_json, "base64"));
    if (first?.url) return download(first.url, signal);
    return failed("backend_failed", "the backend's response has neither b64_json nor url");
  };

  return {
    delay: () => 0,
    async submit(work) {
      const control = new AbortController();
      running.set(work.generation_id, control);
      try {
        return await submit(work, control.signal);
      } finally {
        running.delete(work.generation_id);
      }
    },
    poll: async () => failed("backend_failed", "this backend has no handles to poll"),
    cancel: async ({ generation_id }) => running.get(generation_id)?.abort("cancelled"),
  };
}
