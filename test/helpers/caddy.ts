import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { freePort } from "./free-port.ts";
import { temporaryFolder } from "./program.ts";

export const noCaddy = spawnSync("caddy", ["version"]).error !== undefined && "caddy is not installed";

/**
 * Starts Caddy with a configuration, but with other ports and a local authority. `names` are hosts of the
 * configuration. Caddy creates their certificates while it already serves, and refuses handshakes until a moment after
 * it has said so. So this waits for the line, and then for a handshake.
 */
export async function caddy(t: TestContext, configuration: string, names: readonly string[] = []) {
  const folder = temporaryFolder(t);
  const port = await freePort();
  const local = [
    "local_certs",
    "skip_install_trust",
    "admin off",
    `https_port ${port}`,
    `http_port ${await freePort()}`,
  ];
  writeFileSync(join(folder, "Caddyfile"), configuration.replace(/^\{$/m, `{\n${local.join("\n")}`));
  const env = { ...process.env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, HOME: folder };
  const child = spawn("caddy", ["run", "--config", join(folder, "Caddyfile"), "--adapter", "caddyfile"], {
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  t.after(() => void child.kill("SIGKILL"));
  const said: string[] = [];
  const awaited = [/serving initial configuration/, ...names.map((name) => RegExp(`certificate obtained.*"${name}"`))];
  for await (const line of createInterface({ input: child.stderr })) {
    said.push(line);
    if (awaited.every((sign) => said.some((one) => sign.test(one)))) break;
    assert.ok(child.exitCode === null, said.join("\n"));
  }
  child.stderr.resume();
  const root = join(folder, "caddy/pki/authorities/local/root.crt");
  assert.ok(existsSync(root), said.join("\n"));
  const ca = readFileSync(root, "utf8");
  const ask = async (host: string, path = "/", headers: Readonly<Record<string, string>> = {}) => {
    const asked = request({
      host: "127.0.0.1",
      port,
      servername: host,
      path,
      ca,
      agent: false,
      headers: { host, ...headers },
    });
    const [response] = (await Promise.race([
      once(asked.end(), "response"),
      once(asked, "error").then(([error]) => Promise.reject(error)),
    ])) as [IncomingMessage];
    let body = "";
    for await (const chunk of response) body += chunk;
    return { status: response.statusCode, body };
  };
  const refusesHandshake = (name: string) =>
    ask(name).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === "EPROTO",
    );
  for (const name of names)
    for (let tries = 1; await refusesHandshake(name); tries++) assert.ok(tries < 1000, said.join("\n"));
  return { port, root, ask };
}
