import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { test } from "node:test";
import { askApp, lacks, runtimeWorld } from "../helpers/running-apps.ts";
import { expect } from "../helpers/test-service.ts";

const host = "production-web.localhost";

test("A member of a workspace is installed with it, and finds its siblings", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const root = "apps/web";
  const put = `/v1/projects/${id}/environments/production`;
  expect(await here.call("developer", "PUT", put, { variables: {}, root }), 200);
  here.repos.commit("acme/web", {
    "package.json": { name: "all", private: true, workspaces: ["apps/*", "libraries/*"] },
    "libraries/words/package.json": { name: "words", version: "1.0.0", main: "words.js", bin: { words: "words.js" } },
    "libraries/words/words.js": `#!/usr/bin/env node\nmodule.exports = "from a sibling"; console.log("words ran");\n`,
    "apps/web/package.json": {
      name: "web",
      dependencies: { words: "1.0.0" },
      scripts: { build: "chmod +x ../../libraries/words/words.js && words", start: "node server.js" },
    },
    "apps/web/server.js": `require("node:http").createServer((_, r) => r.end(require("words"))).listen(process.env.PORT)`,
  });
  const { id: deployment, status } = await here.release(id);
  const messages = (await here.messages(deployment)).join("\n");
  assert.equal(status, "active", messages);
  assert.match(messages, /^words ran$/m);
  assert.equal(await here.ask(host), "200 from a sibling");
});

test("An app that listens on all addresses is reached by the proxy alone", { skip: lacks("network") }, async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  here.repos.commit("acme/web", {
    "package.json": { name: "web" },
    "server.js": `console.log("at", process.env.PORT);
require("node:http").createServer((_, r) => r.end("open")).listen(process.env.PORT, "0.0.0.0")`,
  });
  const { id: deployment, status } = await here.release(id);
  assert.equal(status, "active");
  assert.equal(await here.ask(host), "200 open");
  const port = (await here.messages(deployment)).join("\n").match(/^at (\d+)$/m)?.[1] ?? "";
  assert.ok(port);
  const own = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ family, internal }) => family === "IPv4" && !internal);
  for (const { address } of own)
    await assert.rejects(askApp(port, host, "/", { address }), /ECONNREFUSED/, `${address}:${port}`);
});
