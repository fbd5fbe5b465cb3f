import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { WebSocket } from "ws";
import { foundIn, type SecretsWorld, word, worldOfSecrets } from "../helpers/canaries.ts";
import { runHere } from "../helpers/cli-in-process.ts";
import { bearer } from "../helpers/headers.ts";
import { temporaryFolder } from "../helpers/program.ts";

/** Puts the secrets into their fields, and makes the service use them. */
async function useSecrets({ secretOf, receiver, call, reveal }: SecretsWorld) {
  const made = async (path: string, body: object) => {
    const { status, body: record } = await call("POST", path, body, { "idempotency-key": word() });
    assert.equal(status, 201, JSON.stringify(record));
    return record;
  };
  const url = receiver.url;
  const project = await made("/v1/projects", { name: "web", region: "eu" });
  const webhook = await made("/v1/webhooks", { url, events: ["*"], secret: secretOf("the secret of a webhook") });
  const chat = { webhook_url: `${url}/${secretOf("the path of a chat")}` };
  await made("/v1/integrations", { type: "chat", config: chat });
  const custom = { url, secret: secretOf("the secret of a custom integration") };
  await made("/v1/integrations", { type: "custom", config: custom });
  const monitor = { api_key: secretOf("the key of a monitoring provider"), site: "monitor.test" };
  await made("/v1/integrations", { type: "monitoring", config: monitor });
  const config = { repo: "acme/web", branch: "main", environment: "production" };
  const secret = secretOf("the secret of a code host");
  const host = await made("/v1/integrations", { type: "code_host", config: { ...config, secret } });
  const variables = { TOKEN: { value: secretOf("a secret variable"), secret: true } };
  await call("PUT", `/v1/projects/${project.id}/environments/production`, { variables });
  await reveal("a further key", "POST", "/v1/api-keys", { name: "further" }, ({ key }: { key: string }) => key);
  await call("POST", "/v1/users/invite", { email: "bob@acme.test", role: "viewer" });
  const token = await reveal(
    "the token of an invitation",
    "GET",
    "/_svc/mail",
    undefined,
    ({ data }: { data: [{ token: string }] }) => data[0].token,
  );
  const accepted = { token, name: "Bob" };
  await reveal(
    "the key of a new user",
    "POST",
    "/v1/invitations/accept",
    accepted,
    (body: { api_key: string }) => body.api_key,
  );
  const source = { type: "git", repo: "acme/web", branch: "main" };
  const deployment = await made("/v1/deployments", { project_id: project.id, environment: "production", source });
  await made("/v1/generations", { model: "painter", prompt: "a hill" });
  const picture = await made("/v1/generations", { model: "any-image", prompt: "a hill", resolution: "32x32" });
  for (const signing of [secret, secretOf("the secret of the code host's app")]) {
    const push = JSON.stringify({
      ref: "refs/heads/main",
      after: "a".repeat(40),
      repository: { full_name: "acme/web" },
    });
    const signature = `sha256=${createHmac("sha256", signing).update(push).digest("hex")}`;
    const headers = { "x-github-event": "push", "x-github-delivery": word(), "x-hub-signature-256": signature };
    await call("POST", `/hooks/code-host/${host.id}`, push, headers);
    await call("POST", "/hooks/code-host", push, { "x-github-event": "push", "x-gitlab-token": signing });
  }
  await call("POST", "/_svc/clock/advance", { by: "1m" });
  return { project, webhook, deployment, picture };
}

/** Wrong calls, each with a secret where a caller could put one by mistake. */
async function misuse({ secretOf, call }: SecretsWorld, { webhook, project }: Awaited<ReturnType<typeof useSecrets>>) {
  const secret = secretOf("the secret of a webhook");
  const value = secretOf("a secret variable");
  const key = secretOf("the first key");
  await call("GET", "/v1/me", undefined, {}, secretOf("a key of a caller that does not exist"));
  await call("GET", `/v1/me?api_key=${key}&token=${secret}`);
  await call("GET", `/v1/projects?cursor=${secret}`);
  await call("POST", "/v1/webhooks", `{"secret":"${secret}",`);
  await call("POST", "/v1/webhooks", { url: "https://a.test", events: ["*"], secret: secret.repeat(20) });
  await call("POST", "/v1/webhooks", { url: `https://user:${secret}@a.test`, events: [secret], secret: [secret] });
  await call("PATCH", `/v1/webhooks/${webhook.id}`, { secret: { value: secret } });
  await call("POST", "/v1/integrations", { type: "chat", config: { webhook_url: `http://a.test/${secret}` } });
  await call("POST", "/v1/integrations", { type: "monitoring", config: { api_key: { secret }, site: "x" } });
  await call("PUT", `/v1/projects/${project.id}/environments/production`, {
    variables: { "a-b": { value, secret: "yes" } },
  });
  await call("PUT", `/v1/projects/${project.id}/environments/production`, { variables: { A: { value: [value] } } });
  await call("POST", "/v1/invitations/accept", { token: secretOf("the token of an invitation"), name: "again" });
  await call(
    "POST",
    "/v1/webhooks",
    { url: "https://a.test" },
    { "content-type": "text/plain", cookie: `session=${secret}` },
  );
}

