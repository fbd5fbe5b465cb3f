import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Settings } from "../lib/config/parse-options.ts";
import { describeProtection, type Protection } from "../lib/drivers/deployment/protections.ts";
import { createPainter } from "../lib/drivers/painter/painter.ts";
import { createClock } from "../lib/kernel/clock.ts";
import { refusalOf } from "../lib/kernel/text/refused-ports.ts";
import { version } from "../lib/kernel/version.ts";
import { isMissing, isPostgres } from "../lib/store/database-url.ts";
import { invariants } from "../lib/store/invariants.ts";
import { violationsIn } from "../lib/store/postgres/check-invariants.ts";
import { settleSwitch } from "../lib/store/sqlite/atomic-switch.ts";
import { runningServer } from "../lib/store/sqlite/database-lock.ts";
import { loadNative } from "../lib/store/sqlite/native-module.ts";
import { withCopy } from "../lib/store/sqlite/online-copy.ts";
import { checkSums, checksumFileOf } from "../lib/store/transfer/checksums.ts";
import { checkDatabase, checkKey, checkRules, damagedAssets } from "../lib/store/transfer/integrity-check.ts";
import { databaseOf, optionArgs, UsageError } from "./arguments.ts";
import { checkBackend } from "./backends.ts";
import { command, flag, type Given, json } from "./define-command.ts";
import { mailServer } from "./doctor-mail.ts";
import { signInChecks } from "./doctor-oidc.ts";
import { type Finding, findingsOfPostgres, finds, requireOwnerOnly } from "./doctor-postgres.ts";
import { checkPreviews } from "./doctor-previews.ts";
import { describeLost, sayResult, table } from "./output.ts";
import { tryRuntimes } from "./runtimes.ts";
import { isPortFree, portInUse } from "./serve.ts";
import { configuration, listenArgs } from "./server-options.ts";

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

/** Each check returns its finding, or throws an error that says how to fix the problem. */
const ofFile: Readonly<Record<string, Check>> = {
  "native module"() {
    loadNative();
    return "better-sqlite3 opens a database";
  },
  restore: ({ database }) => settleSwitch(database) ?? "no interrupted restore",
  async database({ database }) {
    if (!existsSync(database)) return `${database} does not exist yet; svc-server start makes it`;
    for (const file of [database, `${database}-wal`, `${database}-shm`, `${database}.lock`].filter(existsSync)) {
      if (!hasAccess(file, constants.R_OK | constants.W_OK))
        throw new Error(`this user cannot read and write ${file}; run as its owner, or change its permissions`);
    }
    await withCopy(database, (path) => checkDatabase(path, { named: database }));
    return `${database} is intact, ${Math.ceil(statSync(database).size / megabyte)} MB`;
  },
  "key file"({ database }) {
    const key = `${database}.key`;
    if (!existsSync(key)) {
      if (existsSync(database))
        throw new Error(`${key} is missing; restore it from the backup: secrets cannot be read without it`);
      return "will be created with the database";
    }
    if (!existsSync(database))
      throw new Error(
        `${key} exists without its database; is a volume not mounted? If the database is lost, make a new one with --create`,
      );
    requireOwnerOnly(key);
    checkKey(database);
    return `only its owner can read ${key}, and it decrypts the secrets`;
  },
  checksums({ database }) {
    if (!existsSync(checksumFileOf(database))) return "none; only backups have checksums";
    checkSums(database);
    return `${database}, its key and its repositories match ${checksumFileOf(database)}`;
  },
  files({ database }) {
    if (!existsSync(database)) return "will be created with the first generation";
    const lost = damagedAssets(database);
    if (lost.length > 0) throw new Error(`${describeLost(lost)}; restore ${database}-files from the backup`);
    return "all files of generations are present and unchanged";
  },
  disk({ database }) {
    let folder = dirname(database);
    while (!existsSync(folder)) folder = dirname(folder);
    if (!hasAccess(folder, constants.W_OK))
      throw new Error(`this user cannot write to ${folder}; run as its owner, or name another place with --database`);
    const { bavail, bsize } = statfsSync(folder);
    const free = Math.floor((bavail * bsize) / megabyte);
    if (free < 256) throw new Error(`${folder} has ${free} MB left; free at least 256 MB`);
    return `${folder} is writable, ${free} MB left`;
  },
  clock({ database }) {
    const now = createClock("real").now();
    // A clock that is behind the database's last write would sign links and expire keys wrongly.
    const last = existsSync(database) ? statSync(database).mtimeMs : 0;
    if (now < Date.parse("2026-01-01T00:00:00Z") || last > now + 60_000)
      throw new Error(
        `the clock shows ${new Date(now).toISOString()}, which is in the past; synchronize it with a time server (timedatectl set-ntp true)`,
      );
    return new Date(now).toISOString();
  },
};

