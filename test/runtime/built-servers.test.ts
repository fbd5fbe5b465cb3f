import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { detect } from "../../lib/drivers/process/detect.ts";
import { temporaryFolder } from "../helpers/program.ts";
import type { Files } from "../helpers/repositories.ts";
import { type Running, runtimeWorld, server } from "../helpers/running-apps.ts";

const host = "production-web.localhost";

/** A build that writes a program to each path, and has nothing else to start. */
const building = (...paths: string[]): Files => ({
  "package.json": {
    name: "web",
    scripts: { build: paths.map((path) => `mkdir -p $(dirname ${path}) && cp program.cjs ${path}`).join(" && ") },
  },
  "program.cjs": server(paths[0] ?? ""),
});

/** Deploys files; returns the log. */
async function live(here: Running, id: string, files: Files): Promise<string> {
  here.repos.commit("acme/web", files);
  const { id: release, status } = await here.release(id);
  const messages = (await here.messages(release)).join("\n");
  assert.equal(status, "active", messages);
  return messages;
}

test("The server that a framework builds is started where no script names it", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  // SvelteKit's build also has a folder of files; the programs of Nitro and Astro are ES modules.
  const page = { "public/index.html": "the page" };
  assert.match(
    await live(here, id, { ...page, ...building("build/index.js", "build/handler.js") }),
    /^Starting: node build\/index\.js$/m,
  );
  assert.equal(await here.ask(host), "200 build/index.js");
  for (const path of [".output/server/index.mjs", "dist/server/entry.mjs"]) {
    const esm = server(path).replace(/const (.*) = require\((.*)\);/, "import $1 from $2;");
    await live(here, id, { ...building(path), "program.cjs": esm });
    assert.equal(await here.ask(host), `200 ${path}`);
  }
  // Without the `handler.js` of SvelteKit beside it, `build/index.js` is not taken as a server.
  await live(here, id, { ...page, ...building("build/index.js") });
  assert.equal(await here.ask(host), "200 the page");
  // A folder named in `svc.json` wins.
  await live(here, id, { "svc.json": { static: "public" }, ...building("dist/server/entry.mjs") });
  assert.equal(await here.ask(host), "200 the page");
});

test("A start that builds first starts what the build has left", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const build = "rm -rf out && mkdir out && cp program.js out/";
  const start = "npm run build && node out/program.js";
  await live(here, id, { "package.json": { name: "web", scripts: { build, start } }, "program.js": server("built") });
  assert.equal(await here.ask(host), "200 built");
});

test("Which start a package has, and which is a development server", (t) => {
  const root = temporaryFolder(t);
  const planOf = (scripts: object) => {
    mkdirSync(root, { recursive: true });
    writeFileSync(join(root, "package.json"), JSON.stringify({ name: "web", scripts }));
    const { start, isDevelopment } = detect(root);
    return isDevelopment ? "development" : start;
  };
  const build = "tsc";
  for (const before of ["npm run build", "yarn build", "yarn run build", "pnpm build", "bun run build"])
    assert.equal(planOf({ build, start: `${before} && node a.js` }), "node a.js", before);
  assert.equal(planOf({ build, start: "npm run build && vite --port 3000" }), "development");
  assert.equal(planOf({ build, start: "npm run build" }), undefined);
  assert.equal(planOf({ build, prestart: "npm run build", start: "node a.js" }), "node a.js");
  // These starts do more than build, or have no build script.
  assert.equal(
    planOf({ build, prestart: "npm run build && npm run seed", start: "node a.js" }),
    "npm run --silent start",
  );
  assert.equal(planOf({ build, start: "npm run build:all && node a.js" }), "npm run build:all && node a.js");
  assert.equal(planOf({ start: "npm run build && node a.js" }), "npm run build && node a.js");
  for (const start of [
    "npx @11ty/eleventy --serve --quiet",
    "eleventy --serve",
    "docusaurus start",
    "vuepress dev docs",
  ])
    assert.equal(planOf({ build, start }), "development", start);
  assert.equal(planOf({ build, start: "npx @11ty/eleventy" }), "npx @11ty/eleventy");
});

test("A program and a lock file may have any size", (t) => {
  const root = temporaryFolder(t);
  mkdirSync(root, { recursive: true });
  const large = "# a comment\n".repeat(200_000);
  const main = { main: "dist/bundle.js", dependencies: { a: "1" } };
  mkdirSync(join(root, "dist"));
  writeFileSync(join(root, "package.json"), JSON.stringify(main));
  writeFileSync(join(root, "dist/bundle.js"), large);
  writeFileSync(join(root, "yarn.lock"), `__metadata:\n  version: 8\n${large}`);
  const { start, manager } = detect(root);
  assert.equal(start, "node 'dist/bundle.js'");
  assert.equal(manager?.range, "4");
});
