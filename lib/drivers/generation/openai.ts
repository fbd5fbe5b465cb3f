import * as v from "valibot";
import {
  type BackendNetwork,
  type BackendOptions,
  createAborts,
  createBackendClient,
  failed,
  parseJson,
} from "./backend-client.ts";
import type { GenerationDriver } from "./contract.ts";
import { sizeFor } from "./image-size.ts";

/** How the backend names and runs a model. */
export interface BackendModel {
  /** The backend's name of the model; ours by default. */
  readonly model?: string | undefined;
  /** The sizes that it makes, such as `1024x1536`, of which the nearest is requested; any multiple of 16 by default. */
  readonly sizes?: readonly string[] | undefined;
  /** Further fields of the request's body; null removes a field that the backend refuses: `{"response_format":null}`. */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
  /** The price of a second of the backend's work, in US dollars, where the backend reports its time. */
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
});

/** sd-server reads parameters from the prompt; only the operator may set them, not a caller. */
export const withoutArguments = (prompt: string) => prompt.replace(/<\/?sd_cpp_extra_args>/gi, " ");

/**
 * Pictures from the images interface of OpenAI, which LocalAI, vLLM-Omni, stable-diffusion.cpp and many gateways offer.
 * They respond when the picture is done, so there is no handle: an order that is sent again after a crash has the
 * generation's id as `Idempotency-Key` once more. A file keeps the backend's format.
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
        if (first?.b64_json || first?.url)
          return client.fetchFile({ base64: first.b64_json, url: first.b64_json ? null : first.url }, "image", signal);
        return failed("backend_failed", "the backend's response has neither b64_json nor url");
      }),
    poll: async () => failed("backend_failed", "this backend has no handles to poll"),
    cancel: async (work) => requests.abort(work),
  };
}
