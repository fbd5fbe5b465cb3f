import assert from "node:assert/strict";
import { test } from "node:test";
import { rangeOf } from "../../lib/kernel/text/file-request.ts";
import fc from "../helpers/fast-check.ts";
import { finishedGeneration, sharedPainter, small } from "../helpers/painter.ts";
import { expect, type World, world } from "../helpers/test-service.ts";

const driver = sharedPainter();
const options = { generations: { driver: driver() } };

/** A finished picture: its link, its bytes, and a function that requests it. */
async function picture(here: World) {
  const { id, output } = await finishedGeneration(here);
  const ask = (headers: Record<string, string> = {}, method = "GET", url: string = output.url) =>
    here.service.fetch(url, { method, headers });
  const whole = Buffer.from(await (await ask()).arrayBuffer());
  return { id, url: output.url as string, ask, whole };
}

test("A link needs no key, and serves the file with its type, length and tag", async (t) => {
  const here = await world(t, options);
  const { ask, whole, url } = await picture(here);
  assert.match(url, /^http:\/\/localhost\/assets\/gen_\w{26}\.png\?expires=\d+&signature=[\w-]{43}$/);
  const answer = await ask();
  assert.equal(answer.status, 200);
  assert.equal(whole.subarray(1, 4).toString(), "PNG");
  assert.deepEqual([whole.readUInt32BE(16), whole.readUInt32BE(20)], [32, 32]);
  const { headers } = answer;
  assert.equal(headers.get("content-type"), "image/png");
  assert.equal(headers.get("content-length"), String(whole.length));
  assert.equal(headers.get("accept-ranges"), "bytes");
  assert.equal(headers.get("cache-control"), "private, max-age=86400");
  assert.equal(headers.get("x-content-type-options"), "nosniff");
  assert.equal(headers.get("content-security-policy"), "default-src 'none'; sandbox");
  assert.equal(headers.get("content-disposition"), null);
  assert.match(headers.get("etag") ?? "", /^"[\w-]{27}"$/);
  assert.ok(headers.get("x-request-id"));
});

test("HEAD answers what GET does, without the file", async (t) => {
  const here = await world(t, options);
  const { ask } = await picture(here);
  const [head, get] = [await ask({ "x-request-id": "a" }, "HEAD"), await ask({ "x-request-id": "a" })];
  assert.deepEqual([head.status, [...head.headers]], [get.status, [...get.headers]]);
  assert.equal(await head.text(), "");
  // RFC 9110 defines ranges for GET only; other methods ignore them.
  const ranged = await ask({ range: "bytes=0-4" }, "HEAD");
  assert.deepEqual([ranged.status, ranged.headers.get("content-length")], [200, get.headers.get("content-length")]);
});

test("One range, an open one and a suffix are parts of the file", async (t) => {
  const here = await world(t, options);
  const { ask, whole } = await picture(here);
  const size = whole.length;
  for (const [range, start, end] of [
    ["bytes=0-0", 0, 0],
    ["bytes=10-19", 10, 19],
    ["bytes=10-", 10, size - 1],
    ["bytes=-5", size - 5, size - 1],
    [`bytes=-${size + 9}`, 0, size - 1],
    [`bytes=5-${size + 9}`, 5, size - 1],
    [`BYTES=${size - 1}-`, size - 1, size - 1],
  ] as const) {
    const answer = await ask({ range });
    assert.equal(answer.status, 206, range);
    assert.equal(answer.headers.get("content-range"), `bytes ${start}-${end}/${size}`);
    assert.equal(answer.headers.get("content-length"), String(end - start + 1));
    assert.deepEqual(Buffer.from(await answer.arrayBuffer()), whole.subarray(start, end + 1));
  }
});

test("A range beyond the end is 416 and says how long the file is", async (t) => {
  const here = await world(t, options);
  const { ask, whole } = await picture(here);
  for (const range of [`bytes=${whole.length}-`, "bytes=-0", "bytes=999999999-"]) {
    const answer = await ask({ range });
    assert.equal(answer.status, 416, range);
    assert.equal(answer.headers.get("content-range"), `bytes */${whole.length}`);
    const { error } = (await answer.json()) as { error: { code: string } };
    assert.equal(error.code, "range_not_satisfiable");
  }
});

test("A malformed range, or several, are ignored", async (t) => {
  const here = await world(t, options);
  const { ask, whole } = await picture(here);
  for (const range of ["bytes=9-2", "bytes=0-1,4-5", "bytes=-", "bytes=a-b", "lines=0-1", "bytes 0-1"]) {
    const answer = await ask({ range });
    assert.deepEqual([answer.status, answer.headers.get("content-length")], [200, String(whole.length)], range);
  }
});

test("If-None-Match and If-Range", async (t) => {
  const here = await world(t, options);
  const { ask } = await picture(here);
  const etag = (await ask()).headers.get("etag") ?? "";
  for (const given of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
    const answer = await ask({ "if-none-match": given, range: "bytes=0-1" });
    assert.deepEqual([answer.status, await answer.text(), answer.headers.get("etag")], [304, "", etag], given);
  }
  assert.equal((await ask({ "if-none-match": '"other"' })).status, 200);
  assert.equal((await ask({ range: "bytes=0-1", "if-range": etag })).status, 206);
  assert.equal((await ask({ range: "bytes=0-1", "if-range": '"other"' })).status, 200);
  assert.equal((await ask({ range: "bytes=0-1", "if-range": "Wed, 21 Oct 2026 07:28:00 GMT" })).status, 200);
});

