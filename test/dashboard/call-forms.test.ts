import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { commandOf, curlOf, typescriptOf } from "../../lib/dashboard/page/forms/call-forms.ts";
import { callOf, type RecordedCall } from "../../lib/dashboard/page/recorded-call.ts";
import { recordedTest } from "../../lib/dashboard/page/recorder/recorded-test.ts";

const origin = "http://127.0.0.1:7400";
const hostile = '\'; $(id) `id` "$HOME" \\ \u001b[2J\n~ \u202E é';

function call(method: string, path: string, body?: unknown): RecordedCall {
  const found = callOf(method, path, body);
  assert.ok(found, path);
  return found;
}

/** The words and the stdin that a shell makes of a command. */
function inShell(name: string, text: string): { words: string[]; input: string } {
  const { stdout } = spawnSync(
    "sh",
    ["-c", `show() { printf '%s\\0' "$@"; cat; }\nSECRET=hush\n${text.replace(name, "show")}`],
    { encoding: "utf8", input: "" },
  );
  const parts = stdout.split("\0");
  return { words: parts.slice(0, -1), input: parts.at(-1) ?? "" };
}

test("a shell makes of each form what was called, whatever the texts hold", () => {
  const made = call("POST", "/dashboard/api/projects", { name: hostile, region: "eu" });
  const { words } = inShell("curl", curlOf(made, origin));
  assert.deepEqual(words.slice(0, 3), ["-X", "POST", `${origin}/v1/projects`]);
  assert.deepEqual(JSON.parse(words.at(-1) ?? ""), { name: hostile, region: "eu" });
  const command = inShell("svc-server", commandOf(made, origin) ?? "");
  assert.deepEqual(command.words, ["call", "projects.create", "body=@-", "--url", origin]);
  assert.deepEqual(JSON.parse(command.input), { name: hostile, region: "eu" });

  const hook = call("POST", "/dashboard/api/webhooks", { url: "https://a.test/?b=1&c", events: ["*"], secret: "demo" });
  assert.match(inShell("curl", curlOf(hook, origin)).words.at(-1) ?? "", /"secret":"hush"\}$/);
  assert.deepEqual(inShell("svc-server", commandOf(hook, origin) ?? "").words.slice(2, 5), [
    "url=https://a.test/?b=1&c",
    "events=*",
    "secret=hush",
  ]);
  assert.match(typescriptOf(hook, origin), /secret: process\.env\.SECRET \}\)/);

  const read = call("GET", "/dashboard/api/deployments?per_page=50&environment=a%20b");
  assert.deepEqual(inShell("svc-server", commandOf(read, origin) ?? "").words.slice(1, 4), [
    "deployments.list",
    "per_page=50",
    "environment=a b",
  ]);
  assert.match(typescriptOf(read, origin), /list\(\{ per_page: 50, environment: "a b" \}\)/);
});

test("the calls of the control interface have forms too, those of the session none", () => {
  assert.equal(callOf("POST", "/dashboard/session", { key: "sk_live_demo_owner" }), undefined);
  assert.equal(callOf("GET", "/dashboard/api/projects/%ZZ", undefined), undefined);
  const advance = call("POST", "/_svc/clock/advance", { by: "2h" });
  assert.equal(commandOf(advance, origin), `svc-server clock advance 2h --url ${origin}`);
  assert.doesNotMatch(curlOf(advance, origin), /SVC_API_KEY/);
  assert.match(typescriptOf(advance, origin), /await fetch\("http:.*body: JSON\.stringify\(\{ by: "2h" \}\) \}\);/);
  const script = call("PUT", "/_svc/inbox/shop", { responses: Array(1000).fill(500) });
  assert.match(typescriptOf(script, origin), /JSON\.stringify\(\{ responses: Array\(1000\)\.fill\(500\) \}\)/);
  assert.equal(commandOf(call("DELETE", "/_svc/faults"), origin), undefined);
});

test("a recording by several people makes them, and what was there before", () => {
  const actor = {
    organization: "acme",
    plan: "pro",
    user_id: "usr_1",
    name: "Ada",
    email: "a@acme.test",
    role: "admin",
  };
  const ids = ["usr_01KAJK2M00PRXJ000000000000", "whk_1", "proj_01KAJK2M00PRXJ000000000000"] as const;
  const [user, , project] = ids;
  const step = (given: RecordedCall, more: object) => ({
    call: given,
    actor,
    at: 1000,
    answer: {},
    problem: undefined,
    ...more,
  });
  const text = recordedTest(
    {
      startedAt: 0,
      endedAt: 61_000,
      steps: [
        step(call("PUT", `/dashboard/api/users/${user}`, { role: "viewer" }), {}),
        step(call("POST", `/dashboard/api/projects/${project}/archive`), { answer: { id: project } }),
        step(call("POST", "/_svc/faults", { respond: { status: 503 } }), {}),
        step(call("DELETE", `/dashboard/api/projects/${project}`), { problem: "insufficient_role" }),
      ],
      known: new Map([
        [
          user,
          {
            record: { id: user, name: "Bo", email: "b@acme.test", role: "developer" },
            list: { call: call("GET", "/dashboard/api/users"), index: 1 },
          },
        ],
        [project, { record: { id: project, name: "web", region: "eu", description: null }, list: undefined }],
      ]),
      ends: [{ id: project, status: "archived" }],
      needsSeed: true,
      scenarios: [],
      inboxes: [],
    },
    { runner: "node:test", hasTimers: false },
  );
  for (const line of [
    'users: [{ name: "Ada", email: "a@acme.test", role: "admin", keys: [{ key: "sk_live_recorded_1" }] }, { name: "Bo", email: "b@acme.test", role: "developer" }]',
    'const admin1 = service.client({ apiKey: "sk_live_recorded_1" });',
    'const project = await admin1.projects.create({ name: "web", region: "eu" });',
    'const user = (await admin1.users.list()).data.find(({ email }) => email === "b@acme.test");',
    'await admin1.users.update({ id: user.id, role: "viewer" });',
    "await admin1.projects.archive({ id: project.id });",
    "await service.faults.add({ respond: { status: 503 } });",
    'await assert.rejects(admin1.projects.delete({ id: project.id }), { code: "insufficient_role" });',
    'await service.clock.advance("1m");',
    'assert.equal((await admin1.projects.get({ id: project.id })).status, "archived");',
  ])
    assert.ok(text.includes(line), `${line}\n${text}`);
});
