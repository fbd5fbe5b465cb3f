import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Options } from "../../lib/index.ts";
import { temporaryFolder } from "../helpers/program.ts";
import type { Files } from "../helpers/repositories.ts";
import { noSandbox, runtimeWorld, server } from "../helpers/running-apps.ts";

const host = "production-web.localhost";
const isLong = process.env["TEST_LONG"] !== undefined;

/** The environment variables that this machine needs to reach an npm registry, as an operator would set them. */
const network = Object.fromEntries(
  ["NODE_EXTRA_CA_CERTS", "npm_config_registry", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"].flatMap(
    (name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]),
  ),
);
const asked = isLong && spawnSync("npm", ["view", "yarn@1", "version", "--fetch-retries=0", "--fetch-timeout=10000"]);
const skip =
  noSandbox ||
  (!asked ? "the long form only: TEST_LONG=1" : asked.status !== 0 && "no registry of npm can be reached from here");

async function world(t: TestContext, deployments: Options["deployments"] = { buildVariables: network }) {
  const here = await runtimeWorld(t, { deployments });
  const { id } = await here.project("web");
  return {
    ...here,
    id,
    async built(files: Files) {
      const folder = join(here.repos.root, "acme/web");
      for (const name of ["pnpm-lock.yaml", "yarn.lock", ".nvmrc", "svc.json", "Procfile", ".tool-versions"])
        rmSync(join(folder, name), { force: true });
      here.repos.commit("acme/web", files);
      const { id: deployment, status } = await here.release(id);
      return { status, log: (await here.messages(deployment)).join("\n") };
    },
  };
}

/** A package whose install script leaves a file. */
function packed(t: TestContext, name: string, files: Files, scripts = {}): Buffer {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, "package"));
  for (const [file, text] of Object.entries({ "package.json": { name, version: "1.0.0", scripts }, ...files }))
    writeFileSync(join(folder, "package", file), typeof text === "string" ? text : JSON.stringify(text));
  return execFileSync("tar", ["cz", "-C", folder, "package"]);
}

const answering = (answer: string) =>
  `require("node:http").createServer((_, r) => r.end(String(${answer}))).listen(process.env.PORT, process.env.HOST)`;

test("A release loses its development dependencies, unless a command of it needs one", async (t) => {
  const here = await world(t);
  const folder = join(here.repos.root, "acme/web");
  mkdirSync(folder, { recursive: true });
  for (const name of ["tool", "library"])
    writeFileSync(
      join(folder, `${name}.tgz`),
      packed(t, name, {
        "main.js": "",
        "package.json": { name, version: "1.0.0", bin: { [`run-${name}`]: "main.js" } },
      }),
    );
  const packages = {
    dependencies: { library: "file:./library.tgz" },
    devDependencies: { tool: "file:./tool.tgz" },
    scripts: { build: "ls node_modules > built.txt", start: "node server.js" },
  };
  const files = {
    ".gitignore": "node_modules\n",
    "package.json": packages,
    "server.js": answering(
      `require("node:fs").readdirSync("node_modules").filter((one) => one[0] !== ".") + " " + require("node:fs").readFileSync("built.txt")`,
    ),
  };
  const first = await here.built(files);
  assert.equal(first.status, "active", first.log);
  assert.match(await here.ask(host), /^200 library library\ntool\n$/);
  for (const scripts of [
    { ...packages.scripts, prestart: "true", start: "npm run serve", serve: "run-tool; node server.js" },
    { ...packages.scripts, start: "node -r ./node_modules/tool/main.js server.js" },
  ]) {
    const { status, log } = await here.built({ ...files, "package.json": { ...packages, scripts } });
    assert.equal(status, "active", log);
    assert.match(log, /^Development dependencies stay: a command of the app needs (run-)?tool$/m);
    assert.match(await here.ask(host), /^200 library,tool /);
  }
});

test("Variables of all builds reach builds alone, and their secrets no log", async (t) => {
  const buildVariables = { npm_token: "token-1", PROXY: "http://me:secret-2@proxy.test/", CERTS: "/etc/ssl/own.pem" };
  const here = await world(t, { buildVariables });
  await here.call("developer", "PUT", `/v1/projects/${here.id}/environments/production`, {
    variables: { CERTS: "own" },
  });
  const { status, log } = await here.built({
    "svc.json": { build: 'echo "sees $npm_token $PROXY $CERTS"', start: "node server.js" },
    Procfile: "release: echo released with $PROXY.\n",
    "server.js": server("one"),
  });
  assert.equal(status, "active", log);
  assert.match(log, /^sees \[redacted\] http:\/\/me:\[redacted\]@proxy.test\/ own$/m);
  assert.match(log, /^released with \.$/m);
  const env = JSON.parse((await here.ask(host, "/env")).slice(4));
  assert.equal(env.npm_token ?? env.PROXY, undefined);
  assert.equal(env.CERTS, "own");
});

test("A Node that cannot be had is the reason, before anything is installed", async (t) => {
  const here = await world(t, { buildVariables: { npm_config_registry: "http://127.0.0.1:9/" } });
  const files = { "package.json": { engines: { node: "18.x" }, dependencies: { none: "1" } }, "server.js": "" };
  const { status, log } = await here.built(files);
  assert.equal(status, "failed");
  assert.match(
    log,
    /the app asks for Node 18.x \(engines of package.json\), and the machine has v\d+\.\d+\.\d+; npm could not fetch node-linux-\w+@18.x: .*deployments.buildVariables/,
  );
  assert.doesNotMatch(log, /Installing dependencies/);
  const others = { "package.json": { engines: { node: ">=18" } }, "server.js": answering("process.version") };
  assert.equal((await here.built(others)).status, "active", "the machine's own does");
});

