import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
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
