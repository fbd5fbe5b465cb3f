// A PostgreSQL server for tests, in a temporary folder, with Debian's programs.
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../helpers/free-port.ts";

const debian = "/usr/lib/postgresql";

/** The folder of PostgreSQL's programs: the newest of Debian's packages, or the one on the path. */
function programs() {
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  if (versions[0] !== undefined) return join(debian, versions[0], "bin");
  const { status, stdout } = spawnSync("pg_config", ["--bindir"], { encoding: "utf8" });
  if (status === 0) return stdout.trim();
  throw new Error("there is no PostgreSQL; install Debian's package postgresql, or name a server in SVC_TEST_POSTGRES");
}

/** PostgreSQL refuses to run as root. */
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
/** The prefix that runs a program as an ordinary user, for programs that refuse to run as root. */
export const ordinaryUser = isRoot ? ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"] : ["env"];

const newCluster = "-U svc -A trust -E UTF8 --no-sync --locale-provider=icu --icu-locale=en-US".split(" ");

/**
 * Starts a server with US English sort order and no durability, unless `more` overrides its settings. `rules` are lines
 * of `pg_hba.conf`, placed before the line that allows everybody.
 */
export async function startServer(
  more: Readonly<Record<string, string>> = {},
  rules: readonly string[] = [],
  parent = tmpdir(),
) {
  const bin = programs();
  const folder = mkdtempSync(join(parent, "svc-postgres-"));
  if (isRoot) chownSync(folder, nobody, nobody);
  chmodSync(folder, 0o700);
  const data = join(folder, "data");
  const at = await freePort();
  const run = (program: string, ...args: string[]) =>
    execFileSync(ordinaryUser[0] ?? "", [...ordinaryUser.slice(1), join(bin, program), ...args], {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
    });
  run("initdb", "-D", data, ...newCluster);
  const access = join(data, "pg_hba.conf");
  writeFileSync(access, [...rules, readFileSync(access, "utf8")].join("\n"));
  const settings = {
    port: at,
    unix_socket_directories: folder,
    listen_addresses: "127.0.0.1",
    fsync: "off",
    full_page_writes: "off",
    synchronous_commit: "off",
    autovacuum: "off",
    // A test runs fifty services at once, each of which may have 17 connections, beside two more processes of tests.
    max_connections: 1000,
    wal_level: "minimal",
    max_wal_senders: 0,
    ...more,
  };
  const options = Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(" ");
  const start = () => run("pg_ctl", "-D", data, "-w", "-s", "-l", join(folder, "log"), "-o", options, "start");
  /** Stops at once, as in a crash. */
  const stop = () => run("pg_ctl", "-D", data, "-w", "-s", "-m", "immediate", "stop");
  start();
  const copy = join(folder, "replica");
  return {
    url: (database: string) => `postgres://svc:wrong-but-trusted@127.0.0.1:${at}/${database}`,
    start,
    stop,
    /** The process id of the postmaster. */
    pid: () => Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n", 1)[0]),
    /** Starts a replica, and returns its port. */
    async replica() {
      run("pg_basebackup", "-D", copy, "-h", "127.0.0.1", "-p", String(at), "-U", "svc", "-R", "-c", "fast");
      const own = await freePort();
      const words = options.replace(`port=${at}`, `port=${own}`);
      run("pg_ctl", "-D", copy, "-w", "-s", "-l", join(folder, "replica.log"), "-o", words, "start");
      return own;
    },
    end() {
      if (existsSync(copy)) run("pg_ctl", "-D", copy, "-w", "-s", "-m", "immediate", "stop");
      stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