test("An app runs with the Node that it asks for", { skip }, async (t) => {
  const here = await world(t);
  const started = {
    "package.json": { scripts: { start: "node server.js" } },
    "server.js": answering("process.version"),
  };
  const first = await here.built({ ...started, ".nvmrc": "v18.20.4\n" });
  assert.equal(first.status, "active", first.log);
  assert.match(first.log, /^Fetching Node v18.20.4: the app asks for Node v18.20.4 \(\.nvmrc\), and the machine has/m);
  assert.equal(await here.ask(host), "200 v18.20.4");
  const dependencies = { isarray: "2.0.5" };
  const second = await here.built({
    ...started,
    "package.json": { dependencies, scripts: { prestart: "true", start: "node server.js" } },
    ".tool-versions": "python 3.1\nnodejs 18.20.3\n",
  });
  assert.equal(second.status, "active", second.log);
  assert.equal(await here.ask(host), "200 v18.20.3");
  // Npm 11 does not run on Node 14; downloads after Node leave Node in place.
  const third = await here.built({
    ...started,
    "package.json": { dependencies, scripts: { start: "node server.js" } },
    ".nvmrc": "14.21.3",
  });
  assert.equal(third.status, "active", third.log);
  assert.equal(await here.ask(host), "200 v14.21.3");
  // The archive of Node 4 has another layout.
  const fourth = await here.built({ ...started, ".nvmrc": "4.0.0" });
  assert.equal(fourth.status, "active", fourth.log);
  assert.match(
    fourth.log,
    /^Node v\d+\.\d+\.\d+ runs the app: the package of the Node that it asks for has no program$/m,
  );
});

test("Package managers come by themselves, in the version of the lock file or of packageManager", {
  skip,
}, async (t) => {
  const here = await world(t);
  const packages = {
    name: "web",
    dependencies: { isarray: "2.0.5" },
    devDependencies: { inherits: "2.0.4" },
    scripts: { start: "node server.js" },
  };
  const integrity = "sha512-xHjhDr3cNBK0BzdUJSPXZntQUx/mwMS5Rw4A7lPJ90XGAO6ISP/ePDNuo0vhqOZU+UD5JoodwCAAoZQd3FeAKw==";
  const inherited = "sha512-k/vGaX4/Yla3WzyMCvTQOXYeIHvqOKtnqBduzTHpzpQZzAskKMhZ2K+EnBiSM9zGSoIFeMpXKxa4dYeZIQqewQ==";
  const files = {
    "package.json": packages,
    "server.js": answering(`require("isarray")([]) + " " + require("node:fs").existsSync("node_modules/inherits")`),
  };
  const pnpm = `lockfileVersion: '9.0'
settings:
  autoInstallPeers: true
  excludeLinksFromLockfile: false
importers:
  .:
    dependencies:
      isarray:
        specifier: 2.0.5
        version: 2.0.5
    devDependencies:
      inherits:
        specifier: 2.0.4
        version: 2.0.4
packages:
  inherits@2.0.4:
    resolution: {integrity: ${inherited}}
  isarray@2.0.5:
    resolution: {integrity: ${integrity}}
snapshots:
  inherits@2.0.4: {}
  isarray@2.0.5: {}
`;
  const first = await here.built({ ...files, "pnpm-lock.yaml": pnpm });
  assert.equal(first.status, "active", first.log);
  assert.match(
    first.log,
    /^Fetching pnpm >=9: the app asks for pnpm >=9 \(pnpm-lock.yaml\), and the machine has none$/m,
  );
  assert.equal(await here.ask(host), "200 true false");

  const yarn = `# yarn lockfile v1\n\n\ninherits@2.0.4:\n  version "2.0.4"\n  integrity ${inherited}\n\nisarray@2.0.5:\n  version "2.0.5"\n  integrity ${integrity}\n`;
  const second = await here.built({ ...files, "yarn.lock": yarn });
  assert.equal(second.status, "active", second.log);
  assert.match(second.log, /^Fetching yarn 1: /m);
  assert.equal(await here.ask(host), "200 true false");

  const berry = { ...packages, packageManager: "yarn@4.9.1", scripts: { start: "yarn node server.js" } };
  const third = await here.built({ ...files, "package.json": berry });
  assert.equal(third.status, "active", third.log);
  assert.match(third.log, /^Fetching yarn 4.9.1: the app asks for yarn 4.9.1 \(packageManager of package.json\)/m);
  assert.equal(await here.ask(host), "200 true false");

  const bun = { ...packages, packageManager: "bun@1.2.0", scripts: { start: "bun server.js" } };
  const fourth = await here.built({ ...files, "package.json": bun });
  assert.equal(fourth.status, "active", fourth.log);
  assert.match(fourth.log, /^Starting: bun server.js$/m);
});

test("Install scripts run on npm 10, 11 and 12", { skip }, async (t) => {
  const here = await world(t);
  const folder = join(here.repos.root, "acme/web");
  mkdirSync(folder, { recursive: true });
  const install = { install: `node -e 'require("fs").writeFileSync("made", "yes")'` };
  writeFileSync(join(folder, "native.tgz"), packed(t, "native", { "main.js": "" }, install));
  for (const version of ["10.9.2", "11.6.0", "12.2.1"]) {
    const { status, log } = await here.built({
      "package.json": { packageManager: `npm@${version}`, dependencies: { native: "file:./native.tgz" } },
      "server.js": answering(`require("node:fs").readFileSync("node_modules/native/made")`),
    });
    assert.equal(status, "active", log);
    assert.equal(await here.ask(host), "200 yes", version);
    assert.equal(/npm 12.2.1 would not run the install scripts/.test(log), version === "12.2.1", log);
    assert.doesNotMatch(log, /Unknown (env|cli) config/, version);
  }
});