test("no secret is in an answer, a stream, the log, a file, an argument or the output of a command", async (t) => {
  const here = await worldOfSecrets(t);
  const { folder, secrets, server, shown, call, receiver } = here;
  const made = await useSecrets(here);
  await misuse(here, made);
  const paths = [
    ...["me", "api-keys", "projects", "deployments", "users", "invitations", "webhooks", "integrations", "events"],
    ...[`webhooks/${made.webhook.id}/deliveries`, `projects/${made.project.id}/environments`, "generations"],
    ...[`deployments/${made.deployment.id}/logs`, `deployments/${made.deployment.id}/logs?follow=true`, "openapi.json"],
  ].map((path) => `/v1/${path}`);
  for (const path of [...paths, "/_svc/journal", "/_svc/scenarios", "/_svc/faults", "/metrics", "/healthz", "/readyz"])
    await call("GET", path);
  const { body } = await call("GET", "/v1/integrations");
  for (const { id } of body.data) await call("GET", `/v1/integrations/${id}/deliveries`);
  const streamed = `${server.url.replace(/^http/, "ws")}/v1/stream?after=${await firstEvent(call)}`;
  const stream = new WebSocket(streamed, { headers: bearer(here.secretOf("the first key")) });
  shown.set("the WebSocket", String(await once(stream, "message")));
  stream.terminate();
  // Anybody behind the receiver can read the bodies of deliveries.
  for (const { body: sent, path } of receiver.requests)
    shown.set(`${shown.size}: the delivery to ${path.slice(0, 6)}`, sent);

  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  for (const pid of process.platform === "linux" ? pids : []) shown.set(`the arguments of ${pid}`, argumentsOf(pid));
  for (const words of [["backup", "copy.db"], ["keys", "list"], ["keys", "list", "--json"], ["doctor"]]) {
    const { stdout, stderr } = await runHere([...words, "--database", "svc.db"], folder);
    shown.set(`svc-server ${words.join(" ")}`, stdout + stderr);
  }
  // A broken store puts a stack trace into the log.
  const file = new Database(join(folder, "svc.db"));
  file.exec("alter table endpoints rename to elsewhere");
  file.close();
  const { status } = await call("POST", "/v1/webhooks", {
    url: receiver.url,
    events: ["*"],
    secret: secrets["the secret of a webhook"],
  });
  assert.equal(status, 500);
  const files = () => {
    for (const one of readdirSync(folder, { recursive: true, withFileTypes: true }))
      if (one.isFile()) shown.set(`the file ${one.name}`, readFileSync(join(one.parentPath, one.name)));
  };
  files();
  const { rest } = await server.stop();
  shown.set("stdout", rest.join("\n"));
  shown.set("stderr", server.errors());
  files();
  assert.match(server.errors(), /debug[\s\S]*no such table: endpoints/, "the log is at its fullest, and has the stack");
  assert.ok(receiver.requests.length >= 10, `only ${receiver.requests.length} deliveries were sent`);
  assert.ok(shown.has("the file svc.db") && shown.has("the file copy.db"));
  secrets["the encryption key"] = readFileSync(join(folder, "svc.db.key"), "utf8").trim();
  const leaks = [...shown].flatMap(([place, bytes]) => foundIn(secrets, bytes).map((name) => `${name} is in ${place}`));
  const byDesign = /^the encryption key is in the file (svc|copy)\.db\.key$/;
  assert.deepEqual(
    leaks.filter((leak) => !byDesign.test(leak)),
    [],
  );
  assert.equal(leaks.length, 2, "the search finds the encryption key in its own files");
});

const firstEvent = async (call: SecretsWorld["call"]) =>
  (await call("GET", "/v1/events?per_page=100")).body.data.at(-1).id;

/** The command line of a process; empty if it has ended. */
function argumentsOf(pid: string): Buffer {
  try {
    return readFileSync(`/proc/${pid}/cmdline`);
  } catch {
    return Buffer.of();
  }
}

test("a start that is refused shows no secret of its options", async (t) => {
  const folder = temporaryFolder(t);
  const secret = word();
  writeFileSync(join(folder, "svc.db"), `no database, and ${secret}`);
  const model = { type: "openai", url: "http://localhost:1/v1", models: {} };
  const secretOf = (more: object) => JSON.stringify({ mine: { ...model, ...more } });
  for (const env of [
    { SVC_KEY: secret },
    { SVC_KEY: `sk_live_${secret} ` },
    { SVC_CODE_HOST_SECRET: secret.repeat(20) },
    { SVC_GENERATIONS_BACKENDS: `{"mine":{"key":"${secret}"` },
    { SVC_GENERATIONS_BACKENDS: secretOf({ key: `${secret} ${secret}` }) },
    { SVC_GENERATIONS_BACKENDS: secretOf({ key: [secret] }) },
    { SVC_GENERATIONS_BACKENDS: secretOf({ url: `http://user:${secret}@localhost:1/v1`, key: secret }) },
    { SVC_CODE_HOST_SECRET: secret, SVC_DATABASE: "svc.db" },
  ]) {
    const { status, stdout, stderr } = await runHere(["dev", "--port", "0", "--log-level", "debug"], folder, env);
    assert.notEqual(status, 0, stdout);
    assert.deepEqual(foundIn({ secret }, stdout + stderr), [], JSON.stringify(env));
  }
});
