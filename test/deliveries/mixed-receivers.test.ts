import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { createService } from "../../lib/index.ts";
import { linesOf, startChild } from "../helpers/child-processes.ts";
import { jsonBearer } from "../helpers/headers.ts";
import { folderOf } from "../helpers/temporary-store.ts";
import { keyOf, seed } from "../helpers/test-service.ts";
import { start } from "../helpers/webhook-receiver.ts";

/** `SVC_SERVER_DELIVERIES=5000 npm test mixed-receivers` is the full run, with twenty kills; it takes some minutes. */
const wanted = Number(process.env["SVC_SERVER_DELIVERIES"] ?? "200");
const kills = wanted >= 5000 ? 20 : 4;
const hanging = wanted >= 5000 ? 32 : 0;

/** Each receiver's response, except to a ping: that succeeds, so that no endpoint is turned off. */
const answers = { fine: 200, broken: 500, elsewhere: 302, busy: 429 } as const;
const instant = "2026-01-01T00:00:00Z";

interface Delivery {
  readonly event: string;
  readonly status: string;
  readonly attempts: readonly { readonly number: number; readonly status: number | null; readonly error: string }[];
}

test("with receivers that succeed, fail, redirect and reset, every delivery arrives or is abandoned after six attempts, although the server is killed", async (t) => {
  const attemptsOf = new Map<string, Set<string>>();
  const receiver = await start(({ headers, path }, response) => {
    if (headers["x-service-event"] === "ping") return void response.end();
    const id = String(headers["x-service-delivery"]);
    // One attempt may arrive twice: on a connection that was closing, and again on a new one.
    attemptsOf.set(id, (attemptsOf.get(id) ?? new Set()).add(String(headers["x-service-attempt"])));
    if (path === "/hang") return;
    if (path === "/reset") return void response.socket?.destroy();
    response.writeHead(answers[path.slice(1) as keyof typeof answers], {
      location: "https://localhost/",
      "retry-after": "1",
    });
    response.end();
  });
  t.after(() => receiver.close());
  const file = join(folderOf(t), "svc.db");
  const open = () =>
    createService({ database: file, seed, clock: `manual@${instant}`, logLevel: "silent", rateLimit: 1_000_000 });
  let service = await open();
  const call = async (method: string, path: string, body?: object) => {
    const headers = jsonBearer(keyOf("owner"));
    const response = await service.fetch(`/v1${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, `${method} ${path} was answered ${response.status}`);
    return (await response.json()) as never;
  };
  const at = `https://localhost:${receiver.port}`;
  const hooks: string[] = [];
  const register = async (url: string, event: string) =>
    hooks.push(((await call("POST", "/webhooks", { url, events: [event] })) as { id: string }).id);
  for (const name of [...Object.keys(answers), "reset"]) await register(`${at}/${name}`, "project.created");
  if (hanging > 0) await register(`${at}/hang`, "user.invited");
  for (let i = 0; i < wanted / 5; i++) await call("POST", "/projects", { name: `project ${i}`, region: "eu" });
  for (let i = 0; i < hanging; i++)
    await call("POST", "/users/invite", { email: `p${i}@example.test`, role: "viewer" });
  await service.close();

  for (let round = 0; round < kills; round++) {
    const child = await startChild(file, "climb");
    await linesOf(child, (_, count) => count > 2 + ((round * 7) % 11));
  }
  service = await open();
  t.after(() => service.close());
  for (const id of hooks) await call("POST", `/webhooks/${id}/test`);
  await service.clock.advance("3h");

  let seen = 0;
  for (const id of hooks) {
    for (let cursor = ""; ; ) {
      const page: { data: Delivery[]; meta: { next_cursor: string | null } } = await call(
        "GET",
        `/webhooks/${id}/deliveries?per_page=100${cursor}`,
      );
      for (const { event, status, attempts } of page.data) {
        if (event === "ping") continue;
        seen += 1;
        const last = attempts.at(-1);
        const arrived = last?.status === 200;
        assert.ok(arrived ? status === "succeeded" : status === "abandoned", `${status} after ${JSON.stringify(last)}`);
        // An attempt that a kill interrupted is counted, but not listed.
        assert.ok((last?.number ?? 6) <= 6 && (arrived || attempts.length <= 6), JSON.stringify(attempts));
      }
      if (page.meta.next_cursor === null) break;
      cursor = `&cursor=${page.meta.next_cursor}`;
    }
  }
  assert.equal(seen, wanted + hanging);
  assert.ok([...attemptsOf.values()].every(({ size }) => size <= 6));
});
