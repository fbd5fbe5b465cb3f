// The same story with the client of each generator, unchanged: the types are checked first, then each runs.
import assert from "node:assert/strict";
import { isErrorFromAlias } from "@zodios/core";
import createFetchClient from "openapi-fetch";
import { createClient } from "./generated/hey-api/client";
import * as heyApi from "./generated/hey-api/sdk.gen";
import type { paths } from "./generated/openapi-typescript";
import * as orval from "./generated/orval";
import { api, createApiClient } from "./generated/zod";

const source = { type: "git", repo: "acme/web", tag: "v1.4.2" } as const;
const environment = "production";
const region = "eu-west-1";

async function openapiTypescript(baseUrl: string, key: string): Promise<void> {
  const client = createFetchClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } });
  const { data: project, error } = await client.POST("/projects", { body: { name: "openapi-typescript", region } });
  assert.ok(project, JSON.stringify(error));
  const requestId: string = project.meta.request_id;
  assert.match(requestId, /^req_/);
  const queued = await client.POST("/deployments", {
    params: { header: { "Idempotency-Key": "once" } },
    body: { project_id: project.id, environment, source },
  });
  assert.ok(queued.data, JSON.stringify(queued.error));
  const active = await client.GET("/deployments/{id}", {
    params: { path: { id: queued.data.id }, query: { wait: 30 } },
  });
  const version: string | null | undefined = active.data?.version;
  assert.deepEqual([active.data?.status, version], ["active", "v1.4.2"]);
  const { data: list } = await client.GET("/projects", { params: { query: { per_page: 1 } } });
  const names: string[] = list?.data.map(({ name }) => name) ?? [];
  const next: string | null | undefined = list?.meta.next_cursor;
  assert.deepEqual([names, next], [["openapi-typescript"], null]);
  // @ts-expect-error: region is required
  const refused = await client.POST("/projects", { body: { name: "x" } });
  assert.equal(refused.error?.error.code, "validation_failed");
  const { response } = await client.DELETE("/projects/{id}", { params: { path: { id: project.id } } });
  assert.equal(response.status, 204);
}

async function heyApiFetch(baseUrl: string, auth: string): Promise<void> {
  const client = createClient({ baseUrl, auth });
  const { data: project, error } = await heyApi.projectsCreate({ client, body: { name: "hey-api", region } });
  assert.ok(project, JSON.stringify(error));
  const requestId: string = project.meta.request_id;
  assert.match(requestId, /^req_/);
  const body = { project_id: project.id, environment, source };
  const queued = await heyApi.deploymentsCreate({ client, body, headers: { "Idempotency-Key": "hey" } });
  assert.ok(queued.data, JSON.stringify(queued.error));
  const path = { id: queued.data.id };
  const active = await heyApi.deploymentsGet({ client, path, query: { wait: 30 } });
  const version: string | null | undefined = active.data?.version;
  assert.deepEqual([active.data?.status, version], ["active", "v1.4.2"]);
  const { data: list } = await heyApi.projectsList({ client, query: { per_page: 1 } });
  const names: string[] = list?.data.map(({ name }) => name) ?? [];
  assert.deepEqual([names, list?.meta.next_cursor], [["hey-api"], null]);
  // @ts-expect-error: region is required
  const refused = await heyApi.projectsCreate({ client, body: { name: "x" } });
  assert.equal(refused.error?.error.code, "validation_failed");
  const { response } = await heyApi.projectsDelete({ client, path: { id: project.id } });
  assert.equal(response?.status, 204);
}

async function orvalFetch(baseUrl: string, key: string): Promise<void> {
  // The generated functions call the global `fetch` with a path.
  const { fetch } = globalThis;
  globalThis.fetch = (path, init) => fetch(`${baseUrl}${path}`, init);
  const headers = { authorization: `Bearer ${key}` };
  try {
    const project = await orval.projectsCreate({ name: "orval", region }, { headers });
    assert.ok(project.status === 201, JSON.stringify(project));
    const requestId: string = project.data.meta.request_id;
    assert.match(requestId, /^req_/);
    const body = { project_id: project.data.id, environment, source };
    const queued = await orval.deploymentsCreate(body, { headers: { ...headers, "Idempotency-Key": "orval" } });
    assert.ok(queued.status === 201, JSON.stringify(queued));
    const active = await orval.deploymentsGet(queued.data.id, { wait: 30 }, { headers });
    assert.ok(active.status === 200, JSON.stringify(active));
    const version: string | null = active.data.version;
    assert.deepEqual([active.data.status, version], ["active", "v1.4.2"]);
    const list = await orval.projectsList({ per_page: 1 }, { headers });
    assert.ok(list.status === 200, JSON.stringify(list));
    const names: string[] = list.data.data.map(({ name }) => name);
    assert.deepEqual([names, list.data.meta.next_cursor], [["orval"], null]);
    // @ts-expect-error: region is required
    const refused = await orval.projectsCreate({ name: "x" }, { headers });
    assert.ok(refused.status === 422, JSON.stringify(refused));
    assert.equal(refused.data.error.code, "validation_failed");
    const { status } = await orval.projectsDelete(project.data.id, { headers });
    assert.equal(status, 204);
  } finally {
    globalThis.fetch = fetch;
  }
}

/** Zodios checks every response against its schemas as well. */
async function openapiZodClient(baseUrl: string, key: string): Promise<void> {
  const client = createApiClient(baseUrl, { axiosConfig: { headers: { authorization: `Bearer ${key}` } } });
  const project = await client["projects.create"]({ name: "zod-client", region });
  const requestId: string = project.meta.request_id;
  assert.match(requestId, /^req_/);
  const body = { project_id: project.id, environment, source };
  const queued = await client["deployments.create"](body, { headers: { "Idempotency-Key": "zod" } });
  const active = await client["deployments.get"]({ params: { id: queued.id }, queries: { wait: 30 } });
  const version: string | null = active.version;
  assert.deepEqual([active.status, version], ["active", "v1.4.2"]);
  const list = await client["projects.list"]({ queries: { per_page: 1 } });
  const names: string[] = list.data.map(({ name }) => name);
  assert.deepEqual([names, list.meta.next_cursor], [["zod-client"], null]);
  const refused = await client["projects.create"]({ name: "zod-client", region }).catch((error: unknown) => error);
  assert.ok(isErrorFromAlias(api.api, "projects.create", refused), String(refused));
  assert.deepEqual([refused.response.status, refused.response.data.error.code], [409, "name_taken"]);
  await client["projects.delete"](undefined, { params: { id: project.id } });
}

export const stories = { openapiTypescript, heyApiFetch, orvalFetch, openapiZodClient };
