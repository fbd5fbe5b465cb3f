import * as v from "valibot";
import type { Sink } from "../../drivers/outbound/function-transport.ts";
import { fixedKey } from "../../features/keys/schema.ts";
import { region } from "../../features/projects/schema.ts";
import { createClock, latestInstant } from "../../kernel/clock.ts";
import { type Log, levels } from "../../kernel/log.ts";
import { oneOf, textLike, textOf } from "../../kernel/validation.ts";
import type { Seed } from "../seed.ts";
import { apps } from "./apps.ts";
import { codeHost, previewLifetime } from "./code-host.ts";
import { dashboard } from "./dashboard.ts";
import { deliveries } from "./deliveries.ts";
import { deployments } from "./deployments.ts";
import { domains } from "./domains.ts";
import { generations } from "./generations.ts";
import { mail } from "./mail.ts";
import { checkedText, duration, group, limit, option, path, positive, withFunctions } from "./option-types.ts";
import { basePathOf, corsOrigins, origin } from "./origins.ts";
import { outbound, trustNetwork } from "./outbound.ts";
import { assets, encryptionKey, keyFile, migrate } from "./postgres.ts";
import { repositories } from "./repositories.ts";
import { timers } from "./timers.ts";

const host = textLike(255, /^[A-Za-z0-9.:[\]_-]+$/, "must be a host name or address");

/** Creates a clock from the setting, so that a wrong setting is refused before the database is opened. */
const clockSetting = checkedText((value) => {
  try {
    return createClock(value).now() <= latestInstant;
  } catch {
    return false;
  }
}, "must be real, manual, manual@2026-01-01T00:00:00Z or a speed such as 60x");

const isObject = <T extends object>() =>
  v.custom<T>((value) => typeof value === "object" && value !== null, "must be an object");

/**
 * Every option, declared once. `createService`, configuration files, environment variables, flags, `--help` and the table
 * of options are derived from it.
 */
