import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { documentedOperations } from "../../bin/call-fields.ts";
import { createTools } from "../../bin/mcp-tools.ts";
import { createService } from "../../lib/index.ts";
import { createTestService } from "../../lib/testing.ts";
import { runHere } from "../helpers/cli-in-process.ts";
import { within } from "../helpers/cli-refusals.ts";
import { withSnapshots } from "../helpers/engine.ts";
import { program, run, temporaryFolder } from "../helpers/program.ts";

/** The official client, which starts `svc-server mcp` as an editor does. */
async function editor(t: TestContext, env: Readonly<Record<string, string>>, mode: "legacy" | "auto" = "auto") {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  const home = temporaryFolder(t);
  const stdout = join(home, "stdout");
  const transport = new StdioClientTransport({
    command: "sh",
    // The client skips lines that are not JSON, so stdout is kept too.
    args: ["-c", '"$0" "$1" mcp | tee "$2"', process.execPath, program, stdout],
    env: { ...env, XDG_CONFIG_HOME: home, APPDATA: home },
    stderr: "pipe",
  });
  const broken: Error[] = [];
  client.onerror = (error) => broken.push(error);
  await client.connect(transport);
  t.after(() => client.close());
  /** The text of a tool's answer, and whether it is an error. */
  const call = async (name: string, input: Record<string, unknown> = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: input });
    const [{ text } = { text: "" }] = content as { text: string }[];
    return { text, isError: isError === true };
  };
  const answer = async (name: string, input?: Record<string, unknown>) => {
    const { text, isError } = await call(name, input);
    assert.equal(isError, false, text);
    return JSON.parse(text);
  };
  const lines = () => readFileSync(stdout, "utf8").trimEnd().split("\n");
  return { client, call, answer, broken, lines };
}

const source = { type: "git", repo: "acme/web", tag: "v1.4.2" };

test("an editor makes a project and a deployment, moves the clock, and reads how it went", withSnapshots, async (t) => {
  const service = await createTestService(t);
  const { url } = await service.listen();
  const { client, call, answer, broken, lines } = await editor(t, { SVC_URL: url, SVC_API_KEY: service.apiKey });
  assert.match(client.getInstructions() ?? "", new RegExp(url));
  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === "deployments_create"));

  const project = await answer("projects_create", { name: "web", region: "eu-west-1" });
  const order = { project_id: project.id, environment: "production", source };
  const { id, status } = await answer("deployments_create", order);
  assert.equal(status, "queued");
  const { ran } = await answer("clock_advance", { by: "10s" });
  assert.ok(ran > 0);
  assert.equal((await answer("deployments_get", { id })).status, "active");
  assert.equal((await answer("deployments_list", { project_id: project.id, per_page: 1 })).data[0].id, id);
  assert.equal((await call("projects_delete", { id: project.id })).text, "Done.");

  const wrong = await call("projects_create", { name: "x", region: "eu-west-1" });
  assert.equal(wrong.isError, true);
  assert.match(wrong.text, /^name must have 3 to 64 characters \(validation_failed, req_\w+\)$/);
  assert.match((await call("deployments_get", { id: "dep_none" })).text, /not_found/);
  assert.match((await call("deployments_get")).text, /deployments\.get needs id/);
  await assert.rejects(client.callTool({ name: "deployments_destroy", arguments: {} }), /no tool is called/);

  await answer("scenarios_add", { match: { branch: "main" }, outcome: { result: "fail", message: "npm ERR!" } });
  assert.equal((await answer("scenarios_list")).data.length, 1);
  await answer("scenarios_clear");
  assert.deepEqual((await answer("inbox_set", { name: "shop", responses: [500] })).responses, [500]);
  const fork = await answer("forks_create", { muted: true });
  assert.equal((await answer("forks_list")).data[0].url, fork.url);
  assert.match((await call("forks_remove", {})).text, /forks remove needs id/);
  assert.deepEqual((await answer("forks_remove", { id: fork.id })).data, []);

  await service.close();
  const lost = await call("projects_archive", { id: project.id });
  assert.deepEqual([lost.isError, /cannot be reached; is the server running there\?/.test(lost.text)], [true, true]);
  assert.deepEqual(broken, []);
  assert.ok(lines().every((line) => JSON.parse(line).jsonrpc === "2.0"));
});

test("a client of the protocol of 2025 is served too, and a refused key is a sentence", async (t) => {
  const service = await createTestService(t);
  const { url } = await service.listen();
  const { call } = await editor(t, { SVC_URL: url, SVC_API_KEY: "sk_live_wrong" }, "legacy");
  const { text, isError } = await call("me_get");
  assert.equal(isError, true);
  assert.match(text, /unauthorized.*\n.*SVC_API_KEY was refused/);
});

