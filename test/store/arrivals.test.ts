import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { createService } from "../../lib/index.ts";
import { jsonBearer } from "../helpers/headers.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { keyOf, seed } from "../helpers/test-service.ts";

/** The commits in a write-ahead log: frames that hold the size of the database (sqlite.org/fileformat.html). */
function commitsIn(log: string): number {
  const bytes = readFileSync(log);
  const frame = 24 + bytes.readUInt32BE(8);
  let commits = 0;
  for (let at = 32; at + frame <= bytes.length; at += frame) if (bytes.readUInt32BE(at + 4) > 0) commits += 1;
  return commits;
}

test("POSTs of connections that arrive together share a few commits", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const service = await createService({ mode: "start", database, seed, logLevel: "error" });
  t.after(() => service.close());
  const { url } = await service.listen({ port: 0 });
  const headers = { ...jsonBearer(keyOf("owner")), connection: "close" };
  const post = async (name: string) => {
    const sent = request(`${url}/v1/projects`, { method: "POST", headers, agent: false });
    sent.end(JSON.stringify({ name, region: "eu" }));
    const [response] = await once(sent, "response");
    response.resume();
    assert.equal(response.statusCode, 201);
  };
  await post("first");
  const before = commitsIn(`${database}-wal`);
  const clients = 24;
  await Promise.all(Array.from({ length: clients }, (_, i) => post(`project-${i}`)));
  const commits = commitsIn(`${database}-wal`) - before;
  assert.ok(commits <= clients / 3, `${commits} commits for ${clients} POSTs`);
});
