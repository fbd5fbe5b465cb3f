import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Options } from "../../lib/index.ts";
import { endOf } from "../helpers/deployments.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { repositories, serveRepositories } from "../helpers/repositories.ts";
import { runtimeWorld } from "../helpers/running-apps.ts";
import { expect, git, type Who } from "../helpers/test-service.ts";

const token = "hush-token-of-the-operator";
const refused =
  /acme\/web cannot be read: the code host refuses a fetch without a credential, and the service's credential is not for this organization/;

type CodeHost = NonNullable<Options["codeHost"]>;

/** A service with two organizations; its code host shows `acme/web` only to the operator's token. */
async function hosted(t: TestContext, more: Partial<CodeHost>, database = join(temporaryFolder(t), "svc.db")) {
  const repos = repositories(t);
  repos.commit("acme/web", { "index.html": "secret of acme" });
  const serving = { token: token as string | undefined };
  const url = await serveRepositories(t, repos.root, serving);
  const start = (codeHost: Partial<CodeHost>) =>
    runtimeWorld(t, { database, codeHost: { url, token, ...codeHost }, logLevel: "silent" });
  return { here: await start(more), start, repos, serving, database };
}
type Here = Awaited<ReturnType<typeof hosted>>["here"];

const projectOf = async (here: Here, who: Who): Promise<string> =>
  expect(await here.call(who, "POST", "/v1/projects", { name: "web", region: "local" }), 201).id;

/** Deploys `acme/web`; returns the final status and the log. */
async function deployed(here: Here, who: Who, project_id: string) {
  const order = { project_id, environment: "production", source: git };
  const { id } = expect(await here.call(who, "POST", "/v1/deployments", order), 201);
  const { status } = await endOf(here, who, id);
  const { data } = expect(await here.call(who, "GET", `/v1/deployments/${id}/logs`), 200);
  return { id, status, log: data.map(({ message }: { message: string }) => message).join("\n") };
}

test("where there are several organizations, the token serves none, and a public repository is read without it", async (t) => {
  const { here, serving } = await hosted(t, {});
  const projects = { owner: await projectOf(here, "owner"), stranger: await projectOf(here, "stranger") };
  for (const who of ["owner", "stranger"] as const) {
    const { status, log } = await deployed(here, who, projects[who]);
    assert.equal(status, "failed");
    assert.match(log, refused);
  }
  // The repository is public now, so a fetch needs no credential.
  serving.token = undefined;
  assert.equal((await deployed(here, "stranger", projects.stranger)).status, "active");
});

test("the token serves the organizations and repositories of the option, and no others", async (t) => {
  const { here } = await hosted(t, { organizations: { ACME: ["acme/*"], globex: ["globex/*", "acme/website"] } });
  const own = await deployed(here, "owner", await projectOf(here, "owner"));
  assert.equal(own.status, "active", own.log);
  const { status, log } = await deployed(here, "stranger", await projectOf(here, "stranger"));
  assert.equal(status, "failed");
  assert.match(log, refused);
});

test("the token serves the only organization", async (t) => {
  const { here } = await hosted(t, {}, undefined);
  const only = {
    organizations: [
      {
        name: "acme",
        users: [{ name: "o", email: "o@acme.test", role: "owner", keys: [{ key: "sk_live_demo_owner" }] }],
      },
    ],
  };
  await here.service.close();
  const repos = repositories(t);
  repos.commit("acme/web", { "index.html": "ours" });
  const url = await serveRepositories(t, repos.root, { token });
  const alone = await runtimeWorld(t, { codeHost: { url, token }, seed: only as NonNullable<Options["seed"]> });
  const { status, log } = await deployed(alone, "owner", await projectOf(alone, "owner"));
  assert.equal(status, "active", log);
});

test("what was fetched with the token is not read from the cache once the organization may not use it", async (t) => {
  const { here, start, repos, database } = await hosted(t, { organizations: { acme: ["acme/*"] } });
  const id = await projectOf(here, "owner");
  assert.equal((await deployed(here, "owner", id)).status, "active");
  repos.commit("acme/web", { "index.html": "second" });
  const second = await deployed(here, "owner", id);
  assert.equal(second.status, "active");
  await here.service.close();
  rmSync(join(`${database}-apps`, "releases"), { recursive: true });
  const after = await start({ organizations: { globex: ["acme/*"] } });
  // The rollback rebuilds a commit that is in the cache.
  const back = expect(await after.call("owner", "POST", `/v1/deployments/${second.id}/rollback`), 201);
  const { status } = await endOf(after, "owner", back.id);
  assert.equal(status, "failed");
  assert.match((await after.messages(back.id)).join("\n"), refused);
});

test("a folder of repositories is open to all, unless the option names whom it serves", async (t) => {
  const open = await runtimeWorld(t);
  open.repos.commit("acme/web", { "index.html": "open" });
  assert.equal((await deployed(open, "stranger", await projectOf(open, "stranger"))).status, "active");
  const repos = repositories(t);
  repos.commit("acme/web", { "index.html": "closed" });
  const closed = await runtimeWorld(t, { codeHost: { repos: repos.root, organizations: { acme: ["acme/*"] } } });
  assert.equal((await deployed(closed, "owner", await projectOf(closed, "owner"))).status, "active");
  const { status, log } = await deployed(closed, "stranger", await projectOf(closed, "stranger"));
  assert.equal(status, "failed");
  assert.match(log, /acme\/web may not be read by this organization \(option codeHost\.organizations\)/);
});
