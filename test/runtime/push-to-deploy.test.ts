import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { gitHost } from "../helpers/git-host.ts";
import { app } from "../helpers/running-apps.ts";
import { expect, keyOf } from "../helpers/test-service.ts";

type Here = Awaited<ReturnType<typeof gitHost>>;

/** A key of the owner with only these scopes. */
const scoped = async (here: Here, scopes: readonly string[]): Promise<{ id: string; key: string }> =>
  expect(await here.call("owner", "POST", "/v1/api-keys", { name: "brief", scopes }), 201);

test("a push of the default branch makes the project, deploys it, and shows the log and the URL", async (t) => {
  const here = await gitHost(t, { codeHost: { url: "https://code.invalid/{repo}.git" } });
  const commit = here.repos.commit("me/hello", app("one"));
  const pushed = await here.push("me/hello", "owner");
  assert.equal(pushed.code, 0, pushed.text);
  assert.match(pushed.text, /^remote: Made the project hello, in the region local/m);
  assert.match(pushed.text, /^remote: Checked out commit /m);
  assert.match(pushed.text, /^remote: Live at http:\/\/production-hello\.localhost:\d+/m);
  assert.match(pushed.text, /main -> main/);
  assert.equal(await here.ask("production-hello.localhost"), "200 one");
  const { data } = expect(await here.call("viewer", "GET", "/v1/deployments"), 200);
  assert.deepEqual([data.length, data[0].version], [1, commit]);
  const [made] = expect(await here.call("owner", "GET", "/v1/audit-log?action=projects.create"), 200).data;
  assert.deepEqual([made.target, made.via], [data[0].project_id, "push"]);

  // A source can name the repository, and git can clone it.
  const { project_id } = data[0];
  assert.equal((await here.release(project_id, { repo: "me/hello" }, "staging")).status, "active");
  const folder = here.folder();
  const cloned = await here.run("me/hello", ["clone", here.urlOf("Me/Hello", keyOf("viewer")), folder]);
  assert.equal(cloned.code, 0, cloned.text);
});

