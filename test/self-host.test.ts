import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { appsDomain, file, folderOfFiles, hosted, startOf, wordsOf } from "./helpers/behind-nginx.ts";
import { launch, program, temporaryFolder } from "./helpers/program.ts";
import { repositories } from "./helpers/repositories.ts";
import { askApp } from "./helpers/running-apps.ts";
import { parse } from "./helpers/server-sent-events.ts";

/** Runs the hosting files unchanged, as far as that is possible on one machine. */
const units = readdirSync(folderOfFiles).filter((named) => /\.(service|timer)$/.test(named));
const missing = (command: string, option: string) =>
  spawnSync(command, [option]).error !== undefined && `${command} is not installed`;

test("systemd takes the units", { skip: missing("systemd-analyze", "--version") }, () => {
  assert.deepEqual(units.sort(), ["svc-server-backup.service", "svc-server-backup.timer", "svc-server.service"]);
  const files = units.map((unit) => join(folderOfFiles, unit));
  const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", ...files], { encoding: "utf8" });
  assert.deepEqual([status, stdout, stderr], [0, "", ""]);
});

test("the emulator of compose.yaml starts as it is written, and trusts its own network alone", async (t) => {
  const text = file("compose.yaml");
  const words = /npx svc-server (.*)/.exec(text)?.[1]?.split(" ") ?? [];
  const [, network] = /subnet: ([\d./]+)/.exec(text) ?? [];
  assert.equal(words[words.indexOf("--trust-network") + 1], network);
  const server = await launch(t, [...words, "--port", "0"]);
  const [, key] = /SVC_API_KEY: (\w+)/.exec(text) ?? [];
  assert.equal((await server.get("/v1/me", key)).status, 200);
  assert.equal((await server.get("/_svc/clock")).status, 200);
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
    // If the proxy buffered the entry until the end, it would arrive too late here.
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
    // The push in the previous step counted against 127.0.0.1.
    assert.deepEqual(counts, ["998", "997", "999"].slice(0, counts.length));
  });

  await t.test("health is public; metrics and requests for other hosts are refused", async () => {
    assert.equal((await call("GET", "/healthz")).status, 200);
    assert.equal((await call("GET", "/metrics")).status, 404);
    assert.equal((await call("GET", "/v1/me", { headers: { host: "other.example.com" } })).status, 421);
    assert.equal((await server.get("/metrics")).status, 200, "from beside the service, with a key");
    assert.equal((await fetch(`${server.url}/metrics`)).status, 401);
  });
});

test("behind nginx apps are reached at the URLs that the service shows", {
  skip:
    missing("nginx", "-v") || missing("git", "--version") || (process.platform !== "linux" && "process needs Linux"),
}, async (t) => {
  const repos = repositories(t);
  repos.commit("acme/web", {
    "package.json": { name: "web", scripts: { start: "node server.js" } },
    "server.js": `require("node:http").createServer(({ headers }, response) =>
      response.end([headers.host, ...["proto", "host", "for"].map((name) => headers["x-forwarded-" + name]), headers["x-real-ip"], headers.forwarded].join(" "))
    ).listen(process.env.PORT, process.env.HOST)`,
  });
  const runtime = ["--runtime", "process", "--isolation", "none", "--apps-port", "0"];
  const { call, visit, ...server } = await hosted(t, [...runtime, "--apps-url", `https://*.${appsDomain}`], {
    SVC_CODE_HOST_URL: `file://${repos.root}/{repo}`,
  });
  const post = (path: string, body: object) => call("POST", path, { body: JSON.stringify(body) });
  const project = (await post("/v1/projects", { name: "web", region: "eu-west-1" })).body;
  const source = { type: "git", repo: "acme/web" };
  const { id } = (await post("/v1/deployments", { project_id: project.id, environment: "production", source })).body;
  const live = (await call("GET", `/v1/deployments/${id}?wait=60`)).body;
  const url = `https://production-web.${appsDomain}`;
  assert.deepEqual([live.status, live.url], ["active", url]);
  const [environment] = (await call("GET", `/v1/projects/${project.id}/environments`)).body.data;
  assert.equal(environment.url, url);
  const host = `production-web.${appsDomain}`;
  const said = ["Proto", "Host", "For", "Port", "Prefix"].map((name) => [`X-Forwarded-${name}`, "said.example"]);
  const spoofed = { ...Object.fromEntries(said), "X-Real-IP": "203.0.113.9", Forwarded: "for=203.0.113.9" };
  const seen = `${host} https ${host} 127.0.0.1, 127.0.0.1 127.0.0.1 `;
  assert.deepEqual(await visit(live.url, spoofed), { status: 200, text: seen });
  assert.equal((await visit(`https://other-web.${appsDomain}`)).status, 404);
  // The listening line has this machine's port. The domain of the option apps.domain leads there too.
  assert.match(server.apps_url ?? "", /^http:\/\/localhost:\d+$/);
  assert.match(await askApp(new URL(server.apps_url ?? "").port, "production-web.localhost"), /^200 /);
  assert.match(server.errors(), /"level":"warn".*without isolation \(--isolation none\)/, "beside --json, on stderr");

  // An error names an unreadable repository as callers know it, not by its path on this machine.
  writeFileSync(join(repos.root, "acme/broken"), "no repository");
  const none = "the code host has no such repository, or the user of the service may not read it";
  for (const [repo, reason] of [
    ["acme/none", none],
    ["acme/broken", "invalid gitfile format: the repository"],
  ] as const) {
    const order = { project_id: project.id, environment: "other", source: { type: "git", repo } };
    const failed = (await post("/v1/deployments", order)).body;
    assert.equal((await call("GET", `/v1/deployments/${failed.id}?wait=60`)).body.status, "failed");
    const log = JSON.stringify((await call("GET", `/v1/deployments/${failed.id}/logs`)).body.data);
    assert.ok(log.includes(`${repo} cannot be read: ${reason}"`), log);
    assert.ok(!log.includes(repos.root) && !log.includes("file://"), log);
  }
  const taken = await call("PUT", `/v1/projects/${project.id}/environments/production`, {
    body: JSON.stringify({ variables: {}, domains: [`shop.${appsDomain}`] }),
  });
  assert.match(taken.body.error.message, /must not be apps\.example\.com or below it/);
});
