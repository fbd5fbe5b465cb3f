import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { main } from "../../bin/commands.ts";
import { candidates } from "../../bin/completion.ts";
import { runHere } from "../helpers/cli-in-process.ts";
import { refuses, userFolder } from "../helpers/cli-refusals.ts";
import { withSnapshots } from "../helpers/engine.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";

/** An emulator, and the program in an empty folder, for a user without profiles. */
async function desk(t: TestContext, mode: readonly string[] = ["dev", "--seed", "demo", "--clock", "manual"]) {
  const server = await launch(t, [...mode, "--port", "0"]);
  const home = temporaryFolder(t);
  const env = { SVC_URL: server.url, SVC_API_KEY: server.api_key ?? "", XDG_CONFIG_HOME: home, APPDATA: home };
  const run = (...words: string[]) => runHere(words, home, env);
  /** The record that a command prints with --json. */
  const answer = async (...words: string[]) => {
    const { status, stdout, stderr } = await run(...words, "--json");
    assert.deepEqual([status, stderr], [0, ""], words.join(" "));
    return JSON.parse(stdout);
  };
  return { server, home, env, run, answer };
}

test("scenarios are added, listed and removed, and decide how work ends", async (t) => {
  const { run, answer } = await desk(t);
  const bad = await answer("scenarios", "add", "match.branch=bad", "outcome.result=fail", "--times", "1");
  assert.deepEqual([bad.match, bad.outcome, bad.times], [{ branch: "bad" }, { result: "fail" }, 1]);
  await answer("scenarios", "add", "next=generation", 'outcome={"result":"fail","message":"no"}');
  assert.equal((await answer("scenarios", "list")).data.length, 2);
  assert.match(
    (await run("scenarios", "list")).stdout,
    /^ID +MATCH +NEXT +OUTCOME +TIMES +USED\nscn_\w+ +\{"branch":"bad"\}/,
  );
  const { id } = await answer("call", "generations.create", "model=x", "prompt=a lake");
  await answer("clock", "advance", "1m");
  assert.equal((await answer("call", "generations.get", id)).error.message, "no");
  assert.equal((await answer("scenarios", "remove", bad.id)).data.length, 1);
  assert.deepEqual(await answer("scenarios", "clear"), { data: [] });
  assert.equal((await run("scenarios", "list")).stdout, "The list is empty.\n");
});

test("without a word after them, the commands list", withSnapshots, async (t) => {
  const { run, answer } = await desk(t);
  for (const name of ["inbox", "scenarios", "faults", "snapshots"])
    assert.equal((await run(name)).stdout, "The list is empty.\n", name);
  const { id } = await answer("scenarios", "add", "outcome.result=fail");
  assert.equal((await answer("scenarios")).data[0].id, id);
  for (const name of ["inbox", "scenarios", "faults"])
    assert.equal((await run(name, "clear")).stdout, "The list is empty.\n", name);
});

test("faults are added, listed and removed, and answer calls", async (t) => {
  const { run, answer } = await desk(t);
  const fault = await answer("faults", "add", "match.path=/v1/projects", "respond.status=500", "times=1");
  assert.deepEqual(fault.respond, { status: 500 });
  const refused = await run("call", "projects.list");
  assert.deepEqual([refused.status, /internal_error/.test(refused.stderr)], [1, true]);
  assert.equal((await answer("faults", "list")).data[0].used, 1);
  assert.deepEqual(await answer("faults", "remove", fault.id), { data: [] });
  await answer("faults", "add", "respond.drop=true");
  assert.deepEqual(await answer("faults", "clear"), { data: [] });
});

