import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { expect, type World, world } from "../helpers/test-service.ts";

/** Posts an example published by GitHub, with a valid signature. */
async function post(here: World, id: string, name: string, event: string, delivery = name) {
  const body = JSON.parse(readFileSync(`fixtures/pushes/${name}.json`, "utf8"));
  const digest = createHmac("sha256", "whsec_demo").update(JSON.stringify(body)).digest("hex");
  return here.call("nobody", "POST", `/hooks/code-host/${id}`, body, {
    "x-github-event": event,
    "x-github-delivery": delivery,
    "x-hub-signature-256": `sha256=${digest}`,
  });
}

test("pushes published by GitHub deploy their branch and their tag", async (t) => {
  const here = await world(t);
  await here.project();
  const config = { repo: "Codertocat/Hello-World", branch: "master", environment: "production", secret: "whsec_demo" };
  const { id } = expect(await here.call("owner", "POST", "/v1/integrations", { type: "code_host", config }), 201);
  const deployed = async (name: string) => {
    const { data } = expect(await post(here, id, name, "push"), 202);
    await here.service.clock.advance("10s");
    return expect(await here.call("owner", "GET", `/v1/deployments/${data[0].deployment_id}`), 200);
  };
  const branch = await deployed("github-branch");
  assert.deepEqual(
    [branch.source.repo, branch.source.branch, branch.version, branch.status],
    ["Codertocat/Hello-World", "master", "6113728f27ae82c7b1a177c8d03f9e96e0adf246", "active"],
  );
  const tag = await deployed("github-tag");
  assert.deepEqual([tag.source.tag, tag.version], ["simple-tag", "simple-tag"]);
  expect(await post(here, id, "github-tag-deleted", "push"), 200);
  expect(await post(here, id, "github-ping", "ping"), 200);
  assert.deepEqual(expect(await post(here, id, "github-branch", "push"), 202).data, [], "the same delivery again");
  assert.equal(expect(await here.call("owner", "GET", "/v1/deployments"), 200).data.length, 2);
});
