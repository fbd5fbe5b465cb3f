import * as v from "valibot";
import { type BackendNetwork, type BackendOptions, usage } from "./backend-client.ts";
import type { GenerationDriver, GenerationWork } from "./contract.ts";
import { sizeFor } from "./image-size.ts";
import { polledJobs, type ReportedJob } from "./polled-jobs.ts";

export interface BackendModel {
  /** The backend's name for the model; ours by default. */
  readonly model?: string | undefined;
  /** The supported sizes, such as `1024x1536`. The nearest is requested; any multiple of 16 by default. */
  readonly sizes?: readonly string[] | undefined;
  /** More fields of the request body. Null removes a field that the backend refuses: `{"response_format":null}`. */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
  /** The price per second of backend time in US dollars, if the backend reports its time. */
  readonly pricePerSecond?: number | undefined;
}

export interface OpenaiOptions extends BackendOptions {
  readonly models: Readonly<Record<string, BackendModel>>;
}

const images = v.object({
  data: v.array(v.object({ b64_json: v.nullish(v.string()), url: v.nullish(v.string()) })),
  usage,
});

/** The image in a response; undefined for another form. */
export function readImages(body: unknown): ReportedJob | undefined {
  const { success, output } = v.safeParse(images, body);
  if (!success) return undefined;
  const [first] = output.data;
  const file = first?.b64_json || first?.url ? { base64: first.b64_json, url: first.url } : undefined;
  return { state: "done", file, cost_usd: output.usage?.cost ?? null };
}

/** sd-server reads parameters from the prompt. Only the operator may set them, not a caller. */
export const withoutArguments = (prompt: string) => prompt.replace(/<\/?sd_cpp_extra_args>/gi, " ");

/**
 * Images from the OpenAI images API, which LocalAI, vLLM-Omni, stable-diffusion.cpp and many gateways offer. The
 * response arrives when the image is done. A repeated request after a crash has the same `Idempotency-Key`: the
 * generation's id. A file keeps the backend's format.
 */
export function openaiImages(options: OpenaiOptions, outbound: BackendNetwork): GenerationDriver {
  const protocol = {
    order(work: GenerationWork) {
      const { model = work.model, sizes, extra = {} } = options.models[work.model] ?? {};
      const common = { model, prompt: withoutArguments(work.prompt), n: 1, size: sizeFor(work, sizes) };
      return { path: "/images/generations", body: { ...common, response_format: "b64_json", ...extra } };
    },
    read: readImages,
    nothing: "the backend's response has neither b64_json nor url",
    // Never called: there are no jobs.
    jobPath: (id: string) => `/images/${id}`,
  };
  return polledJobs(protocol, options, outbound);
}