test("A link that was changed anywhere is 403 link_expired", async (t) => {
  const here = await world(t, options);
  const { url, ask } = await picture(here);
  const other = (await picture(here)).url;
  const [plain = "", query = ""] = url.split("?");
  const changed = [
    plain,
    `${plain}?`,
    url.slice(0, -1),
    url.slice(0, -20),
    `${url}A`,
    `${url}=`,
    `${plain}?${query.split("&")[0]}`,
    url.replace(/expires=\d+/, (found) => `${found}0`),
    url.replace(/expires=\d+/, "expires=99999999999"),
    url.replace(/expires=\d+/, "expires="),
    url.replace(".png", ".jpg"),
    `${other.split("?")[0]}?${query}`,
    url.replace("/assets/", "/assets/../assets/x/"),
    "http://localhost/assets/",
    "http://localhost/assets/..%2f..%2fetc%2fpasswd",
  ];
  for (const link of changed) {
    const answer = await ask({}, "GET", link);
    const { error } = (await answer.json()) as { error?: { code: string } };
    assert.deepEqual([answer.status, error?.code], [403, "link_expired"], link);
  }
  assert.equal((await ask({}, "GET", `${url}&more=1`)).status, 200, "further parameters change nothing");
});

test("A link is valid for 24 hours, and made anew at each read", async (t) => {
  const here = await world(t, options);
  const { id, url, ask } = await picture(here);
  await here.service.clock.advance("23h59m59s");
  assert.equal((await ask()).status, 200);
  await here.service.clock.advance("1s");
  assert.equal((await ask()).status, 403);
  const again = expect(await here.call("viewer", "GET", `/v1/generations/${id}`), 200).output.url;
  assert.notEqual(again, url);
  assert.equal((await ask({}, "GET", again)).status, 200);
  const listed = expect(await here.call("viewer", "GET", "/v1/generations"), 200).data[0].output.url;
  assert.equal(listed, again);
});

test("Other methods are 405", async (t) => {
  const here = await world(t, options);
  const { ask } = await picture(here);
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
    const answer = await ask({}, method);
    assert.deepEqual([answer.status, answer.headers.get("allow")], [405, "GET, HEAD"], method);
  }
});

test("A file is stored for the retention time; then its output is gone, and its link is a 404", async (t) => {
  const here = await world(t, { generations: { ...options.generations, retention: "2h" } });
  const { id, ask } = await picture(here);
  await here.service.clock.advance("1h");
  assert.equal((await ask()).status, 200);
  // Removed by the daily pruning at 03:17.
  await here.service.clock.advance("3h");
  assert.equal((await ask()).status, 404);
  const { status, output, usage } = expect(await here.call("viewer", "GET", `/v1/generations/${id}`), 200);
  assert.deepEqual([status, output, usage], ["completed", undefined, { cost_usd: 0.01 }]);
  assert.equal(expect(await here.call("viewer", "GET", "/v1/usage"), 200).total.generations, 1);
});

test("A file that is neither image nor film is a download", async (t) => {
  const bytes = Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>");
  const strange = {
    delay: () => 0,
    submit: async () => ({ state: "done" as const, bytes, cost_usd: null }),
    poll: async () => ({ state: "failed" as const, message: "is never asked" }),
    cancel: async () => {},
  };
  const here = await world(t, { generations: { driver: strange } });
  const { ask, whole, url } = await picture(here);
  assert.deepEqual(whole, bytes);
  assert.match(url, /\.bin\?/);
  const { headers } = await ask();
  assert.equal(headers.get("content-type"), "application/octet-stream");
  assert.equal(headers.get("content-disposition"), "attachment");
});

test("A driver's answer is checked", async (t) => {
  for (const answer of [
    undefined,
    "done",
    { state: "done" },
    { state: "done", bytes: [], cost_usd: 0 },
    { state: "running" },
  ]) {
    const wrong = { delay: () => 0, submit: async () => answer, poll: async () => answer, cancel: async () => {} };
    const here = await world(t, { generations: { driver: wrong as never } });
    const { status, error } = await finishedGeneration(here, small);
    assert.deepEqual([status, error.code], ["failed", "driver_failed"]);
  }
});

test("Over a socket the link has the address of the server, and the file comes whole and in parts", async (t) => {
  const here = await world(t, options);
  const { url } = await here.service.listen({ port: 0 });
  const { id, whole } = await picture(here);
  const link = expect(await here.call("viewer", "GET", `/v1/generations/${id}`), 200).output.url;
  assert.ok(link.startsWith(`${url}/assets/`));
  assert.deepEqual(Buffer.from(await (await fetch(link)).arrayBuffer()), whole);
  const part = await fetch(link, { headers: { range: "bytes=3-8" } });
  assert.deepEqual(Buffer.from(await part.arrayBuffer()), whole.subarray(3, 9));
  const head = await fetch(link, { method: "HEAD" });
  assert.equal(head.headers.get("content-length"), String(whole.length));
});

test("Links begin with the public URL", async (t) => {
  const here = await world(t, { ...options, publicUrl: "https://svc.example.com/" });
  assert.ok((await picture(here)).url.startsWith("https://svc.example.com/assets/gen_"));
});

test("Any Range header gives a part within the file, the whole file, or a refusal", () => {
  const number = fc.oneof(fc.constant(""), fc.nat().map(String), fc.constant("99999999999999999999"));
  const header = fc.oneof(
    fc.string(),
    fc.tuple(number, number).map(([from, to]) => `bytes=${from}-${to}`),
  );
  fc.assert(
    fc.property(header, fc.integer({ min: 1, max: 1e9 }), (given, size) => {
      const asked = rangeOf(given, size);
      if (typeof asked === "string") return;
      assert.ok(asked.start >= 0 && asked.start <= asked.end && asked.end < size);
    }),
  );
});
