import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { groups, main } from "../../bin/commands.ts";
import type { Command, Listed, Listing } from "../../bin/define-command.ts";
import { runHere } from "../helpers/cli-in-process.ts";
import { launch, program, run as spawned, stream, temporaryFolder } from "../helpers/program.ts";

const loaded = async ({ load }: Listed): Promise<Command> => (typeof load === "function" ? load() : load);

/** Every command by its full name, those that consist of others too. */
async function allCommands(list: Listing, above = ""): Promise<[name: string, listed: Listed][]> {
  const found = Object.entries(list).map(async ([word, listed]) => {
    const { list: below = {} } = await loaded(listed);
    return [[above + word, listed] as [string, Listed], ...(await allCommands(below, `${above}${word} `))];
  });
  return (await Promise.all(found)).flat();
}

const commands = allCommands(main.list ?? {});
const demo = join(process.cwd(), "fixtures/demo.json");

test("the help has a line of at most 72 characters for each command, in five groups", async () => {
  const { stdout } = await runHere(["--help"]);
  assert.deepEqual(stdout.match(/^\w+$/gm), ["Run", "Use", "Emulate", "Operate", "Tools"]);
  for (const name of Object.values(groups).flatMap(Object.keys))
    assert.match(stdout, new RegExp(`^ {2}${name} +[A-Z].{10,}$`, "m"));
  assert.ok(stdout.split("\n").length < 50, "it fits a screen");
  const lists = [
    stdout,
    ...(await Promise.all(["clock", "keys", "inbox"].map(async (name) => (await runHere([name, "--help"])).stdout))),
  ];
  for (const line of lists.flatMap((text) => text.match(/^ {2}[a-z]\S* {2,}.*$/gm) ?? []))
    assert.ok(line.length <= 72, line);
});

test("the help of a command says what it does, in lines of 80 characters, with an example", async () => {
  for (const [name, { summary, example }] of await commands) {
    const { status, stdout } = await runHere([...name.split(" "), "--help"]);
    assert.equal(status, 0, name);
    assert.ok(stdout.replaceAll(/\s+/g, " ").startsWith(`${summary}.`), name);
    assert.ok(stdout.includes(`\nEXAMPLE\n\n  ${example}\n`), name);
    assert.ok(example.startsWith(`svc-server ${name.replace(/^clock show$/, "clock").split(" ", 1)[0]}`), example);
    // The tables of fields and operations are as wide as they are.
    const [text = ""] = stdout.split(/^(?:FIELDS|OPERATIONS)$/m);
    const long = text.split("\n").filter((line) => [...line].length > 80 && line.trim() !== example);
    if (name !== "users") assert.deepEqual(long, [], name);
  }
});

const wordsOf = (example: string) =>
  (example.match(/(?:'[^']*'|[^\s'])+/g) ?? []).slice(1).map((word) => word.replaceAll("'", ""));
const exampleOf = async (name: string) => wordsOf((await commands).find(([one]) => one === name)?.[1].example ?? "");

/** Commands that run until they are stopped, with the first line that they print. */
const running: Readonly<Record<string, RegExp>> = {
  listen: /^Forwarding to http:\/\/localhost:3000\/webhooks, signed with whsec_/,
  record: /^Recording /,
};
/** Examples that need more than this test has, with what they say without it. */
const lacking: Readonly<Record<string, RegExp>> = {
  deploy: /this service hosts no repositories: it has no runtime/,
  copy: /127\.0\.0\.1.*cannot be (used|reached)|ECONNREFUSED/,
};
/** Commands that make what `ID` stands for, and print its identifier. */
const makers: Readonly<Record<string, readonly string[]>> = {
  "deployments logs": ["call", "deployments.list", "--field", "id"],
  "scenarios remove": ["scenarios", "add", "match.branch=none", "outcome.result=fail"],
  "faults remove": ["faults", "add", "match.path=/v1/none", "respond.status=500"],
  "snapshots restore": ["snapshots", "create"],
  "snapshots remove": ["snapshots", "create"],
  "keys revoke": ["keys", "list"],
};

