import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { detect } from "../../lib/platform/process/detect.ts";
import { fallbackOf, served } from "../../lib/platform/process/static-folder.ts";
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
  // With CI, a create-react-app with a warning of its linter would fail.
  const build = '[ -z "$CI" ] && rm -rf out && mkdir out && cp program.js out/';
  const start = "npm run build && node out/program.js";
  await live(here, id, { "package.json": { name: "web", scripts: { build, start } }, "program.js": server("built") });
  assert.equal(await here.ask(host), "200 built");
});

test("heroku-postbuild runs instead of build", (t) => {
  const root = temporaryFolder(t);
  mkdirSync(root, { recursive: true });
  const stepsOf = (scripts: object) => {
    writeFileSync(join(root, "package.json"), JSON.stringify({ name: "web", scripts }));
    return detect(root).steps.map(({ command }) => command);
  };
  const scripts = { build: "make", "heroku-postbuild": "cd client && npm run build" };
  assert.deepEqual(stepsOf(scripts), ["cd client && npm run build"]);
  assert.deepEqual(stepsOf({ ...scripts, "svc-build": "make svc" }), ["make svc"]);
  // `build` has not run, so it stays in the start.
  writeFileSync(
    join(root, "package.json"),
    JSON.stringify({ scripts: { ...scripts, start: "npm run build && node a" } }),
  );
  assert.equal(detect(root).start, "npm run build && node a");
});

test("Which start a package has, and which is a development server", (t) => {
  const root = temporaryFolder(t);
  const planOf = (scripts: object) => {
    mkdirSync(root, { recursive: true });
    writeFileSync(join(root, "package.json"), JSON.stringify({ name: "web", scripts }));
    const { start, developmentServer } = detect(root);
    return developmentServer === undefined ? start : "development";
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
  for (const start of ["npx @11ty/eleventy", "node server.js", "npm run server && npm run server", "next start"])
    assert.equal(planOf({ build, start, server: "node server.js", dev: "vite" }), start);
  for (const start of [
    "next dev --turbo",
    "next",
    "nuxt dev",
    "gatsby develop -H 0.0.0.0",
    "ng s --open",
    "turbo run dev",
  ])
    assert.equal(planOf({ build, start }), "development", start);
  // Through other scripts, runners and paths.
  for (const start of [
    "npm run dev",
    "yarn dev",
    "PORT=1 pnpm run dev",
    "npm run all",
    "node_modules/.bin/vite --host",
  ])
    assert.equal(
      planOf({ build, start, dev: "NODE_OPTIONS=-x yarn vite --host", all: "tsc && npm run dev" }),
      "development",
    );
  assert.equal(planOf({ build, start: "npm start --prefix client" }), "npm start --prefix client");
  writeFileSync(join(root, "Procfile"), "web: npm start\n");
  assert.equal(planOf({ build, start: "ng serve" }), "development");
});

/** What a package runs after its build has left these files. */
async function servedOf(t: TestContext, scripts: object, sources: readonly string[], outputs: readonly string[]) {
  const root = temporaryFolder(t);
  const write = (paths: readonly string[]) => {
    for (const path of paths) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), "a");
    }
  };
  write([...sources, "package.json"]);
  writeFileSync(join(root, "package.json"), JSON.stringify({ name: "web", scripts }));
  const plan = detect(root);
  write(outputs);
  const look = async (script: string) => execFileSync("sh", ["-c", script], { cwd: root, encoding: "utf8" });
  const found = await served(plan, look).catch(({ message }: Error) => message);
  if (typeof found === "string" || "start" in found) return found;
  return [found.folder, await fallbackOf(plan, found.folder, look)];
}

