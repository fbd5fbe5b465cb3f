import * as v from "valibot";
import type { BackendNetwork } from "./backend-client.ts";
import type { GenerationDriver } from "./contract.ts";
import type { OpenaiOptions } from "./openai.ts";
import { polledJobs, type ReportedJob } from "./polled-jobs.ts";

/** The fields of Replicate. Cog containers omit the id and the logs. */
const prediction = v.object({
  id: v.nullish(v.string()),
  status: v.string(),
  output: v.optional(v.unknown()),
  error: v.optional(v.unknown()),
  logs: v.nullish(v.string()),
  metrics: v.nullish(v.object({ predict_time: v.nullish(v.number()) })),
});

/** The first file of an output: a URL, or the first in a list or an object. Other texts of an object are not files. */
function fileOf(output: unknown): string | undefined {
  if (typeof output === "string") return output;
  if (Array.isArray(output)) return fileOf(output[0]);
  if (typeof output !== "object" || output === null) return undefined;
  if ("url" in output) return fileOf(output.url);
  return Object.values(output)
    .map(fileOf)
    .find((one) => one !== undefined && /^(https?:\/\/|data:)\S+$/.test(one));
}

/** The last percentage in the logs. Unlike in the output of one program, `1/1` may count anything. */
function percentIn(logs: string | null | undefined): number | undefined {
  const last = [...(logs ?? "").slice(-4096).matchAll(/(?<![\d.])(100|\d{1,2})%/g)].at(-1)?.[1];
  return last === undefined ? undefined : Number(last) / 100;
}

/** Replicate's predictions API. A Cog container answers with the finished prediction, or 409 while it is busy. */
export function predictions(options: OpenaiOptions, outbound: BackendNetwork): GenerationDriver {
  const protocol = {
    order({ model, inputs }: { model: string; inputs: Readonly<Record<string, unknown>> }) {
      const { model: version, extra = {} } = options.models[model] ?? {};
      const input = Object.entries({ ...inputs, ...extra }).filter(([, value]) => value !== null);
      return { path: "/predictions", body: { version: version ?? null, input: Object.fromEntries(input) } };
    },
    read(body: unknown, { model }: { model: string }): ReportedJob | undefined {
      const { success, output: read } = v.safeParse(prediction, body);
      if (!success) return undefined;
      const { id, status, output, error, logs, metrics } = read;
      if (status === "failed" || status === "canceled" || status === "aborted") {
        const message = typeof error === "string" && error ? error : `the prediction ended as ${status}`;
        return { state: "failed", message };
      }
      if (status !== "succeeded") return { state: "running", id: id ?? undefined, progress: percentIn(logs) };
      const { pricePerSecond } = options.models[model] ?? {};
      const seconds = metrics?.predict_time;
      const cost_usd = pricePerSecond !== undefined && seconds != null ? Math.max(0, pricePerSecond * seconds) : null;
      const url = fileOf(output);
      return { state: "done", id: id ?? undefined, file: url === undefined ? undefined : { url }, cost_usd };
    },
    jobPath: (id: string) => `/predictions/${id}`,
    cancelPath: (id: string) => `/predictions/${id}/cancel`,
    busyStatuses: [409, 429, 503],
  };
  return polledJobs(protocol, options, outbound);
}
