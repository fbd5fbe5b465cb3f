import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { maxCommits } from "../../lib/platform/runtime/git-cache.ts";
import { blocker, endOf } from "../helpers/deployments.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { repositories, serveRepositories } from "../helpers/repositories.ts";
import { processesWith, runtimeWorld } from "../helpers/running-apps.ts";
import { expect } from "../helpers/test-service.ts";
import { until } from "../helpers/until.ts";

const isLong = process.env["TEST_LONG"] !== undefined;
const host = "production-web.localhost";
const token = "hush-token-of-the-code-host";
const encoded = Buffer.from(`x-access-token:${token}`).toString("base64");

/** A service whose code host speaks smart HTTP, and the folder of its stored files. */
async function hosted(t: TestContext, serving: Parameters<typeof serveRepositories>[2] = {}, deployments = {}) {
  const repos = repositories(t);
  const url = await serveRepositories(t, repos.root, serving);
  const database = join(temporaryFolder(t), "svc.db");
  const here = await runtimeWorld(t, {
    database,
    codeHost: { url, ...(serving.token && { token: serving.token }), organizations: { acme: ["acme/*"] } },
    deployments,
  });
  const { id } = await here.project("web");
  const caches = join(`${database}-apps`, "cache", id, "git");
  /** Commits an incompressible file. */
  const commitBytes = (bytes: number) => {
    repos.commit("acme/web", { "index.html": "large" });
    repos.git("acme/web", "config", "core.compression", "0");
    writeFileSync(join(repos.root, "acme/web/blob"), randomBytes(bytes));
    return repos.commit("acme/web", {});
  };
  return {
    ...{ here, id, repos, url, commitBytes, folder: `${database}-apps` },
    /** The files of the only cache. */
    cached: () => {
      const [name] = existsSync(caches) ? readdirSync(caches) : [];
      return name === undefined ? [] : (readdirSync(join(caches, name), { recursive: true }) as string[]);
    },
    cache: () => join(caches, readdirSync(caches)[0] ?? ""),
    releases: () => readdirSync(join(`${database}-apps`, "releases")),
  };
}