export const optionsSchema = v.strictObject({
  mode: option(oneOf(["dev", "start"]), {
    default: "dev",
    help: "`dev` runs the emulator with its control interface. `start` hosts the service, with safe network rules and no control interface.",
  }),
  strict: option(v.boolean(), {
    default: false,
    help: "For tests (`dev`): nothing leaves the process but what `webhooks.forward` sends to this machine, no rate limit (even of a key) unless `rateLimit` is set, `generations.media` is `fast` unless it is set, and `close` rejects for a scenario, fault or scripted answer that was never used, or for an error that a sink threw.",
  }),
  database: option(path, {
    default: ":memory:",
    help: "The path of the database file, `:memory:`, or the URL of a PostgreSQL database: `postgres://user:password@host/name`. The default of `svc-server start` is `./svc-data`.",
    flag: "database",
    value: "PATH|URL",
  }),
  create: option(v.boolean(), {
    default: false,
    help: "Make a new database even if only its key file exists (`start`).",
    flag: "create",
    mode: "start",
  }),
  migrate,
  encryptionKey,
  keyFile,
  assets,
  clock: option(clockSetting, {
    default: "real",
    help: "`real`, `manual`, `manual@2026-01-01T00:00:00Z`, or a speed such as `60x` (`dev`).",
    flag: "clock",
    mode: "dev",
    value: "SETTING",
  }),
  seed: option(isObject<Seed>(), {
    help: "The content of an empty database: an object, or on the command line the path of a JSON file, or `demo` for the demo organization. Without it, one organization with an owner.",
    example:
      '{ organizations: [{ name: "acme", users: [{ name: "Ada", email: "ada@acme.example", role: "owner" }] }] }',
    flag: "seed",
    value: "FILE|demo",
  }),
  key: option(fixedKey, {
    help: "A fixed API key for the first owner (`dev`). Without it, a new one is made.",
    example: '"sk_live_demo_owner"',
    flag: "key",
    value: "sk_live_…",
    mode: "dev",
  }),
  envelope: option(oneOf(["flat", "full"]), {
    default: "flat",
    help: "The form of answers: `flat`, or `full` for `{data, meta}` everywhere and `pagination` in lists.",
    flag: "envelope",
    value: "FORM",
  }),
  rateLimit: option(limit(), {
    default: 1000,
    help: "Requests per window of ten minutes, for each API key that has no limit of its own. 0 means no limit.",
    flag: "rate-limit",
    value: "N",
  }),
  addressRateLimit: option(limit(), {
    default: 1000,
    help: "Requests without a valid API key per window of ten minutes, for each address. 0 means no limit.",
  }),
  bodyLimit: option(positive(), { default: 1_048_576, help: "The largest request body, in bytes." }),
  publicUrl: option(origin, {
    help: "The public URL of the service. Links start with it, and requests for its host are accepted. Without it, links start with the address at which the service listens.",
    example: '"https://svc.example.com"',
    flag: "public-url",
    value: "URL",
  }),
  basePath: option(basePathOf, {
    default: "",
    help: "Where an application mounts `service.fetch`: a path of its own. Links, `Location` and the dashboard are below it. In `dev`, links have the origin of the application's last request, unless `publicUrl` is set.",
    example: '"/svc"',
  }),
  behindProxy: option(v.boolean(), {
    default: false,
    help: "Trust the last address in `X-Forwarded-For`, and allow listening on addresses other than loopback.",
    flag: "behind-proxy",
  }),
  hosts: option(v.array(host, "must be a list"), {
    default: [],
    help: "More names to accept in the `Host` header.",
    flag: "hosts",
    value: "NAME,…",
  }),
  trustNetwork,
  cors: option(corsOrigins, {
    help: "The origins whose pages may read `/v1` in a browser, or `*` for all. Without it, none may; in `dev`, those on loopback, unless this option names others.",
    example: '["https://app.example.com"]',
    flag: "cors",
    value: "ORIGIN,…",
  }),
  regions: option(v.array(region, "must be a list"), {
    help: "The regions that a project may have. Without it, any region is valid.",
    example: '["eu-west-1", "us-east-1"]',
  }),
  dashboard,
  deployments,
  apps,
  domains,
  generations,
  outbound,
  deliveries,
  audit: group({
    retention: option(duration, {
      default: "365d",
      help: "How long an entry of the audit log is stored.",
      example: `"365d"`,
    }),
  }),
  codeHost,
  previewLifetime,
  repositories,
  mail,
  metrics: group({
    key: option(
      textLike(4096, /^(?!sk_live_)[\x21-\x7e]{16,}$/, "must be 16 to 4096 visible ASCII characters, and no API key"),
      {
        help: "The key with which a collector on another machine reads `/metrics` of the whole service: `Authorization: Bearer <key>`. Without it, the collector must be on this machine.",
        example: '"metrics_demo_key_0001"',
      },
    ),
  }),
  timers,
  transport: option(
    v.custom<Sink>((value) => typeof value === "function", "must be a function"),
    {
      help: "A function that sends every outbound request: `(request) => response`, as in fetch (`dev`). Without it, requests go over the network.",
      example: "async () => new Response(null, { status: 200 })",
    },
  ),
  random: option(textOf(1, 256), {
    help: "A seed for identifiers and random numbers: the same seed and the same calls give the same bytes (`dev`). Without it, they are random.",
    example: '"test"',
  }),
  logger: option(withFunctions<Log>("error, warn, info and debug"), {
    help: "The receiver of log entries: an object with the functions `error`, `warn`, `info` and `debug`. Without it, the log goes to stderr.",
    example: "console",
  }),
  tracing: option(v.boolean(), {
    default: false,
    help: "Sends OpenTelemetry spans for requests, transactions, jobs, deliveries and builds to the tracer provider that the program has registered before the start. It needs the package `@opentelemetry/api`.",
    flag: "tracing",
  }),
  logLevel: option(oneOf(levels), {
    default: "error",
    help: "`silent`, `error`, `warn`, `info` or `debug`. The log goes to stderr. The default of `svc-server dev` is `warn`, that of `svc-server start` is `info`.",
    flag: "log-level",
    value: "LEVEL",
  }),
});
