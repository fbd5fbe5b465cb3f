import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runHere } from "../helpers/cli-in-process.ts";
import { launch, program, temporaryFolder } from "../helpers/program.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { expect, keyOf } from "../helpers/test-service.ts";

const full = { skip: existsSync("/dev/full") ? false : "this system has no /dev/full" };

/** Runs a command whose output goes to a full disk. */
const toFull = (words: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const command = ["-c", 'exec "$@" >/dev/full', "sh", process.execPath, program, ...words];
  const { status, stderr } = spawnSync("sh", command, { encoding: "utf8", env: { ...process.env, ...env } });
  return { status, stderr };
};

/** Starts a command, and closes its output after the first line. */
async function withoutReader(t: TestContext, words: readonly string[], port: number) {
  const env = { ...process.env, SVC_URL: `http://127.0.0.1:${port}`, SVC_API_KEY: keyOf("owner") };
  const child = spawn(process.execPath, [program, ...words], { env, stdio: ["ignore", "pipe", "pipe"] });
  t.after(() => void child.kill("SIGKILL"));
  const errors = child.stderr.setEncoding("utf8").toArray();
  await once(child.stdout, "data");
  child.stdout.destroy();
  await once(child.stdout, "close");
  return { ended: once(child, "exit").then(async ([code]) => [code, (await errors).join("")]) };
}

test("a server goes on if its log cannot be written", full, async (t) => {
  const within = ["sh", "-c", 'exec "$@" 2>/dev/full', "sh"];
  const database = join(temporaryFolder(t), "svc.db");
  const server = await launch(t, ["start", "--port", "0", "--database", database], undefined, { within });
  for (let i = 0; i < 3; i++) assert.equal((await server.get("/v1/me")).status, 200);
  assert.deepEqual(await server.stop(), { code: 0, rest: ['{"event":"stopped"}'] });
});

test("a server whose address cannot be printed says so in its log, and what to do about the key", full, async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const words = ["start", "--port", "0", "--database", database];
  const command = ["-c", 'exec "$@" >/dev/full', "sh", process.execPath, program, ...words];
  const child = spawn("sh", command, { stdio: ["ignore", "ignore", "pipe"] });
  t.after(() => void child.kill("SIGKILL"));
  let text = "";
  for await (const part of child.stderr.setEncoding("utf8")) {
    text += part;
    if (text.includes("could not be written")) child.kill("SIGTERM");
  }
  assert.match(text, /"level":"error","message":"the output could not be written: ENOSPC.*; the new API key is lost\./);
  assert.ok(text.includes(`Create another with svc-server keys create --database ${database}`));
});

test("output that cannot be written ends with 1 and the reason, and a lost key is named", full, async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  assert.equal((await runHere(["migrate", "--database", database])).status, 0);
  const reason = "svc-server: the output could not be written: ENOSPC: no space left on device, write";
  assert.deepEqual(toFull(["openapi"]), { status: 1, stderr: `${reason}\n` });
  assert.deepEqual(toFull(["--version"]), { status: 1, stderr: `${reason}\n` });
  await launch(t, ["start", "--port", "0", "--database", database]).then((server) => server.stop());
  const made = toFull(["keys", "create", "--database", database]);
  const id = /keys revoke (key_\w+), and create another\n$/.exec(made.stderr)?.[1] ?? "";
  assert.ok(made.stderr.startsWith(`${reason}; the new key is lost. Revoke it with svc-server keys revoke ${id}`));
  assert.equal(made.status, 1);
  assert.equal((await runHere(["keys", "revoke", id, "--database", database])).status, 0);
});

test("an accepted invitation whose key cannot be printed says that it is lost", full, async (t) => {
  const here = await listeningWorld(t);
  await here.call("owner", "POST", "/v1/users/invite", { email: "new@acme.test", role: "viewer" });
  const { token } = expect(await here.call("nobody", "GET", "/_svc/mail"), 200).data[0];
  const words = [program, "call", "invitations.accept", `token=${token}`, "name=New"];
  const env = { ...process.env, SVC_URL: `http://127.0.0.1:${here.port}` };
  const child = spawn("sh", ["-c", 'exec "$@" >/dev/full', "sh", process.execPath, ...words], { env });
  const errors = (await child.stderr.setEncoding("utf8").toArray()).join("");
  assert.match(
    errors,
    /ENOSPC.*; the new key is lost\. An owner or admin .* users\.delete usr_\w+, and invites again\n$/,
  );
});

test("a command that only prints ends quietly with its reader", async (t) => {
  const here = await listeningWorld(t);
  const { id } = await here.deploy((await here.project()).id);
  const log = await withoutReader(t, ["deployments", "logs", id, "--follow"], here.port);
  const heard = await withoutReader(t, ["listen", "--forward-to", "127.0.0.1:9"], here.port);
  await here.service.clock.advance("1m");
  assert.deepEqual(await log.ended, [0, ""]);
  assert.deepEqual(await heard.ended, [0, ""]);
});
