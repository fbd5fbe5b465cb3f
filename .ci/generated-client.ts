// The published document, proved from outside: a client that openapi-typescript and openapi-fetch make of it, unchanged.
// Types are checked by .ci/run before this runs.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import { createService } from "../lib/index.ts";
import type { paths } from "./openapi.d.ts";

const service = await createService({ clock: "manual" });
const client = createClient<paths>({
  baseUrl: "http://localhost/v1",
  headers: { authorization: `Bearer ${service.apiKey}` },
  fetch: (request) => service.fetch(request),
});

const created = await client.POST("/projects", { body: { name: "web", region: "eu-west-1" } });
const project = created.data;
assert.ok(project, JSON.stringify(created.error));
const requestId: string = project.meta.request_id;
assert.match(requestId, /^req_/);

const source = { type: "git", repo: "acme/web", tag: "v1.4.2" } as const;
const queued = await client.POST("/deployments", {
  params: { header: { "Idempotency-Key": "once" } },
  body: { project_id: project.id, environment: "production", source },
});
assert.ok(queued.data, JSON.stringify(queued.error));
await service.clock.advance("10s");
const path = { id: queued.data.id };
const { data: active } = await client.GET("/deployments/{id}", { params: { path } });
const version: string | null | undefined = active?.version;
assert.deepEqual([active?.status, version], ["active", "v1.4.2"]);

const { data: list } = await client.GET("/projects", { params: { query: { per_page: 1 } } });
const names: string[] = list?.data.map(({ name }) => name) ?? [];
const next: string | null | undefined = list?.meta.next_cursor;
assert.deepEqual([names, next], [["web"], null]);

// @ts-expect-error: region is required
const refused = await client.POST("/projects", { body: { name: "x" } });
assert.equal(refused.error?.error.code, "validation_failed");
const { response } = await client.DELETE("/projects/{id}", { params: { path: { id: project.id } } });
assert.equal(response.status, 204);
await service.close();