test("every operation is a tool with one plain schema, and marks what it does", async (t) => {
  const dev = await createTestService(t);
  const start = await createService({ mode: "start", database: ":memory:", logLevel: "silent" });
  t.after(() => start.close());
  const listed = async ({ url }: { url: string }) => {
    const tools = createTools({ _: [], url });
    return within({ SVC_API_KEY: "sk_live_demo_owner" }, () => tools.list());
  };
  const tools = await listed(await dev.listen());
  const names = tools.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  for (const { name, inputSchema } of tools) {
    assert.match(name, /^[a-z_-]{1,64}$/);
    assert.equal(inputSchema.type, "object", name);
    assert.doesNotMatch(JSON.stringify(inputSchema), /\$ref/, name);
    for (const key of ["allOf", "anyOf", "oneOf"]) assert.ok(!(key in inputSchema), name);
  }
  const operations = await listed(await start.listen());
  const documented = documentedOperations().map(({ id }) => id.replace(".", "_"));
  assert.deepEqual(
    documented.filter((name) => !operations.some((tool) => tool.name === name)),
    ["events_stream", "openapi_get"],
  );
  assert.ok(
    operations.every(({ name }) => documented.includes(name)),
    "without a control interface, no instruments",
  );
  assert.ok(["clock_advance", "forks_create", "inbox_list", "scenarios_add"].every((name) => names.includes(name)));
  assert.ok(
    (await listed({ url: "http://127.0.0.1:1" })).length === tools.length,
    "it may be an emulator, once it runs",
  );

  const marked = (mark: "readOnlyHint" | "destructiveHint") =>
    tools.flatMap(({ name, annotations }) => (annotations?.[mark] ? [name] : []));
  assert.ok(
    marked("readOnlyHint").every((name) => /_(list|get|logs|runs|deliver(y|ies)|usage|show|settings)$/.test(name)),
  );
  assert.deepEqual(
    marked("destructiveHint").filter((name) => !/_(delete|remove|clear|update|put|set|revoke)$/.test(name)),
    [
      ...["projects_archive", "environments_restart", "deployments_rollback", "deployments_cancel", "users_suspend"],
      ...["generations_cancel", "snapshots_restore", "reset"],
    ],
  );
});

test("without the package, the command says how to install it", async (t) => {
  const home = temporaryFolder(t);
  const hook = `export function resolve(name, context, next) {
      if (name.startsWith("@modelcontextprotocol/")) throw new Error("Cannot find package");
      return next(name, context);
    }`;
  const module = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`;
  const register = `import { register } from "node:module"; register(${JSON.stringify(module(hook))});`;
  const words = ["--import", module(register), program, "mcp"];
  assert.throws(
    () => execFileSync(process.execPath, words, { encoding: "utf8", stdio: "pipe", cwd: home, timeout: 60_000 }),
    {
      status: 1,
      stdout: "",
      stderr:
        'svc-server: svc-server mcp needs the package @modelcontextprotocol/server. Run "npm install @modelcontextprotocol/server".\n',
    },
  );
  const refused = await runHere(["mcp", "--url", "ftp://x"], home);
  assert.deepEqual([refused.status, /option --url must be an http or https URL/.test(refused.stderr)], [2, true]);
  const badKey = run(["mcp"], home, { SVC_API_KEY: "bad key", input: "" });
  assert.deepEqual([badKey.status, /SVC_API_KEY/.test(badKey.stderr)], [2, true]);
});

test("a client that sends too long a message, or reads no answers, ends the command with a sentence", async (t) => {
  const env = { SVC_URL: "http://127.0.0.1:1", SVC_API_KEY: "sk_live_any", XDG_CONFIG_HOME: temporaryFolder(t) };
  /** What the command prints to stderr until it ends with the code 1. Its stdin stays open, as an editor leaves it. */
  const failing = async (written: string, { reads = true } = {}) => {
    const child = spawn(process.execPath, [program, "mcp"], { env: { ...process.env, ...env } });
    t.after(() => void child.kill("SIGKILL"));
    let errors = "";
    child.stderr.on("data", (chunk) => {
      errors += chunk;
    });
    if (!reads) child.stdout.destroy();
    // The command ends before it has read all of a long message.
    child.stdin.on("error", () => {});
    child.stdin.write(written);
    assert.deepEqual(await once(child, "close"), [1, null], errors);
    return errors;
  };
  assert.match(
    await failing("x".repeat(20_000_000)),
    /^svc-server: the client sent a message of more than 10 MiB, so the server stops$/m,
  );
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const first = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  assert.match(
    await failing(`${first}\n`, { reads: false }),
    /^svc-server: the client no longer reads stdout, so the server stops$/m,
  );

  const ended = run(["mcp"], undefined, { ...env, input: "" });
  assert.deepEqual([ended.status, ended.stdout, ended.stderr], [0, "", ""]);
});
