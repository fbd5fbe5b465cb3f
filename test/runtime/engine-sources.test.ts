import assert from "node:assert/strict";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { containerEngine, noEngine } from "../helpers/container-engine.ts";
import { answering, registry } from "../helpers/image-registry.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { isLong } from "../helpers/properties.ts";
import { app, runtimeWorld } from "../helpers/running-apps.ts";
import { until } from "../helpers/until.ts";

const host = "production-web.localhost";
const skip = noEngine || (!isLong && "the long form only: TEST_LONG=1");

/** Sets an environment variable of this process until the end of the test. */
function variable(t: TestContext, name: string, value: string): void {
  const before = process.env[name];
  process.env[name] = value;
  t.after(() => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  });
}

const basic = (user: string, password: string) => Buffer.from(`${user}:${password}`).toString("base64");

/** A registry that gives its images to one user only. */
const privateRegistry = (t: TestContext, user: string, password: string) =>
  registry(t, ({ headers }, response) => {
    if (headers.authorization === `Basic ${basic(user, password)}`) return false;
    response.writeHead(401, { "www-authenticate": 'Basic realm="registry"' }).end();
    return true;
  });

test("Private registries open with the file of docker login, and with the helpers that it names", {
  skip,
}, async (t) => {
  await containerEngine(t);
  const folder = temporaryFolder(t);
  const programs = join(folder, "bin");
  mkdirSync(programs);
  // Secrets of several lengths: base64 without padding must not truncate the last one.
  const filed = await privateRegistry(t, "reader", "s3cret-of-the-file");
  const helped = await privateRegistry(t, "helped", "s3cret-of-the-helper.");
  const stored = await privateRegistry(t, "stored", "s3cret-of-the-store..");
  const helper = (name: string, text: string) => {
    writeFileSync(join(programs, `docker-credential-${name}`), `#!/bin/sh\nread -r server\n${text}\n`);
    chmodSync(join(programs, `docker-credential-${name}`), 0o755);
  };
  const says = (Username: string, Secret: string) => JSON.stringify({ ServerURL: "x", Username, Secret });
  helper("one", `[ "$1 $server" = "get ${helped.host}" ] && echo '${says("helped", "s3cret-of-the-helper.")}'`);
  helper(
    "all",
    `case "$1 $server" in "get ${stored.host}") echo '${says("stored", "s3cret-of-the-store..")}' ;; *) echo "credentials not found in native keychain"; exit 1 ;; esac`,
  );
  variable(t, "PATH", `${programs}:${process.env["PATH"]}`);
  variable(t, "DOCKER_CONFIG", folder);
  const write = (config: object) => writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  const auth = basic("reader", "s3cret-of-the-file");
  write({
    auths: { [filed.host]: { auth }, [stored.host]: {} },
    credHelpers: { [helped.host]: "one" },
    credsStore: "all",
  });

  const here = await runtimeWorld(t, { deployments: { runtime: "engine" } });
  const { id } = await here.project("web");
  for (const [name, one] of Object.entries({ filed, helped, stored })) {
    one.put("web", "1", answering(name));
    const ended = await here.release(id, { type: "image", image_url: `${one.host}/web:1` });
    const lines = (await here.messages(ended.id)).join("\n");
    assert.deepEqual([ended.status, await here.ask(host)], ["active", `200 ${name}`], lines);
    assert.doesNotMatch(lines, /s3cret/);
    // A Dockerfile's base images use the same credentials.
    here.repos.commit("acme/web", { Dockerfile: `FROM ${one.host}/web:1\nRUN echo built on ${name}\n` });
    const built = await here.release(id);
    assert.equal(built.status, "active", (await here.messages(built.id)).join("\n"));
  }

  // A broken credential helper is logged, and the pull goes on without a credential.
  write({ credHelpers: { [helped.host]: "absent" } });
  helped.put("web", "2", answering("two"));
  const refused = await here.release(id, { type: "image", image_url: `${helped.host}/web:2` });
  assert.equal(refused.status, "failed");
  const lines = (await here.messages(refused.id)).join("\n");
  assert.match(lines, /The credential helper absent returned no credential for 127\S+: it is not installed/);
  assert.match(lines, /does not give web without a credential/);
});