test("What a build leaves is found where its tool puts it", async (t) => {
  const ng = { build: "ng build", start: "ng serve" };
  for (const [scripts, outputs, found, sources = []] of [
    [ng, ["dist/shop/browser/index.html"], ["dist/shop/browser", "index.html"]],
    [
      ng,
      ["dist/shop/server/server.mjs", "dist/shop/browser/index.csr.html"],
      { start: "node 'dist/shop/server/server.mjs'" },
    ],
    [ng, ["dist/shop/index.html", "dist/shop/main.js"], ["dist/shop", "index.html"]],
    [{ build: "webpack", start: "webpack serve" }, ["dist/index.html", "dist/main.js"], ["dist", null]],
    [{ build: "nest build", start: "nest start" }, ["dist/main.js"], { start: "node 'dist/main.js'" }],
    [{ build: "nest build", start: "nest start" }, ["dist/src/main.js"], { start: "node 'dist/src/main.js'" }],
    [
      { build: "nest build", start: "nest start" },
      ["dist/src/main.js", "dist/main.js"],
      { start: "node 'dist/main.js'" },
    ],
    [{ build: "gatsby build", start: "gatsby develop" }, ["public/index.html"], ["public", null]],
    [{ build: "nuxt generate", dev: "nuxt" }, [".output/public/index.html"], [".output/public", null]],
    [{ build: "vitepress build docs" }, ["docs/.vitepress/dist/index.html"], ["docs/.vitepress/dist", null]],
    [{ build: "next build", start: "next dev" }, [".next/BUILD_ID"], { start: "next start" }],
    [{ build: "next build" }, [".next/BUILD_ID", "out/index.html"], ["out", null]],
    [{ build: "vue-cli-service build" }, ["dist/index.html"], ["dist", "index.html"], ["public/index.html"]],
    [{ build: "vue-cli-service build" }, ["dist/index.html", "dist/404.html"], ["dist", null]],
  ] as const)
    assert.deepEqual(await servedOf(t, scripts, sources, outputs), found, JSON.stringify(scripts));

  // Nothing to run: the reason says what to do.
  for (const [sources, outputs, reason] of [
    [["Gemfile"], [], /for Ruby \(Gemfile\), which is not built here: add a Dockerfile/],
    [["composer.json"], [], /for PHP \(composer.json\)/],
    [
      [],
      [".vercel/output/config.json"],
      /^the build wrote \.vercel\/output\/config\.json, which is for Vercel: .*adapter-node/,
    ],
    [
      [],
      [".svelte-kit/output/server/index.js"],
      /, which is for no platform, because adapter-auto knows none here: use /,
    ],
    [[], [], /index\.html \(dist, build, out, _site, \.output\/public, .*, dist\/\*, build\/\*, public or the top\)$/],
    [
      ["apps/a/package.json", "apps/b/package.json"],
      [],
      /apps in apps\/a, apps\/b: .* root=apps\/a`, .* --prefix apps\/a"/,
    ],
  ] as const)
    assert.match(String(await servedOf(t, { build: "make" }, sources, outputs)), reason);

  // A development server never goes live.
  for (const [scripts, sources, outputs] of [
    [{ start: "ng serve" }, [], []],
    [{ build: "ng build", start: "npm run dev", dev: "ng serve" }, ["public/index.html"], []],
    [ng, [], ["dist/a/browser/index.html", "dist/b/browser/index.html"]],
  ] as const)
    assert.match(String(await servedOf(t, scripts, sources, outputs)), /^ng serve is a development server, .* static/);
});

test("Files of settings may begin with a byte order mark, and may be UTF-16", (t) => {
  const root = temporaryFolder(t);
  mkdirSync(root, { recursive: true });
  const write = (name: string, text: string, encoding: "utf8" | "utf16le" | "utf16be") => {
    const bytes = Buffer.from(`\ufeff${text}`, encoding === "utf8" ? "utf8" : "utf16le");
    writeFileSync(join(root, name), encoding === "utf16be" ? bytes.swap16() : bytes);
  };
  write("package.json", '{"dependencies":{"a":"1"}}', "utf8");
  write(".nvmrc", "20\r\n", "utf16le");
  write("svc.json", '{"health":"/up"}', "utf16be");
  write("requirements.txt", "flask==3.0\r\ngunicorn==22.0\r\n", "utf16le");
  write("app.py", "app = Flask(__name__)\r\n", "utf8");
  const { start, health, node } = detect(root);
  assert.deepEqual([start, health, node?.range], ['python -m gunicorn --bind "$HOST:$PORT" app:app', "/up", "20"]);
  write("Procfile", "web: node a.js\r\n", "utf8");
  assert.equal(detect(root).start, "node a.js");
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
