import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { createOutbound, type OutboundOptions } from "../../lib/drivers/outbound/outbound.ts";
import { parseReference } from "../../lib/kernel/text/image-reference.ts";
import { tarOf } from "../../lib/platform/containers/context-tar.ts";
import { contextFilter } from "../../lib/platform/containers/dockerignore.ts";
import { createEngineApi } from "../../lib/platform/containers/engine-api.ts";
import { createFrameReader } from "../../lib/platform/containers/log-frames.ts";
import { resolveDigest } from "../../lib/platform/containers/registry.ts";
import { type Answer, registry } from "../helpers/image-registry.ts";
import { temporaryFolder } from "../helpers/program.ts";

const digest = `sha256:${"a".repeat(64)}`;

test("A name has a registry, a repository, and a tag or a digest", () => {
  const cases = [
    ["nginx:1.25", "docker.io", "library/nginx", "1.25", null],
    ["team/app:1", "docker.io", "team/app", "1", null],
    ["docker.io/nginx:1", "docker.io", "library/nginx", "1", null],
    ["Registry.example.com/team/app:1", "registry.example.com", "team/app", "1", null],
    ["localhost:5000/app:1", "localhost:5000", "app", "1", null],
    ["localhost/app:1", "localhost", "app", "1", null],
    [`ghcr.io/a/b/c@${digest}`, "ghcr.io", "a/b/c", null, digest],
    [`h:5000/a:1@${digest}`, "h:5000", "a", "1", digest],
  ] as const;
  for (const [text, host, repository, tag, of] of cases)
    assert.deepEqual(parseReference(text), { registry: host, repository, tag, digest: of });
});

const look = async (
  name: string,
  {
    outbound: options = { mode: "dev" } as OutboundOptions,
    credential = undefined as { username: string; password: string } | undefined,
  } = {},
) => {
  const outbound = createOutbound(options);
  try {
    return await resolveDigest(parseReference(name), { outbound, credential, signal: new AbortController().signal });
  } finally {
    await outbound.close();
  }
};

test("A tag becomes the digest that the registry has now, by Basic and by Bearer, and its own hash without a header", async (t) => {
  const reader = { username: "reader", password: "s3cret" };
  let realm = "";
  const basic = `Basic ${btoa("reader:s3cret")}`;
  const answer: Answer = ({ url = "", headers }, response) => {
    if (url.startsWith("/token")) {
      assert.deepEqual(Object.fromEntries(new URL(url, realm).searchParams), {
        service: "registry",
        scope: "repository:bearer/app:pull",
      });
      response.end(JSON.stringify(headers.authorization === basic ? { token: "t0ken" } : {}));
      return true;
    }
    const wanted = url.includes("/bearer/") ? "Bearer t0ken" : url.includes("/basic/") ? basic : undefined;
    if (wanted === undefined || headers.authorization === wanted) return false;
    const challenge = url.includes("/basic/") ? 'Basic realm="x"' : `Bearer realm="${realm}",service="registry"`;
    response.writeHead(401, { "www-authenticate": challenge }).end();
    return true;
  };
  const { host, put, seen } = await registry(t, answer);
  realm = `http://${host}/token`;
  for (const name of ["open", "basic/app", "bearer/app"]) {
    const made = put(name, "1", {});
    assert.equal(await look(`${host}/${name}:1`, { credential: reader }), made);
  }
  assert.ok(!seen.includes("GET /v2/open/manifests/1"));
  await assert.rejects(look(`${host}/basic/app:1`), /without a credential; add one to deployments\.registries/);
  await assert.rejects(look(`${host}/bearer/app:1`), /gives no token/);
  const other = { username: "reader", password: "no" };
  await assert.rejects(look(`${host}/basic/app:1`, { credential: other }), /refuses basic\/app to reader/);
  await assert.rejects(look(`${host}/absent:1`), /has no image absent:1/);
});

test("A registry that lies, leads elsewhere, stalls or is not public ends with the reason", async (t) => {
  const { host, put } = await registry(t, ({ url = "" }, response) => {
    const [, name = ""] = /^\/v2\/(\w+)\//.exec(url) ?? [];
    const realm = (at: string) => response.writeHead(401, { "www-authenticate": `Bearer realm="${at}"` }).end();
    if (name === "plain") realm("http://registry.example.com/token");
    else if (name === "metadata") realm("https://169.254.169.254/token");
    else if (name === "user") realm("https://a:b@registry.example.com/token");
    else if (name === "odd") realm("");
    else if (name === "redirect") response.writeHead(307, { location: "http://169.254.169.254/" }).end();
    else if (name === "liar") response.writeHead(200, { "docker-content-digest": "sha256:../../etc" }).end();
    else if (name === "broken") response.writeHead(500).end();
    else if (name === "busy") response.writeHead(429).end();
    else if (name === "large") response.writeHead(200).end(Buffer.alloc(5 * 1024 * 1024));
    else return false;
    return true;
  });
  put("app", "1", {});
  const cases = [
    ["plain", /names no https URL for its tokens/],
    ["metadata", /169\.254\.169\.254, to which the registry .* leads, is at an address that is not public/],
    ["user", /names no https URL/],
    ["odd", /names no https URL/],
    ["redirect", /answers 307, a redirect, which is not followed/],
    ["liar", /answers without a manifest/],
    ["broken", /answers 500/],
    ["busy", /allows no more requests for now/],
    ["large", /the manifest of .* cannot be read: over 4194304 bytes/],
  ] as const;
  for (const [name, reason] of cases) await assert.rejects(look(`${host}/${name}:1`), reason, name);
  // A name that resolves to a registry without TLS.
  const [, port = ""] = host.split(":");
  const resolve = async () => ["127.0.0.1"];
  await assert.rejects(
    look(`registry.test:${port}/app:1`, { outbound: { mode: "dev", resolve } }),
    /the registry registry\.test:\d+ answers in plain http, which is allowed only for a registry on this machine; give it TLS/,
  );
  // In mode `start` the operator has to allow registries that are not public.
  await assert.rejects(look(`${host}/app:1`, { outbound: { mode: "start" } }), /is not public; the operator opens it/);
  assert.match(await look(`${host}/app:1`, { outbound: { mode: "start", allow: [host] } }), /^sha256:/);
  await assert.rejects(look("localhost:1/app:1"), /does not answer: connection refused/);
});

