import * as v from "valibot";
import type { Sink } from "../../drivers/outbound/function-transport.ts";
import { fixedKey } from "../../features/keys/schema.ts";
import { region } from "../../features/projects/schema.ts";
import { createClock, latestInstant } from "../../kernel/clock.ts";
import { type Log, levels } from "../../kernel/log.ts";
import { oneOf, textLike, textOf } from "../../kernel/validation.ts";
import type { Seed } from "../seed.ts";
import { apps } from "./apps.ts";
import { audit } from "./audit.ts";
import { codeHost, previewLifetime } from "./code-host.ts";
import { dashboard } from "./dashboard.ts";
import { deliveries } from "./deliveries.ts";
import { deployments } from "./deployments.ts";
import { domains } from "./domains.ts";
import { generations } from "./generations.ts";
import { mail } from "./mail.ts";
import { metrics } from "./metrics.ts";
import { limit, option, path, positive } from "./option-types.ts";
import { basePathOf, corsOrigins, origin } from "./origins.ts";
import { outbound, trustNetwork } from "./outbound.ts";
import { assets, encryptionKey, keyFile, migrate } from "./postgres.ts";
import { repositories } from "./repositories.ts";
import { timers } from "./timers.ts";
import { tracing } from "./tracing.ts";

const host = textLike(255, /^[A-Za-z0-9.:[\]_-]+$/, "must be a host name or address");

/** Creates a clock from the setting, so that a wrong setting is refused before the database is opened. */
const clockSetting = v.pipe(
  v.string("must be a string"),
  v.check((value) => {
    try {
      return createClock(value).now() <= latestInstant;
    } catch {
      return false;
    }
  }, "must be real, manual, manual@2026-01-01T00:00:00Z or a speed such as 60x"),
);

const isObject = <T extends object>() =>
  v.custom<T>((value) => typeof value === "object" && value !== null, "must be an object");

const logger = v.custom<Log>(
  (value) =>
    typeof value === "object" &&
    value !== null &&
    ["error", "warn", "info", "debug"].every((name) => typeof (value as Record<string, unknown>)[name] === "function"),
  "must have the functions error, warn, info and debug",
);

/**
 * Every option, declared once. `createService`, configuration files, environment variables, flags, `--help` and the table
 * of options are derived from it.
 */
