import * as v from "valibot";
import type { Protection } from "../box/protections.ts";
import type { SimulatedOutcome } from "../simulated-outcome.ts";

export interface DeploymentSource {
  readonly type: "git" | "image";
  readonly repo: string | null;
  readonly branch: string | null;
  readonly tag: string | null;
  readonly image_url: string | null;
}

/** The work of a deployment driver, as plain data: after a crash the driver is called with the same work again. */
export interface DeploymentWork {
  readonly deployment_id: string;
  readonly organization_id: string;
  readonly project_id: string;
  readonly environment: string;
  readonly source: DeploymentSource;
  /** The environment's present variables, secret ones too: they must not get into logs, messages or the handle. */
  readonly variables: Readonly<Record<string, string>>;
  /** The values of secret variables, which every log shows as `[redacted]`. */
  readonly secrets: readonly string[];
  /** Whether the operator's credential of the code host may fetch this source; a public one needs none. */
  readonly usesCredential: boolean;
  /** The folder of the repository that is built, such as `apps/web`; null for all of it. */
  readonly root: string | null;
  /** Set from the start for a rollback, which builds an earlier version again. */
  readonly version: string | null;
  /** The commit of a push; null for the newest commit of the branch. */
  readonly revision: string | null;
  /** The commit or digest of an earlier build of this version, which a rollback builds again; null for a new version. */
  readonly pin: string | null;
  /** The stored release: of the build, for a rollout; of the deployment that a rollback goes back to, for a build. */
  readonly release: string | null;
  /** From the scenario of a tester; null in the mode `start`, and where no scenario matches. */
  readonly outcome: SimulatedOutcome | null;
  readonly step: "build" | "rollout";
  /** How long this step has been running, by the service's clock. */
  readonly elapsed_ms: number;
  /** The handle of the driver's last answer; null before the first. */
  readonly handle: string | null;
}

const line = v.object({ level: v.picklist(["info", "warn", "error"]), message: v.string() });
const logs = v.pipe(v.array(line), v.readonly());
const name = v.pipe(v.string(), v.nonEmpty());

const schedule = v.object({ name, cron: name, command: name, timeout_s: v.pipe(v.number(), v.minValue(1)) });
/** A command that runs at times of a cron pattern, in UTC, in the live release. */
export type Schedule = v.InferOutput<typeof schedule>;

/**
 * The progress of a step. `logs` are the new lines since the last answer, and `again_ms` is the wait before the next
 * call. A build that is `done` names its version, and may name its pin and its release, which are stored with the
 * deployment. A rollout that is `done` may name the workers and schedules that the environment has from then on.
 * `isDeclined` says that this runtime cannot run the source, and another one may. `unhealthy` is a failed health check
 * of a rollout: the previous release stays, if there is one.
 */
const progress = v.variant("state", [
  v.object({
    state: v.literal("running"),
    again_ms: v.pipe(v.number(), v.minValue(1)),
    handle: v.nullable(v.string()),
    logs,
  }),
  v.object({
    state: v.literal("done"),
    version: v.nullable(name),
    pin: v.optional(v.nullable(name)),
    release: v.optional(v.nullable(name)),
    workers: v.optional(v.array(name)),
    schedules: v.optional(v.array(schedule)),
    logs,
  }),
  v.object({ state: v.literal("failed"), message: v.string(), logs, isDeclined: v.optional(v.literal(true)) }),
  v.object({ state: v.literal("unhealthy"), message: v.string(), logs }),
]);

export type LogLine = v.InferOutput<typeof line>;
export type Progress = v.InferOutput<typeof progress>;

/**
 * Builds and rolls out. The service calls `step` for the same deployment and step until the step has ended: polled, because a
 * crash then resumes it, and a manual clock drives it.
 */
export interface DeploymentDriver {
  /** Whether the driver follows `outcome`. A driver that does not uses up no scenarios. */
  readonly takesScenarios?: boolean;
  /** The shortest time in the queue, in milliseconds. */
  delay(work: Pick<DeploymentWork, "source" | "environment" | "outcome">): number;
  /** A driver that works in the background answers `running` whenever it has lines to log. */
  step(work: DeploymentWork): Promise<Progress>;
  /** For a driver whose releases keep running after their deployment. */
  readonly runtime?: Runtime;
}

