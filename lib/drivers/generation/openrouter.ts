import * as v from "valibot";
import { type BackendNetwork, usage } from "./backend-client.ts";
import type { GenerationDriver, GenerationWork } from "./contract.ts";
import { type OpenaiOptions, readImages } from "./openai.ts";
import { polledJobs, type ReportedJob } from "./polled-jobs.ts";

const video = v.object({
  id: v.string(),
  status: v.string(),
  error: v.nullish(v.string()),
  usage,
});

const text = (value: unknown) => (typeof value === "string" ? value : null);

/** Images and films of OpenRouter. An image comes in the response. A film is a job that cannot be cancelled. */
export function openrouter(options: OpenaiOptions, outbound: BackendNetwork): GenerationDriver {
  const protocol = {
    order({ model: id, kind, prompt, inputs, seed, format, duration_ms }: GenerationWork) {
      const { model = id, extra = {} } = options.models[id] ?? {};
      const shape = { aspect_ratio: text(inputs["aspect_ratio"]), resolution: text(inputs["resolution"]) };
      const common = { model, prompt, ...shape, seed };
      if (kind === "image") return { path: "/images", body: { ...common, n: 1, output_format: format, ...extra } };
      return { path: "/videos", body: { ...common, duration: Math.ceil(duration_ms / 1000), ...extra } };
    },
    read(body: unknown, { kind }: GenerationWork): ReportedJob | undefined {
      return kind === "image" ? readImages(body) : readVideo(body);
    },
    jobPath: (id: string) => `/videos/${id}`,
  };
  return polledJobs(protocol, options, outbound);
}

function readVideo(body: unknown): ReportedJob | undefined {
  const { success, output } = v.safeParse(video, body);
  if (!success) return undefined;
  const { id, status, error, usage: used } = output;
  if (status === "failed" || status === "cancelled" || status === "expired")
    return { state: "failed", message: error || `the job ended as ${status}`, cost_usd: used?.cost };
  if (status !== "completed") return { state: "running", id };
  return { state: "done", file: { url: `videos/${id}/content?index=0` }, cost_usd: used?.cost ?? null };
}
