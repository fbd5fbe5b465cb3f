import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { temporaryFolder } from "../helpers/program.ts";
import type { Files } from "../helpers/repositories.ts";
import { runtimeWorld } from "../helpers/running-apps.ts";

const host = "production-web.localhost";
const vite = { name: "web", devDependencies: { vite: "file:./vite" } };
/** A package that stands in for Vite, so nothing is fetched. */
const bundler: Files = {
  "vite/package.json": { name: "vite", version: "1.0.0", bin: { vite: "vite.js" } },
  "vite/vite.js": `#!/usr/bin/env node
const { mkdirSync, writeFileSync } = require("node:fs");
mkdirSync("dist/assets", { recursive: true });
writeFileSync("dist/index.html", "the page");
writeFileSync("dist/assets/app.js", "the code");
`,
};

test("A static site keeps its folder alone, and answers unknown paths with its fallback", async (t) => {
  const folder = temporaryFolder(t);
  const here = await runtimeWorld(t, { database: join(folder, "svc.db") });
  const { id } = await here.project("web");
  const filesOf = (release: string, path = "") =>
    readdirSync(join(folder, "svc.db-apps/releases", release, "app", path)).sort();
  const built = async (files: Files) => {
    here.repos.commit("acme/web", files);
    const { id: release, status } = await here.release(id);
    assert.equal(status, "active", (await here.messages(release)).join("\n"));
    return release;
  };

  const start = "vite --port 3000";
  const first = await built({ ...bundler, "package.json": { ...vite, scripts: { build: "vite build", start } } });
  assert.deepEqual(filesOf(first), ["dist"]);
  assert.equal(await here.ask(host), "200 the page");
  assert.equal(await here.ask(host, "/assets/app.js"), "200 the code");
  assert.equal(await here.ask(host, "/users/42"), "200 the page");
  const replaced = `The static folder dist replaces the development server: ${start}`;
  assert.ok((await here.messages(first)).includes(replaced));

  // The site's own page for unknown paths answers them.
  await built({ "package.json": { ...vite, scripts: { build: "vite build && echo none > dist/404.html" } } });
  assert.equal(await here.ask(host, "/users/42"), "404 none\n");

  // Links may point anywhere in the repository, so all of it stays.
  const linked = await built({
    "svc.json": { build: "mkdir -p out && echo > out/index.html && ln -s ../far out/far" },
  });
  assert.ok(filesOf(linked).includes("package.json"));

  const own = { static: "site/public", fallback: "app.html" };
  const files = { "svc.json": own, "site/public/index.html": "home", "site/public/app.html": "app", "site/rest": "" };
  const last = await built(files);
  assert.deepEqual([filesOf(last), filesOf(last, "site")], [["site"], ["public"]]);
  assert.deepEqual(await Promise.all(["/", "/deep/link", "/.env"].map((path) => here.ask(host, path))), [
    "200 home",
    "200 app",
    "200 app",
  ]);

  // A part of a file comes only to a client that knows this version of the file.
  const part = { range: "bytes=1-" };
  const parts = [part, { ...part, "if-range": '"another"' }].map((headers) => here.ask(host, "/app.html", { headers }));
  assert.deepEqual(await Promise.all(parts), ["206 pp", "200 app"]);

  here.repos.commit("acme/web", { "svc.json": { static: "site/public", fallback: "gone.html" } });
  const { id: failed } = await here.release(id);
  const reason = "the fallback gone.html of svc.json is not in the static folder site/public";
  assert.ok((await here.messages(failed)).includes(reason));
  here.repos.commit("acme/web", { "svc.json": { static: "site", fallback: "../index.html" } });
  const { id: outside } = await here.release(id);
  assert.match((await here.messages(outside)).join("\n"), /^svc.json: fallback must be a file of the static folder/m);
});

test("A static site is compressed at the build, and its files have the types that browsers know", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const code = "export const numbers = [1, 2, 3];\n".repeat(200);
  const names = {
    htm: "text/html",
    rss: "application/rss+xml",
    ics: "text/calendar",
    vtt: "text/vtt",
    mp3: "audio/mpeg",
  };
  const types = { ...names, csv: "text/csv", mjs: "text/javascript", ico: "image/vnd.microsoft.icon", none: "" };
  here.repos.commit("acme/web", {
    "index.html": "home",
    "about.html": "about",
    "release-1.2.html": "release",
    "docs/page.txt": "page",
    "docs.html": "docs",
    "code.js": code,
    ".code.js.secret": "hidden",
    ...Object.fromEntries(Object.keys(types).map((name) => [`file.${name}`, "a"])),
  });
  const { id: release, status } = await here.release(id);
  assert.equal(status, "active", (await here.messages(release)).join("\n"));
  for (const [path, answer] of [
    ["/about", "200 about"],
    ["/about/", "200 about"],
    ["/release-1.2", "200 release"],
    ["/docs/", "200 docs"],
    ["/docs/page.txt", "200 page"],
    ["/gone/", "404 Not found\n"],
    ["/.code.js.br", "404 Not found\n"],
  ] as const)
    assert.equal(await here.ask(host, path), answer, path);

  const get = async (path: string, headers: Record<string, string> = {}) => {
    const { port } = new URL(here.service.appsUrl ?? "");
    const sent = request({ port, path, headers: { host, ...headers } }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const body = Buffer.concat(await response.toArray());
    return { status: response.statusCode, headers: response.headers, body };
  };
  for (const [name, type] of Object.entries(types)) {
    const { headers } = await get(`/file.${name}`);
    assert.equal(headers["content-type"]?.replace("; charset=utf-8", ""), type || "application/octet-stream", name);
  }
  for (const [accepted, encoding, decode] of [
    ["gzip, deflate, br", "br", brotliDecompressSync],
    ["gzip", "gzip", gunzipSync],
    ["br;q=0, gzip;q=0.5", "gzip", gunzipSync],
    ["identity", undefined, (bytes: Buffer) => bytes],
  ] as const) {
    const { headers, body } = await get("/code.js", { "accept-encoding": accepted });
    assert.deepEqual([headers["content-encoding"], headers.vary], [encoding, "Accept-Encoding"], accepted);
    assert.equal(headers["content-type"], "text/javascript; charset=utf-8");
    assert.equal(Number(headers["content-length"]), body.length);
    assert.equal(decode(body).toString(), code);
    const again = await get("/code.js", { "accept-encoding": accepted, "if-none-match": headers.etag ?? "" });
    assert.equal(again.status, 304);
  }
  // Parts are parts of the file itself; what does not get smaller has one form.
  const part = await get("/code.js", { "accept-encoding": "br", range: "bytes=0-5" });
  assert.deepEqual([part.status, part.headers["content-encoding"], part.body.toString()], [206, undefined, "export"]);
  assert.equal((await get("/", { "accept-encoding": "br" })).headers.vary, undefined);
});