test("the inbox answers as it was set, and shows what it caught", async (t) => {
  const { run, answer } = await desk(t);
  assert.deepEqual((await answer("inbox", "set", "shop", 'responses=[500,{"drop":true}]')).responses, [
    500,
    { drop: true },
  ]);
  assert.deepEqual((await answer("inbox", "set", "Shop", "responses=500,200")).responses, [500, 200]);
  await answer("call", "webhooks.create", "url=https://shop.inbox.test/in", "events=project.created");
  await answer("call", "projects.create", "name=api", "region=eu-west-1");
  await answer("clock", "advance", "1h");
  const caught = (await answer("inbox", "list", "--endpoint", "shop")).data;
  assert.deepEqual(
    caught.map(({ response }: { response: unknown }) => response),
    [500, 200],
  );
  assert.match(
    (await run("inbox", "list")).stdout,
    /^RECEIVED_AT +ENDPOINT +BODY +RESPONSE\n\S+ +shop +\{"event":"project.created".* 500\n/,
  );
  assert.deepEqual((await answer("inbox", "list", "endpoint=none")).data, []);
  await answer("inbox", "set", "shop", "--forward", "http://127.0.0.1:9/hooks");
  assert.equal((await answer("inbox", "settings")).data[0].forward, "http://127.0.0.1:9/hooks");
  await answer("inbox", "set", "shop", "forward=null");
  assert.deepEqual((await answer("inbox", "settings")).data, []);
  assert.deepEqual((await answer("inbox", "clear")).data, []);
});

test("snapshots have names, and are listed and removed", withSnapshots, async (t) => {
  const { run, answer } = await desk(t);
  const { stdout } = await run("snapshots", "create", "--name", "before = 1");
  const id = stdout.trim();
  assert.deepEqual(
    (await answer("snapshots", "list")).data.map((one: { id: string; name: string }) => [one.id, one.name]),
    [[id, "before = 1"]],
  );
  assert.deepEqual((await answer("snapshots", "remove", id)).data, []);
});

test("mail asks a running emulator, by its address or beside a database", async (t) => {
  const { server, run, answer, home, env } = await desk(t);
  assert.equal((await run("mail")).stdout, "No e-mail has been sent yet.\n");
  await answer("call", "users.invite", "email=bob@acme.test", "role=viewer");
  assert.equal((await answer("mail"))[0].to, "bob@acme.test");
  assert.match((await run("mail")).stdout, / {2}To: bob@acme\.test {2}\S/);
  const both = await run("mail", "--url", server.url, "--database", "svc-data");
  assert.deepEqual(
    [both.status, /give a database or the address of an emulator, not both/.test(both.stderr)],
    [2, true],
  );
  const named = await runHere(["mail", "--database", "none.db"], home, env);
  assert.deepEqual([named.status, /none\.db cannot be used: it does not exist/.test(named.stderr)], [1, true]);
});

test("mail beside a server without a control interface names the database", async (t) => {
  const { server, run } = await desk(t, ["start", "--database", `${temporaryFolder(t)}/svc.db`]);
  for (const words of [["mail"], ["mail", "--url", server.url]]) {
    const { status, stderr } = await run(...words);
    assert.equal(status, 1);
    assert.match(
      stderr,
      /has no control interface.*\. Its mails are in its database: svc-server mail --database PATH$/m,
    );
  }
});

test("what is wrong is said with what would be right, before anything is sent", async (t) => {
  const here = userFolder(t);
  await refuses(here, 2, [
    [["inbox", "lst"], /no command is called inbox lst; did you mean inbox list\?/],
    [["faults", "--endpoint", "a"], /unknown option --endpoint/],
    [["scenarios", "ad"], /no command is called scenarios ad; did you mean scenarios add\?/],
    [
      ["scenarios", "add"],
      /scenarios add needs outcome: svc-server scenarios add match\.branch=main outcome\.result=fail/,
    ],
    [["scenarios", "add", "outcome.reslt=fail"], /scenarios add has no field outcome\.reslt; did you mean result\?/],
    [["scenarios", "add", "bad"], /"bad" is not a field; use name=value/],
    [["scenarios", "add", "--time", "2"], /unknown option --time; did you mean --times\?/],
    [["scenarios", "add", "outcome.result=fail", "times=many"], /times must be an integer, not "many"/],
    [["scenarios", "remove"], /scenarios remove needs the argument ID/],
    [["scenarios", "remove", ".."], /scenarios remove needs id: svc-server scenarios remove ID/],
    [["scenarios", "list", "all"], /unexpected word "all"/],
    [["faults", "add", "times=2"], /faults add needs respond: svc-server faults add match\.method=POST/],
    [["inbox", "set"], /inbox set needs the argument NAME/],
    [["inbox", "set", "shop", "responses=[500"], /responses must be an array, not "\[500"/],
    [["snapshots", "create", "--name"], /option --name needs a value/],
    [["snapshots", "create", "--nam", "a"], /unknown option --nam; did you mean --name\?/],
  ]);
  await refuses(here, 1, [
    [["faults", "list"], /cannot be reached; is the server running there\?/, { SVC_URL: "http://127.0.0.1:2" }],
  ]);
  const { run } = await desk(t);
  for (const [words, sentence] of [
    [["scenarios", "remove", "scn_none"], /no scenario has this identifier/],
    [["faults", "add", "respond.status=200"], /respond\.status must be a whole number from 400 to 599/],
    [["inbox", "set", "shop"], /give either "responses" or "forward", not both/],
    [["inbox", "set", "shop", "forward=http://example.com"], /forward must be an http or https URL on this machine/],
  ] as const) {
    const { status, stderr } = await run(...words);
    assert.deepEqual([status, sentence.test(stderr)], [1, true], stderr);
  }
});

test("a hosted service has none of them, and says so", async (t) => {
  const { run } = await desk(t, ["start", "--database", `${temporaryFolder(t)}/svc.db`]);
  for (const words of [
    ["inbox", "list"],
    ["scenarios", "clear"],
    ["faults", "remove", "x"],
    ["snapshots", "list"],
    ["mail"],
  ]) {
    const { status, stderr } = await run(...words);
    assert.equal(status, 1, words.join(" "));
    assert.match(stderr, /has no control interface.*; svc-server dev has one/);
  }
});

test("help and completion know the fields of a command", async () => {
  const { stdout } = await runHere(["scenarios", "add", "--help"]);
  assert.match(stdout, /FIELDS\n\n(.*\n)* {2}outcome\.result +\S*succeed/);
  const { list: known = {} } = main;
  assert.deepEqual(await candidates(["scenarios", "add", "outcome.a"], known), ["outcome.at="]);
  assert.deepEqual(await candidates(["scenarios", "add", "outcome.result=f"], known), ["outcome.result=fail"]);
  assert.deepEqual(await candidates(["faults", "cl"], known), ["clear"]);
  assert.deepEqual(await candidates(["snapshots", "create", "--n"], known), ["--name"]);
});
