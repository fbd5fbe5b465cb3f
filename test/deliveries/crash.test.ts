import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { createService } from "../../lib/index.ts";
import { linesOf, startChild } from "../helpers/child-processes.ts";
import { isLong } from "../helpers/properties.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { seed } from "../helpers/test-service.ts";
import { start } from "../helpers/webhook-receiver.ts";

interface Attempt {
  readonly delivery: string;
  readonly attempt: number;
  readonly body: string;
}

/** At most this many attempts, no number twice, all with the same bytes. */
function checkAttempts(attempts: readonly Attempt[], most: number): void {
  const numbers = attempts.map(({ attempt }) => attempt);
  assert.ok(Math.max(...numbers) <= most, `attempt ${Math.max(...numbers)} of ${attempts[0]?.delivery}`);
  assert.equal(
    new Set(numbers).size,
    numbers.length,
    "an attempt is counted before it is sent, so no number comes twice",
  );
  assert.equal(new Set(attempts.map(({ body }) => body)).size, 1, "every attempt sends the same bytes");
}

test("a server killed repeatedly delivers every event to every webhook, in six attempts at most", async (t) => {
  const received: Attempt[] = [];
  const receiver = await start(({ headers, path, body }, response) => {
    received.push({
      delivery: String(headers["x-service-delivery"]),
      attempt: Number(headers["x-service-attempt"]),
      body,
    });
    response.statusCode = path === "/sometimes" && received.length % 2 === 0 ? 503 : 200;
    response.end();
  });
  t.after(() => receiver.close());
  const file = join(folderOf(t), "svc.db");
  const acknowledged = new Set<string>();
  const kills = isLong ? 12 : 6;
  for (let round = 0; round < kills; round++) {
    const child = await startChild(file, "announce", {}, `https://localhost:${receiver.port}`);
    const lines = await linesOf(child, (line, count) => line.startsWith("project") && count > 30 + 14 * round);
    for (const line of lines) if (line.startsWith("project")) acknowledged.add(line.split(" ")[1] ?? "");
  }

  // A manual clock, a minute later: it makes the remaining retries due.
  const later = new Date(Date.now() + 60_000).toISOString();
  const service = await createService({ database: file, seed, clock: `manual@${later}`, logLevel: "silent" });
  await service.clock.advance("3h");
  await service.close();

  const attempts = byDelivery(received);
  for (const list of attempts.values()) checkAttempts(list, 6);
  const database = new Database(file, { readonly: true });
  const states = database
    .prepare("select d.status, d.id, d.tries, json_extract(d.body, '$.data.project_id') as project from deliveries d")
    .all() as { status: string; id: string; tries: number; project: string }[];
  database.close();
  assert.ok(acknowledged.size > 300 && states.length >= 2 * acknowledged.size);
  for (const id of acknowledged) assert.equal(states.filter(({ project }) => project === id).length, 2);
  for (const { status, id, tries: counted } of states) {
    assert.ok(counted <= 6, `${id} had ${counted} attempts`);
    assert.ok(
      status === "succeeded" ? attempts.has(id) : status === "abandoned" && counted === 6,
      `${id} is ${status}`,
    );
  }
});

function byDelivery(all: readonly Attempt[]): Map<string, Attempt[]> {
  const map = new Map<string, Attempt[]>();
  for (const one of all) map.set(one.delivery, [...(map.get(one.delivery) ?? []), one]);
  return map;
}
