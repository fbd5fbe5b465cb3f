import type { TestContext } from "node:test";
import { type BackendHandler, json, pixel, startBackend } from "./openai-backend.ts";

const base64 = pixel.toString("base64");

/** Servers with exact job APIs: each has its answers to submit, poll and cancel requests. */
export interface JobBackend {
  readonly type: "predictions" | "sdcpp" | "openrouter";
  readonly kind: "image" | "video";
  /** The path after the origin. */
  readonly base: string;
  readonly orderPath: string;
  readonly cancelPath: string | undefined;
  readonly accepted: BackendHandler;
  readonly running: BackendHandler;
  readonly done: BackendHandler;
  readonly failed: BackendHandler;
  readonly unknown: BackendHandler;
  /** The server calls the file another type than its bytes have. */
  readonly misnamed: BackendHandler;
}

const id = "job_6927a1_00000001";
export const film = Buffer.concat([
  Buffer.from("\0\0\0\x18ftypmp42\0\0\0\0mp42isom", "latin1"),
  Buffer.from("\0\0\0\x08free", "latin1"),
]);

const urls = (host: string | undefined) => ({
  get: `http://${host}/v1/predictions/${id}`,
  cancel: `http://${host}/v1/predictions/${id}/cancel`,
});
const prediction =
  (status: number, more: object): BackendHandler =>
  (response, asked) =>
    json(status, {
      id,
      model: "a/b",
      input: {},
      logs: "",
      urls: urls(asked.headers.host),
      error: null,
      output: null,
      ...more,
    })(response, asked);
const sdJob = (status: string, more: object = {}) =>
  json(200, {
    id,
    kind: "img_gen",
    status,
    created: 1,
    started: 1,
    completed: null,
    queue_position: 0,
    result: null,
    error: null,
    ...more,
  });
const sdResult = (content: string) => ({ output_format: "png", images: [{ index: 0, b64_json: content }] });
const video = (status: string, more: object = {}) =>
  json(200, { id, polling_url: `/api/v1/videos/${id}`, status, ...more });

export const jobBackends: readonly JobBackend[] = [
  {
    ...{ type: "predictions", kind: "image", base: "/v1", orderPath: "/v1/predictions" },
    cancelPath: `/v1/predictions/${id}/cancel`,
    accepted: prediction(201, { status: "starting" }),
    running: prediction(200, { status: "processing", logs: " 10%|█\n 40%|████\nGPU 1/1" }),
    done: prediction(200, {
      status: "succeeded",
      output: [`data:image/png;base64,${base64}`],
      metrics: { predict_time: 2.5 },
    }),
    failed: prediction(200, { status: "failed", error: "NSFW content detected" }),
    unknown: prediction(200, { status: "resting" }),
    misnamed: prediction(200, { status: "succeeded", output: { seed: 1, image: `data:image/webp;base64,${base64}` } }),
  },
  {
    ...{ type: "sdcpp", kind: "image", base: "", orderPath: "/sdcpp/v1/img_gen" },
    cancelPath: `/sdcpp/v1/jobs/${id}/cancel`,
    accepted: json(202, { id, kind: "img_gen", status: "queued", created: 1, poll_url: `/sdcpp/v1/jobs/${id}` }),
    running: sdJob("generating"),
    done: sdJob("completed", { completed: 2, result: sdResult(base64) }),
    failed: sdJob("failed", { error: { code: "generation_failed", message: "generate_image returned no results" } }),
    unknown: sdJob("resting"),
    misnamed: sdJob("completed", { result: { output_format: "webp", images: [{ index: 0, b64_json: base64 }] } }),
  },
  {
    ...{ type: "openrouter", kind: "video", base: "/api/v1", orderPath: "/api/v1/videos", cancelPath: undefined },
    accepted: json(202, { id, polling_url: `/api/v1/videos/${id}`, status: "pending" }),
    running: video("in_progress"),
    done: (response, asked) => {
      if (!asked.path.includes("/content"))
        return video("completed", { unsigned_urls: ["x"], usage: { cost: 0.5, is_byok: false } })(response, asked);
      response.writeHead(200, { "content-type": "video/mp4" }).end(film);
    },
    failed: video("failed", { error: "the provider refused the prompt" }),
    unknown: video("resting"),
    misnamed: (response, asked) => {
      if (!asked.path.includes("/content")) return video("completed")(response, asked);
      response.writeHead(200, { "content-type": "video/webm" }).end(film);
    },
  },
];

/** Starts a server of this type. It answers polls in order from the list and repeats the last answer. */
export async function startJobBackend(t: TestContext, of: JobBackend, answers: readonly BackendHandler[] = [of.done]) {
  let asked = 0;
  const { cancelPath } = of;
  const server = await startBackend(t, (response, request) => {
    if (request.path === of.orderPath) return of.accepted(response, request);
    if (request.path === cancelPath) return of.running(response, request);
    if (request.path.includes("/content")) return answers.at(-1)?.(response, request);
    return answers[Math.min(asked++, answers.length - 1)]?.(response, request);
  });
  const paths = () => server.asked.map(({ method, path }) => `${method} ${path}`);
  const orders = () => server.asked.filter(({ path }) => path === of.orderPath);
  return { ...server, url: `${server.url}${of.base}`, paths, orders };
}
