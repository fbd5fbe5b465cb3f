import assert from "node:assert/strict";
import { test } from "node:test";
import type * as client from "../../lib/client.ts";
import type {
  ApiKey,
  Delivery,
  Deployment,
  EventName,
  EventRecord,
  Generation,
  Integration,
  Invitation,
  Project,
  Service,
  User,
  Webhook,
  WebhookPayload,
} from "../../lib/index.ts";
import { createTestService } from "../../lib/testing.ts";

// `npx tsc -p .` checks the types in these tests.
test("records and payloads have types to write them down with", async (t) => {
  const service = await createTestService(t);
  const api = service.client();
  const project: Project = await api.projects.create({ name: "web", region: "eu" });
  const same: client.Project = project;
  assert.equal(same.name, "web");
  const events: EventName[] = ["deployment.failed"];
  const webhook: Webhook = await api.webhooks.create({ url: "https://hook.inbox.test/", events, secret: "hush" });
  await service.scenarios.next("deployment", { result: "fail", at: "building", message: "npm ERR!" });
  const source = { type: "image", image_url: "registry.example.com/web:1" } as const;
  const { id } = await api.deployments.create({ project_id: project.id, environment: "production", source });
  await service.clock.runUntilIdle();
  const deployment: Deployment = await api.deployments.get({ id });
  assert.equal(deployment.status, "failed");
  const list: readonly (User | Invitation | Integration | Generation | ApiKey)[] = [
    ...(await api.users.list()).data,
    ...(await api.keys.list()).data,
  ];
  assert.equal(list.length, 2);
  const [happened]: readonly EventRecord[] = (await api.events.list()).data;
  assert.equal(happened?.event, "deployment.failed");
  const [delivery]: readonly Delivery[] = (await api.webhooks.deliveries({ id: webhook.id })).data;
  assert.equal(delivery?.status, "succeeded");

  const caught = await service.webhooks.waitFor("deployment.failed");
  const failed: WebhookPayload<"deployment.failed"> = JSON.parse(caught.body);
  assert.deepEqual([failed.data.reason, caught.data.reason], ["npm ERR!", "npm ERR!"]);
  // @ts-expect-error: a project has no reason
  assert.equal((failed as unknown as WebhookPayload<"project.created">).data.reason, "npm ERR!");
  await api.webhooks.test({ id: webhook.id });
  const any = JSON.parse((await service.webhooks.waitFor("ping")).body) as WebhookPayload;
  if (any.event === "deployment.failed") assert.fail(any.data.reason);
  assert.deepEqual(any, { event: "ping", timestamp: any.timestamp, data: { webhook_id: webhook.id } });
});

test("a list of pages takes the filters of its operation as they are written", async (t) => {
  const api = (await createTestService(t)).client();
  const found: Deployment["status"][] = [];
  for await (const one of api.paginate(api.deployments.list, { status: "active", per_page: 5 })) found.push(one.status);
  for await (const one of api.paginate(api.projects.list)) assert.fail(one.name);
  assert.deepEqual(found, []);
  // @ts-expect-error: no deployment has this status
  const wrong = api.paginate(api.deployments.list, { status: "finished" });
  await assert.rejects(async () => wrong.next(), { code: "validation_failed" });
  // @ts-expect-error: the log of which deployment
  await assert.rejects(async () => api.paginate(api.deployments.logs, { per_page: 5 }).next(), TypeError);
});

test("codes, kinds and members have exact types", async (t) => {
  const service: Service = await createTestService(t);
  const key: string = service.apiKey;
  const { projects, auditLog } = service.client();
  const error = await projects.get({ id: "proj_x" }).catch((problem: client.ClientProblem) => problem);
  if (!("code" in error)) assert.fail("there is no such project");
  const known: client.ErrorCode = "not_found";
  assert.equal(error.code, known);
  // @ts-expect-error: no code has this name
  const unknown: client.ErrorCode = "not_fount";
  const open: client.ClientProblem["code"] = unknown;
  assert.equal(open, "not_fount");
  const { list } = service.journal;
  const paths: string[] = list({ kind: "request" }).map(({ path }) => path);
  assert.deepEqual(paths, ["/v1/projects/proj_x"]);
  // @ts-expect-error: an event has no path
  const wrong = list({ kind: "event" }).map(({ path }) => path);
  assert.deepEqual(wrong, []);
  const all = list();
  assert.equal(all[0]?.kind, "request");
  assert.deepEqual((await auditLog.list()).data, (await service.client()["audit-log"].list()).data);
  assert.ok(key.startsWith("sk_live_"));
});

test("waiting for an unknown event is refused at once with the known names", async (t) => {
  const { webhooks } = await createTestService(t);
  const known = /^event must be one of deployment\.queued, .*user\.removed, ping, \* for any, or a function/;
  await assert.rejects(
    // @ts-expect-error: the name is misspelt
    webhooks.waitFor("deployment.failled"),
    ({ code, message }: Error & { code: string }) =>
      code === "validation_failed" && known.test(message) && message.endsWith("; did you mean deployment.failed?"),
  );
  for (const wrong of ["", "deployment", "deployment.*", undefined, null, 5, {}])
    await assert.rejects(webhooks.waitFor(wrong as never), { code: "validation_failed", message: known });
});