export const optionsSchema = v.strictObject({
  mode: v.optional(
    option(oneOf(["dev", "start"]), {
      help: "`dev` runs the emulator with its control interface. `start` hosts the service, with safe network rules and no control interface.",
    }),
    "dev",
  ),
  strict: v.optional(
    option(v.boolean(), {
      help: "For tests (`dev`): nothing leaves the process but what `webhooks.forward` sends to this machine, no rate limit (even of a key) unless `rateLimit` is set, and `close` rejects for a scenario that was never used or an error that a sink threw.",
    }),
    false,
  ),
  database: v.optional(
    option(path, {
      help: "The path of the database file, `:memory:`, or the URL of a PostgreSQL database: `postgres://user:password@host/name`. The default of `svc-server start` is `./svc-data`.",
      flag: "database",
      value: "PATH|URL",
    }),
    ":memory:",
  ),
  create: v.optional(
    option(v.boolean(), {
      help: "Make a new database even if only its key file exists (`start`).",
      flag: "create",
      mode: "start",
    }),
    false,
  ),
  migrate,
  encryptionKey,
  keyFile,
  assets,
  clock: v.optional(
    option(clockSetting, {
      help: "`real`, `manual`, `manual@2026-01-01T00:00:00Z`, or a speed such as `60x` (`dev`).",
      flag: "clock",
      mode: "dev",
      value: "SETTING",
    }),
    "real",
  ),
  seed: v.optional(
    option(isObject<Seed>(), {
      help: "The content of an empty database: an object, or on the command line the path of a JSON file, or `demo` for the demo organization. Without it, one organization with an owner.",
      example:
        '{ organizations: [{ name: "acme", users: [{ name: "Ada", email: "ada@acme.example", role: "owner" }] }] }',
      flag: "seed",
      value: "FILE|demo",
    }),
  ),
  key: v.optional(
    option(fixedKey, {
      help: "A fixed API key for the first owner (`dev`). Without it, a new one is made.",
      example: '"sk_live_demo_owner"',
      flag: "key",
      value: "sk_live_…",
      mode: "dev",
    }),
  ),
  envelope: v.optional(
    option(oneOf(["flat", "full"]), {
      help: "The form of answers: `flat`, or `full` for `{data, meta}` everywhere and `pagination` in lists.",
      flag: "envelope",
      value: "FORM",
    }),
    "flat",
  ),
  rateLimit: v.optional(
    option(limit(), {
      help: "Requests per window of ten minutes, for each API key that has no limit of its own. 0 means no limit.",
      flag: "rate-limit",
      value: "N",
    }),
    1000,
  ),
  addressRateLimit: v.optional(
    option(limit(), {
      help: "Requests without a valid API key per window of ten minutes, for each address. 0 means no limit.",
    }),
    1000,
  ),
  bodyLimit: v.optional(option(positive(), { help: "The largest request body, in bytes." }), 1_048_576),
  publicUrl: v.optional(
    option(origin, {
      help: "The public URL of the service. Links start with it, and requests for its host are accepted. Without it, links start with the address at which the service listens.",
      example: '"https://svc.example.com"',
      flag: "public-url",
      value: "URL",
    }),
  ),
  basePath: v.optional(
    option(basePathOf, {
      help: "Where an application mounts `service.fetch`: a path of its own. Links, `Location` and the dashboard are below it. In `dev`, links have the origin of the application's last request, unless `publicUrl` is set.",
      example: '"/svc"',
    }),
    "",
  ),
  behindProxy: v.optional(
    option(v.boolean(), {
      help: "Trust the last address in `X-Forwarded-For`, and allow listening on addresses other than loopback.",
      flag: "behind-proxy",
    }),
    false,
  ),
  hosts: v.optional(
    option(v.array(host, "must be a list"), {
      help: "More names to accept in the `Host` header.",
      flag: "hosts",
      value: "NAME,…",
    }),
    [],
  ),
  trustNetwork,
  cors: v.optional(
    option(corsOrigins, {
      help: "The origins whose pages may read `/v1` in a browser, or `*` for all. Without it, none may; in `dev`, those on loopback, unless this option names others.",
      example: '["https://app.example.com"]',
      flag: "cors",
      value: "ORIGIN,…",
    }),
  ),
  regions: v.optional(
    option(v.array(region, "must be a list"), {
      help: "The regions that a project may have. Without it, any region is valid.",
      example: '["eu-west-1", "us-east-1"]',
    }),
  ),
  dashboard,
  deployments,
  apps,
  domains,
  generations,
  outbound,
  deliveries,
  audit,
  codeHost,
  previewLifetime,
  repositories,
  mail,
  metrics,
  timers,
  transport: v.optional(
    option(
      v.custom<Sink>((value) => typeof value === "function", "must be a function"),
      {
        help: "A function that sends every outbound request: `(request) => response`, as in fetch (`dev`). Without it, requests go over the network.",
        example: "async () => new Response(null, { status: 200 })",
      },
    ),
  ),
  random: v.optional(
    option(textOf(1, 256), {
      help: "A seed for identifiers and random numbers: the same seed and the same calls give the same bytes (`dev`). Without it, they are random.",
      example: '"test"',
    }),
  ),
  logger: v.optional(
    option(logger, {
      help: "The receiver of log entries: an object with the functions `error`, `warn`, `info` and `debug`. Without it, the log goes to stderr.",
      example: "console",
    }),
  ),
  tracing,
  logLevel: v.optional(
    option(oneOf(levels), {
      help: "`silent`, `error`, `warn`, `info` or `debug`. The log goes to stderr.",
      flag: "log-level",
      value: "LEVEL",
    }),
    "error",
  ),
});
