import { formatDuration, milliseconds } from "../../kernel/duration.ts";
import {
  againAfter,
  type BackendNetwork,
  type BackendOptions,
  createAborts,
  createBackendClient,
  failed,
  isPassing,
  parseJson,
  type ReportedFile,
} from "./backend-client.ts";
import type { GenerationDriver, GenerationWork, Progress } from "./contract.ts";

/** A job as its backend reports it. Any state that is neither success nor failure is `running`. */
export type ReportedJob =
  | { readonly state: "running"; readonly id?: string | undefined; readonly progress?: number | undefined }
  | {
      readonly state: "done";
      readonly id?: string | undefined;
      readonly file: ReportedFile | undefined;
      readonly cost_usd: number | null;
    }
  | { readonly state: "failed"; readonly message: string };

/** The protocol of a backend with jobs: how to order, poll and cancel one. */
export interface JobProtocol {
  /** Where the work is ordered, and the body of that request. */
  order(work: GenerationWork): { readonly path: string; readonly body: object };
  /** Reads the response to an order or a question; undefined for a response of another form. */
  read(body: unknown, work: GenerationWork): ReportedJob | undefined;
  jobPath(id: string): string;
  /** Undefined where the backend has no such request: its job runs to its end. */
  cancelPath?(id: string): string;
  /** The statuses of an order that the backend did not accept, because it has no room. */
  readonly busyStatuses?: readonly number[];
}

/** Identifiers go into paths. */
const isIdentifier = (id: string) => /^[\w-][\w.-]{0,199}$/.test(id);
/** Jobs are asked for ever more rarely. */
const pauses = { min: milliseconds("1s"), max: milliseconds("10s") } as const;
const pauseAfter = (elapsed_ms: number) => Math.min(pauses.max, Math.max(pauses.min, Math.round(elapsed_ms / 10)));
const unreadable = "the backend's response is not a job: it is not JSON of the documented form";
const questionTimeout_ms = milliseconds("60s");

/**
 * A driver for backends whose work is a job. The job's identifier is the handle, which the service stores before it polls,
 * so a restart goes on asking for the same job. Trouble while asking, or while its file is fetched, ends no job: it was paid
 * for, and is asked for again until the limit of the whole work. Then the job is cancelled at the backend.
 */
export function polledJobs(protocol: JobProtocol, options: BackendOptions, outbound: BackendNetwork): GenerationDriver {
  const client = createBackendClient(options, outbound);
  const requests = createAborts();

  const cancelJob = async (id: string) => {
    if (!protocol.cancelPath || !isIdentifier(id)) return;
    await client.post(protocol.cancelPath(id), {}, { limit_ms: questionTimeout_ms });
  };

  /** Asks again later, until the limit of the whole work. */
  const askAgain = async (work: GenerationWork, handle: string, again_ms: number, trouble = ""): Promise<Progress> => {
    if (work.elapsed_ms < options.timeout_ms) return { state: "running", again_ms, handle };
    await cancelJob(handle);
    const limit = formatDuration(options.timeout_ms);
    return failed("backend_timeout", `the backend did not finish within ${limit}${trouble && `: ${trouble}`}`);
  };

  const take = async (work: GenerationWork, job: ReportedJob | undefined, handle: string | null): Promise<Progress> => {
    if (job === undefined)
      return handle === null
        ? failed("backend_failed", unreadable)
        : askAgain(work, handle, pauseAfter(work.elapsed_ms), unreadable);
    if (job.state === "failed") return failed("backend_failed", client.withoutKey(job.message));
    if (job.state === "running") {
      const id = handle ?? job.id ?? "";
      if (!isIdentifier(id)) return failed("backend_failed", "the backend's response names no job");
      const again = await askAgain(work, id, pauseAfter(work.elapsed_ms));
      return again.state === "running" && job.progress !== undefined ? { ...again, progress: job.progress } : again;
    }
    if (job.file === undefined) return failed("backend_failed", "the backend finished without a file");
    const file = await requests.run(work, (signal) => client.fetchFile(job.file ?? {}, work.kind, signal));
    if (file.state === "done") return { ...file, cost_usd: job.cost_usd };
    const id = handle ?? job.id ?? "";
    if (file.state === "failed" && file.again_ms !== undefined && isIdentifier(id))
      return askAgain(work, id, file.again_ms, file.message);
    return file;
  };

  return {
    delay: () => 0,

    async submit(work) {
      const { path, body } = protocol.order(work);
      const idempotencyKey = work.generation_id;
      const response = await requests.run(work, (signal) => client.post(path, body, { idempotencyKey, signal }));
      const retry = client.retryBusy(response, work, protocol.busyStatuses);
      if (retry) return retry;
      const isAccepted = response.status === 200 || response.status === 201 || response.status === 202;
      if (response.error !== null || !isAccepted) return client.errorOf(response);
      return take(work, protocol.read(parseJson(response.bytes), work), null);
    },

    async poll(work, handle) {
      const response = await client.get(protocol.jobPath(handle), questionTimeout_ms);
      if (isPassing(response)) {
        const trouble = client.errorOf(response);
        return askAgain(work, handle, againAfter(response), trouble.message);
      }
      if (response.status === 404 || response.status === 410)
        return failed("backend_failed", `the backend answered ${response.status}: it no longer has the job`);
      if (response.status !== 200) return client.errorOf(response);
      return take(work, protocol.read(parseJson(response.bytes), work), handle);
    },

    async cancel(work, handle) {
      requests.abort(work);
      if (handle !== null) await cancelJob(handle);
    },
  };
}
