import { closeSync, openSync, readFileSync, readSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import * as v from "valibot";
import type { Schedule } from "../../drivers/deployment/contract.ts";
import { TextDecoder } from "../../kernel/node/web.ts";
import { listOf } from "../../kernel/size-limits.ts";
import { cronText } from "../../kernel/text/cron.ts";
import { parseDuration } from "../../kernel/text/duration.ts";
import { detailOf, durationText, record, textLike, textOf, wholeNumber } from "../../kernel/validation.ts";
import { Failure } from "./failure.ts";

const command = textOf(1, 4096);
const relativePath = (what: string) => textLike(255, /^(?!\/)(?!.*(^|\/)\.\.(\/|$))[^\0]+$/, `must be ${what}`);
const maxRun_s = 86_400;
const schedule = v.pipe(
  record({
    name: textLike(64, /^[A-Za-z0-9._-]{1,64}$/, "must be 1 to 64 of A-Z, a-z, 0-9, dot, underscore and hyphen"),
    cron: cronText,
    command,
    timeout: v.optional(
      v.pipe(
        durationText(),
        v.check((text) => {
          const ms = parseDuration(text);
          return ms === undefined || (ms >= 1_000 && ms <= maxRun_s * 1_000);
        }, "must be between 1s and 24h"),
      ),
      "1h",
    ),
  }),
  v.transform(({ timeout, ...given }) => ({ ...given, timeout_s: Math.ceil((parseDuration(timeout) ?? 0) / 1_000) })),
);
const schedules = v.pipe(
  listOf(schedule, 50, undefined, "must have at most 50 schedules"),
  v.check(
    (list) => !Array.isArray(list) || new Set(list.map(({ name }) => name)).size === list.length,
    "must not have two schedules of one name",
  ),
);
const settings = record({
  build: v.optional(command),
  start: v.optional(command),
  static: v.optional(relativePath("a folder of the repository, such as dist")),
  fallback: v.optional(relativePath("a file of the static folder, such as index.html")),
  health: v.optional(textLike(1024, /^\/[\x21-\x7e]*$/, "must be a path such as /healthz")),
  port: v.optional(wholeNumber(1, 65_535)),
  runtime: v.optional(v.picklist(["process", "engine"], "must be process or engine")),
  schedules: v.optional(schedules, []),
});

/** A folder of a checked-out repository that `from` names. A link that leads out of the repository is refused. */
export function rootWithin(
  app: string,
  root: string | null,
  from = "which is the root of the environment or integration",
): string {
  if (root === null) return app;
  const real = pathWithin(app, root);
  if (real !== undefined && statSync(real).isDirectory()) return join(app, root);
  throw new Failure(`the repository has no folder ${root}, ${from}`);
}

/** In KiB. Checking the settings blocks the server. */
const maxSettings = 256;
const maxFile = 1024;

/** The real path of a file or folder of the repository; undefined if it is missing or a link leads out of it. */
function pathWithin(root: string, name: string): string | undefined {
  try {
    const real = realpathSync(join(root, name));
    return real.startsWith(realpathSync(root) + sep) ? real : undefined;
  } catch {
    return undefined;
  }
}

/** The same for a file; undefined for a folder. */
function fileWithin(root: string, name: string): string | undefined {
  const real = pathWithin(root, name);
  return real !== undefined && statSync(real).isFile() ? real : undefined;
}

/** Whether the repository has a file. A link that leads out of it counts as missing. */
export const hasWithin = (root: string, name: string): boolean => fileWithin(root, name) !== undefined;

/** Decodes a text. Editors and shells of Windows begin it with a byte order mark, or write UTF-16. */
function decoded(bytes: Buffer): string {
  const mark = bytes.subarray(0, 2).toString("latin1");
  const encoding = mark === "\xff\xfe" ? "utf-16le" : mark === "\xfe\xff" ? "utf-16be" : "utf-8";
  return new TextDecoder(encoding).decode(bytes);
}

/** Reads a text file of the repository, of at most `most` KiB. A link that leads out of it counts as missing. */
export function readWithin(root: string, name: string, most = maxFile): string | undefined {
  const real = fileWithin(root, name);
  if (real === undefined) return undefined;
  if (statSync(real).size > most * 1024) throw new Failure(`${name} is larger than ${most} KiB`);
  return decoded(readFileSync(real));
}

export const settingsWithin = (root: string, name: string) => readWithin(root, name, maxSettings);

/** Reads the beginning of a file of any size, such as a lock file or a program. */
export function beginningWithin(root: string, name: string): string {
  const real = fileWithin(root, name);
  if (real === undefined) return "";
  const file = openSync(real, "r");
  try {
    const bytes = Buffer.alloc(maxSettings * 1024);
    return decoded(bytes.subarray(0, readSync(file, bytes)));
  } finally {
    closeSync(file);
  }
}

export function parseFile<S extends v.GenericSchema>(schema: S, name: string, text: string): v.InferOutput<S> {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    throw new Failure(`${name} is not JSON: ${(error as Error).message}`);
  }
  // Only the first mistake is reported, and the check of a schedule that never fires is slow.
  const result = v.safeParse(schema, given, { abortEarly: true });
  if (result.success) return result.output;
  const { path, message } = detailOf(result.issues[0]);
  throw new Failure(`${name}: ${path === "body" ? "it" : path} ${message}`);
}

export function ownSettings(root: string): v.InferOutput<typeof settings> {
  const text = settingsWithin(root, "svc.json");
  return text === undefined ? { schedules: [] } : parseFile(settings, "svc.json", text);
}

/** Parses a list in the form of `schedules` in `svc.json`. `from` names the source in errors. */
export const schedulesIn = (from: string, text: string): Schedule[] => parseFile(schedules, from, text);
