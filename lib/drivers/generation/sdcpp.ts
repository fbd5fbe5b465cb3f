import * as v from "valibot";
import type { BackendNetwork } from "./backend-client.ts";
import type { GenerationDriver, GenerationWork } from "./contract.ts";
import { sidesFor } from "./image-size.ts";
import { type OpenaiOptions, withoutArguments } from "./openai.ts";
import { polledJobs, type ReportedJob } from "./polled-jobs.ts";

const job = v.object({
  id: v.string(),
  status: v.string(),
  progress: v.fallback(v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1))), undefined),
  result: v.nullish(
    v.object({
      b64_json: v.nullish(v.string()),
      images: v.nullish(v.array(v.object({ b64_json: v.string() }))),
    }),
  ),
  error: v.nullish(v.object({ message: v.string() })),
});

/** The server renders 4n + 1 frames at this rate. */
const framesPerSecond = 16;
const framesOf = ({ duration_ms }: GenerationWork) =>
  4 * Math.max(1, Math.round((duration_ms / 1000) * (framesPerSecond / 4))) + 1;

/** Jobs of the stable-diffusion.cpp server. It can cancel queued jobs; a started job runs to its end. */
export function sdcpp(options: OpenaiOptions, outbound: BackendNetwork): GenerationDriver {
  const protocol = {
    order(work: GenerationWork) {
      const { sizes, extra = {} } = options.models[work.model] ?? {};
      const prompt = withoutArguments(work.prompt);
      const common = { prompt, ...sidesFor(work, sizes), seed: work.seed };
      if (work.kind === "image")
        return { path: "/sdcpp/v1/img_gen", body: { ...common, output_format: work.format, ...extra } };
      const film = { video_frames: framesOf(work), fps: framesPerSecond, output_format: "webm" };
      return { path: "/sdcpp/v1/vid_gen", body: { ...common, ...film, ...extra } };
    },
    read(body: unknown): ReportedJob | undefined {
      const { success, output } = v.safeParse(job, body);
      if (!success) return undefined;
      const { id, status, progress, result, error } = output;
      if (status === "failed" || status === "cancelled")
        return { state: "failed", message: error?.message ?? `the job ended as ${status}` };
      if (status !== "completed") return { state: "running", id, progress };
      const base64 = result?.b64_json ?? result?.images?.[0]?.b64_json;
      return { state: "done", file: base64 ? { base64 } : undefined, cost_usd: null };
    },
    jobPath: (id: string) => `/sdcpp/v1/jobs/${id}`,
    cancelPath: (id: string) => `/sdcpp/v1/jobs/${id}/cancel`,
  };
  return polledJobs(protocol, options, outbound);
}
