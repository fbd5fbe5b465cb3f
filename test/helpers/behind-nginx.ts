import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { WebSocket } from "ws";
import { type Certificate, certificate } from "./certificates.ts";
import { freePort } from "./free-port.ts";
import { bearer } from "./headers.ts";
import { launch, temporaryFolder } from "./program.ts";

export const folderOfFiles = "fixtures/hosting";
const name = "svc.example.com";
export const appsDomain = "apps.example.com";
export const file = (named: string) => readFileSync(join(folderOfFiles, named), "utf8");
/** The words after `svc-server start` in a command of the hosting files, with `folder` instead of systemd's folder. */
export const wordsOf = (line: string, folder: string) =>
  line
    .replaceAll("/var/lib/svc-server", folder)
    .split(/.*?\bsvc-server start /)[1]
    ?.split(" ") ?? [];
export const startOf = (unit: string) => /^ExecStart=(.*)$/m.exec(file(unit))?.[1] ?? "";

/** Starts nginx with the hosting configuration in front of a service that is started as in its unit. */
export async function hosted(t: TestContext, more: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const folder = temporaryFolder(t);
  const words = [...wordsOf(startOf("svc-server.service"), folder), "--port", "0", ...more];
  const server = await launch(t, words, undefined, { env });
  const tls = certificate({ names: [name, `*.${appsDomain}`] });
  const port = await freePort();
  const site = file("nginx.conf")
    .replaceAll("127.0.0.1:7400", new URL(server.url).host)
    .replaceAll("127.0.0.1:8080", `127.0.0.1:${new URL(server.apps_url ?? "http://localhost:1").port}`)
    .replaceAll("listen 443 ", `listen 127.0.0.1:${port} `)
    .replaceAll(`/etc/ssl/${name}`, join(folder, "tls"))
    .replaceAll(`/etc/ssl/${appsDomain}`, join(folder, "tls"));
  writeFileSync(join(folder, "tls.pem"), tls.cert);
  writeFileSync(join(folder, "tls.key"), tls.key);
  const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (one) => `${one}_temp_path ${folder}/${one};`,
  );
  const configuration = join(folder, "nginx.conf");
  writeFileSync(
    configuration,
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr notice;
     events {} http { access_log off; ${places.join(" ")} ${site} }`,
  );
  const checked = spawnSync("nginx", ["-t", "-c", configuration], { encoding: "utf8" });
  assert.equal(checked.status, 0, checked.stderr);
  assert.doesNotMatch(checked.stderr, /\[warn\]/);

  const nginx = spawn("nginx", ["-c", configuration], { stdio: ["ignore", "ignore", "pipe"] });
  t.after(() => void nginx.kill("SIGKILL"));
  // nginx prints this when it listens.
  for await (const line of createInterface({ input: nginx.stderr })) if (line.includes("event method")) break;
  nginx.stderr.resume();
  return { ...server, ...outside(port, tls, server.api_key ?? "") };
}

/** Calls the service as its users do: by its name and certificate. */
function outside(port: number, tls: Certificate, key: string) {
  const lookup: NonNullable<Parameters<typeof request>[1]["lookup"]> = (_, { all }, found) =>
    all ? found(null, [{ address: "127.0.0.1", family: 4 }]) : found(null, "127.0.0.1", 4);
  const way = { ca: tls.cert, servername: name, lookup };
  const open = async (method: string, path: string, { body, headers, ...more }: Sent = {}) => {
    const asked = request(`https://${name}:${port}${path}`, {
      ...{ method, ...way, ...more, agent: false },
      headers: { ...bearer(key), ...(body !== undefined && { "content-type": "application/json" }), ...headers },
    });
    asked.end(body);
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    return response;
  };
  return {
    open,
    /** Requests a URL that the service has printed or returned. */
    async visit(url: string, headers: Readonly<Record<string, string>> = {}) {
      const asked = request(`https://127.0.0.1:${port}/`, {
        ...{ ca: tls.cert, servername: new URL(url).hostname, agent: false },
        headers: { ...headers, host: new URL(url).host },
      }).end();
      const [response] = (await once(asked, "response")) as [IncomingMessage];
      return { status: response.statusCode, text: await textOf(response) };
    },
    async call(method: string, path: string, sent?: Sent) {
      const response = await open(method, path, sent);
      const text = await textOf(response);
      const { statusCode: status, headers } = response;
      return { status, headers, body: headers["content-type"] === "application/json" ? JSON.parse(text) : text };
    },
    dial: () => new WebSocket(`wss://${name}:${port}/v1/stream`, { ...way, headers: bearer(key) }),
  };
}

interface Sent {
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly localAddress?: string;
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response) text += chunk;
  return text;
}
