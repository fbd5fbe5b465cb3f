import assert from "node:assert/strict";
import { test } from "node:test";
import { verifySignature } from "../../lib/index.ts";
import { expect, type Who, type World, world } from "../helpers/test-service.ts";

/** The newest delivery of an endpoint, with its request. */
const newest = async (here: World, path: string, who: Who = "owner") => {
  const [{ id }] = expect(await here.call("owner", "GET", `/v1/${path}/deliveries`), 200).data;
  return expect(await here.call(who, "GET", `/v1/${path}/deliveries/${id}`), 200);
};

test("a delivery shows what it sends; only who may send it again sees its signature", async (t) => {
  const here = await world(t);
  const url = "https://hook.inbox.test/in?a=1";
  const { id } = expect(
    await here.call("owner", "POST", "/v1/webhooks", { url, events: ["project.created"], secret: "hush" }),
    201,
  );
  await here.project("<b>web</b>");
  await here.service.settle();
  const [caught] = here.service.inbox.list();
  const { request, ...delivery } = await newest(here, `webhooks/${id}`, "developer");
  assert.deepEqual([delivery.status, delivery.attempts.length], ["succeeded", 1]);
  assert.deepEqual([request.url, request.body], [url, caught?.body]);
  assert.ok(verifySignature("hush", request.body, request.headers["x-service-signature"]));
  for (const [name, value] of Object.entries(request.headers)) assert.equal(caught?.headers[name], value, name);
  const seen = await newest(here, `webhooks/${id}`, "viewer");
  assert.equal(seen.request.headers["x-service-signature"], "[redacted]");
  assert.equal((await here.call("owner", "GET", `/v1/webhooks/${id}/deliveries/dlv_none`)).status, 404);
});

test("an integration's request shows neither its key nor its secret URL", async (t) => {
  const here = await world(t);
  const made = async (type: string, config: object) =>
    expect(await here.call("owner", "POST", "/v1/integrations", { type, config }), 201).id;
  const chat = await made("chat", { webhook_url: "https://chat.test/s/T0" });
  const monitoring = await made("monitoring", { api_key: "k", site: "monitor.test" });
  await here.project();
  await here.service.settle();
  const posted = (await newest(here, `integrations/${chat}`)).request;
  assert.equal(posted.url, "https://chat.test/[redacted]");
  const sent = (await newest(here, `integrations/${monitoring}`)).request;
  assert.deepEqual([sent.url, sent.headers["dd-api-key"]], ["https://api.monitor.test/api/v1/events", "[redacted]"]);
});

test("events can be listed by their name", async (t) => {
  const here = await world(t);
  const { id } = await here.project("one");
  await here.project("two");
  await here.deploy(id);
  const list = async (query: string) =>
    expect(await here.call("viewer", "GET", `/v1/events?${query}`), 200) as {
      data: { event: string; data: { name?: string } }[];
      meta: { next_cursor: string | null };
    };
  const first = await list("event=project.created&per_page=1");
  assert.deepEqual(
    first.data.map(({ data }) => data.name),
    ["two"],
  );
  const second = await list(`event=project.created&per_page=1&cursor=${first.meta.next_cursor}`);
  assert.deepEqual([second.data[0]?.data.name, second.meta.next_cursor], ["one", null]);
  assert.deepEqual((await list("event=user.removed")).data, []);
  assert.equal((await here.call("viewer", "GET", "/v1/events?event=nothing")).status, 422);
});
