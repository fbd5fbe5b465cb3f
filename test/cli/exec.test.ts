import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { run, stream, temporaryFolder } from "../helpers/program.ts";

/** A command that runs this script. */
const node = (script: string) => ["--", process.execPath, "--input-type=module", "-e", script];

test("exec runs a command beside an emulator, with its address and key, and ends with the command's code", (t) => {
  const home = temporaryFolder(t);
  const script = `
    const { SVC_URL, SVC_API_KEY, SVC_PROFILE, NO_PROXY, no_proxy } = process.env;
    const headers = { authorization: "Bearer " + SVC_API_KEY };
    const { organization } = await (await fetch(SVC_URL + "/v1/me", { headers })).json();
    const clock = await (await fetch(SVC_URL + "/_svc/clock")).json();
    console.log(JSON.stringify([organization.name, clock.mode, SVC_PROFILE ?? null, NO_PROXY, no_proxy, ...process.argv.slice(1)]));
    process.exit(7);`;
  const { status, stdout, stderr } = run(
    ["exec", "--seed", "demo", "--clock", "manual", ...node(script), "--", "--help"],
    home,
    { SVC_PORT: "1", SVC_PROFILE: "mine", SVC_URL: "http://127.0.0.1:1", NO_PROXY: "svc.test", no_proxy: "" },
  );
  const direct = "svc.test,127.0.0.1,localhost";
  const printed = JSON.stringify(["acme", "manual", null, direct, direct, "--help"]);
  assert.deepEqual([status, stdout, stderr], [7, `${printed}\n`, ""]);
});

test("exec makes a key for a database that shows its own no more", (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const script = `
    const headers = { authorization: "Bearer " + process.env.SVC_API_KEY };
    process.exit((await fetch(process.env.SVC_URL + "/v1/me", { headers })).status - 200);`;
  for (let i = 0; i < 2; i++) assert.equal(run(["exec", "--database", database, ...node(script)]).status, 0);
});

test("exec passes signals on, and ends as the command does", { skip: process.platform === "win32" }, async (t) => {
  const kind = `process.on("SIGTERM", () => process.exit(3)); setInterval(() => {}, 1000); console.log("ready");`;
  const unkind = `setInterval(() => {}, 1000); console.log("ready");`;
  const runs = [kind, unkind].map(async (script) => {
    const { lines, stop, ended } = stream(t, ["exec", ...node(script)], {});
    assert.equal((await lines.next()).value, "ready");
    stop("SIGTERM");
    return ended;
  });
  assert.deepEqual(await Promise.all(runs), [
    { code: 3, errors: "" },
    { code: 143, errors: "" },
  ]);
});

test("exec says which command cannot be run, with the codes of a shell", (t) => {
  const home = temporaryFolder(t);
  writeFileSync(join(home, "text"), "");
  const cases: [words: string[], code: number, sentence: RegExp][] = [
    [["exec", "--", "no-such-program"], 127, /^svc-server: no-such-program was not found\n$/],
    ...(process.platform === "win32"
      ? []
      : [[["exec", "--", "./text"], 126, /text cannot be run/] as [string[], number, RegExp]]),
  ];
  for (const [words, code, sentence] of cases) {
    const { status, stderr } = run(words, home);
    assert.equal(status, code, stderr);
    assert.match(stderr, sentence);
  }
});
