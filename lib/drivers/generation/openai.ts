import * as v from "valibot";
import { milliseconds } from "../../kernel/duration.ts";
import type { BackendAnswer } from "../outbound/backend-request.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { GenerationDriver, GenerationWork, Progress } from "./contract.ts";
import { sniff } from "./file-type.ts";

/** How a model is called at the backend. */
export interface OpenaiModel {
  /** The backend's name of it; ours where it is not set. */
  readonly model?: string | undefined;
  /** The sizes that it takes, such as `1024x1536`: the nearest is asked for. Any multiple of 16, where it is not set. */
  readonly sizes?: readonly string[] | undefined;
  /** Further fields of the request's body, and null for those that the backend refuses: `{"response_format":null}`. */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
}

export interface OpenaiOptions {
  /** Where the interface begins, such as `http://localhost:8080/v1`. */
  readonly url: string;
  /** Sent as bearer key; it is in no log and in no answer. */
  readonly key?: string | undefined;
  readonly models: Readonly<Record<string, OpenaiModel>>;
  /** Further origins that files may be fetched from, where the backend answers with a URL. */
  readonly downloads: readonly string[];
  readonly timeout_ms: number;
}

const mostAnswer = 64 * 1024 * 1024;
const mostFile = 32 * 1024 * 1024;
/** So long a backend that takes nothing is asked again. */
const patience_ms = milliseconds("10m");
const pause = { least: milliseconds("1s"), usual: milliseconds("5s"), most: milliseconds("60s") } as const;

const answer = v.object({
  data: v.pipe(
    v.array(v.object({ b64_json: v.optional(v.nullable(v.string())), url: v.optional(v.nullable(v.string())) })),
    v.minLength(1),
  ),
});
const refusal = v.object({ error: v.union([v.string(), v.object({ message: v.string() })]) });

/** Nothing was taken where nothing was connected, so that asking again cannot be paid for twice. */
const untouched = ["connection refused", "name not found", "name lookup failed", "host unreachable"];

const failed = (code: string, message: string): Progress => ({ state: "failed", code, message });

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** The nearest of the sizes by shape, then by area; or both sides as multiples of 16, which every model takes. */
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

/** sd-server reads parameters of its own out of a prompt, which are the operator's and not a caller's. */
const harmless = (prompt: string) => prompt.replace(/<\/?sd_cpp_extra_args>/gi, " ");

/**
 * Pictures by the images interface of OpenAI, which LocalAI, vLLM-Omni, stable-diffusion.cpp and many gateways speak. It
 * answers when the picture is done, so there is no handle: after a crash the request is made again, with the
 * generation's identifier as `Idempotency-Key`. A file keeps the format in which the backend sends it.
 */
export function openaiImages(options: OpenaiOptions, outbound: Pick<Outbound, "ask">): GenerationDriver {
  const { key, timeout_ms } = options;
  const base = options.url.replace(/\/+$/, "");
  const origin = new URL(base).origin;
  const running = new Map<string, AbortController>();
  const bearer: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const common = { trusted: [origin, ...options.downloads], timeout_ms };
  const withoutKey = (text: string) => (key ? text.replaceAll(key, "[redacted]") : text);

  /** What is to be asked again, since nothing was taken; undefined where the reply is something else. */
  const busy = (
    { status, error, retry_after_ms }: BackendAnswer,
    { elapsed_ms }: GenerationWork,
  ): Progress | undefined => {
    const free = status === null ? untouched.includes(error ?? "") : status === 429 || status === 503;
    if (!free) return undefined;
    if (elapsed_ms >= patience_ms) {
      return failed("backend_busy", `the backend took nothing for ten minutes: ${error ?? `it answered ${status}`}`);
    }
    const again_ms = Math.min(pause.most, Math.max(pause.least, retry_after_ms ?? pause.usual));
    return { state: "running", again_ms, handle: null };
  };

  const refused = ({ status, bytes }: BackendAnswer): Progress => {
    const { success, output } = v.safeParse(refusal, parsed(bytes));
    const said = success ? (typeof output.error === "string" ? output.error : output.error.message) : undefined;
    const code = status !== null && status >= 400 && status < 500 ? "backend_refused" : "backend_failed";
    return failed(code, `the backend answered ${status}${said ? `: ${withoutKey(said)}` : ""}`);
  };

  const fileOf = (bytes: Uint8Array): Progress => {
    if (!sniff(bytes).startsWith("image/")) return failed("backend_failed", "what the backend sent is no picture");
    return { state: "done", bytes, cost_usd: null };
  };

  const download = async (text: string, signal: AbortSignal): Promise<Progress> => {
    const url = URL.canParse(text, `${base}/`) ? new URL(text, `${base}/`) : undefined;
    if (!url || !common.trusted.includes(url.origin)) {
      const wrong = "the backend's file lies at another origin; name that in the backend's downloads";
      return failed("backend_failed", wrong);
    }
    const headers = url.origin === origin ? bearer : {};
    const question = { ...common, method: "GET", url: url.href, headers, most: mostFile, signal } as const;
    const reply = await outbound.ask(question);
    if (reply.error !== null) return failed("backend_failed", `its file could not be fetched: ${reply.error}`);
    if (reply.status !== 200) return failed("backend_failed", `its file could not be fetched: ${reply.status}`);
    return fileOf(reply.bytes);
  };

  const submit = async (work: GenerationWork, signal: AbortSignal): Promise<Progress> => {
    const { model = work.model, sizes, extra = {} } = options.models[work.model] ?? {};
    const size = sizeFor(work, sizes);
    const asked = { model, prompt: harmless(work.prompt), n: 1, size, response_format: "b64_json", ...extra };
    const body = JSON.stringify(Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== null)));
    const reply = await outbound.ask({
      ...{ ...common, method: "POST", url: `${base}/images/generations`, body, most: mostAnswer, signal },
      headers: {
        ...bearer,
        "content-type": "application/json",
        accept: "application/json",
        "idempotency-key": work.generation_id,
      },
    });
    const later = busy(reply, work);
    if (later) return later;
    if (reply.error !== null) return failed("backend_failed", `the backend could not be asked: ${reply.error}`);
    if (reply.status !== 200) return refused(reply);
    const { success, output } = v.safeParse(answer, parsed(reply.bytes));
    const [first] = success ? output.data : [];
    if (first?.b64_json) return fileOf(Buffer.from(first.b64_json, "base64"));
    if (first?.url) return download(first.url, signal);
    return failed("backend_failed", "the backend's answer has neither b64_json nor url");
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
    poll: async () => failed("backend_failed", "the backend gives no handle to poll"),
    cancel: async ({ generation_id }) => running.get(generation_id)?.abort("cancelled"),
  };
}
