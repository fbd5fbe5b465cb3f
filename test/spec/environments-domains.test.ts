import assert from "node:assert/strict";
import { test } from "node:test";
import { createService, type Options } from "../../lib/index.ts";
import { pathsOf } from "../helpers/deployments.ts";
import { expect, type Who, type World, world } from "../helpers/test-service.ts";
import { startTextServer } from "../helpers/text-server.ts";

type Status = { name: string; status: string; record: string; token: string; reason: string | null };
const host = "www.example.com";

const projectOf = async (here: World, who: Who, name = "web"): Promise<string> =>
  expect(await here.call(who, "POST", "/v1/projects", { name, region: "eu" }), 201).id;
const put = (here: World, who: Who, id: string, domains: readonly string[] = [host], name = "production") =>
  here.call(who, "PUT", `/v1/projects/${id}/environments/${name}`, { variables: {}, domains });
const statusOf = async (here: World, who: Who, id: string): Promise<Status> => {
  const { data } = expect(await here.call(who, "GET", `/v1/projects/${id}/environments`), 200);
  return data[0].domain_status[0];
};

/** A service that verifies domains with its own name server. */
async function verifying(t: Parameters<typeof world>[0], more: Options = {}) {
  const records = new Map<string, readonly string[]>();
  const { address, names } = await startTextServer(t, records);
  const here = await world(t, { domains: { verify: true, servers: [address] }, ...more });
  return { here, records, names };
}

test("a domain waits until its TXT record holds the organization's token", async (t) => {
  const { here, records, names } = await verifying(t);
  const id = await projectOf(here, "owner");
  const [before] = expect(await put(here, "owner", id), 200).domain_status as [Status];
  const { organization } = expect(await here.call("owner", "GET", "/v1/me"), 200);
  assert.deepEqual(before, {
    name: host,
    status: "pending",
    record: `_svc.${host}`,
    token: `svc-domain=${organization.id}`,
    reason: null,
  });
  await here.service.settle();
  const looked = await statusOf(here, "owner", id);
  assert.equal(looked.status, "pending");
  assert.match(looked.reason ?? "", /no TXT record _svc\.www\.example\.com with the value svc-domain=org_.* was found/);
  records.set(before.record, ["v=spf1 -all", `${before.token}0`]);
  await here.service.clock.advance("30s");
  assert.equal((await statusOf(here, "owner", id)).status, "pending", "a value that only begins with it is another");
  records.set(before.record, ["v=spf1 -all", before.token]);
  await here.service.clock.advance("1m");
  const after = await statusOf(here, "owner", id);
  assert.deepEqual([after.status, after.reason], ["active", null]);
  const asked = names.length;
  await here.service.clock.advance("7d");
  assert.equal(names.length, asked, "what serves is not looked up again");
});

test("it is looked up less and less often, for seven days, and again at a PUT", async (t) => {
  const { here, records, names } = await verifying(t);
  const id = await projectOf(here, "owner");
  expect(await put(here, "owner", id), 200);
  await here.service.clock.advance("1h");
  assert.equal(names.length, 7, "at once, and after 30 s, 1.5, 3.5, 7.5, 15.5 and 31.5 minutes");
  await here.service.clock.advance("30d");
  const asked = names.length;
  assert.ok(asked < 60, String(asked));
  await here.service.clock.advance("10d");
  assert.equal(names.length, asked, "it ends");
  const { record, token } = await statusOf(here, "owner", id);
  records.set(record, [token]);
  expect(await put(here, "owner", id), 200);
  await here.service.settle();
  assert.equal((await statusOf(here, "owner", id)).status, "active");
});

test("the hosts of the service are no environment's", async (t) => {
  const here = await world(t, {
    publicUrl: "https://svc.example.com",
    hosts: ["svc.internal.example", "::1", "127.999.0.1"],
  });
  const id = await projectOf(here, "owner");
  for (const name of ["svc.example.com", "SVC.internal.example"]) {
    const { error } = expect(await put(here, "owner", id, [name]), 422);
    assert.match(error.message, /must not be the host of this service/);
  }
});

test("of the domains of one body every broken rule is listed, before one that is taken", async (t) => {
  const here = await world(t, { publicUrl: "https://svc.example.com" });
  expect(await put(here, "owner", await projectOf(here, "owner"), ["taken.example.com"]), 200);
  const id = await projectOf(here, "owner", "again");
  const pathsFor = async (...names: string[]) => pathsOf(expect(await put(here, "owner", id, names), 422));
  assert.deepEqual(await pathsFor("taken.example.com", "svc.example.com"), ["domains.1"]);
  assert.deepEqual(await pathsFor("a.localhost", host, "svc.example.com"), ["domains.0", "domains.2"]);
});

test("two environments of one organization do not wait for the same domain", async (t) => {
  const { here } = await verifying(t);
  expect(await put(here, "owner", await projectOf(here, "owner")), 200);
  const again = await put(here, "owner", await projectOf(here, "owner", "again"));
  assert.equal(expect(again, 409).error.code, "domain_taken");
});

