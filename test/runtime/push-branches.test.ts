import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { pushAnswer } from "../../lib/platform/git-host/push-answer.ts";
import { pushedBranches } from "../../lib/platform/repositories/pushed-branches.ts";
import { gitHost } from "../helpers/git-host.ts";
import { expect, keyOf } from "../helpers/test-service.ts";

type Here = Awaited<ReturnType<typeof gitHost>>;

/** Pushes main, 30 branches that sort before it, and returns what git printed with the number of deployments. */
async function pushMany(here: Here, options: readonly string[]) {
  here.repos.commit("me/hello", { "index.html": "one" });
  const branches = Array.from({ length: 30 }, (_, i) => `branch-${i}`);
  for (const branch of branches) here.repos.git("me/hello", "branch", branch);
  const args = ["push", ...options, here.urlOf("me/hello", keyOf("owner")), ...branches, "main"];
  const { code, text } = await here.run("me/hello", args);
  assert.equal(code, 0, text);
  const { data } = expect(await here.call("viewer", "GET", "/v1/deployments?per_page=100"), 200);
  return { text, deployments: data.length as number };
}

test("a push with a target deploys at most 20 of its branches, and says how many it leaves out", async (t) => {
  const { text, deployments } = await pushMany(await gitHost(t), ["-o", "environment=many"]);
  assert.match(
    text,
    /^remote: The push is stored, but its other branches \(11\) are not deployed: a push deploys at most 20 branches/m,
  );
  assert.equal(deployments, 20);
});

test("branches that deploy nothing do not keep a push from deploying the default branch", async (t) => {
  const { text, deployments } = await pushMany(await gitHost(t), []);
  assert.match(text, /^remote: Live at http:\/\/production-hello\.localhost/m);
  assert.doesNotMatch(text, /its other branches/);
  assert.equal(deployments, 1);
});

test("a push of many chunks gathers no listeners", async (t) => {
  const here = await gitHost(t);
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on("warning", note);
  t.after(() => process.off("warning", note));
  here.repos.commit("me/large", { "index.html": "one", "noise.bin": randomBytes(8 * 1024 * 1024).toString("base64") });
  const { code, text } = await here.push("me/large", "owner");
  assert.equal(code, 0, text);
  assert.deepEqual(warnings, []);
});

test("each branch that a push makes, moves or deletes has an entry in the audit log, and one that git refuses has none", async (t) => {
  const here = await gitHost(t);
  const { user, key } = expect(await here.call("developer", "GET", "/v1/me"), 200);
  const entries = async () =>
    expect(await here.call("owner", "GET", "/v1/audit-log?per_page=100"), 200).data.map(
      ({ id: _, at: __, request_id, ...entry }: Record<string, unknown>) => {
        assert.match(String(request_id), /^req_/);
        return entry;
      },
    );
  const push = async (code: number, ...refs: string[]) => {
    const pushed = await here.run("me/hello", ["push", here.urlOf("me/hello", keyOf("developer")), ...refs]);
    assert.equal(pushed.code, code, pushed.text);
  };
  // There is no project yet, so these deploy nothing.
  here.repos.commit("me/hello", { "index.html": "one" });
  await push(0, "main", "main:topic", "main:refs/tags/v1");
  here.repos.git("me/hello", "checkout", "--quiet", "--orphan", "other");
  here.repos.commit("me/hello", { "index.html": "two" });
  // Git refuses the one that is no fast-forward, and the default branch.
  await push(1, "other:topic", "other:third");
  await push(0, "+other:topic");
  await push(0, ":topic", ":third");
  await push(1, ":main");
  expect(await here.call("owner", "POST", "/v1/projects", { name: "hello", region: "local" }), 201);
  await push(0, "+other:main");
  const whose = { user_id: user.id, key_id: key.id, via: "push", address: "127.0.0.1" };
  const all = (await entries()).reverse().filter(({ action }: { action: string }) => action !== "projects.create");
  const expected = [
    ["branches.create", "me/hello:main"],
    ["branches.create", "me/hello:topic"],
    ["branches.create", "me/hello:third"],
    ["branches.update", "me/hello:topic"],
    ["branches.delete", "me/hello:third"],
    ["branches.delete", "me/hello:topic"],
    ["branches.update", "me/hello:main"],
  ];
  assert.deepEqual(
    all,
    expected.map(([action, target]) => ({ action, target, ...whose })),
  );
  const [deployment] = expect(await here.call("viewer", "GET", "/v1/deployments"), 200).data;
  assert.deepEqual(deployment.created_by, { user_id: user.id, key_id: key.id, via: "push" });
});

test("a branch that was never there is not recorded as deleted", async () => {
  const update = (name: string, before: string | undefined) => ({
    ref: `refs/heads/${name}`,
    commit: undefined,
    before,
  });
  const { changes } = await pushedBranches(
    async () => undefined,
    [update("old", "a".repeat(40)), update("never", undefined)],
  );
  assert.deepEqual(changes, [{ branch: "old", change: "delete" }]);
});

test("a push that another one overtakes is recorded, and deploys nothing", async () => {
  const [older, newer, before] = ["a", "b", "c"].map((one) => one.repeat(40));
  const refs = (...names: string[]) => names.map((name) => `refs/heads/${name}`);
  const report = `0030\x01000eunpack ok\n0019ok ${refs("moved")}\n002ang ${refs("refused")} fetch first\n0000`;
  let stored: ReadonlySet<string> = new Set();
  async function* gitSays() {
    yield Buffer.from(report.slice(0, 30));
    yield Buffer.from(report.slice(30));
  }
  async function* lines(found: () => ReadonlySet<string>) {
    stored = found();
    yield "";
  }
  for await (const _ of pushAnswer(gitSays(), () => true, lines));
  const { branches, changes } = await pushedBranches(
    async (command) => (command === "for-each-ref" ? `${newer} ${refs("moved")}` : undefined),
    refs("moved", "refused").map((ref) => ({ ref, commit: older, before, isStored: stored.has(ref) })),
  );
  assert.deepEqual([branches, changes], [[], [{ branch: "moved", change: "update" }]]);
});
