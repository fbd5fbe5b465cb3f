import type { TestContext } from "node:test";
import type { DeploymentDriver, DeploymentSource, Runtime } from "../../lib/drivers/deployment/contract.ts";

/**
 * Sources, by behaviour:
 * - `works`: its app prints `listening as VERSION`, answers VERSION, answers `/slow` when the next request comes, and ends
 *   with the exit code 3 at `POST /crash`;
 * - `prints`: its build prints the lines `line 0` to `line 2999` and the variable TOKEN, and its app works;
 * - `buildFails`: its build prints `begun`, and fails;
 * - `buildHangs`: its build prints `begun`, and never ends;
 * - `startFails`: its app ends at once;
 * - `startHangs`: its app never listens.
 */
export type Kind = "works" | "prints" | "buildFails" | "buildHangs" | "startFails" | "startHangs";

/** A runtime under test, in a world of its own. */
export interface Member {
  /** A new driver over the same stored state, as at each start of a server. */
  open(): DeploymentDriver;
  /** A source of this kind; undefined where the member has none. Each call returns the same place, like a branch. */
  source(kind: Kind, version?: string): DeploymentSource | undefined | Promise<DeploymentSource | undefined>;
  /** The traces of a deployment on this machine: processes, containers, folders, images. */
  traces(deployment_id: string): readonly string[] | Promise<readonly string[]>;
}

/** The context of a rule: a driver that has begun. */
export interface Here {
  readonly driver: DeploymentDriver;
  /** Not used by the rules for every driver. */
  readonly runtime: Runtime;
  readonly member: Member;
  readonly t: TestContext;
  readonly of: (kind: Kind) => DeploymentSource;
}

export type Rule = readonly [text: string, needs: readonly Kind[], body: (here: Here) => Promise<void>];
