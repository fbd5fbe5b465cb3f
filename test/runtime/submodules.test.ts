import assert from "node:assert/strict";
import { test } from "node:test";
import { shownAddress, sourceAt } from "../../lib/platform/runtime/submodules.ts";
import { runtimeWorld } from "../helpers/running-apps.ts";

const host = "production-web.localhost";

test("Submodules are fetched as sources are, and a failure names those that were not", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const { repos } = here;
  const inner = repos.commit("acme/inner", { "inner.js": 'module.exports = "inner";' });
  const link = (repo: string, path: string, commit: string) => {
    repos.git(repo, "update-index", "--add", "--cacheinfo", `160000,${commit},${path}`);
    repos.git(repo, "commit", "--quiet", "--message=submodule");
    return repos.git(repo, "rev-parse", "HEAD");
  };
  const modules = (path: string, url: string) => `[submodule "${path}"]\n\tpath = ${path}\n\turl = ${url}\n`;
  repos.commit("acme/lib", { ".gitmodules": modules("deep/inner", "../inner.git") });
  const lib = link("acme/lib", "deep/inner", inner);
  // A later commit of the submodule does not count.
  repos.commit("acme/inner", { "inner.js": "throw 1;" });
  const program = `require("node:http").createServer((_, r) => r.end(require("./vendor/lib/deep/inner/inner.js")))
    .listen(process.env.PORT, process.env.HOST);`;
  repos.commit("acme/web", {
    ".gitmodules": modules("vendor/lib", "https://git.acme.test/acme/lib.git"),
    "server.js": program,
    "package.json": "{}",
  });
  link("acme/web", "vendor/lib", lib);
  const first = await here.release(id);
  const lines = await here.messages(first.id);
  assert.equal(first.status, "active", String(lines));
  assert.ok(lines.includes(`Checked out the submodule vendor/lib, commit ${lib}`), String(lines));
  assert.equal(await here.ask(host), "200 inner");

  repos.git("acme/web", "rm", "--quiet", "--cached", "vendor/lib");
  repos.commit("acme/web", {
    ".gitmodules": modules("vendor/lib", "../gone"),
    "server.js": 'require("./vendor/lib/x.js");',
  });
  link("acme/web", "vendor/lib", lib);
  const { id: failed } = await here.release(id);
  const said = (await here.messages(failed)).join("\n");
  assert.match(
    said,
    /^the health check failed: .*Cannot find module.*\. The submodule vendor\/lib was not fetched: no repo/m,
  );
});

test("Addresses of submodules mean sources of this service or of the code host", () => {
  const of = (url: string, host = "https://github.com/{repo}.git") => sourceAt(url, { parent: "acme/web", host });
  for (const [url, repo, isOfHost] of [
    ["../lib.git", "acme/lib", true],
    ["../../other/lib", "other/lib", true],
    ["https://github.com/acme/lib.git", "acme/lib", true],
    ["HTTPS://GitHub.com/acme/lib.git", "acme/lib", true],
    ["git@github.com:acme/lib.git", "acme/lib", true],
    ["ssh://git@github.com/acme/lib/", "acme/lib", true],
    ["http://127.0.0.1:7400/git/me/lib.git", "me/lib", false],
    ["https://gitlab.com/acme/lib.git", "acme/lib", false],
  ] as const)
    assert.deepEqual(of(url), { repo, isOfHost }, url);
  for (const [url, isOfHost] of [
    ["https://git.example.com/scm/acme/lib.git", true],
    ["git@git.example.com:acme/lib.git", true],
    ["../lib.git", true],
    ["https://gitlab.com/acme/lib.git", false],
  ] as const)
    assert.deepEqual(of(url, "https://git.example.com/scm/{repo}.git"), { repo: "acme/lib", isOfHost }, url);
  for (const url of [
    "../../../etc",
    "/etc/passwd",
    "file:///etc/passwd",
    'ext::sh -c "x"',
    "https://github.com/a/b/c",
    "-x/y",
  ])
    assert.equal(of(url), undefined, url);
  assert.equal(of("https://gitlab.com/scm/acme/lib", "https://git.example.com/scm/{repo}.git"), undefined);
});

test("Logs show the address of a submodule without what may be a secret", () => {
  for (const [url, shown] of [
    ["https://me:secret@gitlab.com/acme/lib.git", "https://gitlab.com/acme/lib.git"],
    ["https://secret@gitlab.com/acme/lib.git?token=secret#secret", "https://gitlab.com/acme/lib.git"],
    ["https://me:sec/ret@gitlab.com/acme/lib", "https://gitlab.com/acme/lib"],
    ["git@gitlab.com:acme/lib.git", "gitlab.com:acme/lib.git"],
    ["https://gitlab.com/acme/lib.git", "https://gitlab.com/acme/lib.git"],
  ] as const)
    assert.equal(shownAddress(url), shown);
});
