import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { documentedOperations, inputOf } from "../../bin/call-fields.ts";
import { operationHelp } from "../../bin/operation-help.ts";
import { operations } from "../../lib/composition/operations.ts";
import { runHere as run } from "../helpers/cli-in-process.ts";
import { launch, run as spawned, stream, temporaryFolder } from "../helpers/program.ts";

const demo = resolve("fixtures/demo.json");
const words = ["dev", "--port", "0", "--seed", demo, "--clock", "manual@2026-01-01T00:00:00Z"];

/** A server, and the program with its owner's key. The program sees no profiles of this machine. */
async function desk(t: TestContext) {
  const server = await launch(t, words);
  const home = temporaryFolder(t);
  const nobody = { SVC_URL: server.url, XDG_CONFIG_HOME: home, APPDATA: home };
  const env = { ...nobody, SVC_API_KEY: server.api_key ?? "" };
  const call = (...given: string[]) => run(["call", ...given], home, env);
  const answer = async (...given: string[]) => {
    const { status, stdout, stderr } = await call(...given, "--json");
    assert.equal(status, 0, stderr);
    return JSON.parse(stdout);
  };
  const advance = (by: string) =>
    fetch(`${server.url}/_svc/clock/advance`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ by }),
    });
  return { server, home, nobody, env, call, answer, advance };
}

