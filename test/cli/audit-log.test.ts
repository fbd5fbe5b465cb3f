import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { runHere } from "../helpers/cli-in-process.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { expect, world } from "../helpers/test-service.ts";

test("A key that a command makes or revokes in a database has an entry of the command, and of no person", async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  await (await world(t, { database })).service.close();
  const keys = (...words: string[]) => runHere(["keys", ...words, "--database", database, "--organization", "acme"]);
  const made = await keys("create", "--json");
  const { id, key } = JSON.parse(made.stdout);
  assert.equal((await keys("revoke", id)).status, 0);
  assert.notEqual((await keys("revoke", "key_none")).status, 0);
  const here = await world(t, { database });
  const { data: listed } = expect(await here.call("owner", "GET", "/v1/audit-log"), 200);
  const whose = { target: id, user_id: null, key_id: null, via: "command", address: null, request_id: null };
  assert.deepEqual(
    listed.map(({ id: _, at: __, ...rest }: Record<string, unknown>) => rest),
    ["keys.revoke", "keys.create"].map((action) => ({ action, ...whose })),
  );
  assert.ok(!JSON.stringify(listed).includes(key));
});