test("keys, rights and names decide who may push and fetch, and organizations see their own repositories alone", async (t) => {
  const here = await gitHost(t);
  const commit = here.repos.commit("me/hello", { "index.html": "one" });
  const refused: readonly (readonly [string, RegExp])[] = [
    ["sk_live_demo_nobody_at_all", /Authentication failed/],
    ["viewer", /remote: this needs the role owner or admin or developer, and the key's user is viewer/],
    [(await scoped(here, ["deployments:read"])).key, /remote: this needs the scope deployments:write/],
  ];
  for (const [who, reason] of refused) {
    const { code, text } = await here.push("me/hello", who);
    assert.equal(code, 128, text);
    assert.match(text, reason);
  }
  const unchallenged = await fetch(`http://127.0.0.1:${here.port}/git/me/hello.git/info/refs?service=git-upload-pack`);
  assert.equal(unchallenged.status, 401);
  assert.match(unchallenged.headers.get("www-authenticate") ?? "", /^Basic realm=/);

  // A push is stored even with a key that may deploy but not create projects.
  const pushed = await here.push("me/hello", "developer");
  assert.equal(pushed.code, 0, pushed.text);
  assert.match(
    pushed.text,
    /remote: The push is stored, but not deployed: there is no project hello, and this key cannot/,
  );
  const list = (who: string, repo = "me/hello") =>
    here.run("me/hello", ["ls-remote", here.urlOf(repo, who.startsWith("sk_") ? who : keyOf(who as "owner"))]);
  assert.match((await list("viewer")).text, new RegExp(`^${commit}\trefs/heads/main$`, "m"));
  assert.match((await list("stranger")).text, /remote: there is no repository me\/hello here/);
  assert.match(
    (await list((await scoped(here, ["projects:read"])).key)).text,
    /remote: this needs the scope deployments:read/,
  );

  // The same name in another organization is another repository.
  here.repos.commit("me/other", { "index.html": "theirs" });
  assert.equal((await here.push("me/other", "stranger", "main", [], "me/hello")).code, 0);
  assert.equal(await here.ask("production-hello.localhost"), "200 theirs");
  assert.match((await list("viewer")).text, new RegExp(`^${commit}\trefs/heads/main$`, "m"));

  // A revoked key fails at the next request.
  const brief = await scoped(here, ["deployments:read"]);
  assert.equal((await list(brief.key)).code, 0);
  expect(await here.call("owner", "DELETE", `/v1/api-keys/${brief.id}`), 204);
  assert.match((await list(brief.key)).text, /Authentication failed/);

  for (const path of [
    "/git/me/hello.git/config",
    "/git/me/hello.git/HEAD",
    "/git/me/hello.git/objects/info/packs",
    "/git/me/..%2f..%2fhello.git/info/refs?service=git-upload-pack",
    "/git/..%2fme/hello.git/info/refs?service=git-upload-pack",
    "/git/.host/empty.git/info/refs?service=git-upload-pack",
    "/git/me/hello.lock.git/info/refs?service=git-receive-pack",
    "/git/me/-upload.git/info/refs?service=git-receive-pack",
    "/git/me/hello.git/info/refs",
    "/git/me/hello.git/info/refs?service=git-upload-archive",
    "/git/me/a/b.git/info/refs?service=git-receive-pack",
  ]) {
    const authorization = `Basic ${Buffer.from(`x:${keyOf("owner")}`).toString("base64")}`;
    const answer = await fetch(`http://127.0.0.1:${here.port}${path}`, { headers: { authorization } });
    assert.equal(answer.status, 404, path);
  }
});

test("a branch goes where an integration says, a push option names a target, and another branch deploys nothing", async (t) => {
  const here = await gitHost(t);
  here.repos.commit("me/hello", { "index.html": "one" });
  assert.match((await here.push("me/hello", "owner")).text, /^remote: Live at /m);
  const { id } = expect(await here.call("owner", "POST", "/v1/projects", { name: "shop", region: "local" }), 201);
  const config = { repo: "me/hello", branch: "release", environment: "live", project_id: id };
  expect(
    await here.call("owner", "POST", "/v1/integrations", {
      name: "code",
      type: "code_host",
      config: { ...config, secret: "hush-hush-hush" },
    }),
    201,
  );
  const released = await here.push("me/hello", "developer", "main:release");
  assert.match(released.text, /^remote: Live at http:\/\/live-shop\.localhost/m);
  assert.match(
    (await here.push("me/hello", "developer", "main:draft")).text,
    /^remote: The branch draft deploys nothing/m,
  );
  const optional = ["-o", "environment=review", "-o", "project=shop"];
  assert.match(
    (await here.push("me/hello", "developer", "main:try", optional)).text,
    /^remote: Live at http:\/\/review-shop\./m,
  );
  assert.match(
    (await here.push("me/hello", "developer", "main:try2", ["-o", "environment=No Good"])).text,
    /^remote: The push is stored, but not deployed: environment must /m,
  );
  // A tag and a branch deletion deploy nothing.
  here.repos.git("me/hello", "tag", "v1");
  for (const ref of ["v1", ":draft"])
    assert.doesNotMatch((await here.push("me/hello", "developer", ref)).text, /remote: Deployment/);
});

test("a push of several branches makes all of its deployments first, and one that cannot be made stops no other", async (t) => {
  const here = await gitHost(t);
  here.repos.commit("me/hello", app("one"));
  const { id: project_id } = expect(
    await here.call("owner", "POST", "/v1/projects", { name: "shop", region: "local" }),
    201,
  );
  for (const branch of ["release", "trial"]) {
    const config = { repo: "me/hello", branch, environment: branch, project_id, secret: "hush-hush-hush" };
    expect(await here.call("owner", "POST", "/v1/integrations", { name: branch, type: "code_host", config }), 201);
  }
  const { code, text } = await here.run("me/hello", [
    "push",
    here.urlOf("me/hello", keyOf("developer")),
    ...["main", "main:release", "main:trial"],
  ]);
  assert.equal(code, 0, text);
  assert.match(text, /^remote: The push is stored, but not deployed: there is no project hello, and this key cannot/m);
  for (const environment of ["release", "trial"])
    assert.match(text, new RegExp(`^remote: Live at http://${environment}-shop\\.`, "m"));
  const { data } = expect(await here.call("viewer", "GET", "/v1/deployments"), 200);
  const [second, first] = data as { created_at: string; completed_at: string }[];
  assert.ok(second && first && second.created_at < first.completed_at, JSON.stringify(data));
});

test("a push that stores nothing leaves the code host's repository in place", async (t) => {
  const here = await gitHost(t);
  here.repos.commit("me/hello", app("one"));
  const empty = await here.pushNothing("me/hello");
  assert.equal(empty.status, 200);
  const { id } = await here.project("hello");
  const deployed = await here.release(id, { repo: "me/hello" });
  assert.equal(deployed.status, "active");
});

test("a failed build fails no push, and hooks of a pushed repository never run", async (t) => {
  const here = await gitHost(t);
  const scripts = { build: "echo oh no; exit 3", start: "x" };
  const commit = here.repos.commit("me/hello", { "package.json": { scripts } });
  const { code, text } = await here.push("me/hello", "owner");
  assert.equal(code, 0, text);
  assert.match(text, /^remote: oh no/m);
  assert.match(text, /^remote: The push is stored, but the deployment failed\s*$/m);
  // A deployment by branch does not know its commit before git has resolved it.
  const { id } = expect(await here.call("owner", "GET", "/v1/projects"), 200).data[0];
  const failed = await here.release(id, { repo: "me/hello", branch: "main" });
  assert.deepEqual([failed.status, failed.version], ["failed", commit]);
  here.repos.commit("me/hello", app("works"));
  assert.match((await here.push("me/hello", "owner")).text, /^remote: Live at /m);
  here.repos.commit("me/hello", { "package.json": { scripts: { build: "exit 3", start: "x" } } });
  const again = await here.push("me/hello", "owner");
  assert.match(again.text, /^remote: The push is stored, but the deployment failed: the previous release stays live/m);
});

test("a push beyond the limit is refused with the reason, two pushes at once leave one of them, and a cut push nothing", async (t) => {
  const here = await gitHost(t, { repositories: { pushLimit: "1MiB" } });
  const first = here.repos.commit("me/hello", { "index.html": "one" });
  await here.push("me/hello", "owner");
  here.repos.commit("me/hello", { "large.bin": randomBytes(3 * 1024 * 1024).toString("base64") });
  const large = await here.push("me/hello", "owner");
  assert.equal(large.code, 1, large.text);
  assert.match(large.text, /remote: fatal: pack exceeds maximum allowed size \((1\.00 MiB|1024\.00 KiB)\)/);
  const tip = async () =>
    (await here.run("me/hello", ["ls-remote", here.urlOf("me/hello", keyOf("owner")), "refs/heads/main"])).text;
  assert.match(await tip(), new RegExp(`^${first}`));

  // Two people push different commits onto the same parent.
  here.repos.git("me/hello", "reset", "--hard", "--quiet", first);
  const copy = here.folder();
  await here.run("me/hello", ["clone", "--quiet", ".", copy]);
  const one = here.repos.commit("me/hello", { "index.html": "two" });
  here.repos.git("me/hello", "branch", "other", first);
  here.repos.git("me/hello", "checkout", "--quiet", "other");
  const two = here.repos.git("me/hello", "commit-tree", `${first}^{tree}`, "-p", first, "-m", "three");
  const both = await Promise.all([
    here.push("me/hello", "owner", `${one}:main`),
    here.push("me/hello", "owner", `${two}:main`),
  ]);
  assert.deepEqual(both.map(({ code }) => code).sort(), [0, 1], both.map(({ text }) => text).join());
  const winner = both[0]?.code === 0 ? one : two;
  assert.match(await tip(), new RegExp(`^${winner}`));

  // The connection breaks within the pack.
  const authorization = `Basic ${Buffer.from(`x:${keyOf("owner")}`).toString("base64")}`;
  const command = `${winner} ${first} refs/heads/main\0 report-status side-band-64k`;
  const line = (command.length + 4).toString(16).padStart(4, "0") + command;
  const socket = connect(Number(here.port), "127.0.0.1");
  socket.end(
    `POST /git/me/hello.git/git-receive-pack HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: ${authorization}\r\ncontent-type: application/x-git-receive-pack-request\r\ncontent-length: 100000\r\n\r\n${line}0000PACK\0\0\0\x02`,
  );
  await once(socket.resume(), "close");
  assert.match(await tip(), new RegExp(`^${winner}`));
  assert.match((await here.push("me/hello", "owner", `${winner}:again`)).text, /new branch/);
});
