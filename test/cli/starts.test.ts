import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { groups } from "../../bin/commands.ts";
import { hasSnapshots } from "../helpers/engine.ts";
import { launch, program, stream, temporaryFolder } from "../helpers/program.ts";

interface Start {
  readonly words: readonly string[];
  readonly says: RegExp;
  readonly code?: number;
  readonly input?: string;
}

/** Each command with what it prints; `code` is 0 if it is not given. Those that run until a signal are below. */
const starts = (folder: string): Readonly<Record<string, readonly Start[]>> => {
  const database = join(folder, "svc-data");
  const copy = join(folder, "copy.db");
  return {
    exec: [{ words: ["--seed", "demo", "--", "node", "-p", "process.env.SVC_URL"], says: /^http:\/\/127\.0\.0\.1:/m }],
    deploy: [{ words: [join(folder, "none")], says: /none/, code: 2 }],
    call: [{ words: ["projects.list"], says: /^proj_/m }],
    users: [{ words: ["list"], says: /^usr_/m }],
    deployments: [{ words: ["logs", "dep_none"], says: /not_found/, code: 1 }],
    logs: [{ words: ["web"], says: /nothing|printed|simulated/ }],
    env: [{ words: ["list", "--project", "web"], says: /=/ }],
    clock: [{ words: ["show"], says: /^2026-01-01T00:00:00\.000Z/ }],
    trigger: [{ words: ["project.created"], says: /project\.created/ }],
    inbox: [{ words: ["list", "--json"], says: /\[/ }],
    scenarios: [{ words: ["list", "--json"], says: /\[/ }],
    faults: [{ words: ["list", "--json"], says: /\[/ }],
    snapshots: [{ words: ["create"], ...(hasSnapshots ? { says: /snap_/ } : noSnapshots) }],
    reset: [{ words: [], ...(hasSnapshots ? { says: /2026-01-01/ } : noSnapshots) }],
    openapi: [{ words: [], says: /"openapi": ?"3\.1/ }],
    login: [{ words: ["--profile", "shop"], says: /shop/, input: "sk_live_demo_owner\n" }],
    seed: [{ words: ["demo", "--database", database], says: /svc-data/ }],
    keys: [
      { words: ["create", "--database", database], says: /^sk_live_\w{32,}\n$/ },
      { words: ["list", "--database", database, "--json"], says: /key_/ },
    ],
    backup: [{ words: [copy, "--database", database], says: /copy\.db/ }],
    restore: [{ words: [copy, "--database", join(folder, "restored")], says: /restored/ }],
    migrate: [{ words: ["--database", join(folder, "empty")], says: /empty/ }],
    copy: [{ words: ["--from", database, "--to", database], says: /copy/, code: 2 }],
    doctor: [{ words: ["--database", join(folder, "none"), "--port", "0"], says: /^ok +node /m }],
    completion: [{ words: ["bash"], says: /complete -/ }],
    mail: [{ words: ["--json"], says: /\[/ }],
    mcp: [{ words: [], says: /"serverInfo"/, input: `${JSON.stringify(hello)}\n` }],
    verify: [{ words: [], says: /differ/ }],
  };
};
const noSnapshots = { says: /PostgreSQL database has no snapshots/, code: 1 };
const hello = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};
const untilSignal = ["dev", "start", "listen", "record"];

test("every command starts as a program", async (t) => {
  const folder = temporaryFolder(t);
  const emulator = await launch(t, ["dev", "--port", "0", "--seed", "demo", "--clock", "manual@2026-01-01T00:00:00Z"]);
  const env = { ...process.env, HOME: folder, SVC_URL: emulator.url, SVC_API_KEY: "sk_live_demo_owner" };
  const commands = starts(folder);
  assert.deepEqual(
    [...Object.keys(commands), ...untilSignal].sort(),
    Object.values(groups).flatMap(Object.keys).sort(),
    "every command is named here",
  );
  for (const [name, runs] of Object.entries(commands)) {
    for (const { words, says, code = 0, input = "" } of runs) {
      await t.test(name, async () => {
        const child = spawn(process.execPath, [program, name, ...words], { cwd: folder, env });
        child.stdin.end(input);
        const [stdout, stderr, [status]] = await Promise.all([
          text(child.stdout),
          text(child.stderr),
          once(child, "exit"),
        ]);
        assert.equal(status, code, stdout + stderr);
        assert.match(code === 0 && stdout !== "" ? stdout : stderr, says);
      });
    }
  }
  await t.test("start", async (t) => {
    const server = await launch(t, ["start", "--port", "0", "--database", join(folder, "started")]);
    assert.equal((await server.get("/v1/me")).status, 200);
    assert.equal((await server.stop()).code, 0);
  });
  for (const [name, words] of [
    ["listen", ["--forward-to", "http://127.0.0.1:9/in"]],
    ["record", ["--port", "0", "--upstream", emulator.url, "--out", join(folder, "recording")]],
  ] as const) {
    await t.test(name, async (t) => {
      const { lines, warned, stop, ended } = stream(t, [name, ...words], env);
      assert.match(await Promise.race([lines.next().then(({ value }) => String(value)), warned]), /127\.0\.0\.1/);
      stop("SIGTERM");
      const { code, errors } = await ended;
      assert.equal(code, 0, errors);
    });
  }
  assert.equal((await emulator.stop()).code, 0);
});
