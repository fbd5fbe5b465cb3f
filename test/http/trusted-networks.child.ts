import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { takeAllAddresses } from "../helpers/closed-network.ts";
import { bearer } from "../helpers/headers.ts";
import { launch } from "../helpers/program.ts";
import { start as receiver } from "../helpers/webhook-receiver.ts";

/* Runs in its own namespaces (`trusted-networks.test.ts`), where every address belongs to this machine. */

const [own, member, second, stranger] = ["172.18.0.2", "172.18.0.5", "10.7.3.1", "192.168.5.5"];
const records = (name: string, lookups: number) => {
  const found: Record<string, string> = {
    svc: own,
    app: "172.18.0.9",
    stranger,
    // DNS rebinding: inside the network at registration, outside at use.
    moving: lookups > 1 ? stranger : "172.18.0.9",
  };
  return { addresses: found[name] === undefined ? [] : [found[name]] };
};

interface Asked {
  readonly from?: string;
  readonly host?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

test("peers, hosts, origins, proxies, forwarding and webhooks", async (t) => {
  await takeAllAddresses(records);
  const trust = ["--trust-network", "172.18.0.0/16, fd00::/8", "--trust-network=10.7.0.0/16"];
  const service = await launch(t, [
    "dev",
    "--host",
    "0.0.0.0",
    "--port",
    "0",
    "--hosts",
    "svc",
    "--clock",
    "manual",
    ...trust,
  ]);
  assert.match(service.errors(), /without a key.*172\.18\.0\.0\/16, fd00::\/8, 10\.7\.0\.0\/16/);
  const { port } = new URL(service.url);

  const ask = async (
    method: string,
    path: string,
    { from = member, host = `svc:${port}`, headers, body }: Asked = {},
  ) => {
    const json = body && { "content-type": "application/json" };
    const options = { host: own, port, method, path, localAddress: from, headers: { host, ...json, ...headers } };
    const [response] = (await once(request(options).end(body && JSON.stringify(body)), "response")) as [
      IncomingMessage,
    ];
    const answer = await text(response);
    const isJson = String(response.headers["content-type"]).startsWith("application/json");
    return { status: response.statusCode, body: isJson ? JSON.parse(answer) : answer };
  };
  const v1 = (path: string, body: object) => ask("POST", `/v1${path}`, { body, headers: bearer(service.api_key) });
  const settle = () => ask("POST", "/_svc/settle");

  await t.test("members of every trusted network need no key, by a known name", async () => {
    for (const from of [member, own, second])
      assert.equal((await ask("GET", "/_svc/clock", { from })).status, 200, from);
    assert.equal((await ask("GET", "/metrics")).status, 401);
  });

  await t.test("other machines, proxies, unknown names and foreign pages are refused in words", async () => {
    const closed = "the control interface is open only to this machine, 172.18.0.0/16, fd00::/8, 10.7.0.0/16: ";
    const refused = async (status: number, message: RegExp, asked: Asked, path = "/_svc/clock") => {
      const answer = await ask("GET", path, asked);
      assert.equal(answer.status, status, JSON.stringify([path, asked]));
      assert.match(answer.body.error.message, message);
    };
    await refused(404, new RegExp(`^${closed}.*192\\.168\\.5\\.5; --trust-network`), { from: stranger });
    await refused(404, /comes from 192\.168\.5\.5/, { from: stranger, host: "127.0.0.1" });
    for (const name of ["x-forwarded-for", "forwarded"])
      await refused(404, new RegExp(`^${closed}a proxy has forwarded.*\\(${name}\\)`, "i"), {
        headers: { [name]: "for=1.2.3.4" },
      });
    await refused(421, /does not accept the Host/, { host: `evil.test:${port}` });
    await refused(421, /does not accept the Host/, { host: `${own}:${port}` });
    await refused(403, /pages of http:\/\/evil\.test must not/, { headers: { origin: "http://evil.test" } });
    assert.equal((await ask("GET", "/_svc/clock", { headers: { origin: `http://svc:${port}` } })).status, 200);
    // The dashboard acts as the first owner, so only this machine may open it.
    for (const from of [stranger, member])
      await refused(404, /^the dashboard of dev is open only to this machine: /, { from }, "/dashboard/api/projects");
    assert.equal((await ask("GET", "/v1/me", { from: stranger, headers: bearer(service.api_key) })).status, 200);
  });

  const app = await receiver(undefined, { host: "172.18.0.9", plain: true });
  t.after(app.close);
  const outside = await receiver(undefined, { host: stranger, port: app.port, plain: true });
  t.after(outside.close);
  const to = (host: string) => `http://${host}:${app.port}/hook`;
  const events = ["project.created"];
  const lastAttempt = async (id: string) => {
    const { body } = await ask("GET", `/v1/webhooks/${id}/deliveries`, { headers: bearer(service.api_key) });
    return body.data[0].attempts.at(-1);
  };

  await t.test("an inbox forwards over plain http to a member, and to nobody else", async () => {
    const forward = (url: string) => ask("PUT", "/_svc/inbox/shop", { body: { forward: url } });
    for (const url of [to(stranger), "http://8.8.8.8/", "ftp://app/"]) {
      const { status, body } = await forward(url);
      assert.equal(status, 422, url);
      assert.match(
        body.error.message,
        /^forward must be an http or https URL on this machine or in 172\.18\.0\.0\/16, /,
      );
    }
    const { id } = (await v1("/webhooks", { url: "https://shop.inbox.test/", events })).body;
    for (const [host, status, error] of [
      ["app", 200, null],
      ["172.18.0.9", 200, null],
      ["stranger", null, "address_not_allowed"],
    ] as const) {
      assert.equal((await forward(to(host))).status, 200);
      await v1(`/webhooks/${id}/test`, {});
      await settle();
      const attempt = await lastAttempt(id);
      assert.deepEqual([attempt.status, attempt.error], [status, error], host);
    }
    assert.deepEqual([app.requests.length, outside.requests.length], [2, 0]);
  });

  await t.test("a webhook leads over plain http to a member, at each of its tries", async () => {
    const before = app.requests.length;
    for (const [host, attempt] of [
      ["app", [200, null]],
      ["moving", [null, "address_not_allowed"]],
    ] as const) {
      const { status, body } = await v1("/webhooks", { url: to(host), events });
      assert.equal(status, 201, JSON.stringify(body));
      await v1(`/webhooks/${body.id}/test`, {});
      await settle();
      const last = await lastAttempt(body.id);
      assert.deepEqual([last.status, last.error], attempt, host);
    }
    assert.deepEqual([app.requests.length - before, outside.requests.length], [1, 0]);
    assert.equal((await v1("/integrations", { type: "custom", config: { url: to("app") } })).status, 201);
    const rule =
      "must lead to a network of the option trustNetwork (172.18.0.0/16, fd00::/8, 10.7.0.0/16), or be an https:// URL";
    const wrong = await v1("/webhooks", { url: to(stranger), events: ["x"] });
    assert.deepEqual(
      [wrong.status, wrong.body.error.details[0], wrong.body.error.details.length],
      [422, { path: "url", message: rule }, 2],
    );
    for (const host of ["stranger", "localhost"]) {
      const { status, body } = await v1("/webhooks", { url: to(host), events });
      assert.deepEqual([status, body.error?.details], [422, [{ path: "url", message: rule }]], host);
    }
  });
  assert.equal((await service.stop()).code, 0);
});
