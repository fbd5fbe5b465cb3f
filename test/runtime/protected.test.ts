import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { WebSocket } from "ws";
import { temporaryFolder } from "../helpers/program.ts";
import { runtimeWorld } from "../helpers/running-apps.ts";
import { expect } from "../helpers/test-service.ts";

const host = "production-web.localhost";
const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

/** Returns the Authorization header it got, over HTTP and over WebSockets. */
const mirror = {
  "package.json": { scripts: { start: "node server.js" } },
  "server.js": `
const { createServer } = require("node:http");
const { createHash } = require("node:crypto");
const server = createServer((request, response) => response.end(String(request.headers.authorization)));
server.on("upgrade", (request, socket) => {
  const accept = createHash("sha1").update(request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Accept: " + accept + "\\r\\n\\r\\n");
  const text = Buffer.from(String(request.headers.authorization));
  socket.on("error", () => {}).write(Buffer.concat([Buffer.from([0x81, text.length]), text]));
});
server.listen(process.env.PORT, process.env.HOST);
`,
};

test("A protected environment asks for its user and password, which its app never sees", async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const here = await runtimeWorld(t, { database });
  const { port } = new URL(here.service.appsUrl ?? "");
  const { id } = await here.project("web");
  here.repos.commit("acme/web", mirror);
  assert.equal((await here.release(id)).status, "active");
  const ask = (authorization?: string) =>
    new Promise<{ status: number | undefined; challenge: string | undefined; text: string }>((resolve, reject) => {
      const headers = { host, ...(authorization !== undefined && { authorization }) };
      request({ host: "127.0.0.1", port, headers }, (response) => {
        let text = "";
        response.on("data", (chunk) => {
          text += chunk;
        });
        const { statusCode: status, headers } = response;
        response.on("end", () => resolve({ status, challenge: headers["www-authenticate"], text }));
      })
        .on("error", reject)
        .end();
    });
  const put = (more: object) =>
    here.call("developer", "PUT", `/v1/projects/${id}/environments/production`, { variables: {}, ...more });

  assert.equal((await ask(basic("a", "b"))).text, basic("a", "b"), "without protection the header is the app's");
  for (const wrong of [{ user: "a:b", password: "x" }, { user: "a" }, { user: "", password: "x" }, "a:b"])
    assert.equal((await put({ protect: wrong })).status, 422, JSON.stringify(wrong));
  const missing = expect(await put({ protect: { user: "ann", password: "[redacted]" } }), 422);
  assert.equal(missing.error.details[0].path, "protect.password");

  const shown = { user: "ann", password: "[redacted]" };
  assert.deepEqual(expect(await put({ protect: { user: "ann", password: "pässword" } }), 200).protect, shown);
  const refused = await ask();
  assert.deepEqual([refused.status, refused.challenge], [401, 'Basic realm="protected", charset="UTF-8"']);
  for (const wrong of [basic("ann", "password"), basic("bob", "pässword"), "Basic !", "Bearer x", basic("", "")])
    assert.equal((await ask(wrong)).status, 401, wrong);
  for (const _ of [1, 2])
    assert.deepEqual(await ask(basic("ann", "pässword")), { status: 200, challenge: undefined, text: "undefined" });

  const closed = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { host } });
  const [{ message }] = await once(closed, "error");
  assert.match(message, /401/);
  const open = new WebSocket(`ws://127.0.0.1:${port}/`, {
    headers: { host, authorization: basic("ann", "pässword") },
  });
  assert.equal(String((await once(open, "message"))[0]), "undefined");
  open.terminate();

  // `protect` stays if it is left out or sent back as shown; a new release and a restart keep it.
  assert.deepEqual(expect(await put({}), 200).protect, shown);
  assert.deepEqual(expect(await put({ protect: shown }), 200).protect, shown);
  assert.equal((await here.release(id)).status, "active");
  assert.equal((await ask()).status, 401);
  assert.equal((await ask(basic("ann", "pässword"))).status, 200);
  expect(await put({ protect: { user: "ann", password: "other" } }), 200);
  assert.equal((await ask(basic("ann", "pässword"))).status, 401);
  assert.equal((await ask(basic("ann", "other"))).status, 200);
  for (const file of [database, `${database}-wal`])
    assert.equal(readFileSync(file).includes("pässword"), false, "only its hash is stored");

  assert.equal(expect(await put({ protect: null }), 200).protect, null);
  assert.equal((await ask()).status, 200);
});

test("A flood of wrong passwords is answered, and keeps nobody with the right one from the app", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  here.repos.commit("acme/web", { "index.html": "site" });
  assert.equal((await here.release(id)).status, "active");
  const protect = { user: "ann", password: "right" };
  const path = `/v1/projects/${id}/environments/production`;
  expect(await here.call("developer", "PUT", path, { variables: {}, protect }), 200);
  const { port } = new URL(here.service.appsUrl ?? "");
  const ask = (password: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = { host, authorization: basic("ann", password) };
      request({ host: "127.0.0.1", port, headers, agent: false }, (response) => {
        response.resume().on("end", () => resolve(response.statusCode));
      })
        .on("error", reject)
        .end();
    });
  assert.equal(await ask("right"), 200);
  const flood = Array.from({ length: 60 }, (_, i) => ask(`wrong ${i}`));
  assert.equal(await ask("right"), 200);
  const statuses = await Promise.all(flood);
  assert.deepEqual([...new Set(statuses)].sort(), [401, 429]);
});
