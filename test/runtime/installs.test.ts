import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { installOf } from "../../lib/platform/process/installs.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { app, noSandbox, runtimeWorld } from "../helpers/running-apps.ts";

const host = "production-web.localhost";
/** A folder filled with package managers by `npm install --global --prefix`; `.ci/run` makes one. */
const prefix = process.env["TEST_PACKAGE_MANAGERS"] ?? "";
const isLong = process.env["TEST_LONG"] !== undefined;

test("The lock file chooses the package manager; the field packageManager where there are several or none", (t) => {
  const cases = [
    [[], undefined, "npm", /^npm install/],
    [[], "pnpm@10.1.0", "pnpm", /^pnpm install --prod=false --store-dir/],
    [[], "deno@2.0.0", "npm", /^npm install/],
    [[], "constructor@1", "npm", /^npm install/],
    [["package-lock.json"], undefined, "npm", /^npm ci/],
    [["npm-shrinkwrap.json"], "yarn@1.22.0", "npm", /^npm ci/],
    [["pnpm-lock.yaml"], undefined, "pnpm", /--frozen-lockfile/],
    [["yarn.lock"], undefined, "yarn", /--frozen-lockfile.*--immutable/],
    [["bun.lock"], undefined, "bun", /--frozen-lockfile/],
    [["bun.lockb"], undefined, "bun", /--frozen-lockfile/],
    [["package-lock.json", "yarn.lock"], "yarn@4.0.0", "yarn", /--immutable/],
    [["package-lock.json", "pnpm-lock.yaml"], undefined, "npm", /^npm ci/],
  ] as const;
  for (const [locks, chosen, program, command] of cases) {
    const root = temporaryFolder(t);
    for (const lock of locks) writeFileSync(join(root, lock), "");
    const install = installOf(root, chosen);
    assert.equal(install.program, program, String(locks));
    assert.match(install.command, command);
    // `pnpm prune` of version 8 lacks these flags, but takes the settings. It uses the install's store.
    if (program === "pnpm") assert.match(install.prune, /--prod --config\.ignore-scripts=true --config\.store-dir=/);
  }
});

test("The npm of engines is provided, unless packageManager names another", (t) => {
  const root = temporaryFolder(t);
  assert.equal(installOf(root, undefined, root, "8.x").wanted?.range, "8.x");
  assert.equal(installOf(root, undefined, root, "please-use-yarn").wanted?.range, "*");
  assert.equal(installOf(root, "npm@10.1.0", root, "8.x").wanted?.range, "10.1.0");
  assert.equal(installOf(root, "yarn@1.22.0", root, "8.x").wanted?.range, "1.22.0");
});

const onHost = (program: string) =>
  ["/usr/local/bin", "/usr/bin", "/bin"].some((folder) => existsSync(join(folder, program)));
const missing = [
  ["bun", "bun.lock"],
  ["pnpm", "pnpm-lock.yaml"],
  ["yarn", "yarn.lock"],
].find(([program = ""]) => !onHost(program));

test("A package manager that cannot be had is named, with the command that installs it", {
  skip: !missing && "all package managers are installed here",
}, async (t) => {
  const [program = "", lock = ""] = missing ?? [];
  const buildVariables = { npm_config_registry: "http://127.0.0.1:9/" };
  const here = await runtimeWorld(t, { deployments: { buildVariables } });
  const { id } = await here.project("web");
  const packages = { dependencies: { greeting: "file:./greeting" }, scripts: { start: "node server.js" } };
  here.repos.commit("acme/web", { "package.json": packages, [lock]: "" });
  const { id: failed, status } = await here.release(id);
  assert.equal(status, "failed");
  assert.match(
    (await here.messages(failed)).join("\n"),
    new RegExp(`asks for ${program} .*, and the machine has none; npm could not .*npm install --global ${program}`),
  );
});

const headers = ["/usr", "/usr/local"].some((folder) => existsSync(join(folder, "include/node/node_version.h")));

test("Packages that compile against Node find its headers on the machine", {
  skip: noSandbox || (!headers && "this machine has no headers of Node"),
}, async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const look = `test -f "$XDG_CACHE_HOME/node-gyp/$(node -p process.versions.node)/include/node/node_version.h"`;
  here.repos.commit("acme/web", {
    ...app("compiled"),
    "package.json": { scripts: { install: look, start: "node server.js" } },
  });
  const { id: release, status } = await here.release(id);
  assert.equal(status, "active", (await here.messages(release)).join("\n"));
});

