import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { createClock } from "../lib/kernel/clock.ts";
import { version } from "../lib/kernel/version.ts";
import { numberOf } from "./arguments.ts";
import { command, type Given, json, say, table } from "./command.ts";
import { probe } from "./serve.ts";

interface Finding {
  readonly check: string;
  readonly ok: boolean;
  /** What was found; where it is wrong, what mends it. */
  readonly says: string;
}

type Check = (at: { database: string; port: number; host: string }) => string | Promise<string>;
const megabyte = 1_048_576;

/** What mends it is the message of what a check throws. */
const checks: Readonly<Record<string, Check>> = {
  node() {
    const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
    if (major < 20 || (major === 20 && minor < 19))
      throw new Error(`Node ${process.versions.node} is too old; install Node 20.19 or later`);
    return `Node ${process.versions.node}, svc-server ${version()}`;
  },
  async "native module"() {
    const { loadNative } = await import("../lib/store/native.ts");
    loadNative();
    return "better-sqlite3 opens a database";
  },
  async database({ database }) {
    if (!existsSync(database)) return `${database} does not exist yet; svc-server start makes it`;
    const { judge } = await import("../lib/store/backup.ts");
    judge(database);
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
    return `${key} can be read by its owner alone`;
  },
  disk({ database }) {
    let folder = dirname(database);
    while (!existsSync(folder)) folder = dirname(folder);
    try {
      accessSync(folder, constants.W_OK);
    } catch {
      throw new Error(`${folder} cannot be written; run as its owner, or name another place with --database`);
    }
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
    await probe(port, host);
    return `${host}, port ${port} is free`;
  },
  drivers() {
    return "deployments are simulated; generations are painted offline";
  },
};

export const doctor = command(
  "doctor",
  "Look whether svc-server can run here, and say what mends what is wrong.",
  {
    database: { type: "string", description: "The database file (./svc-data).", valueHint: "PATH" },
    port: { type: "string", description: "The port that it will listen on (7400).", valueHint: "N" },
    host: { type: "string", description: "The address that it will listen on (127.0.0.1).", valueHint: "ADDRESS" },
    ...json,
  },
  examine,
);

async function examine(args: Given): Promise<void> {
  const at = {
    database: resolve(String(args["database"] ?? "./svc-data")),
    port: numberOf("port", args["port"] as string | undefined, 65_535) ?? 7400,
    host: String(args["host"] ?? "127.0.0.1"),
  };
  const findings: Finding[] = [];
  for (const [check, look] of Object.entries(checks)) {
    try {
      findings.push({ check, ok: true, says: await look(at) });
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
