import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createService, type Service } from "../../lib/index.ts";
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
    // On PostgreSQL, a commit may have one request alone. Then there is nothing between its answers.
    let isShared = false;
    for (let trial = 0; trial < 10 && !isShared; trial++) {
      const prefix = `p-${last}-${trial}`;
      const words = [
        compiled("test/helpers/answers.child.js"),
        database,
        key,
        encryptionKey ?? "",
        count,
        last,
        prefix,
      ];
      const { stdout, signal } = spawnSync(process.execPath, words.map(String), { encoding: "utf8", cwd: "/" });
      assert.equal(signal, "SIGKILL");
      const answered = stdout
        .trim()
        .split("\n")
        .map((line) => line.split(" ") as [name: string, id: string]);
      assert.equal(answered.length, last);
      const service = await createService(options);
      isShared = await repeatRequests(service, key, prefix, answered);
      await service.close();
    }
    assert.ok(isShared, "no other one was in that commit");
  }
}

/** Repeats all requests, and removes what they made. Returns whether requests without an answer were in the commit. */
async function repeatRequests(
  service: Service<string | null>,
  key: string,
  prefix: string,
  answered: readonly (readonly [name: string, id: string])[],
): Promise<boolean> {
  const list = async () => {
    const response = await service.fetch("/v1/projects?per_page=100", { headers: bearer(key) });
    return ((await response.json()) as { data: { id: string; name: string }[] }).data;
  };
  const there = new Map((await list()).map(({ name, id }) => [name, id]));
  for (const [name, id] of answered) assert.equal(there.get(name), id, `the project ${name} is lost`);
  for (let i = 0; i < count; i++) {
    const name = `${prefix}-${i}`;
    const headers = { ...bearer(key), "content-type": "application/json", "idempotency-key": name };
    const body = JSON.stringify({ name, region: "eu" });
    const response = await service.fetch("/v1/projects", { method: "POST", headers, body });
    assert.equal(response.status, 201);
    const { id } = (await response.json()) as { id: string };
    assert.equal(id, there.get(name) ?? id);
    assert.equal(response.headers.get("idempotent-replayed"), there.has(name) ? "true" : null);
  }
  const made = await list();
  assert.equal(made.length, count);
  for (const { id } of made) await service.fetch(`/v1/projects/${id}`, { method: "DELETE", headers: bearer(key) });
  return there.size > answered.length;
}
