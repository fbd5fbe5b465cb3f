import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { compiled } from "./helpers/bundle.ts";
import { withSnapshots } from "./helpers/engine.ts";
import { inShell, withoutShell } from "./helpers/in-shell.ts";
import { launch, run, temporaryFolder } from "./helpers/program.ts";
import { noSandbox } from "./helpers/running-apps.ts";

const execute = promisify(execFile);
const { NODE_TEST_CONTEXT: _, ...env } = process.env;

/** The names of all recipes, so that a missing one fails. */
const recipes = [
  "client",
  "delivery-orders",
  "deployment",
  "driver",
  "failed-build",
  "failed-generation",
  "faults",
  "forked-tests",
  "forks",
  "generation",
  "inbox",
  "mails",
  "polling",
  "receivers",
  "retries",
  "scenarios",
  "timers",
  "webhook-consumer",
  "worlds",
];

test("every recipe runs as it is written", { concurrency: availableParallelism() }, async (t) => {
  const files = readdirSync("fixtures/recipes").filter((file) => file.endsWith(".ts"));
  assert.deepEqual(
    files.sort(),
    recipes.map((name) => `${name}.ts`),
  );
  // tsconfig.json maps "svc-server" to these sources.
  const child = compiled("test/recipe.child.js");
  // As many processes as can run in parallel. The error of a failed process ends with the recipe that it ran.
  const count = Math.min(availableParallelism(), 4);
  const skipped = withSnapshots.skip ? ["delivery-orders", "forked-tests", "forks", "worlds"] : [];
  for (const name of skipped) void t.test(name, withSnapshots);
  // Last in its process, because its timers are fake while others would run.
  const run = [...recipes.filter((name) => !skipped.includes(name) && name !== "timers"), "timers"];
  const groups = Array.from({ length: count }, (_, i) => run.filter((_, at) => at % count === i));
  const runs = groups.map((names) =>
    t.test(names.join(", "), async () => {
      const { stderr } = await execute(process.execPath, [child, ...names], { env });
      for (const name of names) assert.ok(stderr.includes(`recipe ${name}\n`), `${name} ran`);
    }),
  );
  await Promise.all(runs);
});

const readme = "README.md";
const [commands, apps] = ["schema/commands.md", "fixtures/hosting/apps.md"];
const textOf = (page: string) => readFileSync(page, "utf8");
/** The lines of a page's block. */
const linesOf = (page: string, name: string): string[] => {
  const [, block = ""] = new RegExp(`<!-- shell ${name} -->\\n\`\`\`sh\\n([\\s\\S]*?)\`\`\``).exec(textOf(page)) ?? [];
  assert.ok(block, `${page} has the lines for ${name}`);
  return block.trim().split("\n");
};

/** Runs lines of a page against an emulator started as in the README; returns their output. */
async function said(t: Parameters<typeof launch>[0], page: string, name: string): Promise<string> {
  const { start } = JSON.parse(readFileSync("package.json", "utf8")).scripts;
  const [, words = ""] = start.split("bin/svc-server.ts ");
  const line = `npx svc-server ${words} --clock manual   # in the clone: npm start -- --clock manual`;
  assert.ok(textOf(readme).includes(`\n${line}\n`), line);
  const { url } = await launch(t, [...words.split(" "), "--clock", "manual", "--port", "0"]);
  const lines = linesOf(page, name).join("\n").replaceAll("http://127.0.0.1:7400", url);
  return inShell(temporaryFolder(t), lines);
}

test("four commands deploy a first app", { skip: noSandbox }, async (t) => {
  const [, words = ""] = /```sh\nnpx svc-server (dev .*--runtime.*)\n/.exec(textOf(apps)) ?? [];
  const folder = temporaryFolder(t);
  const ports = ["--port", "0", "--apps-port", "0"];
  const { url, apps_url } = await launch(t, [...words.split(" "), ...ports], folder);
  const { port } = new URL(apps_url ?? "");
  const lines = linesOf(apps, "apps").join("\n").replaceAll(":8080", `:${port}`);
  const printed = await inShell(folder, lines, { SVC_URL: url });
  assert.match(printed, /Hello from my first app\n$/);
});

test("the README's lines for the emulator show three tries and a picture", { skip: withoutShell }, async (t) => {
  const printed = await said(t, readme, "emulator");
  const tries = [...printed.matchAll(/"endpoint":"shop".*?"x-service-attempt":"(\d)".*?"response":(\d+)/g)];
  assert.deepEqual(
    tries.map(([, attempt, response]) => `${attempt}: ${response}`),
    ["1: 500", "2: 500", "3: 200"],
  );
  const [picture] = /http:\S+\/assets\/gen_\w+\.png[^"]+/.exec(printed) ?? [];
  assert.equal((await fetch(picture ?? "")).headers.get("content-type"), "image/png");
});

test("the README's session in a shell prints what it shows", { skip: withoutShell }, async (t) => {
  const [, session = ""] = /<!-- session shell -->\n```console\n([\s\S]*?)```/.exec(textOf(readme)) ?? [];
  const typed = (line: string) => /^[$>] (.*)/.exec(line)?.[1];
  const lines = session.trimEnd().split("\n");
  const [shell = "", ...rest] = lines.flatMap((line) => typed(line) ?? []);
  const script = `${shell} -e <<'END'\n${rest.join("\n")}\nEND`;
  const printed = await inShell(temporaryFolder(t), script);
  assert.equal(printed, `${lines.filter((line) => typed(line) === undefined).join("\n")}\n`);
});

test("the commands of the page of commands work", { skip: withoutShell }, async (t) => {
  const printed = await said(t, commands, "commands");
  for (const word of ["proj_", "wh_", "inv_", "source.repo"]) assert.ok(printed.includes(word), `${word}: ${printed}`);
});

test("the README's lines for hosting work, beside the server that they start", async (t) => {
  const folder = temporaryFolder(t);
  for (const line of [...linesOf(readme, "hosting"), ...linesOf(readme, "beside")]) {
    const words = line.replace(/ +#.*/, "").split(" ").slice(2);
    if (words[0] === "start") {
      await launch(t, [...words, "--port", "0"], folder);
      continue;
    }
    const { status, stdout, stderr } = run(words, folder, { SVC_PORT: "0" });
    assert.equal(status, 0, `${line}\n${stdout}${stderr}`);
  }
  const made = ["copy.db", "copy.db.key", "svc-data", "svc-data.key"];
  for (const name of made) assert.ok(readdirSync(resolve(folder)).includes(name), `${name} is there`);
});
