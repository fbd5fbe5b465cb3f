import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { freePort } from "../helpers/free-port.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { ordinaryUser } from "./server.ts";

/** The reason to skip tests of PgBouncer, or false. */
export const withoutPooler =
  spawnSync("pgbouncer", ["--version"]).error === undefined ? false : "needs Debian's package pgbouncer";

/** Starts PgBouncer before the server of a URL. Returns the URL of the same database through it. */
export async function startPooler(t: TestContext, url: string, mode: "transaction" | "session"): Promise<string> {
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o755);
  const { hostname, port, username } = new URL(url);
  const own = await freePort();
  const settings = [
    "[databases]",
    `* = host=${hostname} port=${port} user=${username}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${own}`,
    "unix_socket_dir =",
    "auth_type = any",
    `pool_mode = ${mode}`,
    // The driver does not send the first parameter; an earlier version of the service sent the second.
    "ignore_startup_parameters = extra_float_digits, options",
  ];
  writeFileSync(join(folder, "ini"), settings.join("\n"));
  const [program = "", ...words] = [...ordinaryUser, "pgbouncer", join(folder, "ini")];
  const pooler = spawn(program, words, { stdio: ["ignore", "ignore", "pipe"] });
  t.after(async () => {
    pooler.kill();
    await once(pooler, "exit");
  });
  for await (const line of createInterface({ input: pooler.stderr })) if (/process up/.test(line)) break;
  pooler.stderr.resume();
  return Object.assign(new URL(url), { port: String(own) }).href;
}