test("any operation is called by its name, with fields in the types of its schema", async (t) => {
  const { call, answer, home, env } = await desk(t);
  const project = await answer("projects.create", "name=4242", "region=eu-west-1", "description=null");
  assert.deepEqual([project.name, project.description], ["4242", null]);
  assert.equal((await answer("projects.list", "per_page=1")).data.length, 1);
  const deployment = await answer(
    ...["deployments.create", `project_id=${project.id}`, "environment=production"],
    ...["source.type=git", "source.repo=acme/web", "source.tag=v1.4.2"],
  );
  assert.deepEqual([deployment.status, deployment.source.tag], ["queued", "v1.4.2"]);
  const url = "url=https://hook.inbox.test/";
  assert.deepEqual((await answer("webhooks.create", url, "events=project.created,user.invited")).events.length, 2);
  assert.deepEqual((await answer("webhooks.create", url, "events[]=project.created", "events[]=*")).events.length, 2);
  const config = ["config.repo=acme/web", "config.branch=main", "config.environment=production"];
  assert.equal((await answer("integrations.create", "type=code_host", ...config)).config.branch, "main");
  writeFileSync(join(home, "body.json"), '{"name":"from-file","region":"eu-west-1"}');
  assert.equal((await answer("projects.create", "body=@body.json", "name=from-both")).name, "from-both");
  assert.equal((await answer("projects.get", project.id)).name, "4242", "an identifier needs no name");
  const placed = await answer("environments.put", project.id, "production", "variables.PORT=8080");
  assert.deepEqual(placed.variables, { PORT: "8080" });
  assert.equal(await answer("projects.delete", `id=${project.id}`), null);
  const people = await call("users.list");
  assert.match(people.stdout, /^ID +NAME +EMAIL +ROLE +STATUS +JOINED_AT\n/);
  assert.match((await call("me.get")).stdout, /^organization +\{/);
  assert.equal((await run(["users"], home, env)).stdout, people.stdout);
  const invited = await run(["users", "invite", "email=grace@example.com", "role=viewer", "--json"], home, env);
  assert.equal(JSON.parse(invited.stdout).role, "viewer");
  assert.match((await run(["users", "lst"], home, env)).stderr, /did you mean users\.list\?/);
});

test("a wrong name ends with 2 and suggests the nearest right name; a refused call ends with 1", async (t) => {
  const { call, home, nobody, env } = await desk(t);
  const cases: [string[], number, RegExp][] = [
    [["projects.lst"], 2, /no operation is called "projects\.lst"; did you mean projects\.list\?/],
    [["projects.create", "nmae=web"], 2, /projects\.create has no field nmae; did you mean name\?/],
    [
      ["users.frobnicate"],
      2,
      /no operation is called "users\.frobnicate"; the operations are users\.list, (users\.\w+(, )?)+\n/,
    ],
    [["integrations.create", "type=chat"], 1, /config\.webhook_url is required/],
    [["projects.create", "name=x", "region=a b"], 1, /^svc-server: 2 fields are wrong \(validation_failed, req_/],
    [["projects.get"], 2, /projects\.get needs id/],
    [["projects.create", "name=x", "region=a b"], 1, /\n {2}name must have 3 to 64 characters\n {2}region must be/],
  ];
  for (const [given, code, sentence] of cases) {
    const { status, stderr, stdout } = await call(...given);
    assert.equal(status, code, `${given.join(" ")}: ${stderr}`);
    assert.match(stderr, sentence);
    assert.equal(stdout, "");
  }
  const wrong = await run(["call", "me.get"], home, { ...nobody, SVC_API_KEY: "sk_live_wrong_key" });
  assert.match(wrong.stderr, /\(unauthorized.*\n {2}SVC_API_KEY was refused: it is wrong, revoked/);
  assert.ok(!wrong.stderr.includes("wrong_key"));
  const login = spawned(["login"], home, { ...nobody, input: "sk_live_wrong_key\n" });
  assert.match(login.stderr, /\(unauthorized.*\n {2}the key on stdin was refused/);
  const none = await run(["call", "me.get"], home, nobody);
  assert.match(none.stderr, /\(unauthorized.*\n {2}Set SVC_API_KEY, or save a key with: svc-server login/);
  const secure = await run(["call", "me.get", "--url", String(env.SVC_URL).replace("http:", "https:")], home, env);
  assert.match(secure.stderr, /cannot be reached; it does not speak TLS: try http:/);
  const down = await run(["call", "me.get", "--url", "http://127.0.0.1:2"], home, env);
  assert.deepEqual([down.status, /cannot be reached; is the server running/.test(down.stderr)], [1, true]);
});

test("fields that are wrong, each with what would be right", () => {
  const typed = (id: string, ...words: string[]) => {
    const operation = documentedOperations().find((one) => one.id === id);
    assert.ok(operation);
    return inputOf(operation, words);
  };
  const cases: [string, string, RegExp][] = [
    ["projects.create", "colour=red", /no field colour; its fields are name, region, description/],
    ["deployments.create", "source.rep=acme/web", /no field source\.rep; did you mean repo\?/],
    ["me.get", "foo=1", /me\.get has no field foo; it takes no fields/],
    ["projects.create", "name", /"name" is not a field; use name=value/],
    ["projects.create", "__proto__.a=1", /is not the name of a field/],
    ["projects.create", "a..b=1", /is not the name of a field|no field/],
    ["projects.create", "body=@none.json", /none\.json cannot be read as JSON/],
    ["generations.create", `extra=${'{"a":'.repeat(40)}1${"}".repeat(40)}`, /extra must not be nested deeper than 32/],
    ["projects.list", "per_page=many", /per_page must be an integer, not "many"/],
  ];
  for (const [id, word, sentence] of cases) assert.throws(() => typed(id, word), sentence, word);
  assert.deepEqual(typed("projects.create", "description=", "name=null"), { description: "", name: "null" });
  assert.deepEqual(typed("webhooks.create", "events=", "secret=null"), { events: [], secret: null });
  assert.deepEqual(typed("generations.create", "seed=7", "prompt=a=b", 'extra={"a":1}'), {
    ...{ seed: 7, prompt: "a=b", extra: { a: 1 } },
  });
});

test("an operation's help names its fields, and its example is right; that of call names every operation", async () => {
  const { stdout, status } = await run(["call", "deployments.create", "--help"]);
  assert.equal(status, 0);
  for (const line of [
    /^Deploy a Git repository or a container image into an environment\.\n/,
    /^ {2}project_id +required {2}string +The project to deploy into\.$/m,
    /^\n {2}source, git:\n {2}source\.type +required {2}git .*\n {2}source\.repo +required {2}string .*\n {2}source\.branch +string\|null /m,
    /^\n {2}source, image:\n {2}source\.type +required {2}image .*\n {2}source\.image_url +required {2}string /m,
  ])
    assert.match(stdout, line);
  assert.match(
    operationHelp("integrations.create"),
    /\n\n {2}config, chat:\n {2}config\.webhook_url +required .*\n\n/s,
  );
  assert.match(operationHelp("integrations.update"), /^ {2}status +active\|inactive .*\n\n {2}config, code_host:$/m);
  for (const operation of documentedOperations()) {
    const [, usage = ""] = /^USAGE svc-server call (.*)$/m.exec(operationHelp(operation.id)) ?? [];
    const words = usage.match(/(?:[^ ']|'[^']*')+/g)?.map((word) => word.replaceAll("'", "")) ?? [];
    assert.equal(words.shift(), operation.id);
    const path = Object.fromEntries(operation.path.map((name) => [name, "…"]));
    assert.deepEqual(inputOf(operation, words), { ...path, ...operation.example });
  }
  const wrong = await run(["call", "projects.lst", "--help"]);
  assert.deepEqual([wrong.status, wrong.stdout], [2, ""]);
  assert.match(wrong.stderr, /no operation is called "projects\.lst"; did you mean projects\.list\?/);
  const all = (await run(["call", "--help"])).stdout;
  for (const { id, summary } of operations) assert.ok(all.includes(id) && all.includes(summary), id);
});

test("login keeps a key that this user alone can read, and gives it to its own service alone", async (t) => {
  const { server, home, nobody } = await desk(t);
  const key = server.api_key ?? "";
  const login = spawned(["login", "--profile", "demo"], home, { ...nobody, input: `${key}\n` });
  assert.equal(login.status, 0, login.stderr);
  assert.ok(!(login.stdout + login.stderr).includes(key));
  const file = join(home, "svc-server", "profiles.json");
  if (process.platform !== "win32") assert.equal(statSync(file).mode & 0o777, 0o600);
  const elsewhere = { ...nobody, SVC_URL: "http://127.0.0.1:1" };
  const asked = await run(["call", "me.get", "--profile", "demo", "--json"], home, elsewhere);
  assert.equal(JSON.parse(asked.stdout).user.role, "owner");
  for (const more of [{}, { SVC_API_KEY: "sk_live_demo_other" }])
    assert.equal((await run(["call", "me.get"], home, { ...elsewhere, ...more, SVC_PROFILE: "demo" })).status, 0);
  const named = spawned(["login"], home, { ...nobody, SVC_PROFILE: "new", input: key });
  assert.match(named.stdout, /^Saved the profile new: /, named.stderr);
  const common = { ...nobody, SVC_PROFILE: "" };
  assert.match(spawned(["login"], home, { ...common, input: key }).stdout, /^Saved the profile default: /);
  assert.equal((await run(["call", "me.get"], home, { ...common, SVC_URL: "" })).status, 0, "the last resort");
  assert.notEqual((await run(["call", "me.get"], home, { ...common, SVC_API_KEY: "sk_live_demo_other" })).status, 0);
  const profiles = (await run(["complete", "--", "call", "me.get", "--profile", ""], home, nobody)).stdout;
  assert.deepEqual(profiles.trim().split("\n").sort(), ["default", "demo", "new"]);
  assert.match((await run(["call", "me.get", "--profile", "dmo"], home, nobody)).stderr, /no profile "dmo"/);
  const other = await launch(t, words);
  const foreign = await run(["call", "me.get", "--profile", "demo", "--url", other.url], home, nobody);
  assert.match(foreign.stderr, /unauthorized/, "another service is not shown the key");
  assert.notEqual(spawned(["login"], home, { ...nobody, input: "sk_live_wrong_key" }).status, 0);
  assert.ok(!readFileSync(file, "utf8").includes("wrong_key"));
});

test("login stopped with Ctrl+C says so, ends with 1, and stores nothing", async (t) => {
  const home = temporaryFolder(t);
  const mute = createServer(() => {}).listen(0, "127.0.0.1");
  t.after(() => mute.close());
  await once(mute, "listening");
  const { port } = mute.address() as AddressInfo;
  const nobody = { SVC_URL: `http://127.0.0.1:${port}`, XDG_CONFIG_HOME: home, APPDATA: home };
  const { stop, ended } = stream(t, ["login"], { ...nobody, input: "sk_live_demo_mine\n" });
  await once(mute, "request");
  stop("SIGINT");
  assert.deepEqual(await ended, { code: 1, errors: "\nsvc-server: login was stopped; no key was saved\n" });
  assert.deepEqual(readdirSync(home), []);
});

test("a log is printed, and followed to its end", async (t) => {
  const { env, home, answer, advance } = await desk(t);
  const [project] = (await answer("projects.list")).data;
  const source = ["source.type=git", "source.repo=acme/web", "source.tag=v1.4.2"];
  const { id } = await answer("deployments.create", `project_id=${project.id}`, "environment=production", ...source);
  const { lines } = stream(t, ["deployments", "logs", id, "--follow", "--json"], env);
  await advance("10s");
  const followed = [];
  for (let line = await lines.next(); !line.done; line = await lines.next()) followed.push(JSON.parse(line.value));
  assert.deepEqual(followed, (await answer("deployments.logs", `id=${id}`)).data);
  const printed = (await run(["deployments", "logs", id], home, env)).stdout.trim().split("\n");
  assert.equal(printed.length, followed.length);
  assert.match(printed[0] ?? "", /^2026-01-01T\S+ {2}info {3}/);
});

test("openapi prints the document, and completion what may stand next", async () => {
  const printed = spawned(["openapi", "--envelope", "full"]);
  assert.ok(printed.stdout === readFileSync("schema/openapi-full.json", "utf8"), "whole, through a pipe");
  assert.equal((await run(["openapi", "--envelope", "round"])).status, 2);
  const complete = async (...given: string[]) => (await run(["complete", "--", ...given])).stdout.trim().split("\n");
  assert.deepEqual(await complete("dep"), ["deploy", "deployments"]);
  assert.deepEqual(await complete("backup", "--fo"), ["--force"]);
  assert.deepEqual(
    await complete("call", "projects."),
    operations.map(({ id }) => id).filter((id) => id.startsWith("projects.")),
  );
  assert.deepEqual(await complete("call", "projects.create", "n"), ["name="]);
  assert.deepEqual(await complete("keys", ""), ["create", "list", "revoke", "rotate-encryption"]);
  assert.deepEqual(await complete("call", "deployments.create", "source.t"), ["source.type=", "source.tag="]);
  assert.deepEqual(await complete("users", "invite", "role=o"), ["role=owner"]);
  assert.deepEqual(await complete("users", "invite", "role", "=", "o"), ["owner"], "as bash parts the words");
  assert.deepEqual(await complete("trigger", "deployment.f"), ["deployment.failed"]);
  assert.deepEqual(await complete("clock", "advance", "--t"), ["--to"]);
  assert.deepEqual([await complete("--se"), await complete("dev", "--se")], [["--seed"], ["--seed", "--send"]]);
  assert.deepEqual(await complete("exec", "--", "npm", ""), [""], "the words of another program");
  for (const shell of ["bash", "zsh", "fish"])
    assert.match((await run(["completion", shell])).stdout, /svc-server complete/);
  assert.equal((await run(["completion", "cmd"])).status, 2);
});

test("a log followed until Ctrl+C ends with 0 and the lines so far", async (t) => {
  const { answer, env } = await desk(t);
  const { id } = await answer("projects.create", "name=followed", "region=eu-west-1");
  const deployment = await answer(
    ...["deployments.create", `project_id=${id}`, "environment=production"],
    ...["source.type=git", "source.repo=acme/web", "source.tag=v1.4.2"],
  );
  const { lines, stop, ended } = stream(t, ["deployments", "logs", deployment.id, "--follow"], env);
  assert.match((await lines.next()).value, /queued|Queued/);
  stop("SIGINT");
  assert.deepEqual(await ended, { code: 0, errors: "" });
});
