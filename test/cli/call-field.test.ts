import assert from "node:assert/strict";
import { test } from "node:test";
import { runHere as run } from "../helpers/cli-in-process.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";

test("one field of an answer is printed alone, of a list that of each record", async (t) => {
  const { url, api_key } = await launch(t, ["dev", "--port", "0", "--seed", "demo"]);
  const home = temporaryFolder(t);
  const env = { SVC_URL: url, SVC_API_KEY: api_key ?? "", XDG_CONFIG_HOME: home, APPDATA: home };
  const field = async (name: string, ...given: string[]) => {
    const { status, stdout, stderr } = await run(["call", ...given, "--field", name], home, env);
    return status === 0 ? stdout : `${status}: ${stderr}`;
  };
  assert.equal(await field("id", "webhooks.list"), "", "an empty list has no lines");
  const id = (await field("id", "projects.create", "name=shop", "region=eu-west-1")).trim();
  assert.match(id, /^proj_\w+$/);
  assert.equal(await field("name", "projects.create", "name=docs", "region=eu-west-1"), "docs\n");
  assert.equal(await field("name", "projects.list"), "docs\nshop\nweb\n");
  assert.equal(await field("name", "projects.list", "--all"), "docs\nshop\nweb\n");
  assert.equal(await field("name", "projects.list", "--json"), '"docs"\n"shop"\n"web"\n');
  assert.equal(await field("organization.plan", "me.get"), "pro\n");
  assert.equal(await field("key.scopes", "me.get"), '["*"]\n');
  assert.equal(await field("description", "projects.get", id), "null\n");
  assert.equal(await field("total.generations", "generations.usage"), "0\n");
  const wrong = /^1: svc-server: the answer has no field "nmae"; its fields are id, name, region, /;
  assert.match(await field("nmae", "projects.get", id), wrong);
  assert.match(await field("nmae", "projects.list"), wrong);
  assert.match(await field("name.x", "projects.get", id), /no field "name\.x"\n/);
  assert.match(
    await field("id", "projects.delete", id),
    /^1: svc-server: the answer has no field "id", because it is empty/,
  );
});
