import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseOptions, type Settings } from "../lib/config/parse-options.ts";
import { createOutbound } from "../lib/drivers/outbound/outbound.ts";
import { createPainter } from "../lib/drivers/painter/painter.ts";
import { createClock } from "../lib/kernel/clock.ts";
import { version } from "../lib/kernel/version.ts";
import { checkDatabase, checkKey, damagedAssets } from "../lib/store/integrity-check.ts";
import { loadNative } from "../lib/store/native-module.ts";
import { databaseOf } from "./arguments.ts";
import { command, type Given, json } from "./define-command.ts";
import { describeLost, say, table } from "./output.ts";
import { requireFreePort } from "./serve.ts";
import { configuration, listenArgs } from "./server-options.ts";

interface Finding {
  readonly check: string;
  readonly ok: boolean;
  /** What was found; where it is wrong, what mends it. */
  readonly says: string;
}

interface Target {
  readonly database: string;
  readonly port: number;
  readonly host: string;
}
type Check = (at: Target) => string | Promise<string>;
const megabyte = 1_048_576;

function hasAccess(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

/** What mends it is the message of what a check throws. */
const checks: Readonly<Record<string, Check>> = {
  node() {
    const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
    if (major < 20 || (major === 20 && minor < 19))
      throw new Error(`Node ${process.versions.node} is too old; install Node 20.19 or later`);
    return `Node ${process.versions.node}, svc-server ${version()}`;
  },
  "native module"() {
    loadNative();
    return "better-sqlite3 opens a database";
  },
  database({ database }) {
    if (!existsSync(database)) return `${database} does not exist yet; svc-server start makes it`;
    for (const file of [database, `${database}-wal`, `${database}-shm`, `${database}.lock`].filter(existsSync)) {
      if (!hasAccess(file, constants.R_OK | constants.W_OK))
        throw new Error(`${file} cannot be read and written by this user; run as its owner, or give it the right`);
    }
    checkDatabase(database);
    return `${database} is whole, ${Math.ceil(statSync(database).size / megabyte)} MB`;
  },
  "key file"({ database }) {
    const key = `${database}.key`;
    if (!existsSync(key)) {
      if (existsSync(database))
        throw new Error(`${key} is missing; restore it from the backup: secrets cannot be read without it`);
      return "made with the database";
    }
    if (!existsSync(database))
      throw new Error(`${key} is there without its database; is a volume not mounted? Else begin anew with --create`);
    if (process.platform !== "win32" && (statSync(key).mode & 0o077) !== 0)
      throw new Error(`${key} can be read by others; run: chmod 600 ${key}`);
    checkKey(database);
    return `${key} can be read by its owner alone, and opens the secrets`;
  },
  files({ database }) {
    if (!existsSync(database)) return "made with the first generation";
    const lost = lostFiles(database);
    if (lost.length > 0) throw new Error(`${describeLost(lost)}; bring ${database}-files back from the backup`);
    return "those of generations are all there, as they were stored";
  },
  disk({ database }) {
    let folder = dirname(database);
    while (!existsSync(folder)) folder = dirname(folder);
    if (!hasAccess(folder, constants.W_OK))
      throw new Error(`${folder} cannot be written; run as its owner, or name another place with --database`);
    const { bavail, bsize } = statfsSync(folder);
    const free = Math.floor((bavail * bsize) / megabyte);
    if (free < 256) throw new Error(`${folder} has ${free} MB left; make room, 256 MB at least`);
    return `${folder} can be written, ${free} MB left`;
  },
  clock({ database }) {
    const now = createClock("real").now();
    // A clock that stands before what it has already written would sign links and expire keys wrongly.
    const last = existsSync(database) ? statSync(database).mtimeMs : 0;
    if (now < Date.parse("2026-01-01T00:00:00Z") || last > now + 60_000)
      throw new Error(
        `the clock says ${new Date(now).toISOString()}, which is over; let it follow a time server (timedatectl set-ntp true)`,
      );
    return new Date(now).toISOString();
  },
  async port({ port, host }) {
    await requireFreePort(port, host);
    return `${host}, port ${port} is free`;
  },
  async drivers() {
    const painter = createPainter({ threads: 1 });
    const size = { width: 16, height: 16, seed: 0, duration_ms: 0 };
    try {
      await painter.paint({ kind: "image", format: "png", prompt: "a lake", ...size });
    } catch (error) {
      throw new Error(`${(error as Error).message}; install svc-server anew, its file dist/lib/painting.js must run`);
    } finally {
      await painter.close();
    }
    return "deployments are simulated; a picture was painted offline; mails are kept, and sent by nobody";
  },
};

type Backend = Settings["generations"]["backends"][string];

/** Whether a server that runs models is there and takes its key: it is asked for its models, which costs nothing. */
async function backend(name: string, { url, key }: Backend): Promise<string> {
  const option = `generations.backends.${name}`;
  const outbound = createOutbound({ mode: "start" });
  const { status, error } = await outbound.callBackend({
    ...{ method: "GET", url: `${url.replace(/\/+$/, "")}/models`, trustedOrigins: [new URL(url).origin] },
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    ...{ max_bytes: 16 * megabyte, timeout_ms: 5_000 },
  });
  await outbound.close();
  if (status === null) throw new Error(`${url} does not answer: ${error}; start the server, or mend ${option}.url`);
  if (status === 401 || status === 403)
    throw new Error(`${url} answers ${status}; ${key === undefined ? "give it a key in" : "mend"} ${option}.key`);
  if (status >= 500) throw new Error(`${url} answers ${status}; look into that server's log`);
  return `${url} answers${key === undefined ? " without a key" : " and takes the key"}`;
}

export const doctor = command(
  "doctor",
  "Look whether svc-server can run here with these options, and say what mends what is wrong.",
  {
    database: { type: "string", description: "The database file (./svc-data).", valueHint: "PATH" },
    ...listenArgs,
    ...json,
  },
  examine,
);

/** The options as `start` would have them, and what is wrong with them. */
function optionsOf(args: Given): { settings: Settings | undefined; finding: Finding } & Omit<Target, "database"> {
  const check = "options";
  const at = configuration("start", args);
  try {
    const settings = parseOptions(at.options);
    const says = at.notes.join("; ");
    return { ...at, settings, finding: { check, ok: says === "", says: says || "can be used" } };
  } catch (error) {
    return { ...at, settings: undefined, finding: { check, ok: false, says: (at.explained(error) as Error).message } };
  }
}

async function examine(args: Given): Promise<void> {
  const { settings, finding, port, host } = optionsOf(args);
  const database = resolve(settings?.database ?? databaseOf(args));
  const findings = [finding];
  const backends = Object.entries(settings?.generations.backends ?? {}).map(([name, one]): [string, Check] => [
    `backend ${name}`,
    () => backend(name, one),
  ]);
  for (const [check, look] of [...Object.entries(checks), ...backends]) {
    try {
      findings.push({ check, ok: true, says: await look({ database, port, host }) });
    } catch (error) {
      findings.push({ check, ok: false, says: (error as Error).message });
    }
  }
  say(
    args["json"]
      ? JSON.stringify(findings)
      : table(findings.map(({ check, ok, says }) => [ok ? "ok" : "WRONG", check, says])),
  );
  const wrong = findings.filter(({ ok }) => !ok).length;
  if (wrong > 0) throw new Error(`${wrong} of ${findings.length} checks failed`);
}
