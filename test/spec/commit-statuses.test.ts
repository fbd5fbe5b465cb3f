import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeploymentDriver } from "../../lib/index.ts";
import { addressOf } from "../../lib/platform/code-host/address.ts";
import { codeHost } from "../helpers/code-host.ts";
import { commitOf, connectPreviews, hook, pullRequest } from "../helpers/pull-requests.ts";
import { expect, git, world } from "../helpers/test-service.ts";

const organizations = { acme: ["acme/*"] };

async function telling(
  t: Parameters<typeof world>[0],
  form: Parameters<typeof codeHost>[1] = "github",
  more: object = {},
) {
  const host = await codeHost(t, form);
  const here = await world(t, { codeHost: { ...host.options, organizations }, ...more });
  const { id: project_id } = await here.project();
  const id = await connectPreviews(here);
  return {
    ...{ host, here, project_id },
    states: () => host.statuses.map(({ state }) => state),
    pull: (action: string, commit = "one", number = 7) => hook(here, id, pullRequest(action, { commit, number })),
    advance: (by: string) => here.service.clock.advance(by),
  };
}

for (const [form, failure] of [
  ["github", "failure"],
  ["gitea", "failure"],
  ["gitlab", "failed"],
] as const)
  test(`${form} learns how a deployment of a commit goes, and where it is`, async (t) => {
    const { here, host, project_id, states, pull, advance } = await telling(t, form);
    const [{ deployment_id }] = expect(await pull("opened"), 202).data;
    await advance("1s");
    assert.deepEqual(states(), ["pending"]);
    await advance("10s");
    const [, told] = host.statuses;
    assert.deepEqual(told, {
      ...{ repo: "acme/web", commit: commitOf("one"), state: "success", context: "svc-server/web/pr-7" },
      target_url: `http://localhost/dashboard/deployments/${deployment_id}`,
    });
    await here.service.scenarios.add({ next: "deployment", outcome: { result: "fail", at: "deploying" } });
    await here.deploy(project_id);
    await advance("1m");
    assert.deepEqual(states(), ["pending", "success", "pending", failure]);
    assert.equal(host.statuses[3]?.context, "svc-server/web/production");
  });

for (const down of [503, "cut", 401] as const)
  test(`a code host that is down for an hour (${down}) learns the newest state afterwards, and nothing older`, async (t) => {
    const { host, states, pull, advance } = await telling(t);
    host.fail(down);
    await pull("opened");
    await advance("10s");
    await pull("synchronize", "two");
    await advance("1h");
    assert.ok(host.tries() > 4 && host.tries() < 20, `${host.tries()} tries`);
    host.fail(undefined);
    await advance("1h");
    assert.deepEqual(states(), ["success", "success"]);
    assert.deepEqual(host.statuses.map(({ commit }) => commit).sort(), [commitOf("one"), commitOf("two")].sort());
  });

test("of two deployments of a commit the newer one is told, whatever becomes of the older one", async (t) => {
  const { here, host, states, pull, advance } = await telling(t);
  const [older] = expect(await pull("opened"), 202).data;
  await here.service.clock.advanceToNext();
  expect(await pull("closed"), 202);
  expect(await pull("reopened"), 202);
  host.fail(503);
  await advance("30m");
  host.fail(undefined);
  await advance("30m");
  const { status } = expect(await here.call("owner", "GET", `/v1/deployments/${older.deployment_id}`), 200);
  assert.deepEqual([status, states().at(-1), states().includes("failure")], ["cancelled", "success", false]);
});

test("a state that changes while it is told is told again", async (t) => {
  const { host, states, pull, advance } = await telling(t);
  const { arrived, release } = host.hold();
  await pull("opened");
  const moving = Promise.all([advance("1s")]);
  await arrived;
  await pull("closed");
  release();
  await moving;
  await advance("1s");
  assert.deepEqual(states(), ["pending", "failure"]);
});

test("a commit that the code host does not know is not told again, and the token is in no line of the log", async (t) => {
  const lines: unknown[] = [];
  const log = (...line: unknown[]) => void lines.push(line);
  const logger = { error: log, warn: log, info: log, debug: log };
  const { host, pull, advance } = await telling(t, "github", { logger, logLevel: "debug" });
  host.fail(422);
  await pull("opened");
  await advance("3h");
  assert.equal(host.tries(), 2);
  host.fail("cut");
  await pull("synchronize", "two");
  await advance("1m");
  const text = JSON.stringify(lines);
  assert.match(text, /the code host did not take a commit status/);
  assert.match(text, /it answered 422/);
  assert.doesNotMatch(text, /tok_demo/);
});

