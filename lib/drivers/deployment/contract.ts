import * as v from "valibot";
import type { SimulatedOutcome } from "../simulated-outcome.ts";
import type { Protection } from "./protections.ts";

export interface DeploymentSource {
  readonly type: "git" | "image";
  readonly repo: string | null;
  readonly branch: string | null;
  readonly tag: string | null;
  readonly image_url: string | null;
}

/** The work of a deployment driver, as plain data. After a crash the driver receives the same work again. */
export interface DeploymentWork {
  readonly deployment_id: string;
  readonly organization_id: string;
  readonly project_id: string;
  readonly environment: string;
  readonly source: DeploymentSource;
  /**
   * The environment's current variables, including secret ones. They must not appear in logs, messages or the handle.
   */
  readonly variables: Readonly<Record<string, string>>;
  /** The values of secret variables, which every log shows as `[redacted]`. */
  readonly secrets: readonly string[];
  /** Whether this source may be fetched with the operator's code host credential. A public source needs none. */
  readonly usesCredential: boolean;
  /** The folder of the repository that is built, such as `apps/web`; null for all of it. */
  readonly root: string | null;
  /**
   * The URL at which people reach the environment, with its first domain if it has one; null while nothing listens for
   * apps.
   */
  readonly url: string | null;
  /** Known in advance only for a rollback, which rebuilds an earlier version. */
  readonly version: string | null;
  /** The commit of a push; null for the newest commit of the branch. */
  readonly revision: string | null;
  /** The commit or digest of an earlier build of this version, for a rollback to rebuild; null for a new version. */
  readonly pin: string | null;
  /**
   * The name of a stored release. For a rollout: the release of the build. For a build: the release of the rollback's
   * target.
   */
  readonly release: string | null;
  /** From the tester's scenario; null in the mode `start` and if no scenario matches. */
  readonly outcome: SimulatedOutcome | null;
  readonly step: "build" | "rollout";
  /** How long this step has been running, by the service's clock. */
  readonly elapsed_ms: number;
  /** The handle that the driver returned last; null before its first answer. */
  readonly handle: string | null;
}

const line = v.object({ level: v.picklist(["info", "warn", "error"]), message: v.string() });
const logs = v.pipe(v.array(line), v.readonly());
const name = v.pipe(v.string(), v.nonEmpty());

const schedule = v.object({ name, cron: name, command: name, timeout_s: v.pipe(v.number(), v.minValue(1)) });
/** A command that runs in the live release on a cron schedule, in UTC. */
export type Schedule = v.InferOutput<typeof schedule>;

/**
 * The progress of a step. `logs` are the new lines since the last answer, and `again_ms` is the wait before the next
 * call. A build that is `done` names its version. It may also name its pin and its release, which are stored with the
 * deployment. A rollout that is `done` may name the new workers and schedules of the environment. `commit`: the commit
 * that the build of a git source has resolved; a build that begins again after a crash gets it as its pin, and a failed
 * deployment shows it. `unhealthy`: the health check of a rollout failed, and the previous release stays, if there is
 * one.
 */
