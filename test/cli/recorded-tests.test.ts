import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { recordingOf } from "../../bin/record/files.ts";
import { createRecorder } from "../../bin/record/recorder.ts";
import { createStepRecorder } from "../../bin/record/steps.ts";
import { testOf } from "../../bin/record/test-of.ts";
import { createService } from "../../lib/index.ts";
import { createTestService } from "../../lib/testing.ts";
import { runHere } from "../helpers/cli-in-process.ts";
import { jsonBearer } from "../helpers/headers.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { passes } from "../helpers/recordings.ts";

const owner = "sk_live_demo_owner";
const developer = "sk_live_demo_developer";
const member = (name: string, role: "owner" | "developer", key: string) => ({
  ...{ name, role, email: `${name.toLowerCase()}@real-company.com` },
  keys: [{ key }],
});
const users = [member("Ada", "owner", owner), member("Grace", "developer", developer)];
const source = { type: "git", repo: "acme/web", branch: "main" };

// biome-ignore lint/suspicious/noExplicitAny: a test may assert any field of an answer
type Answer = any;

/** A service, and what a recorder sees of the calls to it, on the service's clock. */
async function recorded(t: Parameters<typeof createTestService>[0]) {
  const seed = { organizations: [{ name: "acme", plan: "pro" as const, users }] };
  const service = await createTestService(t, { seed });
  const recorder = createRecorder();
  const steps = createStepRecorder();
  const call = async (method: string, path: string, body?: unknown, key = owner): Promise<Answer> => {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const init = { method, headers: jsonBearer(key), ...(sent !== undefined && { body: sent }) };
    const response = await service.fetch(`/v1${path}`, init);
    const answer = Buffer.from(await response.arrayBuffer());
    const exchange = {
      ...{ method, path, caller: `Bearer ${key}`, request: sent === undefined ? undefined : Buffer.from(sent) },
      ...{ status: response.status, type: response.headers.get("content-type") ?? undefined, encoding: undefined },
      ...{ answer, at: service.clock.now().getTime() },
    };
    recorder.observe(exchange);
    steps.observe(exchange);
    return answer.length === 0 ? undefined : JSON.parse(answer.toString());
  };
  const deploy = (project_id: string, environment = "production") =>
    call("POST", "/deployments", { project_id, environment, source }, developer);
  const written = (form: Parameters<typeof testOf>[3]) => testOf(recorder, steps, false, form);
  return { service, call, deploy, written };
}

type Here = Awaited<ReturnType<typeof recorded>>;

/** Makes a project with two releases and a build that runs, which the recorder does not see. */
async function prepare({ service }: Here) {
  const client = service.client({ apiKey: owner });
  const { id: old } = await client.projects.create({ name: "old", region: "eu-west-1" });
  const wanted = { project_id: old, environment: "production", source } as Parameters<
    typeof client.deployments.create
  >[0];
  await client.deployments.create(wanted);
  await service.clock.advance("1m");
  const second = await client.deployments.create(wanted);
  await service.clock.advance("1m");
  await service.scenarios.next("deployment", { durations: { building: "10m" } });
  const running = await client.deployments.create({ ...wanted, environment: "staging" });
  await service.clock.advance("1m");
  return { second, running };
}

