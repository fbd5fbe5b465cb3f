import { AbortController } from "../../kernel/node/web.ts";
import { formatDuration, milliseconds } from "../../kernel/text/duration.ts";
import type { BackendResponse } from "../outbound/backend-request.ts";
import {
  againAfter,
  type BackendNetwork,
  type BackendOptions,
  createBackendClient,
  type Fetched,
  failed,
  isPassing,
  parseJson,
  type ReportedFile,
  withCost,
} from "./backend-client.ts";
import type { GenerationDriver, GenerationWork, Progress } from "./contract.ts";

/** A job as the backend reports it. Any state other than success or failure is `running`. */
export type ReportedJob =
  | { readonly state: "running"; readonly id?: string | undefined; readonly progress?: number | undefined }
  | {
      readonly state: "done";
      readonly id?: string | undefined;
      readonly file: ReportedFile | undefined;
      readonly cost_usd: number | null;
    }
  | { readonly state: "failed"; readonly message: string; readonly cost_usd?: number | null | undefined };

/** The protocol of a job backend: requests and responses to submit, poll and cancel. */
export interface JobProtocol {
  /** The path and body of the submit request. */
  order(work: GenerationWork): { readonly path: string; readonly body: object };
  /** Parses the response to a submit or poll request; undefined if its form is unknown. */
  read(body: unknown, work: GenerationWork): ReportedJob | undefined;
  jobPath(id: string): string;
  /** Undefined if the backend cannot cancel. Its jobs then run to their end. */
  cancelPath?(id: string): string;
  /** The message of the failure if a response has no file, or an unknown form. */
  readonly nothing?: string;
  /** The statuses with which the backend refuses work because it has no capacity. */
  readonly busyStatuses?: readonly number[];
}

/** Job ids become part of paths. */
const isIdentifier = (id: string) => /^[\w-][\w.-]{0,199}$/.test(id);
/** The interval between polls grows. */
const pauses = { min: milliseconds("1s"), max: milliseconds("10s") } as const;
const pauseAfter = (elapsed_ms: number) => Math.min(pauses.max, Math.max(pauses.min, Math.round(elapsed_ms / 10)));
const unreadable = "the backend's response is not a job: it is not JSON of the documented form";
const questionTimeout_ms = milliseconds("60s");

/**
 * A driver for backends with jobs. The job's id is the handle. The service stores it before it polls, so a restart
 * keeps polling the same job. A failed poll or download does not end a job, because it is paid for. It is polled until
 * the time limit of the whole work, then cancelled at the backend.
 */
export function polledJobs(protocol: JobProtocol, options: BackendOptions, outbound: BackendNetwork): GenerationDriver {
  const client = createBackendClient(options, outbound);
  const { run, abort } = createAborts();

  const cancelJob = async (id: string) => {
    if (!protocol.cancelPath || !isIdentifier(id)) return;
    await client.post(protocol.cancelPath(id), {}, { limit_ms: questionTimeout_ms });
  };

  /** Polls again later, until the time limit of the whole work. */
  const askAgain = async (work: GenerationWork, handle: string, again_ms: number, trouble = ""): Promise<Progress> => {
    if (work.elapsed_ms < options.timeout_ms) return { state: "running", again_ms, handle };
    await cancelJob(handle);
    const limit = formatDuration(options.timeout_ms);
    return failed("backend_timeout", `the backend did not finish within ${limit}${trouble && `: ${trouble}`}`);
  };

  const take = async (work: GenerationWork, response: BackendResponse, handle: string | null): Promise<Progress> => {
    const job = protocol.read(parseJson(response.bytes), work);
    if (job === undefined) {
      const trouble = client.refusalIn(response) ?? failed("backend_failed", protocol.nothing ?? unreadable);
      return handle === null ? trouble : askAgain(work, handle, pauseAfter(work.elapsed_ms), trouble.message);
    }
    if (job.state === "failed") return withCost(failed("backend_failed", client.withoutKey(job.message)), job.cost_usd);
    if (job.state === "running") {
      const id = handle ?? job.id ?? "";
      if (!isIdentifier(id)) return failed("backend_failed", "the backend's response names no job");
      const again = await askAgain(work, id, pauseAfter(work.elapsed_ms));
      return again.state === "running" && job.progress !== undefined ? { ...again, progress: job.progress } : again;
    }
    const file: Fetched = job.file
      ? await run(work, (signal) => client.fetchFile(job.file ?? {}, work.kind, signal))
      : (client.refusalIn(response) ??
        failed("backend_failed", protocol.nothing ?? "the backend finished without a file"));
    if (file.state === "done") return { ...file, cost_usd: job.cost_usd };
    const id = handle ?? job.id ?? "";
    if (file.state === "failed" && file.again_ms !== undefined && isIdentifier(id))
      return askAgain(work, id, file.again_ms, file.message);
    return withCost(file, job.cost_usd);
  };

  return {
    delay: () => 0,

    async submit(work) {
      const { path, body } = protocol.order(work);
      const idempotencyKey = work.generation_id;
      const response = await run(work, (signal) => client.post(path, body, { idempotencyKey, signal }));
      const retry = client.retryBusy(response, work, protocol.busyStatuses);
      if (retry) return retry;
      const isAccepted = response.status === 200 || response.status === 201 || response.status === 202;
      if (response.error !== null || !isAccepted) return client.errorOf(response);
      return take(work, response, null);
    },

    async poll(work, handle) {
      const response = await client.get(protocol.jobPath(handle), questionTimeout_ms);
      if (isPassing(response)) return askAgain(work, handle, againAfter(response), client.errorOf(response).message);
      if (response.status === 404 || response.status === 410)
        return failed("backend_failed", `the backend answered ${response.status}: it no longer has the job`);
      if (response.status !== 200) return client.errorOf(response);
      return take(work, response, handle);
    },

    async cancel(work, handle) {
      abort(work);
      if (handle !== null) await cancelJob(handle);
    },
  };
}

/** The running requests by generation. A cancel aborts them. */
function createAborts() {
  const running = new Map<string, AbortController>();
  return {
    async run<T>({ generation_id }: GenerationWork, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
      const control = new AbortController();
      running.set(generation_id, control);
      return work(control.signal).finally(() => running.delete(generation_id));
    },
    abort: ({ generation_id }: GenerationWork) => running.get(generation_id)?.abort("cancelled"),
  };
}
