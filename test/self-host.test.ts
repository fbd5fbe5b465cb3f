import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { WebSocket } from "ws";
import { type Certificate, certificate } from "./helpers/certificates.ts";
import { bearer } from "./helpers/headers.ts";
import { launch, program, temporaryFolder } from "./helpers/program.ts";
import { parse } from "./helpers/server-sent-events.ts";

/** The hosting files are run as they are, as far as one machine can. */
const folderOfFiles = "fixtures/hosting";
const name = "svc.example.com";
const file = (named: string) => readFileSync(join(folderOfFiles, named), "utf8");
const units = readdirSync(folderOfFiles).filter((named) => /\.(service|timer)$/.test(named));
const missing = (command: string, option: string) =>
  spawnSync(command, [option]).error !== undefined && `${command} is not installed`;

/** The words after `svc-server start` in a command of these files, with another folder than systemd's. */
const wordsOf = (line: string, folder: string) =>
  line
    .replaceAll("/var/lib/svc-server", folder)
    .split(/.*?\bsvc-server start /)[1]
    ?.split(" ") ?? [];
const startOf = (unit: string) => /^ExecStart=(.*)$/m.exec(file(unit))?.[1] ?? "";

test("systemd takes the units", { skip: missing("systemd-analyze", "--version") }, () => {
  assert.deepEqual(units.sort(), ["svc-server-backup.service", "svc-server-backup.timer", "svc-server.service"]);
  const files = units.map((unit) => join(folderOfFiles, unit));
  const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", ...files], { encoding: "utf8" });
  assert.deepEqual([status, stdout, stderr], [0, "", ""]);
});

