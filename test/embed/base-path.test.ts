import assert from "node:assert/strict";
import { test } from "node:test";
import { createService } from "../../lib/index.ts";
import { createTestService } from "../../lib/testing.ts";
import { bearer } from "../helpers/headers.ts";

const app = "http://app.test:3000";

test("below a base path, links, Location, the document and the dashboard are right", async (t) => {
  const service = await createTestService(t, { basePath: "/tools/svc", generations: { media: "fast" } });
  const headers = { ...bearer(service.apiKey ?? ""), "content-type": "application/json" };
  const post = (path: string, body: object) =>
    service.fetch(new Request(app + path, { method: "POST", headers, body: JSON.stringify(body) }));
  const get = (url: string, more = {}) => service.fetch(new Request(url, { headers: { ...headers, ...more } }));

  const made = await post("/tools/svc/v1/projects", { name: "web", region: "eu-west-1" });
  assert.equal(made.status, 201);
  const { id } = (await made.json()) as { id: string };
  assert.equal(made.headers.get("location"), `/tools/svc/v1/projects/${id}`);
  assert.equal((await get(`${app}${made.headers.get("location")}`)).status, 200);

  const drawn = await post("/tools/svc/v1/generations", {
    model: "any-image",
    prompt: "a hill",
    resolution: "512",
  });
  const { id: drawing } = (await drawn.json()) as { id: string };
  await service.clock.runUntilIdle();
  const { output } = await service.client().generations.get({ id: drawing });
  assert.ok(output?.url.startsWith(`${app}/tools/svc/assets/`), output?.url);
  assert.equal((await get(output?.url ?? "")).headers.get("content-type"), "image/png");

  const { client, mails } = service;
  await client().users.invite({ email: "ada@acme.test", role: "viewer" });
  const [mail] = await mails();
  assert.ok(mail?.link.startsWith(`${app}/tools/svc/dashboard/accept#`), mail?.link);

  const document = (await (await get(`${app}/tools/svc/v1/openapi.json`)).json()) as { servers: { url: string }[] };
  assert.equal(document.servers[0]?.url, "/tools/svc/v1");
  const page = await get(`${app}/tools/svc/dashboard/projects`, { "accept-encoding": "br" });
  const files = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = ""]) => path);
  assert.ok(files.length > 3);
  for (const path of files) {
    assert.ok(path.startsWith("/tools/svc/dashboard/assets/"), path);
    assert.equal((await get(app + path)).status, 200, path);
  }
  const [style = ""] = files.filter((path) => path.endsWith(".css"));
  assert.doesNotMatch(await (await get(app + style)).text(), /url\(["']?\/dashboard/);
  assert.equal((await get(`${app}/tools/svc-other/v1/me`)).status, 404);
});

test("without a request of the application, links start with the public URL or the port, and a port knows both", async (t) => {
  const service = await createTestService(t, { basePath: "/svc", publicUrl: "https://app.example" });
  await service.client().users.invite({ email: "ada@acme.test", role: "viewer" });
  await service.fetch(new Request("http://other.test/svc/v1/me", { headers: bearer(service.apiKey ?? "") }));
  assert.match((await service.mails())[0]?.link ?? "", /^https:\/\/app\.example\/svc\/dashboard\/accept#/);
  const { url } = await service.listen();
  for (const path of ["/svc/v1/me", "/v1/me"]) {
    const { status } = await fetch(url + path, { headers: bearer(service.apiKey ?? "") });
    assert.equal(status, 200, path);
  }
});

test("a base path with a slash too many, a query, a dot or a path of the service is refused", async () => {
  for (const basePath of ["svc", "/", "/svc/", "//svc", "/a//b", "/svc?x=1", "/svc#x", "/a.b", "/..", "/ä", "/a b"])
    await assert.rejects(createService({ basePath }), {
      name: "BadOptions",
      message:
        /^option basePath must be a path such as \/svc: a slash before each part, none at the end, no dot and no/,
    });
  for (const basePath of ["/v1", "/dashboard/svc"])
    await assert.rejects(
      createService({ basePath }),
      /^BadOptions: option basePath must not begin with a path of the s/,
    );
});
