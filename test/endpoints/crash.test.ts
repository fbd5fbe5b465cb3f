import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { createService } from "../../lib/index.ts";
import { linesOf, startChild } from "../children.ts";
import { start } from "../receiver.ts";
import { folderOf } from "../room.ts";
import { seed } from "../world.ts";

interface Try {
  readonly delivery: string;
  readonly attempt: number;
  readonly body: string;
}

/** Six tries at most, numbered on, with the same bytes. */
function checkTries(tries: readonly Try[], ladder: number): void {
  const numbers = tries.map(({ attempt }) => attempt);
  assert.ok(Math.max(...numbers) <= ladder, `try ${Math.max(...numbers)} of ${tries[0]?.delivery}`);
  assert.equal(new Set(numbers).size, numbers.length, "a try is counted before it is made, so no number comes twice");
  assert.equal(new Set(tries.map(({ body }) => body)).size, 1, "every try sends the same bytes");
}

test("a server that is killed again and again delivers every event to every webhook, in six tries at most", async (t) => {
  const received: Try[] = [];
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
  for (let round = 0; round < 12; round++) {
    const child = await startChild(file, "announce", {}, `https://localhost:${receiver.port}`);
    const lines = await linesOf(child, (line, count) => line.startsWith("project") && count > 15 + 7 * round);
    for (const line of lines) if (line.startsWith("project")) acknowledged.add(line.split(" ")[1] ?? "");
  }

  // What is still to be retried falls due on a standing clock that goes on where the killed server was.
  const later = new Date(Date.now() + 60_000).toISOString();
  const service = await createService({ database: file, seed, clock: `manual@${later}`, logLevel: "silent" });
  await service.clock.advance("3h");
  await service.close();

  const tries = grouped(received);
  for (const list of tries.values()) checkTries(list, 6);
  const database = new Database(file, { readonly: true });
  const states = database
    .prepare("select d.status, d.id, d.tries, json_extract(d.body, '$.data.project_id') as project from deliveries d")
    .all() as { status: string; id: string; tries: number; project: string }[];
  database.close();
  assert.ok(acknowledged.size > 300 && states.length >= 2 * acknowledged.size);
  for (const id of acknowledged) assert.equal(states.filter(({ project }) => project === id).length, 2);
  for (const { status, id, tries: counted } of states) {
    assert.ok(counted <= 6, `${id} was tried ${counted} times`);
    assert.ok(status === "succeeded" ? tries.has(id) : status === "abandoned" && counted === 6, `${id} is ${status}`);
  }
});

function grouped(all: readonly Try[]): Map<string, Try[]> {
  const map = new Map<string, Try[]>();
  for (const one of all) map.set(one.delivery, [...(map.get(one.delivery) ?? []), one]);
  return map;
}