test("a preview whose closing no hook told ends within a day, while the code host can be asked", async (t) => {
  const { here, host, pull, project_id, advance } = await telling(t);
  expect(await pull("opened", "one", 6), 202);
  await advance("1m");
  expect(await pull("opened"), 202);
  host.requests.set(6, "hidden");
  const names = async () => {
    const { data } = expect(await here.call("viewer", "GET", `/v1/projects/${project_id}/environments`), 200);
    return data.map(({ name }: { name: string }) => name);
  };
  host.requests.set(7, "open");
  await advance("1d");
  host.requests.set(7, "closed");
  host.fail(503);
  await advance("1d");
  assert.deepEqual(await names(), ["pr-6", "pr-7"]);
  host.fail(undefined);
  await advance("1d");
  assert.deepEqual(await names(), ["pr-6"], "one request that the token does not see keeps no other");
  assert.deepEqual(await here.service.invariants(), []);
});

test("the token tells only of repositories that it serves", async (t) => {
  const { here, host, advance } = await telling(t);
  const { id: project_id } = await here.project("other");
  await here.deploy(project_id, { source: { ...git, repo: "foreign/web" } });
  await here.deploy(project_id, { source: { type: "image", image_url: "registry.example.com/app:1" } });
  await advance("1m");
  assert.equal(host.tries(), 0);
});

test("the address of the interface follows from where repositories are fetched", () => {
  for (const [url, address] of [
    ["https://github.com/{repo}.git", "https://api.github.com"],
    ["https://github.example.com/{repo}.git", "https://github.example.com/api/v3"],
    ["https://gitlab.com/{repo}.git", "https://gitlab.com/api/v4"],
    ["https://codeberg.org/{repo}.git", "https://codeberg.org/api/v1"],
    ["http://git.example.com:3000/git/{repo}.git", "http://git.example.com:3000/git/api/v1"],
    ["ssh://git@gitlab.example.com:2222/{repo}.git", "https://gitlab.example.com/api/v4"],
    ["file:///srv/git/{repo}.git", undefined],
  ] as const)
    assert.equal(addressOf({ url }), address);
  assert.equal(addressOf({ url: "https://github.com/{repo}.git", api: "https://h/api/v4/" }), "https://h/api/v4");
  assert.equal(addressOf({ url: "https://github.com/{repo}.git", repos: "/srv" }), undefined);
});

for (const [what, source, version] of [
  ["a branch", { branch: "main" }, "c".repeat(40)],
  ["a tag", { tag: "v1" }, "v1"],
] as const)
  test(`a failed build of ${what} shows its version, and the code host learns of it`, async (t) => {
    const commit = "c".repeat(40);
    const pins: (string | null)[] = [];
    const driver: DeploymentDriver = {
      delay: () => 0,
      async step({ pin }) {
        pins.push(pin);
        const logs = [{ level: "info", message: "compiling" }] as const;
        if (pins.length === 1) return { state: "running", again_ms: 1_000, handle: "begun", commit, logs };
        return { state: "failed", message: "no", logs };
      },
    };
    const { here, host, project_id, advance } = await telling(t, "github", { deployments: { driver } });
    const { id } = await here.deploy(project_id, { source: { type: "git", repo: "acme/web", ...source } });
    await advance("1m");
    const { meta: _, ...failed } = expect(await here.call("viewer", "GET", `/v1/deployments/${id}`), 200);
    assert.deepEqual([failed.status, failed.version], ["failed", version]);
    // A build that begins again, such as after a crash, takes the same commit.
    assert.deepEqual(pins, [null, commit]);
    assert.deepEqual(
      host.statuses.map((one) => [one.commit, one.state]),
      [
        [commit, "pending"],
        [commit, "failure"],
      ],
    );
    const [event] = expect(await here.call("owner", "GET", "/v1/events"), 200).data;
    assert.deepEqual([event.event, event.data.version], ["deployment.failed", version]);
  });