test("a domain of another's company is not taken, and cannot be blocked", async (t) => {
  const { here, records } = await verifying(t);
  const [victim, attacker] = [await projectOf(here, "owner"), await projectOf(here, "stranger")];
  expect(await put(here, "stranger", attacker), 200);
  const own = expect(await put(here, "owner", victim), 200).domain_status[0] as Status;
  records.set(own.record, [own.token]);
  await here.service.clock.advance("1h");
  assert.equal((await statusOf(here, "owner", victim)).status, "active");
  assert.equal((await statusOf(here, "stranger", attacker)).status, "pending");
  assert.equal(expect(await put(here, "stranger", attacker), 409).error.code, "domain_taken");
  // A domain that never served is not reserved for its last owner.
  const other = await projectOf(here, "stranger", "other");
  expect(await put(here, "stranger", other, ["shop.example.com"]), 200);
  expect(await put(here, "stranger", other, []), 200);
  expect(await put(here, "owner", victim, [host, "shop.example.com"]), 200);
});

for (const [how, end] of [
  ["is taken out of an environment", (here: World, id: string) => put(here, "owner", id, [])],
  [
    "goes with its environment",
    (here: World, id: string) => here.call("owner", "DELETE", `/v1/projects/${id}/environments/production`),
  ],
  ["goes with its project", (here: World, id: string) => here.call("owner", "DELETE", `/v1/projects/${id}`)],
] as const) {
  test(`a host that ${how} stays with its organization for seven days`, async (t) => {
    const here = await world(t);
    const id = await projectOf(here, "owner");
    assert.equal(expect(await put(here, "owner", id), 200).domain_status[0].status, "active", "dev verifies nothing");
    assert.ok((await end(here, id)).status < 300);
    await here.service.settle();
    const foreign = await projectOf(here, "stranger");
    const { error } = expect(await put(here, "stranger", foreign), 409);
    assert.equal(error.code, "domain_taken");
    assert.match(error.message, /another organization gave up the domain \S+, and keeps it reserved until 2026-01-08T/);
    const again = await projectOf(here, "owner", "again");
    expect(await put(here, "owner", again), 200);
    expect(await put(here, "owner", again, []), 200);
    await here.service.clock.advance("7d");
    expect(await put(here, "stranger", foreign), 200);
  });
}

test("start verifies domains where there are several organizations, unless the option says otherwise", async (t) => {
  const organization = (name: string) => ({
    name,
    users: [{ name, email: `${name}@x.test`, role: "owner" as const, keys: [{ key: `sk_live_${name}` }] }],
  });
  const statusIn = async (names: readonly string[], domains: Options["domains"]) => {
    const { address } = await startTextServer(t, new Map());
    const service = await createService({
      mode: "start",
      seed: { organizations: names.map(organization) },
      domains: { servers: [address], ...domains },
      logLevel: "silent",
    });
    t.after(() => service.close());
    const headers = { authorization: "Bearer sk_live_acme", "content-type": "application/json" };
    const send = async (method: string, path: string, body: object) =>
      JSON.parse(await (await service.fetch(path, { method, headers, body: JSON.stringify(body) })).text());
    const { id } = await send("POST", "/v1/projects", { name: "web", region: "eu" });
    const body = { variables: {}, domains: [host] };
    return (await send("PUT", `/v1/projects/${id}/environments/production`, body)).domain_status[0].status;
  };
  assert.equal(await statusIn(["acme"], {}), "active");
  assert.equal(await statusIn(["acme", "globex"], {}), "pending");
  assert.equal(await statusIn(["acme", "globex"], { verify: false }), "active");
  assert.equal(await statusIn(["acme"], { verify: true }), "pending");
});

test("a name server has a port between 1 and 65535", async () => {
  for (const server of ["192.0.2.53:0", "192.0.2.53:65536", "[2001:db8::53]:0", "ns.example.com"])
    await assert.rejects(createService({ domains: { servers: [server] } }), /must be the address of a name server/);
  for (const server of ["192.0.2.53", "192.0.2.53:1", "[2001:db8::53]:65535"])
    await (await createService({ domains: { servers: [server] }, logLevel: "silent" })).close();
});

test("each environment of a long list has its own domains, as its own answer has", async (t) => {
  const here = await world(t, { rateLimit: 1_000_000 });
  const id = await projectOf(here, "owner");
  const names = Array.from({ length: 40 }, (_, i) => `e${String(i).padStart(2, "0")}`);
  const domainsOf = (name: string, i: number) => (i % 3 === 0 ? undefined : [`a.${name}.test`, `b.${name}.test`]);
  for (const [i, name] of names.entries())
    assert.deepEqual(
      expect(await put(here, "owner", id, domainsOf(name, i) ?? [], name), 200).domains,
      domainsOf(name, i),
    );
  const { data } = expect(await here.call("owner", "GET", `/v1/projects/${id}/environments`), 200);
  const listed = data.map((one: { name: string; domains?: string[] }) => [one.name, one.domains]);
  assert.deepEqual(
    listed,
    names.map((name, i) => [name, domainsOf(name, i)]),
  );
});
