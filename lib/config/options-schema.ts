import * as v from "valibot";
import type { Sink } from "../drivers/outbound/function-transport.ts";
import { createClock, latestInstant } from "../kernel/clock.ts";
import { type Log, levels } from "../kernel/log.ts";
import { oneOf, textLike, textOf } from "../kernel/validation.ts";
import { fixedKey } from "../keys/schema.ts";
import { region } from "../projects/schema.ts";
import { codeHost, deliveries, deployments, generations, outbound } from "./feature-options.ts";
import { described, positive } from "./option-types.ts";
import type { Seed } from "./seed.ts";

const host = textLike(255, /^[A-Za-z0-9.:[\]_-]+$/, "must be a host name or address");

/** A standing clock is tried out, so that a wrong setting is refused before anything is opened. */
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

const origin = v.pipe(
  v.string("must be a string"),
  v.check(isOrigin, "must be an http or https URL without a path, such as https://svc.example.com"),
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
 * Every option, once: `createService`, configuration files, the flags, `--help` and the README's table are derived from
 * this. `flag` in the metadata makes it a flag of the commands.
 */
export const optionsSchema = v.strictObject({
  mode: v.optional(
    described(
      oneOf(["dev", "start"]),
      "`dev`: the emulator, with its control interface. `start`: self-hosting, with safe network rules and no control interface.",
    ),
    "dev",
  ),
  database: v.optional(
    described(
      textOf(1, 4096),
      "`:memory:`, or the path of the database file. `svc-server start` takes `./svc-data`.",
      "database",
      "PATH",
    ),
    ":memory:",
  ),
  create: v.optional(
    described(v.boolean(), "Begin anew although a key file lies where the database is missing (`start`).", "create"),
    false,
  ),
  clock: v.optional(
    described(
      clockSetting,
      "`real`, `manual`, `manual@2026-01-01T00:00:00Z`, or a speed such as `60x` (`dev`).",
      "clock",
      "SETTING",
    ),
    "real",
  ),
  seed: v.optional(
    described(
      isObject<Seed>(),
      "What fills an empty database: an object; on the command line a JSON file.",
      "seed",
      "FILE",
    ),
  ),
  key: v.optional(described(fixedKey, "A fixed API key for the first owner (`dev`).", "key", "sk_live_…")),
  envelope: v.optional(
    described(
      oneOf(["flat", "full"]),
      "`flat`, or `full`: every answer as `{data, meta}`, lists with `pagination`.",
      "envelope",
      "FORM",
    ),
    "flat",
  ),
  rateLimit: v.optional(
    described(
      positive(),
      "Requests in a window of ten minutes, for each key without a limit of its own.",
      "rate-limit",
      "N",
    ),
    1000,
  ),
  addressRateLimit: v.optional(
    described(positive(), "Requests in a window without a valid key, for each address."),
    1000,
  ),
  bodyLimit: v.optional(described(positive(), "The largest body, in bytes."), 1_048_576),
  publicUrl: v.optional(
    described(
      origin,
      "Where people reach the service; its host is answered to, and links begin with it.",
      "public-url",
      "URL",
    ),
  ),
  behindProxy: v.optional(
    described(
      v.boolean(),
      "Trust the last `X-Forwarded-For` address, and allow listening beyond loopback.",
      "behind-proxy",
    ),
    false,
  ),
  hosts: v.optional(
    described(v.array(host, "must be a list"), "Further `Host` names that the service answers to.", "hosts", "NAME,…"),
    [],
  ),
  regions: v.optional(
    described(v.array(region, "must be a list"), "The valid regions of projects; any, where it is not set."),
  ),
  deployments,
  generations,
  outbound,
  deliveries,
  codeHost,
  transport: v.optional(
    described(
      v.custom<Sink>((value) => typeof value === "function", "must be a function"),
      "What sends everything that goes out: `(request) => response`, as with fetch (`dev`).",
    ),
  ),
  random: v.optional(
    described(
      textOf(1, 256),
      "A seed for identifiers and chance: the same seed and the same calls give the same bytes (`dev`).",
    ),
  ),
  logger: v.optional(described(logger, "Where log entries go: `{error, warn, info, debug}`.")),
  logLevel: v.optional(
    described(oneOf(levels), "`silent`, `error`, `warn`, `info` or `debug`; on stderr.", "log-level", "LEVEL"),
    "error",
  ),
});

function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return (
    /^https?:$/.test(url.protocol) &&
    url.pathname === "/" &&
    url.search === "" &&
    url.hash === "" &&
    url.username === ""
  );
}
