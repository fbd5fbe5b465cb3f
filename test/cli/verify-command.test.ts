import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { launch, stream, temporaryFolder } from "../helpers/program.ts";

const key = "sk_live_demo_owner";

/** Runs the command until it exits. */
async function verify(t: TestContext, url: string, words: readonly string[] = [], env: Record<string, string> = {}) {
  const home = temporaryFolder(t);
  const nobody = { SVC_API_KEY: "", XDG_CONFIG_HOME: home, APPDATA: home };
  const { lines, ended } = stream(t, ["verify", "--url", url, ...words], { ...nobody, ...env });
  const said: string[] = [];
  for (let line = await lines.next(); !line.done; line = await lines.next()) said.push(line.value);
  return { ...(await ended), said: said.join("\n") };
}

/** A server that answers everything in one way. */
async function serverOf(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  t.after(() => void server.close().closeAllConnections());
  await new Promise((resolve) => server.once("listening", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("the command tries an emulator, writes JUnit, and ends with 0", async (t) => {
  const server = await launch(t, ["dev", "--port", "0", "--seed", "demo"]);
  const junit = join(temporaryFolder(t), "verify.xml");
  const { code, said, errors } = await verify(t, `${server.url}/v1/`, ["--junit", junit], { SVC_API_KEY: key });
  assert.deepEqual([code, errors], [0, ""]);
  assert.match(said, /^RESULT +REQUEST +SENTENCE/);
  assert.match(said, /holds +req_\w{26} +Projects: A project has id, name, region/);
  assert.match(said, /\d+ hold, 0 differ, \d+ could not be tried, \d+ need --write$/);
  assert.match(readFileSync(junit, "utf8"), /<testsuite name="http:.*" tests="\d+" failures="0" skipped="\d+">/);
  const { said: json } = await verify(t, server.url, ["--json", "--key", key]);
  assert.ok(JSON.parse(json).every(({ result }: { result: string }) => ["holds", "untried"].includes(result)));

  // A viewer's key can read; the writes that it may not make stay untried.
  const viewer = await verify(t, server.url, ["--write", "--json"], { SVC_API_KEY: "sk_live_demo_viewer" });
  assert.deepEqual([viewer.code, viewer.errors], [0, ""]);
  assert.match(viewer.said, /the key may not POST \/projects \(403\)/);
});

test("without an API key, the trial says which sentences need one", async (t) => {
  const server = await launch(t, ["dev", "--port", "0", "--seed", "demo"]);
  const { code, said, errors } = await verify(t, server.url);
  assert.deepEqual([code, errors], [0, ""]);
  assert.match(said, /holds .*A missing key yields 401 on every endpoint that reads/);
  assert.match(said, /not tried .*it needs an API key of the server: set SVC_API_KEY, or give it with --key/);
  assert.match(said, /[1-9]\d* hold, 0 differ/);
});

test("a trial that cannot say anything of the server ends with a sentence", async (t) => {
  const server = await launch(t, ["dev", "--port", "0", "--seed", "demo"]);
  const wrong = await verify(t, server.url, ["--key", "sk_live_wrong_key"]);
  assert.deepEqual([wrong.code, wrong.said], [1, ""]);
  assert.match(wrong.errors, /\/v1 refuses the API key \(401\); it is unknown, revoked or expired there/);
  const none = await verify(t, server.url, ["--write"]);
  assert.equal(none.code, 2);
  assert.match(none.errors, /option --write needs an API key of the server: set SVC_API_KEY, or give it with --key/);
  const file = join(temporaryFolder(t), "no", "verify.xml");
  assert.equal((await verify(t, server.url, ["--junit", file, "--key", key])).code, 2);
  assert.ok(!existsSync(file));

  const elsewhere = await serverOf(t, (_, answer) => void answer.writeHead(308, { location: server.url }).end());
  const moved = await verify(t, elsewhere, ["--key", key]);
  assert.equal(moved.code, 1);
  assert.match(moved.errors, /redirects to http:.*; give the address that answers itself as --url/);

  const limited = await serverOf(t, (_, answer) => void answer.writeHead(429, { "retry-after": "600" }).end("{}"));
  const late = await verify(t, limited, ["--key", key]);
  assert.equal(late.code, 1);
  assert.match(late.errors, /no sentence could be tried: the key has used up its requests; try again in ten minutes/);

  const { code, errors } = await verify(t, "http://127.0.0.1:9", ["--key", key]);
  assert.equal(code, 1);
  assert.match(errors, /no server answers at http:\/\/127\.0\.0\.1:9\/v1/);
});
