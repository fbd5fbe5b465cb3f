import * as v from "valibot";
import type { DeploymentDriver } from "../../drivers/deployment/contract.ts";
import { field } from "../../kernel/field.ts";
import { parseUserRange } from "../../kernel/text/user-range.ts";
import { oneOf, textLike, textOf } from "../../kernel/validation.ts";
import { byteSize, duration, group, option, parsedText, path, positive, withFunctions } from "./option-types.ts";

/** Either `simulated` alone, or runtimes of this machine in order of preference. */
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

const users = parsedText(parseUserRange, "must be FIRST:COUNT, such as 1879048192:65536");

const reached = textLike(15, /^127\.0\.0\.1:([1-9]\d{0,4})$/, "must be a port of loopback, such as 127.0.0.1:5432");

const buildVariable = textLike(
  255,
  /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,254}$/,
  "must be named with 1 to 255 of A-Z, a-z, 0-9 and underscore, and not begin with a digit",
);

export const deployments = group({
  concurrency: option(positive(10_000), {
    default: 4,
    help: "The number of deployments that build or roll out at the same time, in the whole service.",
  }),
  concurrencyPerOrganization: option(positive(10_000), {
    help: "The number of deployments of one organization that build or roll out at the same time. Without it, each gets at most half of all places, and at least one, if a runtime is on and the service has several organizations. Organizations take turns in any case.",
    example: "2",
  }),
  autoRollback: option(v.boolean(), {
    default: true,
    help: "After a failed health check, a deployment ends as `rolled_back` if a previous release stays live. `false` ends it as `failed`.",
  }),
  runtime: option(
    v.pipe(
      v.union([runtime, v.picklist(runtimeNames)], runtimeRule),
      v.transform((given) => [given].flat()),
    ),
    {
      default: "simulated",
      help: "What runs deployments: `simulated`, or a list of `process` and `engine`; the first one that accepts a source runs it. `process` builds git repositories and runs them as processes of this machine; it needs Linux. `engine` runs images, and git repositories with a `Dockerfile`, as containers of Docker or Podman. Both need the real clock. With PostgreSQL, the option applies only to this server, and one server with a runtime is enough; `simulated` forgets the runtimes of servers that are down.",
      flag: "runtime",
      value: "NAME",
    },
  ),
  apps: option(oneOf(["running", "stopped"]), {
    default: "running",
    help: "Whether a start of the service starts the live releases. With `stopped`, an app starts only at a restart of its environment or a deployment to it. Use it if the apps crash the server.",
    flag: "apps",
    value: "STATE",
  }),
  isolation: option(oneOf(["bubblewrap", "none"]), {
    default: "bubblewrap",
    help: "How `process` separates builds and apps from the service: in a sandbox of bubblewrap, or not at all. With `none`, deployed code can read everything that the user of the service can read.",
    flag: "isolation",
    value: "NAME",
  }),
  tenancy: option(oneOf(["separate", "trusted"]), {
    default: "separate",
    help: "Whether the organizations of the service trust each other's code. With `separate`, a start with several organizations and the runtime `process` is refused if the machine cannot give each organization its own users, limits, networks and build disks.",
    flag: "tenancy",
    value: "NAME",
  }),
  users: option(users, {
    default: "1879048192:65536",
    help: "The kernel's user ids that `process`, as root, assigns to organizations, one each, as `FIRST:COUNT`. No user of the machine and no other svc-server on it may use these ids.",
  }),
  reach: option(v.array(reached, "must be a list"), {
    default: [],
    help: 'Ports of this machine\'s loopback that builds and apps of `process` can reach, at the same address: `["127.0.0.1:5432"]`. Besides these, they reach public addresses and `outbound.allow`, but no other port of this machine.',
  }),
  registries: option(v.record(registryHost, credential), {
    default: {},
    help: 'The credentials of registries from which `engine` pulls, by host: `{"registry.example.com":{"username","password"}}`. For other registries, the credentials of `docker login` are used.',
  }),
  buildVariables: option(v.record(buildVariable, textOf(0, 32_768)), {
    default: {},
    help: 'Variables for all builds, such as `{"npm_config_registry":"https://npm.example.com/","HTTPS_PROXY":"http://proxy.example.com:3128","NODE_EXTRA_CA_CERTS":"/etc/ssl/certs/ca-certificates.crt"}`: for a registry, a proxy, or a certificate authority below `/etc/ssl`. Variables of an environment override them. Running apps do not get them, but everybody who may deploy can read them in a build. Logs hide the values of variables with names like those of secrets, and passwords in URLs.',
  }),
  buildTimeout: option(duration, { default: "15m", help: "The time limit of a build, from the start of the fetch." }),
  buildMemory: option(byteSize, { default: "2GiB", help: "The memory limit of all processes of a build together." }),
  // Enough for Next.js with yarn 1, which fetches the packages of all platforms.
  buildDisk: option(byteSize, { default: "3GiB", help: "How much a build may write to the disk." }),
  buildDisks: option(path, {
    help: "A folder in which root has mounted file systems, at least as many as `deployments.concurrency`; each build of `process` writes only to one of them. It is for a service that does not run as root: without it, files that a build has deleted but keeps open do not count. A service that runs as root makes its own file systems.",
    example: "/var/lib/svc-server-disks",
  }),
  appMemory: option(byteSize, {
    default: "1GiB",
    help: "The memory limit of all processes of an app together. An app that uses more is restarted.",
  }),
  scratch: option(byteSize, {
    default: "512MiB",
    help: "How much an app, a worker, a schedule or, under `process`, a `release` command may write: under `process` below the folder of the app, under `engine` outside of `/data`, `/tmp` and volumes. These files are gone when it ends; what has to stay belongs in `/data`. Under `process` they are kept in memory and count towards `deployments.appMemory`; on a kernel without the overlay that `svc-server doctor` names, a copy of the release counts too. Under `engine` they are on the engine's disk, and a container above the limit is stopped at the next check.",
  }),
  dataLimit: option(byteSize, {
    default: "10GiB",
    help: "How much the apps of an environment may store in `/data`. The size is checked every minute; above the limit, the log of the environment has an error.",
  }),
  healthTimeout: option(duration, {
    default: "60s",
    help: "How long a new release may take until its health check passes.",
  }),
  keep: option(positive(1000), {
    default: 5,
    help: "The number of releases that each environment keeps for rollbacks.",
  }),
  driver: option(withFunctions<DeploymentDriver>("delay and step"), {
    help: "Your own driver, which builds and rolls out deployments instead of `runtime`. Without it, `runtime` decides.",
    example: "simulatedDeployments()",
  }),
});
