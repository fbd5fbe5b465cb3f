// The part of `npm run check:package` that runs recipes with what they are for: test runners, frameworks, and the rules of
// typescript-eslint.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const run = (command, args, options = {}) =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], timeout: 120_000, ...options });
const install = (home, ...packages) => run("npm", ["install", "--prefix", home, "--no-save", "--silent", ...packages]);
const bin = (home, name) => join(home, "node_modules/.bin", name);
const copy = (home, ...names) => {
  for (const name of names) cpSync(`fixtures/recipes/${name}`, join(home, name));
};

/** The code's timers and the service in one time, in Vitest and Jest, which are installed already. */
export function timers(home) {
  copy(home, "timers-vitest.test.mjs", "timers-jest.test.mjs");
  run(bin(home, "vitest"), ["run", "--dir", ".", "timers-vitest"], { cwd: home });
  const env = { ...process.env, NODE_OPTIONS: "--experimental-vm-modules --no-warnings" };
  run(bin(home, "jest"), ["--testMatch", "**/timers-jest.test.mjs"], { cwd: home, env });
}

/** What svc-server record writes, in each test runner, with its fake timers and without them. */
export async function recordings(home) {
  const { createService } = await import(pathToFileURL(join(home, "node_modules/svc-server/dist/lib/index.js")).href);
  const service = await createService({ clock: "manual" });
  const upstream = (await service.listen({ port: 0 })).url;
  const headers = { authorization: `Bearer ${service.apiKey}`, "content-type": "application/json" };
  const folder = join(home, "recordings");
  const env = { ...process.env, NODE_OPTIONS: "--experimental-vm-modules --no-warnings" };
  const runs = {
    "node:test": (file) => run(process.execPath, ["--test", file], { cwd: home }),
    Vitest: (file) => run(bin(home, "vitest"), ["run", file], { cwd: home }),
    Jest: (file) => run(bin(home, "jest"), ["--testMatch", file], { cwd: home, env }),
  };
  for (const [i, name] of Object.keys(runs).entries())
    for (const timers of [[], ["--timers"]]) {
      const out = join(folder, `${i}${timers.length}`);
      const words = [
        "record",
        "--upstream",
        upstream,
        "--out",
        out,
        "--port",
        "0",
        "--json",
        "--test",
        name,
        ...timers,
      ];
      const recorder = spawn(bin(home, "svc-server"), words, { stdio: ["ignore", "pipe", "inherit"] });
      const [line] = await once(createInterface({ input: recorder.stdout }), "line");
      const { base_url } = JSON.parse(line);
      const call = async (method, path, body) => {
        const response = await fetch(`${base_url}${path}`, { method, headers, body: body && JSON.stringify(body) });
        assert.ok(response.ok, `${method} ${path} answered ${response.status}`);
        return response.json();
      };
      const { id: project_id } = await call("POST", "/projects", {
        name: `web-${i}${timers.length}`,
        region: "eu-west-1",
      });
      const source = { type: "git", repo: "acme/web" };
      const { id } = await call("POST", "/deployments", { project_id, environment: "production", source });
      await service.clock.advance("6s");
      await call("GET", `/deployments/${id}`);
      recorder.kill("SIGINT");
      await once(recorder, "exit");
      runs[name](join(out, "recorded.test.mjs"));
    }
  await service.close();
}

/** The receiver of the documentation, and the service below a path, with the real frameworks. */
export async function frameworks(home) {
  install(home, "express@5.2.1", "hono@4", "@hono/node-server@1", "fastify@5");
  const names = ["receiver-express.mjs", "mount-express.mjs", "mount-hono.mjs", "mount-fastify.mjs", "mount-next.mjs"];
  copy(home, ...names);
  for (const name of names.slice(0, -1)) run(process.execPath, [name], { cwd: home });
  // Next.js calls a route handler with a Request and sends its Response, so it is called here without Next.js.
  const { GET, POST } = await import(pathToFileURL(join(home, "mount-next.mjs")).href);
  const headers = { authorization: "Bearer sk_live_demo_owner", "content-type": "application/json" };
  const at = (path) => `http://localhost:3000/svc/v1/${path}`;
  const body = JSON.stringify({ name: "web", region: "eu-west-1" });
  const made = await POST(new Request(at("projects"), { method: "POST", headers, body }));
  assert.ok(made instanceof Response);
  assert.match(made.headers.get("location"), /^\/svc\/v1\/projects\/proj_/);
  const got = await GET(new Request(new URL(made.headers.get("location"), at("")), { headers }));
  assert.equal((await got.json()).name, "web");
  await (await globalThis.svc).close();
}

/** The rules of typescript-eslint that find wrong tests pass over every recipe, with the types of the package. */
export function lint(home) {
  install(home, "eslint@9", "typescript-eslint@8", "typescript@5.9.3", "@types/node@20");
  const folder = join(home, "lint");
  mkdirSync(folder);
  for (const name of readdirSync("fixtures/recipes"))
    if (name.endsWith(".ts") && name !== "receivers.ts") cpSync(`fixtures/recipes/${name}`, join(folder, name));
  const options = { strict: true, module: "nodenext", target: "es2022", noEmit: true, types: ["node"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options }));
  writeFileSync(
    join(home, "eslint.config.mjs"),
    `import { configs } from "typescript-eslint";
    const strict = configs.strictTypeCheckedOnly.flatMap(({ rules = {} }) => Object.entries(rules));
    const wanted = /no-floating-promises|unbound-method|restrict-template-expressions/;
    export default [
      {
        ...configs.base,
        files: ["lint/*.ts"],
        languageOptions: { ...configs.base.languageOptions, parserOptions: { project: "lint/tsconfig.json" } },
        rules: {
          ...Object.fromEntries(strict.filter(([name]) => wanted.test(name))),
          // node:test waits for the tests itself, as the documentation of this rule says.
          "@typescript-eslint/no-floating-promises": [
            "error",
            { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: ["test", "before", "after"] }] },
          ],
        },
      },
    ];`,
  );
  run(bin(home, "eslint"), ["--max-warnings", "0", "lint"], { cwd: home, stdio: "inherit" });
}