const elsewhere = process.platform === "win32" && "the files are for systems with a shell";
test("the first start shows the key with which the unit's start is called, and the backup is whole", {
  skip: elsewhere,
}, async (t) => {
  const folder = temporaryFolder(t);
  const byHand = file("setup.sh").trim().split("\n").at(-1) ?? "";
  const first = await launch(t, [...wordsOf(byHand, folder), "--port", "0"]);
  assert.equal((await first.stop("SIGINT")).code, 0);
  const server = await launch(t, [...wordsOf(startOf("svc-server.service"), folder), "--port", "0"]);
  assert.equal(server.api_key, null);
  assert.equal((await server.get("/v1/me", first.api_key)).status, 200);

  const copies = join(folder, "copies");
  mkdirSync(copies);
  mkdirSync(join(folder, "bin"));
  writeFileSync(join(folder, "bin/svc-server"), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`, {
    mode: 0o755,
  });
  const command = startOf("svc-server-backup.service")
    .replaceAll("/var/lib/svc-server-backups", copies)
    .replaceAll("/var/lib/svc-server", folder)
    .replaceAll("%%", "%")
    .replaceAll("$$", "$");
  const env = { ...process.env, PATH: `${join(folder, "bin")}:${process.env.PATH}` };
  for (const time of ["the first", "a week later"])
    assert.equal(spawnSync("/bin/sh", ["-c", command], { env }).status, 0, time);
  assert.match(readdirSync(copies).sort().join(" "), /^([1-7])\.db \1\.db\.key \1\.db\.sha256$/);
});

/** nginx with this configuration, in front of a service that is started as its unit starts it. */
async function hosted(t: TestContext) {
  const folder = temporaryFolder(t);
  const server = await launch(t, [...wordsOf(startOf("svc-server.service"), folder), "--port", "0"]);
  const tls = certificate({ names: [name] });
  const port = await freePort();
  const site = file("nginx.conf")
    .replaceAll("127.0.0.1:7400", new URL(server.url).host)
    .replaceAll("listen 443 ", `listen 127.0.0.1:${port} `)
    .replaceAll(`/etc/ssl/${name}`, join(folder, "tls"));
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
  // It says this once it listens.
  for await (const line of createInterface({ input: nginx.stderr })) if (line.includes("event method")) break;
  nginx.stderr.resume();
  return { ...server, ...outside(port, tls, server.api_key ?? "") };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** The service as people reach it: by its name and certificate. */
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

test("behind nginx everything is reached by its public name", {
  skip: missing("nginx", "-v"),
}, async (t) => {
  const { open, call, dial, ...server } = await hosted(t);
  const post = (path: string, body: object, headers = {}) =>
    call("POST", path, { body: JSON.stringify(body), headers });

  await t.test("a WebSocket receives posted events at once", async () => {
    const socket = dial();
    t.after(() => socket.terminate());
    await once(socket, "ping");
    const heard = once(socket, "message");
    const made = await post("/v1/projects", { name: "web", region: "eu-west-1" });
    assert.deepEqual([made.status, made.headers.location], [201, `/v1/projects/${made.body.id}`]);
    const { event, data } = JSON.parse(String((await heard)[0]));
    assert.deepEqual([event, data.project_id], ["project.created", made.body.id]);
  });

  const [project] = (await call("GET", "/v1/projects")).body.data;
  const source = { type: "git", repo: "acme/web", branch: "main" };
  const deploy = { project_id: project.id, environment: "production", source };

  await t.test("a log is followed entry by entry, and what waits is woken", async () => {
    const { id } = (await post("/v1/deployments", deploy)).body;
    const waiting = call("GET", `/v1/deployments/${id}?wait=60`);
    const stream = (await open("GET", `/v1/deployments/${id}/logs?follow=true`))[Symbol.asyncIterator]();
    let text = "";
    while (!text.includes("data:")) text += (await stream.next()).value;
    // Had the proxy kept the entry back until the end, it would be too late now.
    assert.equal((await post(`/v1/deployments/${id}/cancel`, {})).status, 200);
    for (let rest = await stream.next(); !rest.done; rest = await stream.next()) text += rest.value;
    assert.deepEqual(parse(text).at(-1)?.data, { status: "cancelled" });
    assert.equal((await waiting).body.status, "cancelled");
  });

  await t.test(
    "a push of 4 MB is taken, and what is larger than the service's limit is refused in its form",
    async () => {
      const config = { repo: "acme/web", branch: "main", environment: "production", secret: "whsec_demo" };
      const { id } = (await post("/v1/integrations", { type: "code_host", config })).body;
      const body = JSON.stringify({
        ...{ ref: "refs/heads/main", after: "a".repeat(40), repository: { full_name: "acme/web" } },
        commits: [{ message: "x".repeat(4_000_000) }],
      });
      const signature = `sha256=${createHmac("sha256", "whsec_demo").update(body).digest("hex")}`;
      const headers = { "x-github-event": "push", "x-hub-signature-256": signature };
      const pushed = await call("POST", `/hooks/code-host/${id}`, { body, headers });
      assert.deepEqual([pushed.status, pushed.body.data.length], [202, 1]);
      const large = await post("/v1/projects", { name: "x".repeat(1_100_000), region: "eu-west-1" });
      assert.deepEqual([large.status, large.body.error.code], [413, "body_too_large"]);
    },
  );

  await t.test("strangers are counted by the address that nginx saw, whatever they say", async () => {
    const left = async (localAddress: string, forged: string) => {
      const headers = { authorization: "", "x-forwarded-for": forged };
      const { status, headers: answered } = await call("GET", "/v1/me", { localAddress, headers });
      assert.equal(status, 401);
      return answered["x-ratelimit-remaining"];
    };
    const counts = [
      await left("127.0.0.1", "203.0.113.7"),
      await left("127.0.0.1", "203.0.113.8"),
      ...(process.platform === "linux" ? [await left("127.0.0.2", "203.0.113.7")] : []),
    ];
    assert.deepEqual(counts, ["999", "998", "999"].slice(0, counts.length));
  });

  await t.test("health is public; metrics and requests for other hosts are refused", async () => {
    assert.equal((await call("GET", "/healthz")).status, 200);
    assert.equal((await call("GET", "/metrics")).status, 404);
    assert.equal((await call("GET", "/v1/me", { headers: { host: "other.example.com" } })).status, 421);
    assert.equal((await server.get("/metrics")).status, 200, "from beside the service, with a key");
    assert.equal((await fetch(`${server.url}/metrics`)).status, 401);
  });
});
