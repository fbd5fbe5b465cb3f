import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { argumentsOf, type CommandOptions, commandDriver } from "../../lib/drivers/generation/command.ts";
import { conforms, finish, work } from "../helpers/generation-driver.ts";
import { pixel, startBackend } from "../helpers/openai-backend.ts";
import { folderOf } from "../helpers/temporary-store.ts";

/** A program that runs this text, with the output's path and then the prompt as arguments. */
const script = (text: string): string[] => [process.execPath, "-e", text, "{output}", "{prompt}"];
const [write, output] = ["require('fs').writeFileSync", "process.argv[1]"];
const picture = `Buffer.from('${pixel.toString("base64")}', 'base64')`;
const paints = `${write}(${output}, ${picture})`;

const driverOf = (text: string, more: Partial<CommandOptions> = {}) =>
  commandDriver({ command: script(text), env: {}, timeout_ms: 60_000, ...more });
const messageOf = async (text: string, more?: Partial<CommandOptions>) => {
  const ended = await finish(driverOf(text, more), work());
  return ended.state === "failed" ? ended.message : ended.state;
};

conforms("command", async () => driverOf(paints));

test("The file that the program writes is the result, and its folder goes with it", async (t) => {
  const place = join(folderOf(t), "place");
  const driver = driverOf(`${paints}; ${write}('${place}', process.cwd())`);
  const ended = await finish(driver, work());
  assert.deepEqual(ended.state === "done" && Buffer.from(ended.bytes), pixel);
  assert.ok(!existsSync(readFileSync(place, "utf8")));
});

test("Each placeholder is replaced once, and no shell reads the prompt", async (t) => {
  const marker = join(folderOf(t), "marker");
  const prompt = `"; touch ${marker} $(touch ${marker}) {output} {seed}`;
  const args = argumentsOf(["{prompt}", "{width}x{height}", "{seed}", "{seconds}", "{other}"], work({ prompt }), "/o");
  assert.deepEqual(args, [prompt, "32x32", "0", "0", "{other}"]);
  const ended = await finish(driverOf(paints), work({ prompt }));
  assert.equal(ended.state, "done");
  assert.ok(!existsSync(marker));
});

test("A prompt that looks like an option or a file of options is none, and a NUL ends no argument", () => {
  for (const prompt of ["--steps=999", "-o/etc/passwd", "@/etc/passwd"])
    assert.deepEqual(argumentsOf(["{prompt}"], work({ prompt }), "/o"), [` ${prompt}`]);
  assert.deepEqual(argumentsOf(["{prompt}"], work({ prompt: "a\0b" }), "/o"), ["a b"]);
});

test("The program has none of the service's variables, and its own appear in no message", async () => {
  const driver = commandDriver(
    {
      command: script("console.error(JSON.stringify(process.env)); process.exit(3)"),
      env: { TOKEN: "hf_demo_token" },
      timeout_ms: 60_000,
    },
    { PATH: process.env["PATH"], SVC_ENCRYPTION_KEY: "the key of the service" },
  );
  const ended = await finish(driver, work());
  const message = ended.state === "failed" ? ended.message : "";
  assert.match(message, /^the command ended with 3: .*"TOKEN":"\[redacted\]"/);
  assert.doesNotMatch(message, /hf_demo_token|key of the service/);
});

