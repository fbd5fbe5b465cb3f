import type * as v from "valibot";
import type { Progress } from "../../drivers/deployment/contract.ts";
import type { Outcome } from "../../kernel/job.ts";
import type { FollowOptions, Stream } from "../../kernel/node/stream.ts";
import type { EnvironmentRange, LongList, Page, PageQuery } from "../../kernel/page.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { LogsQuery } from "../../kernel/validation.ts";
import type { Row } from "../../store/tables.ts";
import type { environment } from "./schema.ts";

/** An environment, which may have a live release. */
export interface AppKey {
  readonly organization_id: string;
  readonly project_id: string;
  readonly environment: string;
}
export type Environment = Omit<AppKey, "organization_id">;

/** The key alone, without further fields of a record. */
export const keyOf = ({ organization_id, project_id, environment }: AppKey): AppKey => ({
  organization_id,
  project_id,
  environment,
});
export const nameOf = ({ project_id, environment }: Environment): string => `${project_id} ${environment}`;

/** An environment whose followed log continues while it exists. */
export interface FollowedKey extends AppKey {
  exists(): Promise<boolean>;
}

/** What an environment shows of its app. Without a runtime, that is its domains, if it has any. */
export type EnvironmentApp = Pick<
  v.InferOutput<typeof environment>,
  "domains" | "domain_status" | "url" | "data_bytes" | "restarts" | "workers" | "schedules"
>;

type Deployment = AppKey & { readonly id: string; readonly deployed_at: string | null };
type UrlOf = (deployment: Environment & { readonly id: string }) => string | null;

/** Files on a runtime that belong to deleted environments and ended deployments. */
export interface Leftovers {
  readonly keys: readonly AppKey[];
  /** Deployments that build or roll out. */
  readonly running: readonly string[];
  readonly releases: readonly string[];
  readonly project_id: string | null;
}

/** The door to the platform: the apps that run after a deployment. A service that simulates has `noLiveApps`. */
export interface LiveApps {
  /** The driver of deployments, here or on other servers; undefined if they are simulated. */
  runtimeName(): string | undefined;
  /** The id of this server's runtime, for jobs and rows; undefined with one server, or without a runtime here. */
  readonly runtimeId: string | undefined;
  /** The runtimes of all servers, as last read; empty if there is one server. */
  runtimes(): readonly Row<"runtimes">[];

  /** Gives an environment its host, if it has none. */
  ensure(tx: Tx, key: AppKey): Promise<void>;
  /** Call when the domains or the protection of an environment have changed. */
  accessChanged(tx: Tx, key: AppKey): Promise<void>;
  ofRange(range: EnvironmentRange, tx?: Tx): Promise<(environment: string) => EnvironmentApp>;
  logs(key: FollowedKey, query: LogsQuery, options: FollowOptions): Promise<LongList<Row<"app_logs">> | Stream>;
  /** The runs of the schedules of an environment, newest first. */
  runs(key: AppKey, query: PageQuery): Promise<Page<Row<"schedule_runs">>>;
  /** Throws `no_previous_version` if no release is live, and `unavailable` while the server that runs it is down. */
  requireLive(tx: Tx, key: AppKey): Promise<void>;
  /** Restarts the live release with its current variables. Resolves once the new instance serves or has failed. */
  restart(key: AppKey): Promise<void>;
  /** Stops the apps of a deleted environment. Returns whether its deployment must end too. */
  removed(tx: Tx, key: AppKey): Promise<boolean>;
  projectRemoved(tx: Tx, project_id: string): Promise<void>;
  /** Removes a batch of a deleted project's rows. Returns whether none are left. */
  removeBatch(tx: Tx, project_id: string): Promise<boolean>;
  hasHost(host: string): Promise<boolean>;
  /** Whether a release is live in an environment, on any server. */
  isLive(key: Environment): Promise<boolean>;

  /** The runtime for a deployment; null if it needs none, undefined if none is up. */
  assign(tx: Tx, key: AppKey): Promise<string | null | undefined>;
  /** Whether deployments wait because no runtime is up. */
  isHeld(tx: Tx): Promise<boolean>;
  /** The reason why deployments wait; undefined if they do not. */
  obstacle(): string | undefined;
  /** Registers what to call when this runtime is back, so that waiting deployments continue. */
  onBack(resume: () => Promise<unknown>): void;
  /** Whether a deployment's environment was deleted, so that its work must stop. */
  isGone(key: Environment, tx?: Tx): Promise<boolean>;
  /** Call when a deployment has become active: its release is now the live one. */
  succeeded(
    tx: Tx,
    deployment: Deployment,
    made: Pick<Progress & { state: "done" }, "workers" | "schedules">,
  ): Promise<void>;
  /** Removes all traces of a deployment. Called again if a driver step ends later, also of a deleted project. */
  ended(tx: Tx, deployment: AppKey & { readonly id: string }, isProjectGone?: boolean): Promise<void>;
  /** The URL of a deployment while its release is live. */
  readonly urlOf: UrlOf;
  /** The URLs of live deployments, from the rows; undefined if this server already knows them. */
  readonly urlsOf:
    | ((
        given: readonly (Environment & { id: string; status: string })[],
      ) => Promise<(of: { id: string }) => string | null>)
    | undefined;
  /** The URL at which people reach an environment. */
  visitedAt(key: Environment): Promise<string | null>;

  /** Run the jobs that other servers have ordered, and those of schedules. */
  runRestart(order: AppKey & { readonly restart_id: string }): Promise<Outcome>;
  runSchedule(of: AppKey & { readonly name: string }): Promise<Outcome>;
  runClear(leftovers: Leftovers): Promise<Outcome>;

  /** Runs before the first job: checks that the runtime works here, and removes leftovers. */
  begin(): Promise<void>;
  /** Call when the apps' port is open and before any job runs: from now on, other servers may count on this one. */
  open(): Promise<void>;
  /** Restarts the live releases in the background, unless the service keeps them stopped. */
  resume(): Promise<void>;
  /** Stops builds at once, and apps after they have answered their requests. The next start restarts the apps. */
  close(drained: Promise<unknown>): Promise<void>;
  /** Takes this server off the list that other servers see. */
  unregister(): Promise<void>;
}