/** A listener that must get no connection. */
async function canary(t: TestContext) {
  let calls = 0;
  const server = createServer((_, response) => response.end());
  server.on("connection", () => {
    calls += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls: () => calls };
}

const [large, most] = isLong ? [400, 64] : [6, 2];

test(`A repository of ${large} MiB fails with the limit of ${most} MiB, leaves nothing, and holds nobody up`, async (t) => {
  const { here, id, repos, commitBytes, cached, releases } = await hosted(t, {}, { buildDisk: `${most}MiB` });
  const small = repos.commit("acme/web", { "index.html": "small" });
  assert.equal((await here.release(id)).status, "active");
  const live = releases();
  commitBytes(large * 1024 ** 2);
  const failed = await here.release(id);
  const reason = new RegExp(
    `^the repository is too large: it wrote more than deployments\\.buildDisk \\(${most} MiB\\)$`,
  );
  assert.equal(failed.status, "failed");
  assert.ok(
    (await here.messages(failed.id)).some((line) => reason.test(line)),
    String(await here.messages(failed.id)),
  );
  assert.deepEqual([cached(), await here.ask(host)], [[], "200 small"]);
  repos.git("acme/web", "reset", "--quiet", "--hard", small);
  assert.equal((await here.release(id)).status, "active");
  assert.ok(live.every((name) => releases().includes(name)));
  assert.ok(!releases().includes(failed.id));
});

test("A fetch that is cancelled leaves no lock and no half of a pack, and its credential is seen nowhere", async (t) => {
  const stalled = blocker();
  const serving: NonNullable<Parameters<typeof hosted>[1]> = { token, onStalled: stalled.open };
  const { here, id, commitBytes, cached, folder } = await hosted(t, serving);
  commitBytes(2 * 1024 ** 2);
  const deployment = await here.deploy(id, { source: { type: "git", repo: "acme/web" } });
  await stalled.passed;
  const isLeftover = (name: string) => /\.lock$|tmp_pack/.test(name);
  await until(
    () => cached().some((name) => /tmp_pack/.test(name)),
    () => here.ask(host),
  );
  for (const secret of [token, encoded]) {
    assert.deepEqual(processesWith(secret), []);
    for (const file of readdirSync(folder, { recursive: true, withFileTypes: true }))
      if (file.isFile()) assert.ok(!readFileSync(join(file.parentPath, file.name)).includes(secret), file.name);
  }
  assert.ok(cached().includes("shallow.lock"));
  expect(await here.call("developer", "POST", `/v1/deployments/${deployment.id}/cancel`), 200);
  await until(
    () => !cached().some(isLeftover),
    () => here.ask(host),
  );
  serving.onStalled = undefined;
  const next = await here.release(id);
  assert.equal(next.status, "active", (await here.messages(next.id)).join("\n"));
  assert.deepEqual(cached().filter(isLeftover), []);
});

test("A cache begins anew after a hundred commits, while deployments to several environments use it", async (t) => {
  const { here, id, repos, cache } = await hosted(t);
  const first = repos.commit("acme/web", { "index.html": "one" });
  assert.equal((await here.release(id)).status, "active");
  const refs = () => readdirSync(join(cache(), "refs/svc"));
  assert.deepEqual(refs(), [first]);
  for (let i = refs().length; i < maxCommits; i++) writeFileSync(join(cache(), "refs/svc", `filler${i}`), `${first}\n`);
  const second = repos.commit("acme/web", { "index.html": "two" });
  const both = await Promise.all(["production", "staging"].map((name) => here.release(id, {}, name)));
  assert.deepEqual(
    both.map(({ status, version }) => `${status} ${version}`),
    Array(2).fill(`active ${second}`),
  );
  assert.deepEqual(refs(), [second]);
});

test("What a code host or a repository names is not asked: redirects, submodules, Git LFS, a credential", async (t) => {
  const trap = await canary(t);
  const serving: NonNullable<Parameters<typeof hosted>[1]> = {};
  const { here, id, repos } = await hosted(t, serving);
  const outside = temporaryFolder(t);
  writeFileSync(join(outside, "secret"), "of the server");
  repos.commit("acme/web", {
    "index.html": "home",
    ".gitmodules": `[submodule "a"]\n\tpath = a\n\turl = ${trap.url}/a.git\n[submodule "b"]\n\tpath = b\n\turl = file://${outside}\n`,
    ".lfsconfig": `[lfs]\n\turl = ${trap.url}/lfs\n`,
    "large.bin": `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 5\n`,
    ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
  });
  repos.git("acme/web", "update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},a`);
  repos.git("acme/web", "commit", "--quiet", "--message=submodule");
  const site = await here.release(id);
  assert.equal(site.status, "active", String(await here.messages(site.id)));
  const lines = await here.messages(site.id);
  const elsewhere = `The submodule a was not fetched: ${trap.url}/a.git is neither at the code host nor in this service`;
  assert.ok(lines.includes(elsewhere), String(lines));
  assert.ok(lines.includes("Files of Git LFS are not fetched: the release has only their pointers"));
  assert.match(await here.ask(host, "/large.bin"), /^200 version https:\/\/git-lfs/);

  for (const path of [/info\/refs$/, /git-upload-pack$/]) {
    serving.redirect = (asked) => (path.test(asked) ? `${trap.url}${asked}` : undefined);
    repos.commit("acme/web", { "index.html": String(path) });
    const { id: failed, status } = await here.release(id);
    const reason =
      "acme/web cannot be read: the code host redirects elsewhere, and redirects are not followed; has the repository moved?";
    assert.equal(status, "failed");
    assert.ok((await here.messages(failed)).includes(reason), String(await here.messages(failed)));
  }
  // The repository is private now and the service has no credential; git must not prompt for one.
  serving.redirect = undefined;
  serving.token = token;
  const refused = await here.messages((await here.release(id)).id);
  const reason = "acme/web cannot be read: the code host refuses a fetch without a credential; set codeHost.token";
  assert.ok(refused.includes(reason), String(refused));
  assert.equal(trap.calls(), 0);
  assert.equal(await here.ask(host), "200 home");
});

test("A push to the code host is live: the commit that was pushed, and a tag", async (t) => {
  const { here, repos, url } = await hosted(t);
  repos.commit("acme/web", { "index.html": "one" });
  repos.git("acme/web", "config", "http.receivepack", "true");
  repos.git("acme/web", "config", "receive.denyCurrentBranch", "ignore");
  const config = { repo: "acme/web", branch: "main", environment: "production", secret: "whsec_of_the_host" };
  const connection = { type: "code_host", config };
  const { id: integration } = expect(await here.call("owner", "POST", "/v1/integrations", connection), 201);
  await repos.ask(".", "clone", "--quiet", url.replace("{repo}", "acme/web"), "mine");
  /** Pushes a ref, and sends the code host's webhook for it. */
  const push = async (ref: string, headers: Record<string, string>) => {
    await repos.ask("mine", "push", "--quiet", "origin", `HEAD:${ref}`);
    const body = { ref, after: repos.git("mine", "rev-parse", "HEAD"), project: { path_with_namespace: "acme/web" } };
    return here.call("nobody", "POST", `/hooks/code-host/${integration}`, body, headers);
  };
  for (const [ref, event, text, version] of [
    ["refs/heads/main", "Push Hook", "two", /^[0-9a-f]{40}$/],
    ["refs/tags/v3", "Tag Push Hook", "three", /^v3$/],
  ] as const) {
    repos.commit("mine", { "index.html": text });
    const headers = { "x-gitlab-event": event, "x-gitlab-token": config.secret };
    assert.equal((await push(ref, { ...headers, "x-gitlab-token": "other" })).status, 401);
    const { data } = expect(await push(ref, headers), 202);
    const ended = await endOf(here, "viewer", data[0]?.deployment_id);
    assert.equal(ended.status, "active", String(await here.messages(ended.id)));
    assert.match(ended.version, version);
    assert.equal(await here.ask(host), `200 ${text}`);
  }
});
