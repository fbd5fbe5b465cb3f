import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { createOutbound, type OutboundOptions, type Sent } from "../../lib/drivers/outbound/outbound.ts";
import { deferred } from "../helpers/temporary-store.ts";
import { type Handler, type ReceiverOptions, start, startRaw } from "../helpers/webhook-receiver.ts";

const loopback = async () => ["127.0.0.1"];

/** A receiver that closes with the test. */
async function receiver(t: TestContext, handler?: Handler, options?: ReceiverOptions) {
  const made = await start(handler, options);
  t.after(made.close);
  return made;
}

function sender(t: TestContext, options: Partial<OutboundOptions> = {}) {
  const outbound = createOutbound({ mode: "dev", resolve: loopback, ...options });
  t.after(outbound.close);
  const post = (url: string, body = "{}", headers = {}) => outbound.send({ url, headers, body });
  return { ...outbound, post };
}

const result = ({ status, error, response }: Sent) => ({ status, error, response });
const failure = (error: string) => ({ status: null, error, response: null });

describe("a request", () => {
  test("arrives as it was given, with its length and its host", async (t) => {
    const there = await receiver(t);
    const { post } = sender(t);
    const body = '{"event":"ünïcode","data":{}}';
    const url = there.url.replace("/hook", "/a%20b/ö?x=1&y=%20#part");
    const sent = await post(url, body, {
      "Content-Type": "application/json",
      Host: "evil.example",
      "X-Service-Event": "e",
    });
    assert.deepEqual(result(sent), { status: 200, error: null, response: "fine" });
    assert.ok(Number.isInteger(sent.duration_ms) && sent.duration_ms >= 0);
    const [request] = there.requests;
    assert.deepEqual([request?.method, request?.path, request?.body], ["POST", "/a%20b/%C3%B6?x=1&y=%20", body]);
    assert.deepEqual(request?.headers, {
      "content-type": "application/json",
      "x-service-event": "e",
      host: `localhost:${there.port}`,
      "content-length": String(Buffer.byteLength(body)),
      connection: "keep-alive",
    });
  });

  test("any status is a response, and no redirect is followed", async (t) => {
    const canary = await receiver(t);
    const there = await receiver(t, ({ path }, response) => {
      response.writeHead(Number(path.slice(1)), { location: canary.url, "retry-after": "1" }).end();
    });
    const { post } = sender(t);
    for (const status of [200, 201, 204, 299, 300, 301, 302, 303, 304, 307, 308, 400, 404, 410, 429, 500, 503]) {
      const sent = await post(there.url.replace("/hook", `/${status}`));
      assert.deepEqual(result(sent), { status, error: null, response: "" });
    }
    assert.equal(canary.accepted(), 0);
  });

  test("a header that HTTP does not allow is reported, and nothing is sent", async (t) => {
    const there = await receiver(t);
    const { post } = sender(t);
    for (const headers of [{ "x-a": "b\r\nx-c: d" }, { "x-a": "\0" }, { "x a": "b" }])
      assert.deepEqual(result(await post(there.url, "{}", headers)), failure("a header that HTTP does not allow"));
    assert.equal(there.requests.length, 0);
  });

  test("a name that does not resolve is reported", async (t) => {
    const fails = (code: string) => async () => Promise.reject(Object.assign(new Error("no"), { code }));
    const url = "https://nowhere.example/";
    assert.deepEqual(result(await sender(t, { resolve: fails("ENOTFOUND") }).post(url)), failure("name not found"));
    assert.deepEqual(result(await sender(t, { resolve: fails("EAI_AGAIN") }).post(url)), failure("name lookup failed"));
    assert.deepEqual(result(await sender(t, { resolve: async () => [] }).post(url)), failure("name not found"));
    assert.equal(await sender(t, { resolve: fails("ENOTFOUND") }).checkUrl(url), undefined);
  });

  test("Node's own lookup is used where none is given", async (t) => {
    const there = await receiver(t);
    const outbound = createOutbound({ mode: "start" });
    t.after(outbound.close);
    assert.match((await outbound.checkUrl(there.url)) ?? "", /^must lead to public addresses only, .*outbound\.allow/);
    assert.equal((await outbound.send({ url: there.url, headers: {}, body: "" })).error, "address_not_allowed");
    assert.equal(there.accepted(), 0);
  });
});

describe("the stored response", () => {
  const responseTo = async (t: TestContext, body: string | Buffer) => {
    const there = await receiver(t, (_, response) => response.end(body));
    const { post } = sender(t);
    return (await post(there.url)).response;
  };

  test("is the first KiB, without half a character", async (t) => {
    assert.equal(await responseTo(t, "x".repeat(1024)), "x".repeat(1024));
    assert.equal(await responseTo(t, "x".repeat(70_000)), "x".repeat(1024));
    assert.equal(await responseTo(t, `${"x".repeat(1023)}é${"y".repeat(9)}`), "x".repeat(1023));
  });

  test("is text that every database takes", async (t) => {
    assert.equal(await responseTo(t, Buffer.from([0x61, 0xff, 0x62, 0x00, 0xc3])), "a\ufffdb\ufffd\ufffd");
  });
});

