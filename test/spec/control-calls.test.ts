import assert from "node:assert/strict";
import { test } from "node:test";
import { pathsOf } from "../helpers/deployments.ts";
import { expect, start, world } from "../helpers/test-service.ts";

test("each path of the control interface takes its methods, and names them", async (t) => {
  const here = await world(t);
  const paths: [path: string, allow: string][] = [
    ["clock", "GET, HEAD"],
    ["clock/advance", "POST"],
    ["clock/freeze", "POST"],
    ["clock/run", "POST"],
    ["upcoming", "GET, HEAD"],
    ["preview", "POST"],
    ["settle", "POST"],
    ["snapshots", "GET, HEAD, POST"],
    ["snapshots/snap_1", "DELETE"],
    ["snapshots/snap_1/restore", "POST"],
    ["reset", "POST"],
    ["compare", "GET, HEAD"],
    ["forks", "GET, HEAD, POST"],
    ["forks/fork_1", "DELETE"],
    ["inboxes", "GET, HEAD"],
    ["inbox", "GET, HEAD, DELETE"],
    ["inbox/hook", "PUT"],
    ["deliveries", "POST"],
    ["deliveries/orders", "POST"],
    ["scenarios", "GET, HEAD, POST, DELETE"],
    ["scenarios/scn_1", "DELETE"],
    ["faults/fault_1", "DELETE"],
    ["faults", "GET, HEAD, POST, DELETE"],
    ["journal", "GET, HEAD"],
    ["deployments/dep_1/step", "POST"],
    ["mail", "GET, HEAD, DELETE"],
    ["invitations/accept", "POST"],
  ];
  for (const [path, allow] of paths) {
    await t.test(path, async () => {
      const { status, headers, body } = await here.call("nobody", "PATCH", `/_svc/${path}`, {});
      assert.deepEqual([status, headers.get("allow"), body.error.code], [405, allow, "method_not_allowed"]);
      assert.equal(body.error.message, `method not allowed; allowed: ${allow}`);
    });
  }
});

test("HEAD answers as GET would, without the body", async (t) => {
  const here = await world(t);
  for (const path of ["clock", "mail", "inbox"]) {
    const got = await here.call("nobody", "GET", `/_svc/${path}`, undefined, { "x-request-id": "same" });
    const { status, headers, text } = await here.call("nobody", "HEAD", `/_svc/${path}`, undefined, {
      "x-request-id": "same",
    });
    assert.deepEqual(
      [status, headers.get("content-length"), text],
      [200, String(Buffer.byteLength(got.text)), ""],
      path,
    );
  }
});

test("a longer or shorter path is 404", async (t) => {
  const here = await world(t);
  for (const path of ["", "clock/", "inbox/", "inbox/a/b", "Clock", "clockx", "clock;x", "../v1/me"])
    assert.ok([401, 404].includes((await here.call("nobody", "GET", `/_svc/${path}`)).status), path);
});

test("an unknown field is refused with the known ones, and nothing is done", async (t) => {
  const here = await world(t);
  const refused: [method: string, path: string, body: object, field: string, known: RegExp][] = [
    ["POST", "clock/advance", { by: "1h", too: "2027-01-01T00:00:00Z" }, "too", /by, to/],
    ["POST", "settle", { now: true }, "now", /no fields/],
    ["PUT", "inbox/hook", { responses: [], response: 500 }, "response", /responses/],
  ];
  for (const [method, path, body, field, known] of refused) {
    const answer = expect(await here.call("nobody", method, `/_svc/${path}`, body), 422);
    assert.deepEqual(pathsOf(answer), [field]);
    assert.match(answer.error.message, known);
  }
  assert.equal(here.service.clock.now().toISOString(), start);
});

test("an unknown parameter of a query is refused with the known ones, and nothing is done", async (t) => {
  const here = await world(t);
  here.service.faults.add({ match: { path: "/v1/nothing" }, respond: { status: 503 } });
  const refused: [method: string, path: string, field: string, known: RegExp][] = [
    ["GET", "inbox?endpont=hook", "endpont", /endpoint$/],
    ["DELETE", "inbox?endpoint=hook", "endpoint", /no fields/],
    ["DELETE", "faults?path=/v1/me", "path", /no fields/],
    ["POST", "clock/advance?by=1h", "by", /no fields/],
    ["GET", "journal?knd=try", "knd", /since, kind$/],
  ];
  for (const [method, path, field, known] of refused) {
    const reply = await here.call("nobody", method, `/_svc/${path}`);
    assert.deepEqual(pathsOf(expect(reply, 422)), [field]);
    assert.match(reply.body.error.message, known);
  }
  assert.equal(here.service.clock.now().toISOString(), start);
  assert.equal(here.service.faults.list().length, 1);
});

test("a body of another type is 415 wherever one can be sent", async (t) => {
  const here = await world(t);
  for (const [method, path] of [
    ["POST", "clock/advance"],
    ["POST", "settle"],
    ["PUT", "inbox/hook"],
    ["DELETE", "inbox"],
    ["POST", "invitations/accept"],
  ] as const) {
    const answer = await here.call("nobody", method, `/_svc/${path}`, "by=1h", { "content-type": "text/plain" });
    assert.equal(expect(answer, 415).error.code, "unsupported_media_type");
  }
});

test("no CORS header lets a page of another origin read an answer", async (t) => {
  const here = await world(t);
  const { headers } = await here.call("nobody", "GET", "/_svc/clock");
  assert.deepEqual(
    [...headers.keys()].filter((name) => name.startsWith("access-control-")),
    [],
  );
});