/** A folder with the files that the examples name, an emulator, and a database `./svc-data`. */
async function desk(t: TestContext) {
  const folder = temporaryFolder(t);
  const file = (name: string, text: string) => writeFileSync(join(folder, name), text);
  file("package.json", JSON.stringify({ scripts: { test: "node -e 0" } }));
  file("key.txt", "sk_live_demo_owner");
  file(".env", "PORT=8080\n");
  file("new.key", randomBytes(32).toString("base64"));
  file("scenarios.json", '[{"outcome":{"result":"fail"}}]');
  copyFileSync(demo, join(folder, "seed.json"));
  mkdirSync(join(folder, "hello"));
  file("hello/index.html", "Hello");
  const { url } = await launch(t, [...(await exampleOf("dev")), "--port", "0"], folder);
  await (await launch(t, [...(await exampleOf("start")), "--port", "0"], folder)).stop();
  const home = { XDG_CONFIG_HOME: folder, APPDATA: folder };
  return { folder, url, env: { SVC_URL: url, SVC_API_KEY: "sk_live_demo_owner", SVC_PORT: "0", ...home } };
}

test("every example works as it is written", { timeout: 120_000 }, async (t) => {
  const { folder, url, env } = await desk(t);
  const here = (words: readonly string[]) => runHere(words, folder, env);
  await here(["trigger", "deployment.succeeded"]);
  const done = new Set(["dev", "start"]);
  for (const [name, { example }] of await commands) {
    const [, maker] = Object.entries(makers).find(([one]) => example.startsWith(`svc-server ${one} ID`)) ?? [];
    const id = maker && /\b[a-z]+_[0-9A-Z]+\b/.exec((await here(maker)).stdout)?.[0];
    const words = wordsOf(
      example
        .replace(/ [<>] .*/, "")
        .replace("https://svc.example.com", url)
        .replace("http://127.0.0.1:7400", url)
        .replace("@127.0.0.1/", "@127.0.0.1:1/")
        .replace(/\bID\b/, String(id))
        .replace("NAME", "shop"),
    );
    const written = words.join(" ");
    if (done.has(written) || done.has(name)) continue;
    done.add(written);
    if (running[name]) {
      const more = name === "record" ? ["--port", "0", "--out", join(folder, "recording")] : [];
      const { lines, stop, ended } = stream(t, [...words, ...more], env);
      assert.match(String((await lines.next()).value), running[name], example);
      stop("SIGTERM");
      await ended;
      continue;
    }
    const file = /< (\S+)/.exec(example)?.[1];
    const input = { input: file === undefined ? "" : readFileSync(join(folder, file), "utf8") };
    const { status, stdout, stderr } = ["exec", "login", "mcp"].includes(name)
      ? spawned(words, folder, { ...env, ...(name !== "exec" && input) })
      : await here(words);
    const expected = lacking[name];
    if (expected) assert.match(stderr, expected, example);
    else assert.equal(status, 0, `${example}: ${stdout}${stderr}`);
  }
});

const withoutTerminal =
  process.platform !== "linux" || spawnSync("script", ["--version"]).status !== 0 ? "there is no `script`" : false;

test("the help has colour on a terminal, and none under NO_COLOR", { skip: withoutTerminal }, () => {
  const onTerminal = (env: Readonly<Record<string, string>>) =>
    spawnSync("script", ["-qec", `"${process.execPath}" "${program}" clock --help`, "/dev/null"], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"], TERM: "xterm-256color", ...env },
    }).stdout.replaceAll("\r", "");
  const [colored, plain] = [onTerminal({}), onTerminal({ NO_COLOR: "1" })];
  assert.ok(colored.includes("\u001b[1mUSAGE\u001b[22m svc-server clock COMMAND"), colored);
  assert.equal(stripVTControlCharacters(colored), plain);
});