describe("connections", () => {
  test("stay open for the next request", async (t) => {
    const there = await receiver(t);
    const { post } = sender(t);
    for (let i = 0; i < 20; i += 1) assert.equal((await post(there.url)).status, 200);
    assert.equal(there.accepted(), 1);
  });

  test("to one origin do not wait for each other, however many hang", async (t) => {
    const there = await receiver(t, ({ path }, response) => {
      if (path !== "/hang") response.end("fine");
    });
    const { post } = sender(t);
    const hanging = Array.from({ length: 40 }, () => post(new URL("/hang", there.url).href));
    assert.equal((await post(there.url)).status, 200);
    t.after(() => Promise.all(hanging));
  });

  test("are replaced when the receiver has closed them", async (t) => {
    const there = await receiver(t);
    const { post } = sender(t);
    for (let i = 1; i <= 10; i += 1) {
      assert.equal((await post(there.url)).status, 200);
      there.closeIdle();
    }
    assert.equal(there.requests.length, 10);
  });

  test("that break during a second request are replaced once, unless a response had begun", async (t) => {
    for (const [partial, expected] of [
      ["", [1, 1, 2]],
      ["HTTP/1.1 2", [1, 1]],
    ] as const) {
      const seen: number[] = [];
      const there = await startRaw((socket) => {
        const connection = there.accepted();
        socket.on("data", () => {
          if (seen.push(connection) === 1) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
          else socket.write(partial, () => socket.destroy());
        });
      });
      t.after(there.close);
      const { post } = sender(t);
      assert.equal((await post(there.url)).status, 200);
      assert.deepEqual(result(await post(there.url)), failure("connection reset"));
      assert.deepEqual(seen, expected);
    }
  });

  test("are not reused after their name has moved to another address", async (t) => {
    const moved = await pair(t);
    if (!moved) return;
    const { one, other } = moved;
    let address = "127.0.0.1";
    const { post } = sender(t, { resolve: async () => [address] });
    for (address of ["127.0.0.1", "127.0.0.2", "127.0.0.2", "127.0.0.1"])
      assert.equal((await post(one.url)).status, 200);
    assert.deepEqual([one.requests.length, other.requests.length], [2, 2]);
    address = "169.254.169.254";
    assert.deepEqual(result(await post(one.url)), failure("address_not_allowed"));
    assert.deepEqual([one.accepted(), other.accepted()], [1, 1]);
  });

  test("go to the next checked address where one refuses", async (t) => {
    const there = await receiver(t);
    const { post } = sender(t, { resolve: async () => ["127.0.0.3", "127.0.0.1"] });
    assert.equal((await post(there.url)).status, 200);
    await there.close();
    const refused = `connection refused (ECONNREFUSED 127.0.0.1:${there.port})`;
    assert.deepEqual(result(await post(there.url)), failure(refused));
    const hosted = sender(t, { mode: "start", allow: ["127.0.0.1/32"], resolve: async () => ["127.0.0.1"] });
    assert.deepEqual(result(await hosted.post(there.url)), failure("connection refused"));
  });
});

/** Two receivers with one port on two loopback addresses; not every system has a second address. */
async function pair(t: TestContext) {
  const one = await receiver(t);
  const other = await start(undefined, { host: "127.0.0.2", port: one.port }).catch(() => undefined);
  if (!other) return t.skip("this system has no second loopback address");
  t.after(other.close);
  return { one, other };
}

describe("addresses", () => {
  test("a name with one address that is not allowed is refused, and no address is called", async (t) => {
    const there = await receiver(t);
    const options = { mode: "start", allow: ["127.0.0.1/32"] } as const;
    const { post } = sender(t, { ...options, resolve: async () => ["127.0.0.1", "93.184.215.14", "10.0.0.1"] });
    assert.deepEqual(result(await post(there.url)), failure("address_not_allowed"));
    assert.equal(there.accepted(), 0);
  });

  test("every connection goes to the checked address, however often the name changes", async (t) => {
    const both = await pair(t);
    if (!both) return;
    const { one, other: canary } = both;
    const answers: string[] = [];
    const { post } = sender(t, {
      mode: "start",
      allow: ["127.0.0.1/32"],
      ca: [one.certificate.cert],
      resolve: async () => [answers[answers.push(answers.length % 2 === 0 ? "127.0.0.1" : "127.0.0.2") - 1] ?? ""],
    });
    const results = new Map<string, number>();
    for (let i = 0; i < 400; i += 1) {
      const { status, error } = await post(one.url);
      results.set(String(status ?? error), (results.get(String(status ?? error)) ?? 0) + 1);
    }
    assert.deepEqual(
      [...results],
      [
        ["200", 200],
        ["address_not_allowed", 200],
      ],
    );
    assert.deepEqual([answers.length, canary.accepted(), one.accepted()], [400, 0, 1]);
  });

  test("outbound.allow opens one host and port", async (t) => {
    const [there, beside] = [await receiver(t), await receiver(t)];
    const allow = [`localhost:${there.port}`];
    const ca = [there.certificate.cert, beside.certificate.cert];
    const { post, checkUrl } = sender(t, { mode: "start", allow, ca });
    assert.equal((await post(there.url)).status, 200);
    assert.equal(await checkUrl(there.url), undefined);
    assert.deepEqual(result(await post(beside.url)), failure("address_not_allowed"));
    assert.match((await checkUrl(beside.url)) ?? "", /^must lead to public addresses only, /);
  });

  test("requests at the same time share one lookup of a name", async (t) => {
    const there = await receiver(t);
    const lookups: string[] = [];
    const answer = deferred<readonly string[]>();
    const { post } = sender(t, { resolve: async (host) => (lookups.push(host) > 0 ? answer.promise : []) });
    const sent = Array.from({ length: 10 }, () => post(there.url));
    answer.open(["127.0.0.1"]);
    assert.ok((await Promise.all(sent)).every(({ status }) => status === 200));
    await post(there.url);
    assert.deepEqual(lookups, ["localhost", "localhost"]);
  });
});
