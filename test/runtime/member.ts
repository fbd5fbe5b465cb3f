import type { TestContext } from "node:test";
import type { DeploymentDriver, DeploymentSource, Runtime } from "../../lib/drivers/deployment/contract.ts";

/**
 * What a source does:
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
  /** A driver over what is stored, as each start of a server makes one. */
  open(): DeploymentDriver;
  /** A source of this kind; undefined where the member has none. The place is the same one at each call, as a branch is. */
  source(kind: Kind, version?: string): DeploymentSource | undefined | Promise<DeploymentSource | undefined>;
  /** What a deployment has left on this machine: processes, containers, folders, images. */
  traces(deployment_id: string): readonly string[] | Promise<readonly string[]>;
}

/** What a rule is given: a driver that has begun. */
export interface Here {
  readonly driver: DeploymentDriver;
  /** Rules of every driver do without it. */
  readonly runtime: Runtime;
  readonly member: Member;
  readonly t: TestContext;
  readonly of: (kind: Kind) => DeploymentSource;
}

export type Rule = readonly [text: string, needs: readonly Kind[], body: (here: Here) => Promise<void>];