test("With engine before process, a Dockerfile comes first, and what has none runs as processes", {
  skip,
}, async (t) => {
  const engine = await containerEngine(t);
  const { host: place, put } = await registry(t);
  put("base", "1", answering("docker"));
  put("image", "1", answering("image"));
  const here = await runtimeWorld(t, { deployments: { runtime: ["engine", "process"] } });
  const { id } = await here.project("web");
  here.repos.commit("acme/web", app("process"));
  const first = await here.release(id);
  assert.deepEqual(
    [first.status, await here.ask(host)],
    ["active", "200 process"],
    String(await here.messages(first.id)),
  );
  assert.match(
    String(await here.messages(first.id)),
    /The runtime process is tried next: .*needs a Dockerfile at the top/,
  );
  assert.deepEqual(await engine.containers(), []);

  here.repos.commit("acme/web", { Dockerfile: `FROM ${place}/base:1\n` });
  const second = await here.release(id);
  assert.deepEqual(
    [second.status, await here.ask(host)],
    ["active", "200 docker"],
    String(await here.messages(second.id)),
  );
  const third = await here.release(id, { type: "image", image_url: `${place}/image:1` });
  assert.deepEqual([third.status, await here.ask(host)], ["active", "200 image"]);
});

test("An image build that passes a limit fails with its name, and leaves nothing", { skip }, async (t) => {
  const engine = await containerEngine(t);
  const { host: place, put } = await registry(t);
  put("base", "1", answering("base"));
  const here = await runtimeWorld(t, {
    deployments: { runtime: "engine", buildDisk: "64MiB", buildMemory: "64MiB", buildTimeout: "60s" },
  });
  const { id } = await here.project("web");
  here.repos.commit("acme/web", { Dockerfile: `FROM ${place}/base:1\nRUN echo ready\n` });
  assert.equal((await here.release(id)).status, "active");
  const unnamed = "/images/json?filters=%7B%22dangling%22%3A%5B%22true%22%5D%7D";
  const left = async () =>
    JSON.stringify([await engine.containers(), (await engine.images()).length, await engine.ask(unnamed)]);
  const before = await left();
  assert.match(before, /,\[\]\]$/, "no image without a name is left");
  const cases = [
    [
      `RUN i=0; while true; do i=$((i + 1)); /bin/busybox dd if=/dev/zero of=/tmp/$i bs=1M count=10 2>/dev/null; done`,
      /buildDisk \(64 MiB\)/,
    ],
    [`RUN /bin/busybox dd if=/dev/zero of=/tmp/big bs=1M count=100`, /buildDisk \(64 MiB\)/],
    [`RUN x=0123456789abcdef; while true; do x=$x$x; done`, /buildMemory \(64 MiB\)/],
    [`RUN sleep 1000`, /buildTimeout \(60 s\)/],
  ] as const;
  for (const [step, reason] of cases) {
    here.repos.commit("acme/web", { Dockerfile: `FROM ${place}/base:1\nCOPY . /srv\n${step}\n` });
    const { id: failed, status } = await here.release(id);
    const lines = (await here.messages(failed)).join("\n");
    assert.equal(status, "failed", lines);
    assert.match(lines.split("\n").at(-2) ?? "", reason);
    assert.equal(await here.ask(host), "200 base");
    // The engine may still be writing an image after the deployment has failed.
    await until(
      async () => (await left()) === before,
      () => here.ask(host),
    );
  }
});

test("A Dockerfile for BuildKit alone fails with the instruction that needs it", { skip }, async (t) => {
  await containerEngine(t);
  const { host: place, put } = await registry(t);
  put("base", "1", answering("base"));
  const here = await runtimeWorld(t, { deployments: { runtime: "engine" } });
  const { id } = await here.project("web");
  for (const [text, reason] of [
    ["RUN --mount=type=tmpfs,target=/x echo hi", /requires BuildKit.*; RUN --mount in line 2 needs BuildKit, /],
    ["RUN <<EOF\necho hi\nEOF", /line 2 of the Dockerfile: RUN <<EOF needs BuildKit, /],
    ["COPY --link . /srv", /COPY --link in line 2 needs BuildKit, /],
  ] as const) {
    here.repos.commit("acme/web", { Dockerfile: `FROM ${place}/base:1\n${text}\n` });
    const { id: failed, status } = await here.release(id);
    const lines = (await here.messages(failed)).join("\n");
    assert.equal(status, "failed", lines);
    assert.match(lines.split("\n").at(-2) ?? "", reason);
  }

  // A build may fail because it lacks a submodule.
  const modules = '[submodule "lib"]\n\tpath = lib\n\turl = ../gone\n';
  here.repos.commit("acme/web", { Dockerfile: `FROM ${place}/base:1\nRUN false\n`, ".gitmodules": modules });
  here.repos.git("acme/web", "update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},lib`);
  here.repos.git("acme/web", "commit", "--quiet", "--message=submodule");
  const { id: lacking } = await here.release(id);
  assert.match((await here.messages(lacking)).at(-2) ?? "", /\. The submodule lib was not fetched: no repository/);
});