/** Calls of two people, with work that ends in every way. */
async function act({ service, call, deploy }: Here, { second, running }: Awaited<ReturnType<typeof prepare>>) {
  for (const path of ["/me", "/users", "/projects", "/deployments"]) await call("GET", path);
  for (const { id } of (await call("GET", "/deployments")).data) await call("GET", `/deployments/${id}`);
  await call("GET", "/me", undefined, developer);
  await call("POST", `/deployments/${second.id}/rollback`);
  await service.clock.advance("10s");
  await call("POST", `/deployments/${running.id}/cancel`);
  assert.equal((await call("POST", "/projects", { name: "Old", region: "eu-west-1" })).error.code, "name_taken");
  const { id: project } = await call("POST", "/projects", { name: "web", region: "eu-west-1" });
  await call("PUT", `/projects/${project}/environments/production`, {
    variables: { PORT: "8080", API_TOKEN: "hunter2-token", SALT: { value: "hunter2-salt", secret: true } },
  });
  await call("POST", "/webhooks", {
    url: "https://hooks.real-company.com/hunter2-path",
    events: ["*"],
    secret: "hunter2-secret",
  });
  await call("POST", "/users/invite", { email: "bo@real-company.com", role: "viewer" });
  await call("POST", "/users/invite", { email: "cy@real-company.com", role: "viewer" });

  await service.scenarios.next("deployment", { result: "fail", message: "npm ERR!", durations: { building: "42s" } });
  const failing = await deploy(project);
  const waiting = await deploy(project);
  await service.clock.advance("1m");
  await call("GET", `/deployments/${failing.id}`);
  await call("GET", `/deployments/${failing.id}/logs`);
  await call("GET", `/deployments/${waiting.id}`);
  assert.equal((await call("POST", `/deployments/${waiting.id}/cancel`)).error.code, "not_cancellable");
  await service.scenarios.next("deployment", { result: "rolled_back" });
  const unhealthy = await deploy(project);
  await service.scenarios.next("generation", { result: "fail", message: "on fire" });
  const picture = await call("POST", "/generations", {
    model: "image-draft",
    prompt: "a letter to bo@real-company.com",
  });
  await service.clock.advance("10m");
  await call("GET", `/deployments/${unhealthy.id}`);
  await call("GET", `/generations/${picture.id}`);
  await service.scenarios.next("deployment", { durations: { building: "3h" } });
  const building = await deploy(project, "staging");
  await service.clock.advance("2h");
  assert.equal((await call("GET", `/deployments/${building.id}`)).status, "building");
  await call("DELETE", "/projects/proj_01KAJK2M00PRXJ000000000000");
  await call("POST", "/projects", { name: "", region: "eu-west-1" });
  await call("POST", "/projects", { name: "x", region: "eu-west-1" }, developer);
  // A test cannot meet these again.
  await call("POST", "/projects", { name: "x", region: "eu-west-1" }, "sk_live_demo_stranger");
  await call("PATCH", "/repositories/acme/web", { default_branch: "main" });
}

test("calls to a service become a test that passes, whatever its work did", async (t) => {
  const here = await recorded(t);
  await act(here, await prepare(here));
  for (const hasTimers of [false, true]) {
    const { text, left } = here.written({ runner: "node:test", hasTimers });
    await passes(text);
    assert.doesNotMatch(text, /hunter2|real-company\.com\/h|@real-company|Ada|Grace/, text);
    assert.deepEqual(left, [
      "POST /v1/projects is not in the test: it was refused with unauthorized",
      "PATCH /v1/repositories/acme/web is not in the test: a service in a test does not have it",
    ]);
    for (const line of [
      'building: "42s"',
      '"failed");',
      '"rolled_back");',
      '"cancelled");',
      '"building");',
      '{ code: "name_taken" }',
      '{ code: "not_cancellable" }',
      '{ code: "validation_failed" }',
      '{ code: "insufficient_role" }',
      "strict: true",
    ])
      assert.ok(text.includes(line), `${line}\n${text}`);
    assert.equal(text.includes("timers: t.mock.timers"), hasTimers);
  }
});

test("what was there before is in the test without secrets, and what others ended is not", async (t) => {
  const { service, call, written } = await recorded(t);
  const client = service.client({ apiKey: owner });
  const { id } = await client.projects.create({ name: "web", region: "eu-west-1" });
  // The project names itself.
  await client.projects.update({ id, description: id });
  const { id: gone } = await client.projects.create({ name: "gone", region: "eu-west-1" });
  const variables = {
    DATABASE_URL: "postgres://app:hunter2-pw@db.real-company.com/x",
    CONTACT: "bo@real-company.com",
    GREETING: "Bearer hunter2-bearer",
  };
  await client.environments.put({ id, name: "production", variables });
  for (const path of ["", `/${id}/environments`, `/${gone}`]) await call("GET", `/projects${path}`);
  await client.projects.delete({ id: gone });
  await call("PUT", `/projects/${id}`, { name: "site" });
  await call("PUT", `/projects/${gone}`, { name: "back" });
  const hook = { url: "https://hooks.real-company.com/hunter2-path", events: ["*"], secret: true };
  await call("POST", "/webhooks", hook);
  for (let i = 0; i < 150; i++) await call("PATCH", `/repositories/acme/web${i}`, { default_branch: "main" });
  const { text, left } = written({ runner: "node:test", hasTimers: false });
  await passes(text);
  assert.match(text, /CONTACT: "person@recorded\.test"/);
  assert.doesNotMatch(text, /hunter2|real-company/);
  assert.ok(left.includes("POST /v1/webhooks is not in the test: it has a secret"), left.join("\n"));
  const reason = `${gone} was there before, and no call in the test deletes it`;
  assert.equal(left[0], `PUT /v1/projects/${gone} is not in the test: ${reason}`);
  assert.ok(left.includes("more calls are not in the test") && left.length < 110, String(left.length));
});

