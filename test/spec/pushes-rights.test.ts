import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

const config = { repo: "acme/web", branch: "main", environment: "production" };
const github = () => ({
  ref: "refs/heads/main",
  after: "0123456789abcdef0123456789abcdef01234567",
  repository: { full_name: "acme/web" },
});
const connect = async (here: World) =>
  expect(await here.call("owner", "POST", "/v1/integrations", { type: "code_host", config }), 201).id;
const push = (here: World, path: string, body: object, headers: Record<string, string>) =>
  here.call("nobody", "POST", `/hooks/code-host${path}`, body, { "x-github-event": "push", ...headers });
const sign = (secret: string, body: object) =>
  `sha256=${createHmac("sha256", secret).update(JSON.stringify(body)).digest("hex")}`;

test("a push counts against its address before a body is read", async (t) => {
  const here = await listeningWorld(t, { addressRateLimit: 3, codeHost: { secret: "app" } });
  const id = await connect(here);
  for (const path of ["", `/${id}`, "/int_01ARZ3NDEKTSV4RRFFQ69G5FAV"]) {
    const { status, headers } = await here.send("POST", `/hooks/code-host${path}`, {
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    assert.equal(status, path.endsWith("FAV") ? 404 : 401, path);
    assert.equal(headers["x-ratelimit-limit"], "3");
  }
  for (const path of ["", `/${id}`]) {
    // The body never comes, so a server that waits for it would never answer.
    const answer = await here.raw(
      `POST /hooks/code-host${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 5000000\r\n\r\n`,
    );
    assert.match(answer, /^HTTP\/1\.1 429 /);
    assert.match(answer, /retry-after: \d+/i);
    assert.match(answer, /x-ratelimit-remaining: 0/i);
    assert.match(answer, /"code":"rate_limited"/);
  }
  await here.service.clock.advance("10m");
  const { status } = await here.send("POST", "/hooks/code-host", {
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  assert.equal(status, 401);
});

test("the connected app serves the organizations that the operator names, and no others", async (t) => {
  const serve = async (organizations: Record<string, string[]> | undefined) => {
    const codeHost = { secret: "app_secret", ...(organizations && { organizations }) };
    const here = await world(t, { codeHost });
    const integrationOf = async (who: "owner" | "stranger", more: object = {}) => {
      expect(await here.call(who, "POST", "/v1/projects", { name: "web", region: "eu" }), 201);
      const body = { type: "code_host", config: { ...config, ...more } };
      return expect(await here.call(who, "POST", "/v1/integrations", body), 201).id;
    };
    const own = await integrationOf("owner");
    // The integration's own secret signs posts to it, but not posts of the app.
    const foreign = await integrationOf("stranger", { secret: "of globex" });
    const signed = (secret: string) => ({ "x-hub-signature-256": sign(secret, github()) });
    const served = async (path: string, secret = "app_secret") =>
      expect(await push(here, path, github(), signed(secret)), 202).data.map(
        ({ integration_id }: { integration_id: string }) => (integration_id === own ? "acme" : "globex"),
      );
    return [await served(""), await served(`/${own}`), await served(`/${foreign}`, "of globex")];
  };
  assert.deepEqual(await serve(undefined), [[], [], ["globex"]], "none where there are several");
  assert.deepEqual(await serve({ acme: ["acme/*"] }), [["acme"], ["acme"], ["globex"]]);
  assert.deepEqual(await serve({ acme: ["acme/website"], globex: ["acme/we?"] }), [["globex"], [], ["globex"]]);
});
