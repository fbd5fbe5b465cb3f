import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { createClient } from "../../lib/client.ts";
import { createService } from "../../lib/index.ts";

const id = "dep_01ARZ3NDEKTSV4RRFFQ69G5FAV";

/** A client of a server that never answers, and the abort signals of its requests, by the end of their URL. */
async function hanging(t: TestContext, timeout: number) {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const limits = new Map<string, AbortSignal>();
  const client = createClient({
    ...{ baseUrl, timeout, retries: 0 },
    fetch(url, init) {
      if (init.signal) limits.set(url.replace(/.*[?/]/, ""), init.signal);
      return fetch(url, init);
    },
  });
  return { client, limits };
}

test("the limit of a request with wait is the wait and the limit of any other", async (t) => {
  const { client, limits } = await hanging(t, 10);
  const control = new AbortController();
  const waits = ["1", "60", "1e9"].map((wait) =>
    assert.rejects(client.call("deployments.get", { id, wait }, { signal: control.signal }), { message: "enough" }),
  );
  // Timers of one process fire in order: a shorter limit of a request above would fire first.
  await assert.rejects(client.deployments.get({ id }), { code: "timed_out", message: /not answered within 10 ms/ });
  await assert.rejects(client.call("generations.get", { id, wait: "soon" }), { message: /not answered within 10 ms/ });
  await assert.rejects(client.call("generations.get", { id, wait: -5 }), { message: /not answered within 10 ms/ });
  assert.deepEqual(
    [...limits].map(([end, { aborted }]) => `${end} ${aborted}`),
    [...["wait=1 false", "wait=60 false", "wait=1e9 false"], ...[`${id} true`, "wait=soon true", "wait=-5 true"]],
  );
  control.abort(new Error("enough"));
  await Promise.all(waits);
});

test("in process, a wait under a clock that nobody moves ends before any test runner does", async (t) => {
  const service = await createService({ clock: "manual" });
  t.after(service.close);
  const client = service.client();
  const { id: project_id } = await client.projects.create({ name: "web", region: "eu-west-1" });
  const source = { type: "git", repo: "acme/web" } as const;
  const { id } = await client.deployments.create({ project_id, environment: "production", source });
  const before = performance.now();
  await assert.rejects(client.waitUntilDone("deployments", id), {
    code: "timed_out",
    message:
      /^it is queued; .* stands still .* service\.clock\.advance\("10s"\), POST \/_svc\/clock\/advance .*service\.settle\(\)/,
  });
  const took = performance.now() - before;
  assert.ok(took >= 2_000 && took < 4_500, `${took} ms`);
});
