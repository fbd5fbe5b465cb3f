// `npm run check:package`: tests the tarball instead of the tree. It packs the tarball, checks its exports and types,
// installs it in an empty folder, starts the program, imports the library, runs tests with it in node:test, Vitest and
// Jest, verifies a delivery with Express, and asks TypeScript's language service what an editor shows.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { frameworks, lint, recordings, timers } from "./package-recipes.mjs";

/** The most types that an import of the package may cost a compiler. */
const mostTypes = 30_000;
const run = (command, args, options = {}) =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], ...options });
const folder = mkdtempSync(join(tmpdir(), "svc-server-package-"));
/** Each runner's expected output for the files in `fixtures/runners` that must fail. */
const reasons = {
  works: [],
  leaks: [/settle was not awaited: write await before it/],
  loose: [/the sink "hook" threw TypeError: not for me; the scenario for the next deployment was never used/],
};
try {
  const [{ filename, files }] = JSON.parse(run("npm", ["pack", "--json", "--silent", "--pack-destination", folder]));
  const tarball = join(folder, filename);
  const kilobytes = Math.round(statSync(tarball).size / 1024);
  // A sixth of the package is the CommonJS copy.
  assert.ok(kilobytes <= 2000, `the package has ${kilobytes} kB; at most 2,000`);
  for (const needed of [
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "schema/0001_service.sql",
    "schema/README.md",
    "schema/versions.md",
    "fixtures/hosting/Containerfile",
    "fixtures/hosting/container.sh",
    "fixtures/demo.json",
    "fixtures/hosting/svc-server.service",
    "fixtures/recipes/driver.ts",
    "dist/LICENSES.txt",
    "dist/lib/painting.js",
    "dist/lib/checking.js",
    "dist/lib/checkpoints.js",
  ]) {
    assert.ok(
      files.some(({ path }) => path === needed),
      `${needed} is missing in the package`,
    );
  }
  publishing();
  bundledLicences();
  run(process.execPath, ["node_modules/publint/src/cli.js", tarball, "--strict"], { stdio: "inherit" });
  run("npx", ["attw", tarball], { stdio: "inherit" });

  const home = join(folder, "home");
  writeFileSync(
    join(folder, "import.mjs"),
    `
    import { createService } from "svc-server";
    const service = await createService({ clock: "manual" });
    const answer = await service.fetch("/v1/me", { headers: { authorization: "Bearer " + service.apiKey } });
    if (answer.status !== 200) throw new Error("GET /v1/me answered " + answer.status);
    const { createClient } = await import("svc-server/client");
    const fetch = (url, init) => service.fetch(url, init);
    await createClient({ baseUrl: "http://localhost/v1", apiKey: service.apiKey, fetch }).openapi.get();
    await service.close();
  `,
  );
  run("npm", ["install", "--prefix", home, "--silent", tarball], { cwd: folder });
  writeFileSync(join(home, "import.mjs"), readFileSync(join(folder, "import.mjs")));
  run(process.execPath, ["import.mjs"], { cwd: home });
  await start(home);
  optionalPackages(home);
  testRunners(home);
  timers(home);
  await recordings(home);
  await suites(home);
  await frameworks(home);
  editor(home);
  types(home);
  lint(home);
  console.log(`the package is right: ${kilobytes} kB, ${files.length} files`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** A dry run of `npm publish`, which must not warn about the package. */
function publishing() {
  const { status, stderr } = spawnSync("npm", ["publish", "--dry-run", "--ignore-scripts", "--access", "public"], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  // The excluded warnings concern this machine's settings and account.
  const warnings = stderr.match(/^npm warn (?!Unknown|publish This command requires you to be logged in).*/gm) ?? [];
  assert.deepEqual(warnings, []);
}

/** Every package named in the bundles is in the licence file, with its text. */
function bundledLicences() {
  const text = readFileSync("dist/LICENSES.txt", "utf8");
  const chapters = text.split(/^-{80}$/m).map((chapter) => chapter.trim());
  for (const chapter of chapters) assert.match(chapter, /^\S+ [\d.]+ \([\w.-]+\)\n\n[\s\S]*(?:Permission|licen[sc]e)/i);
  for (const name of [
    "citty",
    "croner",
    "h3",
    "kysely",
    "modern-tar",
    "preact",
    "semver",
    "@fontsource-variable/geist",
  ])
    assert.ok(
      chapters.some((chapter) => chapter.startsWith(`${name} `)),
      `${name} is bundled, and its licence is missing`,
    );
}

async function start(home) {
  const server = spawn(
    resolve(home, "node_modules/.bin/svc-server"),
    ["dev", "--json", "--port", "0", "--seed", "demo"],
    {
      cwd: home,
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  for await (const line of createInterface({ input: server.stdout })) {
    const { event, base_url, api_key } = JSON.parse(line);
    if (event !== "listening") continue;
    const answer = await fetch(`${base_url}/me`, { headers: { authorization: `Bearer ${api_key}` } });
    assert.equal(answer.status, 200);
    assert.equal((await answer.json()).organization.name, "acme");
    server.kill("SIGTERM");
  }
  const code = server.exitCode ?? (await new Promise((done) => server.once("exit", done)));
  assert.equal(code, 0, `svc-server dev ended with ${code}`);
}

/** Features whose package is not installed name it, and the rest works. With the package they work. */
function optionalPackages(home) {
  const versions = JSON.parse(readFileSync("package.json", "utf8")).devDependencies;
  const install = (...names) =>
    run("npm", [
      ...["install", "--prefix", home, "--no-save", "--silent"],
      ...names.map((name) => `${name}@${versions[name]}`),
    ]);
  cpSync("fixtures/optional", home, { recursive: true });
  // The client closes stdin at once.
  const mcp = () => spawnSync(join(home, "node_modules/.bin/svc-server"), ["mcp"], { encoding: "utf8", input: "" });
  for (const file of ["optional.mjs", "optional.cjs"]) run(process.execPath, [file, "without"], { cwd: home });
  assert.match(mcp().stderr, /needs the package @modelcontextprotocol\/server/);
  install("nodemailer", "openid-client", "smtp-server", "@modelcontextprotocol/server", "@opentelemetry/api");
  assert.equal(mcp().status, 0);
  for (const file of ["optional.mjs", "optional.cjs"]) run(process.execPath, [file, "with"], { cwd: home });
}

/** `createTestService` under real runners and their environments: files that must pass, and files that must fail. */
function testRunners(home) {
  const packages = ["vitest@3.2.7", "jsdom@26", "happy-dom@20"];
  packages.push("jest@30.5.2", "jest-environment-jsdom@30.5.2", "@happy-dom/jest-environment@20");
  // Needed by suites() below: an install without --save removes what an earlier one installed.
  packages.push("@playwright/test@1.65.1");
  run("npm", ["install", "--prefix", home, "--no-save", "--silent", ...packages]);
  cpSync("fixtures/runners", join(home, "runners"), { recursive: true });
  const test = (file, bin, args, options = "") => {
    const env = { ...process.env, NO_COLOR: "1", NODE_OPTIONS: options };
    const { status, stdout, stderr } = spawnSync(bin, args, { cwd: home, env, encoding: "utf8", timeout: 120_000 });
    const output = `${bin} ${args.join(" ")}\n${stdout}${stderr}`;
    assert.equal(status, file === "works" ? 0 : 1, output);
    for (const reason of reasons[file]) assert.match(output, reason);
  };
  const bin = (name) => join(home, "node_modules/.bin", name);
  for (const file of Object.keys(reasons)) {
    if (file !== "leaks") test(file, process.execPath, ["--test", `runners/node/${file}.test.mjs`]);
    for (const environment of ["node", "jsdom", "happy-dom"])
      test(file, bin("vitest"), ["run", "--dir", "runners/vitest", "--environment", environment, file]);
    for (const environment of ["node", "jsdom", "@happy-dom/jest-environment"]) {
      const jest = (folder, options) => {
        const args = ["--testMatch", "**/*.test.?js", "--rootDir", `runners/${folder}`, "--env", environment, file];
        test(file, bin("jest"), args, options);
      };
      jest("jest", "--experimental-vm-modules");
      if (file !== "leaks") jest("commonjs");
    }
  }
}

/** The recipes in which a whole test run shares one service, under their real runners. */
async function suites(home) {
  cpSync("fixtures/runners/suite", join(home, "suite"), { recursive: true });
  for (const name of ["suite-setup.mjs", "suite-teardown.mjs"]) cpSync(`fixtures/recipes/${name}`, join(home, name));
  // A free port instead of the emulator's default.
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = String(server.address().port);
  server.close();
  const playwright = readFileSync("fixtures/recipes/playwright.config.mjs", "utf8").replaceAll("7400", port);
  const shared = playwright.replace("use:", 'globalSetup: "./suite-setup.mjs",\n  use:');
  const configurations = {
    "vitest.config.mjs": 'export default { test: { globalSetup: "suite-setup.mjs", dir: "suite" } };',
    "jest.config.mjs": `export default {
      globalSetup: "./suite-setup.mjs",
      globalTeardown: "./suite-teardown.mjs",
      testMatch: ["**/suite/jest.test.mjs"],
    };`,
    "playwright.config.mjs": playwright,
    "playwright.shared.config.mjs": shared,
  };
  for (const [name, text] of Object.entries(configurations)) writeFileSync(join(home, name), text);
  const env = { ...process.env, NODE_OPTIONS: "--experimental-vm-modules --no-warnings" };
  const options = { cwd: home, env, timeout: 120_000 };
  const bin = (name) => join(home, "node_modules/.bin", name);
  run(bin("vitest"), ["run", "--config", "vitest.config.mjs", "vitest.test"], options);
  run(bin("jest"), ["--config", "jest.config.mjs"], options);
  for (const name of ["playwright.config.mjs", "playwright.shared.config.mjs"])
    run(bin("playwright"), ["test", "--config", name, "playwright.spec"], { ...options, env: process.env });
}

/** The declarations under the oldest TypeScript and one of today, with every way to find them, without `skipLibCheck`. */
function types(home) {
  const packages = ["oldest-typescript@npm:typescript@5.4.5", "typescript@5.9.3", "@types/node@20"];
  run("npm", ["install", "--prefix", home, "--no-save", "--silent", ...packages]);
  const lines = ["", "/client", "/testing"].map((path, i) => `export * as a${i} from "svc-server${path}";`);
  writeFileSync(join(home, "all.ts"), lines.join("\n"));
  writeFileSync(join(home, "none.ts"), "export {};");
  const compile = (compiler, file, ...way) => {
    const flags = ["--noEmit", "--strict", "--target", "es2022", "--types", "node", "--extendedDiagnostics", ...way];
    const shown = run(process.execPath, [`node_modules/${compiler}/lib/tsc.js`, ...flags, file], { cwd: home });
    return Number(/^Types: +(\d+)$/m.exec(shown)?.[1]);
  };
  for (const compiler of ["oldest-typescript", "typescript"]) {
    compile(compiler, "all.ts", "--module", "commonjs", "--moduleResolution", "node10");
    compile(compiler, "all.ts", "--module", "esnext", "--moduleResolution", "bundler");
    const cost = compile(compiler, "all.ts", "--module", "node16") - compile(compiler, "none.ts", "--module", "node16");
    assert.ok(cost <= mostTypes, `an import costs ${cost} types; at most ${mostTypes}`);
  }
}

/**
 * The CommonJS types without `skipLibCheck`, and what an editor shows for a client's method: its operation's summary.
 */
function editor(home) {
  run("npm", ["install", "--prefix", home, "--no-save", "--silent", "typescript@5.9.3", "@types/node@20"]);
  cpSync("fixtures/editor", home, { recursive: true });
  const flags = ["--noEmit", "--strict", "--module", "node16", "--target", "es2022", "--types", "node"];
  run(process.execPath, ["node_modules/typescript/bin/tsc", ...flags, "commonjs.cts"], { cwd: home, stdio: "inherit" });
  run(process.execPath, ["hover.mjs"], { cwd: home, stdio: "inherit" });
}