const ofServer: Readonly<Record<string, Check>> = {
  async port({ port, host, database }) {
    const refusal = refusalOf(port, "--port");
    if (refusal) throw new Error(refusal);
    if (await isPortFree(port, host))
      return port === 0 ? `${host}, a free port is available` : `${host}, port ${port} is free`;
    const server = isPostgres(database) ? undefined : runningServer(database);
    if (!server) throw new Error(portInUse(port));
    return `${host}, port ${port} is in use; ${server} is running on this database`;
  },
  async drivers() {
    const painter = createPainter({ threads: 1 });
    const size = { width: 16, height: 16, seed: 0, duration_ms: 0 };
    try {
      await painter.paint({ kind: "image", format: "png", prompt: "a lake", ...size });
    } catch (error) {
      throw new Error(`${(error as Error).message}; reinstall svc-server: its file dist/lib/painting.js must run`);
    } finally {
      await painter.close();
    }
    return "a picture was painted offline";
  },
};

/** Checks the store's invariants. A server may be using the database. */
async function rulesOf(database: string): Promise<Finding[]> {
  if (isMissing(database)) return [];
  try {
    const violations = isPostgres(database)
      ? await violationsIn(database)
      : await withCopy(database, (path) => checkRules(path, { named: database }));
    const broken = new Map(violations.map((violation) => [violation.rule, violation]));
    return Object.keys(invariants).map((sentence) => {
      const { count, examples = [] } = broken.get(sentence) ?? {};
      const rows = examples.map((row) => JSON.stringify(row)).join(", ");
      const wrong = `${count} rows break the rule that ${sentence}: ${rows}; restore a backup, and report this line`;
      return { check: "rule", ok: count === undefined, says: count === undefined ? sentence : wrong };
    });
  } catch (error) {
    return [{ check: "rules", ok: false, says: (error as Error).message }];
  }
}

export const doctor = command(
  "doctor",
  "It takes the options of start.",
  {
    deep: flag(
      "Check the rules of the store too, and ask the code host for the requests of previews. Reads every row.",
    ),
    ...listenArgs,
    ...optionArgs("start"),
    ...json,
  },
  runChecks,
);

async function runChecks(args: Given): Promise<void> {
  const { port, host, notes, ...configured } = configuration("start", args);
  let parsed: Settings | undefined;
  const finding = await finds("options", () => {
    parsed = configured.settings();
    if (notes.length > 0) throw new Error(notes.join("; "));
    return "valid";
  });
  const settings = parsed;
  const named = databaseOf({ database: settings?.database ?? args["database"] });
  const database = isPostgres(named) ? named : resolve(named);
  const findings = [finding];
  const backends = Object.entries(settings?.generations.backends ?? {}).map(([name, one]): [string, Check] => [
    `backend ${name}`,
    () => checkBackend(name, one),
  ]);
  const parts: Finding[] = [];
  const addProtections = (protections: readonly Protection[]) => {
    // A missing protection is a problem only with several organizations, and then `start` refuses to run. So these
    // findings are always ok.
    for (const one of protections)
      parts.push({ check: "box", ok: true, missing: one.missing !== undefined, says: describeProtection(one) });
  };
  const runs: [string, Check] = ["runtime", () => tryRuntimes(settings, addProtections)];
  const look = async (checks: readonly [string, Check][]) => {
    for (const [check, of] of checks) findings.push(await finds(check, () => of({ database, port, host })));
  };
  await look([["node", () => `Node ${process.versions.node}, svc-server ${version()}`]]);
  if (isPostgres(database)) findings.push(...(await findingsOfPostgres(database, settings)));
  else await look(Object.entries(ofFile));
  await look([...Object.entries(ofServer), ["mail", () => mailServer(settings)], runs]);
  findings.push(...parts);
  await look(backends);
  await look(signInChecks(settings));
  if (args["deep"]) {
    findings.push(...(await rulesOf(database)));
    if (settings && !isMissing(database)) await look([["previews", () => checkPreviews(database, settings)]]);
  }
  const rows = findings.map(({ check, ok, missing, says }) => [missing ? "MISSING" : ok ? "ok" : "WRONG", check, says]);
  sayResult(args, findings, table(rows));
  const wrong = findings.filter(({ ok }) => !ok).length;
  if (!settings) throw new UsageError(finding.says);
  if (wrong > 0) throw new Error(`${wrong} of ${findings.length} checks failed`);
}
