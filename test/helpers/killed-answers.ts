import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createService } from "../../lib/index.ts";
import { compiled } from "./bundle.ts";
import { bearer } from "./headers.ts";

const count = 16;

/**
 * Kills a server between the answers of one commit, starts another server on its database, and repeats the requests.
 * Asserts that everything answered exists, nothing exists twice, and the rest of that commit is complete.
 */
export async function killBetweenAnswers(database: string, encryptionKey?: string): Promise<void> {
  const options = {
    mode: "start",
    database,
    logLevel: "silent",
    rateLimit: 0,
    ...(encryptionKey && { encryptionKey }),
  } as const;
  const first = await createService(options);
  const key = first.apiKey ?? "";
  await first.close();
  for (const last of [1, 5, 11]) {
    const words = [compiled("test/helpers/answers.child.js"), database, key, encryptionKey ?? "", count, last].map(
      String,
    );
    const { stdout, signal } = spawnSync(process.execPath, words, { encoding: "utf8", cwd: "/" });
    assert.equal(signal, "SIGKILL");
    const answered = stdout
      .trim()
      .split("\n")
      .map((line) => line.split(" ") as [name: string, id: string]);
    assert.equal(answered.length, last);
    const service = await createService(options);
    const list = async () => {
      const response = await service.fetch("/v1/projects?per_page=100", { headers: bearer(key) });
      return ((await response.json()) as { data: { id: string; name: string }[] }).data;
    };
    const there = new Map((await list()).map(({ name, id }) => [name, id]));
    for (const [name, id] of answered) assert.equal(there.get(name), id, `the project ${name} is lost`);
    assert.ok(there.size > last, "no other one was in that commit");
    for (let i = 0; i < count; i++) {
      const name = `p-${last}-${i}`;
      const headers = { ...bearer(key), "content-type": "application/json", "idempotency-key": name };
      const body = JSON.stringify({ name, region: "eu" });
      const response = await service.fetch("/v1/projects", { method: "POST", headers, body });
      assert.equal(response.status, 201);
      const { id } = (await response.json()) as { id: string };
      assert.equal(id, there.get(name) ?? id);
      assert.equal(response.headers.get("idempotent-replayed"), there.has(name) ? "true" : null);
    }
    assert.equal((await list()).length, count);
    for (const { id } of await list())
      await service.fetch(`/v1/projects/${id}`, { method: "DELETE", headers: bearer(key) });
    await service.close();
  }
}