const progress = v.variant("state", [
  v.object({
    state: v.literal("running"),
    again_ms: v.pipe(v.number(), v.minValue(1)),
    handle: v.nullable(v.string()),
    commit: v.optional(name),
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
  v.object({
    state: v.literal("failed"),
    message: v.string(),
    commit: v.optional(name),
    logs,
  }),
  v.object({ state: v.literal("unhealthy"), message: v.string(), logs }),
]);

export type LogLine = v.InferOutput<typeof line>;
export type Progress = v.InferOutput<typeof progress>;

/**
 * Builds and rolls out. The service calls `step` for the same deployment and step until the step ends. Because it
 * polls, a crash resumes the step, and a manual clock drives it.
 */
export interface DeploymentDriver {
  /** Whether the driver follows `outcome`. If not, scenarios are not used up. */
  readonly takesScenarios?: boolean;
  /** The shortest time in the queue, in milliseconds. */
  delay(work: Pick<DeploymentWork, "source" | "environment" | "outcome">): number;
  /** A driver that works in the background returns `running` whenever it has lines to log. */
  step(work: DeploymentWork): Promise<Progress>;
  /** For drivers whose releases keep running after their deployment. */
  readonly runtime?: Runtime;
}

/** A stored release to run, as plain data. */
export type App = Omit<DeploymentWork, "outcome" | "step" | "elapsed_ms" | "handle" | "release"> & {
  readonly release: string;
};

/** A process of a release ended by itself. */
export interface Crash {
  /** `web` for the app, else the name of the worker. */
  readonly process: string;
  readonly exit_code: number | null;
}

/** A running release. It restarts after a crash. */
export interface Instance {
  readonly deployment_id: string;
  /** The port of 127.0.0.1 that accepts its requests; undefined while it is down. */
  readonly port: number | undefined;
  /** Resolves to true once it accepts requests, to false at the timeout or when it is stopped. */
  up(within_ms: number): Promise<boolean>;
  /** Passes on its output lines, including those since its start. */
  output(take: (lines: LogLine[]) => void): void;
  /** Passes on each crash of its processes. */
  crashes?(take: (crash: Crash) => void): void;
  /** Starts its workers. Called once it receives the requests and the previous release's workers have ended. */
  startWorkers?(): void;
  stopWorkers?(grace_ms: number): Promise<void>;
  /** Stops it and its workers. After the grace period it kills them. */
  stop(grace_ms: number): Promise<void>;
}

/** How a one-off command ended; with a reason if it failed. */
export interface CommandEnd {
  readonly exit_code: number | null;
  readonly reason: string | undefined;
}

/** The stored files of a runtime that are still needed: releases by name, projects by id. */
export interface Kept {
  release(name: string): Promise<boolean>;
  project(id: string): Promise<boolean>;
  /** Whether an environment exists, on any server. If it does, the data of its apps stays. */
  environment?(of: { readonly project_id: string; readonly environment: string }): Promise<boolean>;
  /** The time of the last log line of a live deployment, in milliseconds since 1970; undefined if it is not live. */
  live(deployment_id: string): Promise<{ readonly since_ms: number } | undefined>;
  /** Whether an organization may fetch a repository with the operator's credential, such as a submodule. */
  mayFetch?(organization_id: string, repo: string): Promise<boolean>;
  /** Warns the operator about files that cannot be removed. */
  warn(message: string): void;
}

/** The part of a driver that keeps releases running. The database rows decide what runs; a runtime stores no state. */
export interface Runtime {
  readonly name: string;
  /** Undefined if it can run such a source; otherwise the violated rule, reported for `source.type`. */
  refuses(source: DeploymentSource): string | undefined;
  /** Its name and version for the operator. Call it after `begin`. */
  detail?(): string;
  /** The protections between builds, apps and the service. Call it after `begin`. */
  protections?(): readonly Protection[];
  /** Called once, before all other methods. Removes everything of an earlier process except `kept`. */
  begin(kept: Kept): Promise<void>;
  /** Stops the work for a deployment and removes its results: it failed or was cancelled, or its project was deleted. */
  abandon(deployment_id: string): Promise<void>;
  /** Returns and releases the instance that a rollout started; undefined if there is none. */
  take(deployment_id: string): Instance | undefined;
  /** Starts a release; rebuilds it if it is no longer stored. Resolves once it is healthy, or rejects. */
  start(app: App): Promise<Instance>;
  /** Runs a schedule's command in a stored release until it ends or `signal` aborts it. `take` receives its output. */
  command?(app: App, schedule: Schedule, take: (line: LogLine) => void, signal: AbortSignal): Promise<CommandEnd>;
  /** The size of the data of an environment's apps; undefined if there is none yet. */
  dataBytes?(of: { readonly project_id: string; readonly environment: string }): Promise<number | undefined>;
  /**
   * Sets a deleted environment's app data aside, so a new environment of that name does not see it. `forget` removes
   * it.
   */
  retireData?(of: { readonly project_id: string; readonly environment: string }): Promise<void>;
  /** Removes a release that no environment can go back to. */
  discard(release: string): Promise<void>;
  /** Removes the caches and app data of a deleted project, or of one of its environments, after its releases. */
  forget(project_id: string, environment?: string): Promise<void>;
  /** Stops all builds at once, and all instances when they are `drained`. The next process continues from the rows. */
  close(drained: Promise<unknown>): Promise<void>;
}

/** Validates a driver's answer. An invalid answer, or a build without a version, fails the step. */
export function checkProgress(answer: unknown, { needsVersion }: { needsVersion: boolean }): Progress {
  const { success, output, issues } = v.safeParse(progress, answer);
  const versionMissing = success && output.state === "done" && needsVersion && !output.version;
  if (success && !versionMissing) return output;
  const message = versionMissing
    ? "the driver named no version"
    : `the driver's answer is wrong: ${issues?.[0].message}`;
  return { state: "failed", message, logs: [{ level: "error", message }] };
}