const bad: readonly (readonly [name: string, text: string, message: RegExp])[] = [
  ["writes no file", "0", /ended without a file at \{output\}$/],
  ["writes text", `${write}(${output}, 'hello')`, /command's file is not a picture/],
  ["writes half a picture", `${write}(${output}, ${picture}.subarray(0, 50))`, /ends in the middle/],
  ["writes a link", `require('fs').symlinkSync('/etc/passwd', ${output})`, /wrote a link at \{output\}/],
  ["makes a folder", `require('fs').mkdirSync(${output})`, /something else than a file/],
  ["writes elsewhere", `${write}(process.cwd() + '/elsewhere.png', ${picture})`, /ended without a file/],
  ["fails", "console.error('first'); console.error('out of memory'); process.exit(1)", /ended with 1: out of memory$/],
  ["kills itself", "process.kill(process.pid, 'SIGKILL')", /ended by SIGKILL/],
  ["writes too much", `require('fs').truncateSync(${output}, 0)`, /ended with 1/],
];
for (const [name, text, message] of bad)
  test(`A command that ${name} fails with a sentence`, async () => assert.match(await messageOf(text), message));

test("A program that is not there is named", async () => {
  assert.match(await messageOf("", { command: ["no-such-program"] }), /no-such-program cannot be started/);
});

test("A file above the limit is not read", async () => {
  const large = `const fd = require('fs').openSync(${output}, 'w'); require('fs').ftruncateSync(fd, 33 * 1024 * 1024)`;
  assert.match(await messageOf(large), /34603008 bytes; at most 33554432 are allowed/);
});

test("A command that prints 1 GB is read to its end, and nothing of it is kept", async () => {
  const before = process.memoryUsage().rss;
  const text = `const block = Buffer.alloc(1 << 20, 65); for (let i = 0; i < 1024; i++) require('fs').writeSync(1, block); ${paints}`;
  const piped = text.replace(
    "require('fs').writeSync(1, block)",
    "while (true) { try { require('fs').writeSync(1, block); break } catch {} }",
  );
  assert.equal(await messageOf(piped), "done");
  assert.ok(process.memoryUsage().rss - before < 256 * 1024 * 1024);
});

test("A command that never ends and ignores TERM is killed at its limit, with its children", async (t) => {
  const pids = join(folderOf(t), "pids");
  const text = `process.on('SIGTERM', () => {}); const child = require('child_process').spawn('sleep', ['1000']); ${write}('${pids}', process.pid + ' ' + child.pid); setInterval(() => {}, 1000)`;
  assert.match(await messageOf(text, { timeout_ms: 1500 }), /did not end within .*, and was killed$/);
  for (const pid of readFileSync(pids, "utf8").split(" "))
    assert.ok(!existsSync(`/proc/${pid}/cmdline`) || isGone(pid));
});
const isGone = (pid: string) => readFileSync(`/proc/${pid}/stat`, "latin1").includes(") Z ");

/** Starts a program that never ends. After two requests it is running, and its output was read. */
async function started(t: TestContext) {
  let asked = () => {};
  const twice = new Promise<void>((resolve) => {
    let requests = 0;
    asked = () => void (++requests === 2 && resolve());
  });
  const { url } = await startBackend(t, (response) => response.end(asked()));
  const ask = `await fetch('${url}')`;
  const text = `process.stdout.write('step 8/20', async () => { ${ask}; ${ask}; setInterval(() => {}, 1000) })`;
  const driver = driverOf(text);
  const answer = driver.submit(work()).catch((error: Error) => error.message);
  t.after(() => driver.close?.());
  await twice;
  return { driver, answer };
}

test("Progress is what the program printed last; a cancel kills it", async (t) => {
  const { driver, answer } = await started(t);
  assert.equal(driver.progressOf?.(work()), 0.4);
  await driver.cancel(work(), null);
  assert.equal(await answer, "the command was interrupted");
});

test("What a crash of the service has left of a run is killed before the program runs again", async (t) => {
  const order = work({ generation_id: "gen_01ARZ3NDEKTSV4RRFFQ69G5LEF" });
  const folder = join(tmpdir(), `svc-${order.generation_id}`);
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(folder);
  const left = spawn("sleep", ["1000"], { cwd: folder, detached: true, stdio: "ignore" });
  await once(left, "spawn");
  const ended = once(left, "exit");
  assert.equal((await finish(driverOf(paints), order)).state, "done");
  assert.deepEqual(await ended, [null, "SIGKILL"]);
});

test("A shutdown kills it, and is no failure of the generation", async (t) => {
  const { driver, answer } = await started(t);
  await driver.close?.();
  assert.equal(await answer, "the command was interrupted");
});
