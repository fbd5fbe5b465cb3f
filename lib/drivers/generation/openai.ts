import * as v from "valibot";
import {
  type BackendNetwork,
  type BackendOptions,
  createAborts,
  createBackendClient,
  failed,
  parseJson,
  usage,
  withCost,
} from "./backend-client.ts";
import type { GenerationDriver } from "./contract.ts";
import { sizeFor } from "./image-size.ts";

export interface BackendModel {
  /** The backend's name for the model; ours by default. */
  readonly model?: string | undefined;
  /** The supported sizes, such as `1024x1536`. The nearest is requested; any multiple of 16 by default. */
  readonly sizes?: readonly string[] | undefined;
  /**
   * Additional fields of the request body. Null removes a field that the backend refuses: `{"response_format":null}`.
   */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
  /** The price per second of backend time in US dollars, if the backend reports its time. */
  readonly pricePerSecond?: number | undefined;
}

export interface OpenaiOptions extends BackendOptions {
  readonly models: Readonly<Record<string, BackendModel>>;
}

const images = v.object({
  data: v.pipe(
    v.array(v.object({ b64_json: v.optional(v.nullable(v.string())), url: v.optional(v.nullable(v.string())) })),
    v.minLength(1),
  ),
  usage,
});

/** sd-server reads parameters from the prompt. Only the operator may set them, not a caller. */
export const withoutArguments = (prompt: string) => prompt.replace(/<\/?sd_cpp_extra_args>/gi, " ");

/**
 * Images from the OpenAI images API, which LocalAI, vLLM-Omni, stable-diffusion.cpp and many gateways offer. The
 * response arrives when the image is done, so there is no handle. A repeated request after a crash has the same
 * `Idempotency-Key`: the generation's id. A file keeps the backend's format.
 */
export function openaiImages(options: OpenaiOptions, outbound: BackendNetwork): GenerationDriver {
  const client = createBackendClient(options, outbound);
  const requests = createAborts();
  return {
    delay: () => 0,
    submit: (work) =>
      requests.run(work, async (signal) => {
        const { model = work.model, sizes, extra = {} } = options.models[work.model] ?? {};
        const prompt = withoutArguments(work.prompt);
        const body = { model, prompt, n: 1, size: sizeFor(work, sizes), response_format: "b64_json", ...extra };
        const response = await client.post("/images/generations", body, {
          idempotencyKey: work.generation_id,
          signal,
        });
        const retry = client.retryBusy(response, work);
        if (retry) return retry;
        if (response.error !== null || response.status !== 200) return client.errorOf(response);
        const { success, output } = v.safeParse(images, parseJson(response.bytes));
        const [first] = success ? output.data : [];
        const cost_usd = success ? (output.usage?.cost ?? null) : null;
        if (first?.b64_json || first?.url) {
          const file = await client.fetchFile({ base64: first.b64_json, url: first.url }, "image", signal);
          return file.state === "done" ? { ...file, cost_usd } : withCost(file, cost_usd);
        }
        const nothing = failed("backend_failed", "the backend's response has neither b64_json nor url");
        return withCost(client.refusalIn(response) ?? nothing, cost_usd);
      }),
    poll: async () => failed("backend_failed", "this backend has no handles to poll"),
    cancel: async (work) => requests.abort(work),
  };
}
