import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonBearer } from "../helpers/headers.ts";
import { launch } from "../helpers/program.ts";

test("a tester controls the emulator from any language", async (t) => {
  const server = await launch(t, ["dev", "--port", "0", "--clock", "manual@2026-01-01T00:00:00Z"]);
  const send = async (method: string, path: string, body?: object) => {
    const headers = jsonBearer(server.api_key);
    const response = await fetch(server.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    // biome-ignore lint/suspicious/noExplicitAny: what a test expects of an answer is what it asserts
    return { status: response.status, body: (await response.json()) as any };
  };
  const ok = async (method: string, path: string, body?: object) => {
    const answer = await send(method, path, body);
    assert.ok(answer.status < 300, JSON.stringify(answer.body));
    return answer.body;
  };

  await ok("PUT", "/_svc/inbox/hook", { responses: [500, { timeout: true }, { drop: true }] });
  await ok("POST", "/v1/webhooks", { url: "https://hook.inbox.test/in", events: ["deployment.failed"] });
  await ok("POST", "/_svc/scenarios", { match: { branch: "ma*" }, outcome: { result: "fail", message: "npm ERR!" } });
  const project = await ok("POST", "/v1/projects", { name: "web", region: "eu-west-1" });
  const source = { type: "git", repo: "acme/web", branch: "main" };
  const order = { project_id: project.id, environment: "production", source };
  const { id } = await ok("POST", "/v1/deployments", order);
  await ok("POST", "/_svc/clock/advance", { by: "3h" });
  assert.equal((await ok("GET", `/v1/deployments/${id}`)).status, "failed");
  const { data: caught } = await ok("GET", "/_svc/inbox?endpoint=hook");
  assert.deepEqual(
    caught.map(({ response }: { response: unknown }) => response),
    [500, { timeout: true }, { drop: true }, 200],
  );
  assert.equal(JSON.parse(caught[3].body).data.reason, "npm ERR!");

  const match = { method: "GET", path: "/v1/projects/*" };
  await ok("POST", "/_svc/faults", { match, respond: { status: 503, delay: "20ms" }, times: 1 });
  await ok("POST", "/_svc/faults", { match, respond: { drop: true }, times: 1 });
  assert.equal((await send("GET", `/v1/projects/${project.id}`)).body.error.code, "unavailable");
  await assert.rejects(send("GET", `/v1/projects/${project.id}`), TypeError);
  await ok("GET", `/v1/projects/${project.id}`);

  const { data: journal } = await ok("GET", "/_svc/journal?kind=try");
  assert.equal(journal.length, 4);
  await ok("DELETE", "/_svc/scenarios");
  assert.equal((await server.stop()).code, 0);
});