test("A lookup that stalls ends with the abort of its deployment", async (t) => {
  const aborting = new AbortController();
  const { host } = await registry(t, () => {
    aborting.abort();
    return true;
  });
  const outbound = createOutbound({ mode: "dev" });
  t.after(outbound.close);
  const stalled = resolveDigest(parseReference(`${host}/app:1`), {
    outbound,
    credential: undefined,
    signal: aborting.signal,
  });
  await assert.rejects(stalled, /it was ended/);
});

test("The frames of a container's log are put together again, wherever they are cut", () => {
  const frame = (stream: number, text: string) => {
    const header = Buffer.alloc(8);
    header[0] = stream;
    header.writeUInt32BE(Buffer.byteLength(text), 4);
    return Buffer.concat([header, Buffer.from(text)]);
  };
  const bytes = Buffer.concat([frame(1, "out\n"), frame(2, "err\n"), frame(1, ""), frame(1, "ü\n")]);
  for (let size = 1; size <= bytes.length; size++) {
    const seen: string[] = [];
    const read = createFrameReader((stream, chunk) => void (chunk.length > 0 && seen.push(`${stream} ${chunk}`)));
    for (let at = 0; at < bytes.length; at += size) read(bytes.subarray(at, at + size));
    assert.deepEqual(seen, ["stdout out\n", "stderr err\n", "stdout ü\n"]);
  }
});

test("A .dockerignore leaves out what it names, and its last match decides", () => {
  const isIn = contextFilter(
    "# all\n*.md\n!README.md\nnode_modules\n**/*.log\ndocs/*\n/secret\n!docs/api\nDockerfile\n",
  );
  const all = ["README.md", "notes.md", "a/notes.md", "node_modules", "node_modules/a/b.js", "x.log", "a/b/x.log"];
  const more = ["docs/a", "docs/api", "docs/api/b", "secret", "a/secret", "Dockerfile", ".dockerignore", "docs"];
  assert.deepEqual([...all, ...more].filter(isIn), [
    ...["README.md", "a/notes.md", "docs/api", "docs/api/b", "a/secret", "Dockerfile", ".dockerignore", "docs"],
  ]);
  // A hostile file costs at most its length times the path's length.
  assert.equal(contextFilter(`${"*a".repeat(500)}b\n`.repeat(50))("a".repeat(200)), true);
});

test("A context holds each file under its own name, and links as links", async (t) => {
  const root = temporaryFolder(t);
  const long = `${"long".repeat(30)}/${"ü".repeat(60)}`;
  const names = ["Dockerfile", "\\Dockerfile", "c:Dockerfile", "docs/api", "docs/other", "empty/.keep", long];
  for (const name of names) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), name);
  }
  symlinkSync("/etc", join(root, "outside"));
  const archive = join(temporaryFolder(t), "context.tar");
  writeFileSync(
    archive,
    await tarOf(root, contextFilter("docs/*\n!docs/api\nempty/.keep")).toArray().then(Buffer.concat),
  );
  const unpacked = temporaryFolder(t);
  execFileSync("tar", ["-x", "-f", archive, "-C", unpacked]);
  const kept = names.filter((name) => name !== "docs/other" && name !== "empty/.keep");
  const unpackedNames = readdirSync(unpacked, { recursive: true, withFileTypes: true }).map((entry) =>
    relative(unpacked, join(entry.parentPath, entry.name)),
  );
  assert.deepEqual(unpackedNames.sort(), [...kept, "docs", "empty", dirname(long), "outside"].sort());
  for (const name of kept) assert.equal(readFileSync(join(unpacked, name), "utf8"), name);
  assert.equal(readlinkSync(join(unpacked, "outside")), "/etc");
});

test("A context of many files is read while it is sent, and is one archive", async (t) => {
  const root = temporaryFolder(t);
  const names = Array.from({ length: 2_000 }, (_, i) => `${i}`);
  for (const name of names) writeFileSync(join(root, name), name);
  let looked = 0;
  const body = tarOf(root, () => {
    looked += 1;
    return true;
  });
  const chunks: Buffer[] = [];
  for await (const chunk of body) {
    if (chunks.length === 0) assert.ok(looked < names.length);
    chunks.push(chunk);
  }
  const archive = join(temporaryFolder(t), "context.tar");
  writeFileSync(archive, Buffer.concat(chunks));
  const listed = execFileSync("tar", ["-t", "-f", archive], { encoding: "utf8" }).trim().split("\n");
  assert.deepEqual(listed.sort(), names.sort());
});

test("A context that no engine takes closes its files", async (t) => {
  const root = temporaryFolder(t);
  writeFileSync(join(root, "large"), Buffer.alloc(16 * 1024 ** 2));
  const { open } = createEngineApi(join(root, "none.sock"), "/v1.41");
  const none = new AbortController().signal;
  for (const signal of [none, AbortSignal.abort()]) {
    const body = tarOf(root, () => true);
    const closed = once(body, "close");
    await assert.rejects(open("POST", "/build", { body, signal }), /is not running$|it was ended/);
    await closed;
  }
});
