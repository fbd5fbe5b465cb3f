import assert from "node:assert/strict";
import { request } from "node:http";
import { type TestContext, test } from "node:test";
import type { Options } from "../../lib/index.ts";
import { deploymentNow, pathsOf } from "../helpers/deployments.ts";
import { bearer } from "../helpers/headers.ts";
import { expect, start, world } from "../helpers/test-service.ts";

const clock = "/_svc/clock";
const advance = "/_svc/clock/advance";

test("the clock of the control interface", async (t) => {
  const here = await world(t);
  await t.test("shows the time, without a key", async () => {
    assert.equal(expect(await here.call("nobody", "GET", clock), 200).now, start);
  });
  await t.test("advances by a duration", async () => {
    const answer = expect(await here.call("nobody", "POST", advance, { by: "1h30m" }), 200);
    assert.equal(answer.now, "2026-01-01T01:30:00.000Z");
    assert.equal(expect(await here.call("nobody", "GET", clock), 200).now, answer.now);
    assert.equal(here.service.clock.now().toISOString(), answer.now);
  });
  await t.test("advances to an instant, in any zone", async () => {
    for (const [to, now] of [
      ["2026-01-01T02:00:00Z", "2026-01-01T02:00:00.000Z"],
      ["2026-01-01T04:00:00+01:00", "2026-01-01T03:00:00.000Z"],
      ["2026-01-01T03:00:00.000Z", "2026-01-01T03:00:00.000Z"],
    ]) {
      assert.equal(expect(await here.call("nobody", "POST", advance, { to }), 200).now, now);
    }
  });
  await t.test("does not move in between", async () => {
    const { now } = expect(await here.call("nobody", "GET", clock), 200);
    await here.project();
    assert.equal(expect(await here.call("nobody", "GET", clock), 200).now, now);
  });
});

test("advancing runs all that falls due on the way before it answers", async (t) => {
  const here = await world(t);
  const { id } = await here.project();
  const deployment = await here.deploy(id);
  const answer = expect(await here.call("nobody", "POST", advance, { by: "1h" }), 200);
  assert.deepEqual([answer.now, typeof answer.ran], ["2026-01-01T01:00:00.000Z", "number"]);
  assert.ok(answer.ran >= 3);
  const { status, completed_at } = await deploymentNow(here, deployment.id);
  assert.deepEqual([status, completed_at], ["active", "2026-01-01T00:00:06.000Z"]);
  assert.equal(expect(await here.call("nobody", "POST", advance, { by: "1m" }), 200).ran, 0);
});

test("POST /_svc/settle runs what is due now, and answers when nothing is", async (t) => {
  const here = await world(t, {
    deployments: { driver: { delay: () => 0, step: async () => ({ state: "done", version: "v", logs: [] }) } },
  });
  const { id } = await here.project();
  const deployment = await here.deploy(id);
  assert.equal((await deploymentNow(here, deployment.id)).status, "queued");
  const answer = expect(await here.call("nobody", "POST", "/_svc/settle"), 200);
  assert.equal(answer.now, start);
  assert.ok(answer.ran > 0);
  assert.equal((await deploymentNow(here, deployment.id)).status, "active");
  assert.equal(expect(await here.call("nobody", "POST", "/_svc/settle", {}), 200).ran, 0);
});

test("bad input is 422 in the error form, and the clock stays", async (t) => {
  const here = await world(t);
  const bodies: [string, object | undefined][] = [
    ["no body", undefined],
    ["neither by nor to", {}],
    ["both", { by: "1h", to: "2027-01-01T00:00:00Z" }],
    ["a duration without a unit", { by: "10" }],
    ["a number", { by: 10 }],
    ["an empty duration", { by: "" }],
    ["a negative duration", { by: "-1h" }],
    ["null", { by: null }],
    ["an instant of the past", { to: "2025-12-31T23:59:59Z" }],
    ["a date alone", { to: "2027-01-01" }],
    ["a day that does not exist", { to: "2026-02-30T00:00:00Z" }],
    ["an instant without a zone", { to: "2027-01-01T00:00:00" }],
    ["a time beyond the year 9999", { by: "9999999d" }],
  ];
  for (const [what, body] of bodies) {
    await t.test(what, async () => {
      const answer = expect(await here.call("nobody", "POST", advance, body), 422);
      assert.equal(answer.error.code, "validation_failed");
      assert.ok(pathsOf(answer).length > 0 && answer.meta.request_id);
      if (what === "both") assert.equal(answer.error.message, 'give either "by" or "to", not both');
      assert.equal(here.service.clock.now().toISOString(), start);
    });
  }
  for (const setting of ["real", "60x"]) {
    await t.test(`moving a clock that runs by itself (${setting})`, async (t) => {
      const running = await world(t, { clock: setting });
      assert.equal(
        expect(await running.call("nobody", "POST", advance, { by: "1h" }), 422).error.code,
        "validation_failed",
      );
      expect(await running.call("nobody", "POST", "/_svc/settle"), 200);
    });
  }
});

