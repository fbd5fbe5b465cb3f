// `npm run check:package`: looks at the tarball, not the tree. Packs it, checks its exports and types, installs it in an
// empty folder, starts the program there and imports the library.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const run = (command, args, options = {}) =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], ...options });
const folder = mkdtempSync(join(tmpdir(), "svc-server-package-"));
try {
  const [{ filename, files }] = JSON.parse(run("npm", ["pack", "--json", "--silent", "--pack-destination", folder]));
  const tarball = join(folder, filename);
  const kilobytes = Math.round(statSync(tarball).size / 1024);
  assert.ok(kilobytes <= 1024, `the package has ${kilobytes} kB; at most 1 MB`);
  for (const needed of [
    "LICENSE",
    "README.md",
    "schema/0001_service.sql",
    "dist/LICENSES.txt",
    "dist/lib/painting.js",
  ]) {
    assert.ok(
      files.some(({ path }) => path === needed),
      `${needed} is missing in the package`,
    );
  }
  run(process.execPath, ["node_modules/publint/src/cli.js", tarball, "--strict"], { stdio: "inherit" });
  run("npx", ["attw", tarball, "--profile", "esm-only"], { stdio: "inherit" });

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
  console.log(`the package is right: ${kilobytes} kB, ${files.length} files`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function start(home) {
  const server = spawn(resolve(home, "node_modules/.bin/svc-server"), ["dev", "--json", "--port", "0"], {
    cwd: home,
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: server.stdout })) {
    const { event, base_url, api_key } = JSON.parse(line);
    if (event !== "listening") continue;
    const answer = await fetch(`${base_url}/me`, { headers: { authorization: `Bearer ${api_key}` } });
    assert.equal(answer.status, 200);
    server.kill("SIGTERM");
  }
  const code = server.exitCode ?? (await new Promise((done) => server.once("exit", done)));
  assert.equal(code, 0, `svc-server dev ended with ${code}`);
}
