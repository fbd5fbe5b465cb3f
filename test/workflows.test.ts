import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { inShell, withoutShell } from "./helpers/in-shell.ts";
import { launch, temporaryFolder } from "./helpers/program.ts";

interface Step {
  readonly uses?: string;
  readonly run?: string;
}
interface Job {
  readonly needs?: string;
  readonly uses?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps?: readonly Step[];
}
const folder = ".github/workflows";
const jobsOf = (file: string): Record<string, Job> => parse(readFileSync(join(folder, file), "utf8")).jobs;
const linesOf = ({ steps = [] }: Job) => steps.flatMap(({ run = [] }) => run);

test("the commands of the workflows are shell, and the files that they name exist", () => {
  for (const file of readdirSync(folder)) {
    for (const job of Object.values(jobsOf(file))) {
      for (const line of linesOf(job)) {
        const shell = line.replaceAll(/\$\{\{.*?\}\}/g, "value");
        const { status, stderr } = spawnSync("bash", ["-n"], { input: shell, encoding: "utf8" });
        assert.deepEqual([status, stderr], [0, ""], line);
        for (const [path] of line.matchAll(/(?<![\w./-])(?:fixtures|\.ci|\.github)\/[\w./-]+/g))
          assert.ok(existsSync(path), `${file} names ${path}`);
      }
      if (job.uses !== undefined) assert.ok(existsSync(job.uses), `${file} names ${job.uses}`);
    }
  }
});

test("a release passes all tests first, and proves where the package comes from", () => {
  assert.deepEqual(linesOf(jobsOf("test.yml")["test"] ?? {}).slice(-1), [".ci/run"]);
  const { package: npm = {}, image = {}, test: tests = {} } = jobsOf("release.yml");
  assert.equal(tests.uses, `./${folder}/test.yml`);
  assert.deepEqual([npm.needs, image.needs], ["test", "package"]);
  assert.equal(npm.permissions?.["id-token"], "write");
  assert.ok(linesOf(npm).includes("npm publish --provenance --access public"));
});

const recipes = "fixtures/recipes";

test("the composite action runs its command beside an emulator, and ends as it does", {
  skip: withoutShell,
}, async (t) => {
  const { inputs, runs } = parse(readFileSync(`${recipes}/action/action.yml`, "utf8"));
  const [{ run, env: given }] = runs.steps;
  assert.deepEqual(
    given,
    Object.fromEntries(Object.keys(inputs).map((name) => [name.toUpperCase(), `\${{ inputs.${name} }}`])),
  );
  const env = { OPTIONS: "--seed demo", VERSION: inputs.version.default };
  const me = 'curl -H "Authorization: Bearer $SVC_API_KEY" "$SVC_URL/v1/me"';
  assert.match(await inShell(temporaryFolder(t), run, { ...env, RUN: me }), /"name":"acme"/);
  await assert.rejects(inShell(temporaryFolder(t), run, { ...env, RUN: "false; true" }), { code: 1 });
});

test("the words for containers start an emulator for the networks of containers", async (t) => {
  const { service } = parse(readFileSync(`${recipes}/github-actions.yml`, "utf8")).jobs;
  const words = service.services.svc.env.SVC_COMMAND.split(" ");
  const [, other = ""] = /command = (\[.*\]);/.exec(readFileSync(`${recipes}/testcontainers.mjs`, "utf8")) ?? [];
  assert.deepEqual(JSON.parse(other), words);
  const server = await launch(t, [...words, "--host", "0.0.0.0", "--port", "0"]);
  assert.equal((await server.get("/v1/me", service.env.SVC_API_KEY)).status, 200);
});

test("recipes that need packages from elsewhere are JavaScript", () => {
  for (const file of readdirSync(recipes).filter((name) => name.endsWith(".mjs"))) {
    const { status, stderr } = spawnSync(process.execPath, ["--check", join(recipes, file)], { encoding: "utf8" });
    assert.deepEqual([status, stderr], [0, ""], file);
  }
});