/** Each manager with the command that writes its lock file, and further files of the repository. */
const managers = [
  ["npm", "npm install --package-lock-only --offline", {}],
  ["pnpm", "pnpm install --lockfile-only --offline", {}],
  ["yarn", "yarn install --offline", {}],
  ["yarn", "yarn install --mode=update-lockfile", { ".yarnrc.yml": "yarnPath: ./yarn.cjs\n" }],
  ["bun", "bun install --lockfile-only", {}],
] as const;

for (const [manager, lock, files] of managers) {
  const isBerry = ".yarnrc.yml" in files;
  const berry = join(prefix, "berry/lib/node_modules/@yarnpkg/cli-dist/bin/yarn.js");
  const lacks = isBerry ? !existsSync(berry) : manager !== "npm" && !existsSync(join(prefix, "bin", manager));
  const skip =
    noSandbox ||
    (!isLong && "the long form only: TEST_LONG=1") ||
    (lacks && `${isBerry ? "@yarnpkg/cli-dist" : manager} is not in the folder TEST_PACKAGE_MANAGERS`);
  test(`${isBerry ? "A newer yarn" : manager} installs what its lock file says, and nothing else`, {
    skip,
  }, async (t) => {
    const tools = temporaryFolder(t);
    // A version manager's layout: Node beside the programs that it has installed.
    const node = prefix === "" ? process.execPath : join(prefix, "bin", "node");
    if (!existsSync(node)) copyFileSync(process.execPath, node);
    const own = process.execPath;
    process.execPath = node;
    t.after(() => {
      process.execPath = own;
    });
    const here = await runtimeWorld(t);
    const { id } = await here.project("web");
    const variables = { NODE_ENV: "production" };
    await here.call("developer", "PUT", `/v1/projects/${id}/environments/production`, { variables });
    const folder = join(here.repos.root, "acme/web");
    const pack = join(tools, "package");
    mkdirSync(pack);
    writeFileSync(join(pack, "package.json"), JSON.stringify({ name: "greeting", version: "1.0.0", main: "main.js" }));
    writeFileSync(join(pack, "main.js"), `module.exports = "hello";\n`);
    mkdirSync(folder, { recursive: true });
    execFileSync("tar", ["czf", join(folder, "greeting.tgz"), "-C", tools, "package"]);
    if (isBerry) copyFileSync(berry, join(folder, "yarn.cjs"));
    const packages = {
      name: "web",
      version: "1.0.0",
      devDependencies: { greeting: "file:./greeting.tgz" },
      scripts: { build: `node -p "require('greeting')" > said`, start: "node server.js" },
    };
    const listens = ".listen(process.env.PORT, process.env.HOST)";
    here.repos.commit("acme/web", {
      ...files,
      ".gitignore": "node_modules\n",
      "package.json": packages,
      "server.js": `require("node:http").createServer((q, r) => r.end(require("node:fs").readFileSync("said", "utf8").trim()))${listens}`,
    });
    const env = {
      PATH: `${join(prefix, "bin")}:${process.env["PATH"]}`,
      HOME: tools,
      YARN_CACHE_FOLDER: join(tools, "yarn"),
    };
    const locked = spawnSync("sh", ["-c", lock], { cwd: folder, env, encoding: "utf8" });
    assert.equal(locked.status, 0, locked.stdout + locked.stderr);
    rmSync(join(folder, "node_modules"), { recursive: true, force: true });
    here.repos.commit("acme/web", {});
    const first = await here.release(id);
    assert.equal(first.status, "active", (await here.messages(first.id)).join("\n"));
    assert.equal(await here.ask(host), "200 hello");

    // Lock file and manifest disagree: nothing unlocked is installed.
    const other = { ...packages, dependencies: { other: "file:./greeting.tgz" } };
    here.repos.commit("acme/web", { "package.json": other });
    const second = await here.release(id);
    assert.equal(second.status, "failed", readFileSync(join(folder, "package.json"), "utf8"));
    assert.match((await here.messages(second.id)).join("\n"), /Installing dependencies failed with the exit code \d+/);
    assert.equal(await here.ask(host), "200 hello");
  });
}
