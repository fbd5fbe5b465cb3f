import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent } from "node:http";
import { test } from "node:test";
import { createService } from "../../lib/index.ts";
import { lines, listeningWorld, open, owner } from "../helpers/raw-sockets.ts";

test("close() does not wait for idle clients, and leaves no open handle", { timeout: 9_000 }, async (t) => {
  const handles = () =>
    process
      .getActiveResourcesInfo()
      .filter((name) => /TCP|Timeout/.test(name))
      .sort();
  const before = handles();
  const here = await listeningWorld(t);
  const agent = new Agent({ keepAlive: true });
  assert.equal((await here.send("GET", "/v1/me", { agent })).status, 200);
  const half = await open(here.port);
  half.write("GET /v1/me HT");
  await here.send("GET", "/v1/me", { agent });
  const ended = once(half.resume(), "close");
  const closed = here.service.close();
  half.destroy();
  await closed;
  await ended;
  agent.destroy();
  // Handles of earlier tests in this process may have ended meanwhile; no new handle may be left.
  for (const name of handles()) {
    const known = before.indexOf(name);
    assert.notEqual(known, -1, `${name} is left`);
    before.splice(known, 1);
  }
  await here.service.close();
});

test("close() does not wait for a client that connected and says nothing", { timeout: 9_000 }, async (t) => {
  const here = await listeningWorld(t);
  const silent = await open(here.port);
  const ended = once(silent.resume(), "close");
  assert.equal((await here.send("GET", "/v1/me")).status, 200);
  await here.service.close();
  await ended;
});

test("url is the address while it listens, else undefined", async (t) => {
  const { service, port } = await listeningWorld(t);
  assert.equal(service.url, `http://127.0.0.1:${port}`);
  await service.close();
  assert.equal(service.url, undefined);
});

test("a port that is being opened when the service is closed does not stay open", async () => {
  const service = await createService({ logLevel: "silent" });
  const ports = () => process.getActiveResourcesInfo().filter((name) => name === "TCPServerWrap").length;
  const before = ports();
  const opened = service.listen();
  const closed = service.close();
  await assert.rejects(opened, /the service is closed; make a new one/);
  await closed;
  assert.deepEqual([service.url, ports()], [undefined, before]);
});

test("every method of a closed service says that it is closed", async () => {
  const service = await createService({ clock: "manual", logLevel: "silent" });
  await service.close();
  const { clock, keys, organizations, scenarios, deployments, webhooks } = service;
  const wanted = [
    () => clock.advance("1s"),
    () => clock.advanceToNext(),
    () => clock.runUntilIdle(),
    () => service.fork(),
    () => service.restore("snap_1"),
    () => service.reset(),
    () => service.listen(),
    () => keys.create({}),
    () => organizations.create({ name: "acme" }),
    () => scenarios.next("deployment", {}),
    () => scenarios.unused(),
    () => deployments.step("dep_1"),
    () => webhooks.deliver(["dlv_1"]),
  ];
  for (const one of wanted) await assert.rejects(one, /^Error: the service is closed; make a new one$/, String(one));
});

test("Requests that began before close() are finished and answered, later ones are 503", async (t) => {
  const { service, port } = await listeningWorld(t);
  const headers = { ...owner, "content-type": "application/json" };
  const create = async (i: number) => {
    const body = JSON.stringify({ name: `project ${i}`, region: "eu" });
    return (await service.fetch("/v1/projects", { method: "POST", headers, body })).status;
  };
  const begun = Array.from({ length: 50 }, (_, i) => create(i));
  const closed = service.close();
  const late = create(50);
  assert.deepEqual(new Set(await Promise.all(begun)), new Set([201]));
  assert.equal(await late, 503);
  await closed;
  await assert.rejects(open(port), "nobody listens any more");
});

test("A client that asks again and again on one connection does not hold up close()", { timeout: 9_000 }, async (t) => {
  const here = await listeningWorld(t);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let over = false;
  t.after(() => {
    over = true;
  });
  const asking = (async () => {
    for (let i = 0; i < 100_000 && !over; i++) await here.send("GET", "/v1/me", { agent }).catch(() => {});
  })();
  assert.equal((await here.send("GET", "/v1/me")).status, 200);
  await here.service.close();
  over = true;
  await asking;
  agent.destroy();
});

test("An upload that its sender breaks off is 400 in the log, and no error", async (t) => {
  const entries: string[] = [];
  let markArrived = () => {};
  const asked = new Promise<void>((resolve) => {
    markArrived = resolve;
  });
  const take = (level: string) => (message: string, fields?: object) => {
    entries.push(`${level} ${message} ${(fields as { status?: number } | undefined)?.status ?? ""}`);
    if (message === "request") markArrived();
  };
  const here = await listeningWorld(t, {
    logger: { error: take("error"), warn: take("warn"), info: take("info"), debug: () => {} },
  });
  const socket = await open(here.port);
  socket.on("error", () => {});
  const wanted = once(socket, "data");
  const head = ["Host: localhost", "Content-Type: application/json", "Content-Length: 100", "Expect: 100-continue"];
  socket.write(lines("POST /v1/projects HTTP/1.1", ...head));
  await wanted;
  socket.write('{"na');
  socket.resetAndDestroy();
  await asked;
  assert.deepEqual(entries, ["info request 400"]);
});
