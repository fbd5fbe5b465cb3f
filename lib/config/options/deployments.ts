import * as v from "valibot";
import { parseUserRange } from "../../drivers/box/organization-users.ts";
import type { DeploymentDriver } from "../../drivers/deployment/contract.ts";
import { field } from "../../kernel/field.ts";
import { oneOf, textLike, textOf } from "../../kernel/validation.ts";
import { byteSize, duration, option, positive } from "./option-types.ts";

/** `simulated` alone, or the runtimes of this machine in the order in which they are asked. */
const runtimeRule = "must be simulated, or a list of process and engine";
const runtimeNames = ["simulated", "process", "engine"] as const;
const runtime = v.pipe(
  v.array(v.picklist(runtimeNames, runtimeRule), "must be a list"),
  v.check((list) => list.length > 0 && new Set(list).size === list.length, runtimeRule),
  v.check((list) => list.length === 1 || !list.includes("simulated"), runtimeRule),
);

const credential = v.strictObject({
  username: field(textOf(1, 255), "The user of the registry."),
  password: field(textOf(1, 16_384), "The password or token of that user."),
});
const registryHost = textLike(
  300,
  /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/i,
  "must be the host of a registry, such as registry.example.com:5000",
);

const users = v.pipe(
  v.string("must be a string"),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const range = parseUserRange(dataset.value);
    if (range) return range;
    addIssue({ message: "must be FIRST:COUNT, such as 1879048192:65536" });
    return NEVER;
  }),
);

const reached = textLike(15, /^127\.0\.0\.1:([1-9]\d{0,4})$/, "must be a port of loopback, such as 127.0.0.1:5432");

const buildVariable = textLike(
  255,
  /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,254}$/,
  "must be named with 1 to 255 of A-Z, a-z, 0-9 and underscore, and not begin with a digit",
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
    concurrencyPerOrganization: v.optional(
      option(positive(10_000), {
        help: "The number of deployments of one organization that build or roll out at the same time. Without it, each gets at most half of all places, and at least one, if a runtime is on and the service has several organizations. Organizations take turns in any case.",
        example: "2",
      }),
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
          v.union([runtime, v.picklist(runtimeNames)], runtimeRule),
          v.transform((given) => [given].flat()),
        ),
        {
          help: "What runs deployments: `simulated`, or a list of `process` and `engine`, of which the first that accepts a source runs it. `process` builds git repositories and runs them as processes of this machine; it needs Linux. `engine` runs images, and git repositories with a `Dockerfile`, as containers of Docker or Podman. Both need the real clock. With PostgreSQL the option concerns this server, and a runtime on one of several servers is enough; `simulated` forgets the runtimes of servers that are down.",
          flag: "runtime",
          value: "NAME",
        },
      ),
      "simulated",
    ),
    apps: v.optional(
      option(oneOf(["running", "stopped"]), {
        help: "Whether a start brings live releases back. With `stopped` it does not: a restart of an environment or a deployment to it starts its app. It is for a server that its apps bring down.",
        flag: "apps",
        value: "STATE",
      }),
      "running",
    ),
    isolation: v.optional(
      option(oneOf(["bubblewrap", "none"]), {
        help: "How `process` separates builds and apps from the service: in a sandbox of bubblewrap, or not at all. With `none`, deployed code can read whatever the user of the service can read.",
        flag: "isolation",
        value: "NAME",
      }),
      "bubblewrap",
    ),
    tenancy: v.optional(
      option(oneOf(["separate", "trusted"]), {
        help: "Whether the organizations of the service trust each other's code. `separate` refuses a start with more than one of them and the runtime `process` on a machine that cannot keep them apart: by users, limits, networks and build disks of their own.",
        flag: "tenancy",
        value: "NAME",
      }),
      "separate",
    ),
    users: v.optional(
      option(users, {
        help: "Where `process` runs as root: the kernel's user ids that it gives to organizations, one each, as `FIRST:COUNT`. Nobody else may have them: neither users of the machine, nor another svc-server on it.",
      }),
      "1879048192:65536",
    ),
    reach: v.optional(
      option(v.array(reached, "must be a list"), {
        help: 'Ports of this machine\'s loopback that builds and apps of `process` reach, at the same address: `["127.0.0.1:5432"]`. They reach public addresses and `outbound.allow` besides, and no other port of this machine.',
      }),
      [],
    ),
    registries: v.optional(
      option(v.record(registryHost, credential), {
        help: 'The credentials of registries from which `engine` pulls, by host: `{"registry.example.com":{"username","password"}}`. For others, those of `docker login` are used.',
      }),
      {},
    ),
    buildVariables: v.optional(
      option(v.record(buildVariable, textOf(0, 32_768)), {
        help: 'Variables for all builds, such as `{"npm_config_registry":"https://npm.example.com/","HTTPS_PROXY":"http://proxy.example.com:3128","NODE_EXTRA_CA_CERTS":"/etc/ssl/certs/ca-certificates.crt"}`: a registry, a proxy, a certificate authority below `/etc/ssl`. Those of an environment win. No running app gets them; whoever may deploy can read them in a build. Logs show none whose name speaks of a secret, nor a password in a URL.',
      }),
      {},
    ),
    buildTimeout: v.optional(option(duration, { help: "The longest build, from the fetch on." }), "15m"),
    buildMemory: v.optional(option(byteSize, { help: "The memory of all processes of a build together." }), "2GiB"),
    // Next.js with yarn 1, which fetches the packages of all platforms, writes 2.5 GiB.
    buildDisk: v.optional(option(byteSize, { help: "What a build may write to the disk." }), "3GiB"),
    buildDisks: v.optional(
      option(textOf(1, 4096), {
        help: "A folder in which root has mounted file systems, at least as many as `deployments.concurrency`: builds of `process` write to them alone, each to one. For a service whose user is not root: without it, files that a build has deleted and still holds do not count. A service of root makes file systems of its own.",
        example: "/var/lib/svc-server-disks",
      }),
    ),
    appMemory: v.optional(
      option(byteSize, { help: "The memory of all processes of an app together. An app that uses more starts again." }),
      "1GiB",
    ),
    dataLimit: v.optional(
      option(byteSize, {
        help: "What the apps of an environment may keep in `/data`. It is checked every minute; more than that is an error in the log of the environment.",
      }),
      "10GiB",
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
        help: "A driver of your own that builds and rolls out deployments. It takes the place of `runtime`; without it, `runtime` decides.",
        example: "simulatedDeployments()",
      }),
    ),
  }),
  {},
);