/** A stored release that is to run, as plain data. */
export type App = Omit<DeploymentWork, "outcome" | "step" | "elapsed_ms" | "handle" | "release"> & {
  readonly release: string;
};

/** A release that runs. It starts again by itself after a crash. */
export interface Instance {
  readonly deployment_id: string;
  /** The port of 127.0.0.1 that takes its requests; undefined while it is down. */
  readonly port: number | undefined;
  /** Resolves to true once it takes requests, to false after that time or when it is stopped. */
  up(within_ms: number): Promise<boolean>;
  /** Hands over the lines that it prints, those since its start included. */
  output(take: (lines: LogLine[]) => void): void;
  /** Starts what runs beside it, once it takes the requests and the workers of the release before it have ended. */
  startWorkers?(): void;
  stopWorkers?(grace_ms: number): Promise<void>;
  /** Ends it with its workers: asks, and after the grace forces it. */
  stop(grace_ms: number): Promise<void>;
}

/** The end of a command that ran once; a reason where it failed. */
export interface CommandEnd {
  readonly exit_code: number | null;
  readonly reason: string | undefined;
}

/** The stored files of a runtime that are still needed: releases by name, and projects by id. */
export interface Kept {
  release(name: string): Promise<boolean>;
  project(id: string): Promise<boolean>;
  /** Whether an environment exists, on any server. If so, the data of its apps stays. */
  environment?(of: { readonly project_id: string; readonly environment: string }): Promise<boolean>;
  /** The time of the last log line of a live deployment, in milliseconds since 1970; undefined if it is not live. */
  live(deployment_id: string): Promise<{ readonly since_ms: number } | undefined>;
  /** Tells the operator which files cannot be removed. */
  warn(message: string): void;
}

/**
 * The part of a driver that keeps releases running. The rows decide what runs; the runtime stores nothing beyond them.
 */
export interface Runtime {
  readonly name: string;
  /** Undefined if it runs sources of this kind; otherwise the rule that the source broke, for `source.type`. */
  refuses(source: DeploymentSource): string | undefined;
  /** Its name and version for the operator, once it has begun. */
  detail?(): string;
  /** The protections between builds, apps and the service, once it has begun. */
  protections?(): readonly Protection[];
  /** Called once, before everything else. Removes everything of an earlier process except `kept`. */
  begin(kept: Kept): Promise<void>;
  /** Ends the work for a deployment and removes what it made: it was cancelled, or failed, or its project is gone. */
  abandon(deployment_id: string): Promise<void>;
  /** Hands over the instance that a rollout started; undefined without one. */
  take(deployment_id: string): Instance | undefined;
  /** Starts a release, and builds it again where it is no longer stored. Resolves once it is healthy, or rejects. */
  start(app: App): Promise<Instance>;
  /** Runs a command of a schedule in a stored release, to its end or to that of `signal`. Its output goes to `take`. */
  command?(app: App, schedule: Schedule, take: (line: LogLine) => void, signal: AbortSignal): Promise<CommandEnd>;
  /** The size of the data of an environment's apps; undefined if there is none yet. */
  dataBytes?(of: { readonly project_id: string; readonly environment: string }): Promise<number | undefined>;
  /** Hides the data of a deleted environment's apps from a new one of its name, until `forget` removes it. */
  retireData?(of: { readonly project_id: string; readonly environment: string }): Promise<void>;
  /** Removes a release that no environment goes back to any more. */
  discard(release: string): Promise<void>;
  /** Removes everything else of a project that is gone, or of one environment of it, with the data of its apps. */
  forget(project_id: string, environment?: string): Promise<void>;
  /** Ends all builds at once, and all instances once they are `drained`. The next process continues from the rows. */
  close(drained: Promise<unknown>): Promise<void>;
}

/** Validates a driver's answer; an invalid one, or a build without a version, fails the step. */
export function checkProgress(answer: unknown, { needsVersion }: { needsVersion: boolean }): Progress {
  const { success, output, issues } = v.safeParse(progress, answer);
  const versionMissing = success && output.state === "done" && needsVersion && !output.version;
  if (success && !versionMissing) return output;
  const message = versionMissing
    ? "the driver named no version"
    : `the driver's answer is wrong: ${issues?.[0].message}`;
  return { state: "failed", message, logs: [{ level: "error", message }] };
}
