import * as v from "valibot";
import type { DeploymentDriver } from "../../drivers/deployment/contract.ts";
import { oneOf } from "../../kernel/validation.ts";
import { byteSize, duration, option, positive } from "./option-types.ts";

/** `simulated` alone, or the runtimes of this machine in the order in which they are asked. */
const runtimeRule = "must be simulated or process; this version has no other runtime yet";
const runtime = v.pipe(
  v.array(v.picklist(["simulated", "process"], runtimeRule), "must be a list"),
  v.check((list) => list.length === 1, runtimeRule),
);

const driver = v.custom<DeploymentDriver>(
  (value) => ["delay", "step"].every((name) => typeof (value as Record<string, unknown> | null)?.[name] === "function"),
  "must have the functions delay and step",
);

export const deployments = v.optional(
  v.strictObject({
    concurrency: v.optional(
      option(positive(10_000), {
        help: "The number of deployments that build or roll out at the same time, in the whole service.",
      }),
      4,
    ),
    autoRollback: v.optional(
      option(v.boolean(), {
        help: "After a failed health check, a deployment ends as `rolled_back` if a previous release stays live. `false` ends it as `failed`.",
      }),
      true,
    ),
    runtime: v.optional(
      option(
        v.pipe(
          v.union([runtime, v.literal("simulated"), v.literal("process")], runtimeRule),
          v.transform((given) => [given].flat()),
        ),
        {
          help: "What runs deployments: `simulated`, or `process`, which builds git repositories and runs them as processes of this machine. `process` needs Linux and the real clock.",
          flag: "runtime",
          value: "NAME",
        },
      ),
      "simulated",
    ),
    isolation: v.optional(
      option(oneOf(["bubblewrap", "none"]), {
        help: "How `process` separates builds and apps from the service: in a sandbox of bubblewrap, or not at all. With `none`, deployed code can read whatever the user of the service can read.",
        flag: "isolation",
        value: "NAME",
      }),
      "bubblewrap",
    ),
    buildTimeout: v.optional(option(duration, { help: "The longest build, from the fetch on." }), "15m"),
    buildMemory: v.optional(option(byteSize, { help: "The memory of all processes of a build together." }), "2GiB"),
    buildDisk: v.optional(option(byteSize, { help: "What a build may write to the disk." }), "2GiB"),
    appMemory: v.optional(
      option(byteSize, { help: "The memory of all processes of an app together. An app that uses more starts again." }),
      "1GiB",
    ),
    healthTimeout: v.optional(
      option(duration, { help: "How long a new release may take until its health check passes." }),
      "60s",
    ),
    keep: v.optional(
      option(positive(1000), { help: "The number of releases that each environment keeps for rollbacks." }),
      5,
    ),
    driver: v.optional(
      option(driver, {
        help: "A driver of your own that builds and rolls out deployments. It takes the place of `runtime`.",
      }),
    ),
  }),
  {},
);
