import * as v from "valibot";
import type { DeploymentDriver } from "./drivers/deployment.ts";
import { explain, oneOf, textLike, textOf } from "./kernel/api.ts";
import { createClock, latest } from "./kernel/clock.ts";
import { type Log, levels } from "./kernel/log.ts";
import { fixedKey } from "./keys/schema.ts";
import { region } from "./projects/schema.ts";
import type { Seed } from "./seed.ts";

const positive = (most = 1_000_000_000) =>
  v.pipe(
    v.number("must be a number"),
    v.integer("must be a whole number"),
    v.minValue(1, "must be 1 or more"),
    v.maxValue(most, `must be ${most} or less`),
  );
/** What is told of an option: its meaning, and the flag of the commands where it is one. */
export type Told = {
  readonly help: string;
  readonly flag?: string;
  /** What stands for the flag's value in the help; a switch has none. */
  readonly value?: string;
};
const told = <S extends v.GenericSchema>(schema: S, help: string, flag?: string, value?: string) =>
  v.pipe(
    schema,
    v.metadata<v.InferOutput<S>, Told>({
      help,
      ...(flag && { flag }),
      ...(value && { value }),
    }),
  );
const host = textLike(255, /^[A-Za-z0-9.:[\]_-]+$/, "must be a host name or address");

/** A standing clock is tried out, so that a wrong setting is refused before anything is opened. */
const clockSetting = v.pipe(
  v.string("must be a string"),
  v.check((value) => {
    try {
      return createClock(value).now() <= latest;
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

/**
 * Every option, once: `createService`, configuration files, the flags, `--help` and the README's table are derived from
 * this. `flag` in the metadata makes it a flag of the commands.
 */
export const optionsSchema = v.strictObject({
  mode: v.optional(
    told(
      oneOf(["dev", "start"]),
      "`dev`: the emulator, with its control interface. `start`: self-hosting, with safe network rules and no control interface.",
    ),
    "dev",
  ),
  database: v.optional(
    told(
      textOf(1, 4096),
      "`:memory:`, or the path of the database file. `start` takes `./svc-data`.",
      "database",
      "PATH",
    ),
    ":memory:",
  ),
  create: v.optional(
    told(v.boolean(), "Begin anew although a key file lies where the database is missing (`start`).", "create"),
    false,
  ),
  clock: v.optional(
    told(
      clockSetting,
      "`real`, `manual`, `manual@2026-01-01T00:00:00Z`, or a speed such as `60x` (`dev`).",
      "clock",
      "SETTING",
    ),
    "real",
  ),
  seed: v.optional(
    told(isObject<Seed>(), "What fills an empty database: an object; on the command line a JSON file.", "seed", "FILE"),
  ),
  key: v.optional(told(fixedKey, "A fixed API key for the first owner (`dev`).", "key", "sk_live_…")),
  envelope: v.optional(
    told(
      oneOf(["flat", "full"]),
      "`flat`, or `full`: every answer as `{data, meta}`, lists with `pagination`.",
      "envelope",
      "FORM",
    ),
    "flat",
  ),
  rateLimit: v.optional(
    told(
      positive(),
      "Requests in a window of ten minutes, for each key without a limit of its own.",
      "rate-limit",
      "N",
    ),
    1000,
  ),
  addressRateLimit: v.optional(told(positive(), "Requests in a window without a valid key, for each address."), 1000),
  bodyLimit: v.optional(told(positive(), "The largest body, in bytes."), 1_048_576),
  publicUrl: v.optional(
    told(
      origin,
      "Where people reach the service; its host is answered to, and links begin with it.",
      "public-url",
      "URL",
    ),
  ),
  behindProxy: v.optional(
    told(v.boolean(), "Trust the last `X-Forwarded-For` address, and allow listening beyond loopback.", "behind-proxy"),
    false,
  ),
  hosts: v.optional(
    told(v.array(host, "must be a list"), "Further `Host` names that the service answers to.", "hosts", "NAME,…"),
    [],
  ),
  regions: v.optional(
    told(v.array(region, "must be a list"), "The valid regions of projects; any, where it is not set."),
  ),
  deployments: v.optional(
    v.strictObject({
      concurrency: v.optional(told(positive(10_000), "How many deployments build or roll out at a time, over all."), 4),
      autoRollback: v.optional(
        told(
          v.boolean(),
          "A failed health check ends in `rolled_back` where a previous release stays live; `false` makes it `failed`.",
        ),
        true,
      ),
      driver: v.optional(
        told(isObject<DeploymentDriver>(), "What builds and rolls out; simulated, where it is not set."),
      ),
    }),
    {},
  ),
  random: v.optional(
    told(
      textOf(1, 256),
      "A seed for identifiers and chance: the same seed and the same calls give the same bytes (`dev`).",
    ),
  ),
  logger: v.optional(told(isObject<Log>(), "Where log entries go: `{error, warn, info, debug}`.")),
  logLevel: v.optional(
    told(oneOf(levels), "`silent`, `error`, `warn`, `info` or `debug`; on stderr.", "log-level", "LEVEL"),
    "error",
  ),
});

export type Options = v.InferInput<typeof optionsSchema>;
export type Settings = v.InferOutput<typeof optionsSchema>;

export class BadOptions extends Error {
  override readonly name = "BadOptions";
}

/** Reads the options, or says in one sentence which one is wrong and what would be right. */
export function parseOptions(given: unknown): Settings {
  const result = v.safeParse(optionsSchema, given);
  if (!result.success) {
    const [first] = result.issues.map(explain);
    throw new BadOptions(`option ${first?.path} ${first?.message}`);
  }
  const { mode, clock, key, database, random } = result.output;
  if (mode === "start" && clock !== "real") throw new BadOptions("option clock must be real in the mode start");
  if (mode === "start" && key !== undefined)
    throw new BadOptions("option key is for the mode dev; make a key with: svc-server keys create");
  if (mode === "start" && random !== undefined)
    throw new BadOptions("option random is for the mode dev; a seeded key could be guessed");
  if (/^postgres(ql)?:/.test(database))
    throw new BadOptions("option database must be :memory: or a path; this version has no PostgreSQL store yet");
  return result.output;
}

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

/** One option as a flag of the commands. */
export interface Flag {
  readonly key: string;
  readonly flag: string;
  readonly help: string;
  /** What stands for its value; undefined for a switch. */
  readonly value: string | undefined;
}

/** The options that are flags too, in the order of the table. */
export const flags: readonly Flag[] = Object.entries(optionsSchema.entries).flatMap(([key, schema]) => {
  const { help, flag, value } = v.getMetadata(schema.wrapped as v.GenericSchema) as Partial<Told>;
  return flag === undefined ? [] : [{ key, flag, help: help ?? "", value }];
});