test("GET /_svc/mail shows what would have been sent, oldest first", async (t) => {
  const here = await world(t);
  assert.deepEqual(expect(await here.call("nobody", "GET", "/_svc/mail"), 200).data, []);
  for (const email of ["a@example.com", "b@example.com"]) {
    expect(await here.call("owner", "POST", "/v1/users/invite", { email, role: "viewer" }), 201);
    await here.service.clock.advance("1s");
  }
  const { data } = expect(await here.call("nobody", "GET", "/_svc/mail"), 200);
  assert.deepEqual(
    data.map(({ to }: { to: string }) => to),
    ["a@example.com", "b@example.com"],
  );
  const told = ["attempts", "html", "id", "invitation_id", "link", "message_id", "sent_at", "status"];
  for (const mail of data) assert.deepEqual(Object.keys(mail).sort(), [...told, "subject", "text", "to", "token"]);
  assert.deepEqual([data[0].sent_at, data[1].sent_at], [start, "2026-01-01T00:00:01.000Z"]);
});

test("POST /_svc/invitations/accept is the same as the interface's, and answers 200", async (t) => {
  const here = await world(t);
  expect(await here.call("owner", "POST", "/v1/users/invite", { email: "ada@example.com", role: "admin" }), 201);
  const [{ token }] = expect(await here.call("nobody", "GET", "/_svc/mail"), 200).data;
  const path = "/_svc/invitations/accept";
  expect(await here.call("nobody", "POST", path, { token }), 422);
  const { meta: _, api_key, ...user } = expect(await here.call("nobody", "POST", path, { token, name: "Ada" }), 200);
  const expected = { name: "Ada", email: "ada@example.com", role: "admin", status: "active", joined_at: start };
  assert.deepEqual(user, { id: user.id, ...expected });
  expect(await here.call("nobody", "GET", "/v1/me", undefined, bearer(api_key)), 200);
  expect(await here.call("nobody", "POST", path, { token, name: "Ada" }), 404);
});

/** The status of a request over a socket, with these headers. */
async function over(
  t: TestContext,
  options: Options,
  given: Record<string, string> | ((url: string) => Record<string, string>),
  path = clock,
): Promise<number> {
  const { service } = await world(t, options);
  const { port, url } = await service.listen();
  const headers = typeof given === "function" ? given(url) : given;
  return new Promise((resolve, reject) => {
    request({ port, host: "127.0.0.1", path, headers }, (response) => resolve(response.resume().statusCode ?? 0))
      .on("error", reject)
      .end();
  });
}

test("access to the control interface", async (t) => {
  const hosts = ["svc.example.com"];
  await t.test("a program on this machine", async (t) => assert.equal(await over(t, {}, {}), 200));
  await t.test("by a loopback name", async (t) => assert.equal(await over(t, {}, { host: "localhost:1" }), 200));
  await t.test("a page of this very address", async (t) =>
    assert.equal(await over(t, {}, (origin) => ({ origin })), 200),
  );
  await t.test("not by a foreign Host", async (t) =>
    assert.equal(await over(t, {}, { host: "evil.example.com" }), 421),
  );
  await t.test("not by a Host that only the interface answers to", async (t) => {
    assert.equal(await over(t, { hosts }, { host: "svc.example.com" }), 404);
    assert.equal(await over(t, { hosts }, { host: "svc.example.com" }, "/v1/me"), 401);
  });
  for (const origin of ["https://evil.example.com", "http://localhost:1", "null"]) {
    await t.test(`not a page of the origin ${origin}`, async (t) => {
      assert.equal(await over(t, {}, { origin }), 403);
      const here = await world(t);
      const { error } = expect(await here.call("nobody", "POST", advance, { by: "1h" }, { origin }), 403);
      assert.ok(error.message.startsWith(`pages of ${origin} must not use the control interface`), error.message);
      assert.equal(here.service.clock.now().toISOString(), start);
    });
  }
  for (const [site, status] of [
    ["cross-site", 403],
    ["same-site", 403],
    ["same-origin", 200],
    ["none", 200],
  ] as const)
    await t.test(`a GET without Origin from ${site}`, async (t) =>
      assert.equal(await over(t, {}, { "sec-fetch-site": site }), status),
    );
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
    await t.test(`not with a body of ${type}`, async (t) => {
      const here = await world(t);
      const headers = { "content-type": type };
      expect(await here.call("nobody", "POST", advance, '{"by":"1h"}', headers), 415);
      assert.equal(here.service.clock.now().toISOString(), start);
    });
  }
  await t.test("no request in the mode start", async (t) => {
    const here = await world(t, { mode: "start", clock: "real", random: undefined });
    for (const path of [clock, "/_svc/mail"]) {
      assert.equal(expect(await here.call("nobody", "GET", path), 404).error.code, "not_found");
    }
    for (const path of [advance, "/_svc/settle", "/_svc/invitations/accept"]) {
      expect(await here.call("nobody", "POST", path, {}), 404);
    }
  });
  await t.test("and a path that it does not have is 404", async (t) => {
    const here = await world(t);
    for (const path of ["/_svc", "/_svc/", "/_svc/nothing"]) {
      const { error } = expect(await here.call("nobody", "GET", path), 404);
      assert.match(error.message, /its paths are GET \/_svc\/clock, POST \/_svc\/clock\/advance, /);
    }
  });
});