test("the organization of a caller is the one of its records, and its plan counts whoever came first", async (t) => {
  const one = await recorded(t);
  await one.call("GET", "/me");
  const { id } = await one.call("POST", "/projects", { name: "web", region: "eu-west-1" });
  await one.deploy(id);
  const two = await recorded(t);
  await two.call("POST", "/projects", { name: "x", region: "eu-west-1" }, "sk_live_demo_stranger");
  await two.call("GET", "/me");
  await two.call("POST", "/projects", { name: "web", region: "eu-west-1" });
  for (const { written } of [one, two]) {
    const { text } = written({ runner: "node:test", hasTimers: false });
    await passes(text);
    assert.deepEqual(text.match(/name: "\w+", plan: "\w+"/g), ['name: "acme", plan: "pro"'], text);
  }
});

test("a test that cannot be written costs neither the seed nor the scenarios", () => {
  const failing = () => {
    throw new Error("too deep");
  };
  const { seed, scenarios, left } = recordingOf(createRecorder(), false, failing);
  assert.deepEqual(
    { seed, scenarios, left },
    { seed: { organizations: [] }, scenarios: [], left: ["the test: too deep"] },
  );
});

test("each test runner gets a file in its words", async (t) => {
  const { call, written } = await recorded(t);
  await call("POST", "/projects", { name: "web", region: "eu-west-1" });
  const of = (runner: "Vitest" | "Jest", hasTimers: boolean) => written({ runner, hasTimers }).text;
  assert.match(of("Vitest", false), /^import \{ test \} from "vitest";$/m);
  assert.match(of("Vitest", true), /^import \{ afterEach, test, vi \} from "vitest";$/m);
  assert.match(of("Vitest", true), /^afterEach\(\(\) => vi\.useRealTimers\(\)\);$/m);
  assert.match(of("Jest", false), /async \(\) => \{\n {2}const service = await createTestService\(undefined, \{/);
  assert.match(of("Jest", true), /jest\.useFakeTimers\(\{ doNotFake: \["nextTick", "queueMicrotask"\] \}\);/);
});

test("svc-server record writes the test beside the seed", async (t) => {
  const service = await createService({ clock: "manual", seed: { organizations: [{ name: "acme", users }] } });
  t.after(() => service.close());
  const { url } = await service.listen({ port: 0 });
  const folder = join(temporaryFolder(t), "recorded");
  const words = ["record", "--upstream", url, "--out", folder, "--port", "0"];
  const recorder = await launch(t, [...words, "--test", "node:test"]);
  const body = JSON.stringify({ name: "web", region: "eu-west-1" });
  await fetch(`${recorder.url}/v1/projects`, { method: "POST", headers: jsonBearer(owner), body });
  // Neither a path that nothing can decode nor a body that is too deep ends the recorder.
  await fetch(`${recorder.url}/v1/projects/%ZZ`);
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  await fetch(`${recorder.url}/v1/projects`, { method: "POST", headers: jsonBearer(owner), body: deep });
  assert.equal((await recorder.stop("SIGINT")).code, 0, recorder.errors());
  assert.match(recorder.errors(), /a POST request could not be recorded: Maximum call stack size exceeded/);
  const text = readFileSync(join(folder, "recorded.test.mjs"), "utf8");
  assert.match(text, /client\.projects\.create\(\{ name: "web", region: "eu-west-1" \}\)/);
  await passes(text);

  for (const [message, ...more] of [
    [/option --test must be a test runner: node:test, Vitest, Jest/, "--test", "mocha"],
    [/option --timers needs --test with a test runner/, "--timers"],
  ] as const) {
    const { status, stderr } = await runHere(["record", "--upstream", url, ...more]);
    assert.deepEqual([status, message.test(stderr)], [2, true], stderr);
  }
});
