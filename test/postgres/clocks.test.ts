import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { bearer } from "../helpers/headers.ts";
import { emptyDatabase } from "./databases.ts";
import { followEvents, startProcesses } from "./processes.ts";

/** The union of the answers below; each has some of these fields. */
interface Answer {
  readonly id: string;
  readonly key: string;
  readonly status: string;
  readonly data: { id: string; event: string; created_at: string; data: { deployment_id?: string } }[];
}

const fakeClock = ["x86_64", "aarch64"]
  .map((name) => `/usr/lib/${name}-linux-gnu/faketime/libfaketimeMT.so.1`)
  .find((path) => existsSync(path));

test("three processes whose clocks are 30 s apart are one service", {
  skip: fakeClock === undefined && "needs Debian's package faketime",
}, async (t) => {
  const { url } = await emptyDatabase(t);
  const processes = await startProcesses(t, url, 3, { SVC_RATE_LIMIT: "40", LD_PRELOAD: fakeClock ?? "" }, (i) => ({
    FAKETIME: ["-30s", "+0s", "+30s"][i],
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  }));
  const { key } = processes;
  let turn = 0;
  const send = async (method: string, path: string, body?: object, token = key) => {
    const base = processes.urls()[turn++ % 3];
    const headers = { ...bearer(token), ...(body && { "content-type": "application/json" }) };
    const response = await fetch(base + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return { status: response.status, body: (await response.json()) as Answer, headers: response.headers };
  };
  // The clocks of the machines really differ.
  const dates: number[] = [];
  // One after the other: time that passes between them adds to the difference.
  for (const base of processes.urls())
    dates.push(Date.parse((await fetch(`${base}/healthz`)).headers.get("date") ?? ""));
  assert.ok((dates[2] ?? 0) - (dates[0] ?? 0) >= 58_000, String(dates));
  const stream = followEvents(t, processes);
  await stream.begun;
  const { id: project_id } = (await send("POST", "/v1/projects", { name: "web", region: "eu-west-1" })).body;
  const order = { project_id, environment: "production", source: { type: "git", repo: "acme/web", branch: "main" } };
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await send("POST", "/v1/deployments", order)).body.id);
  assert.deepEqual(ids, [...ids].sort(), "identifiers are in the order of the requests");
  // A key made by one process is valid at all of them until its `expires_at`.
  const expires_at = new Date(Date.now() + 10_000).toISOString();
  const short = (await send("POST", "/v1/api-keys", { name: "short", scopes: ["*"], expires_at })).body.key;
  for (let i = 0; i < 3; i++) assert.equal((await send("GET", "/v1/me", undefined, short)).status, 200);
  // Each request waits at another process for the last deployment, although the machines' clocks read leases 30 s
  // apart.
  const ended = await Promise.all([0, 1, 2].map(() => send("GET", `/v1/deployments/${ids[2]}?wait=60`)));
  assert.deepEqual(
    ended.map(({ body }) => body.status),
    ["active", "active", "active"],
  );
  for (let i = 0; i < 3; i++) assert.equal((await send("GET", "/v1/me", undefined, short)).status, 401);
  const { data } = (await send("GET", "/v1/events?per_page=100")).body;
  const committed = data.reverse();
  await stream.until(committed.at(-1)?.id ?? "");
  assert.deepEqual(
    stream.ids,
    committed.map(({ id }) => id),
  );
  const times = committed.map(({ created_at }) => created_at);
  assert.deepEqual(times, [...times].sort(), "times never go back");
  const begun = committed.filter(({ event }) => event === "deployment.started").map(({ data }) => data.deployment_id);
  assert.deepEqual(begun, ids, "first in, first out, each begun once");
  // A rate window starts and ends at the same time for all processes.
  const made = (await send("POST", "/v1/api-keys", { name: "rated", scopes: ["*"] })).body.key;
  const asked = await Promise.all(Array.from({ length: 60 }, () => send("GET", "/v1/me", undefined, made)));
  assert.equal(asked.filter(({ status }) => status === 200).length, 40);
  assert.equal(new Set(asked.map(({ headers }) => headers.get("x-ratelimit-reset"))).size, 1);
  const { codes } = await processes.stop();
  assert.deepEqual(codes, [0, 0, 0]);
});
