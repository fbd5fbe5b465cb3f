import assert from "node:assert/strict";
import { dirname } from "node:path";
import { test } from "node:test";
import { pathsOf } from "../helpers/deployments.ts";
import { temporary } from "../helpers/members.ts";
import { walk } from "../helpers/pagination.ts";
import { filesContaining } from "../helpers/temporary-store.ts";
import { check, expect, git, type World, world } from "../helpers/test-service.ts";

const secret = { secret: true };
const variables = { PORT: "8080", TOKEN: { value: "hush-hush", secret: true }, _empty: "" };
const shown = { PORT: "8080", TOKEN: secret, _empty: "" };

const pathOf = (project: string, name = "production") => `/v1/projects/${project}/environments/${name}`;
const put = (here: World, path: string, given: unknown = variables) =>
  here.call("developer", "PUT", path, { variables: given });
const all = async (here: World, project: string) =>
  expect(await here.call("viewer", "GET", `/v1/projects/${project}/environments`), 200).data;
const withProject = async (here: World) => (await here.project()).id as string;
const unknown = "proj_01ARZ3NDEKTSV4RRFFQ69G5FAV";

test("PUT /projects/{id}/environments/{name}", async (t) => {
  for (const who of ["owner", "admin", "developer"] as const) {
    await check(t, {
      name: `makes an environment for ${who}, and never shows a secret`,
      as: who,
      given: withProject,
      when: ["PUT", pathOf],
      body: { variables, name: "passed over" },
      then: 200,
      and: async ({ meta: _, ...environment }, { text }, here, project) => {
        assert.deepEqual(environment, { name: "production", variables: shown });
        assert.deepEqual(await all(here, project), [environment]);
        assert.ok(!text.includes("hush-hush"));
      },
    });
  }

  await check(t, {
    name: "replaces all variables, and keeps a secret that is sent back as it was read",
    as: "developer",
    given: async (here) => {
      const project = await withProject(here);
      expect(await put(here, pathOf(project), { ...variables, OTHER: { value: "x", secret: true } }), 200);
      return project;
    },
    when: ["PUT", pathOf],
    body: { variables: { HOST: "web", TOKEN: secret, OPEN: { value: "seen", secret: false } } },
    then: 200,
    and: async (environment, _reply, here, project) => {
      assert.deepEqual(environment.variables, { HOST: "web", TOKEN: secret, OPEN: "seen" });
      // Only an existing secret of this environment can be kept.
      for (const [name, given, paths] of [
        ["production", { OTHER: secret, TOKEN: secret }, ["variables.OTHER"]],
        ["production", { HOST: secret, NEW: secret }, ["variables.HOST", "variables.NEW"]],
        ["staging", { TOKEN: secret }, ["variables.TOKEN"]],
      ] as const) {
        const { error, ...answer } = expect(await put(here, pathOf(project, name), given), 422);
        assert.deepEqual(pathsOf({ error, ...answer }), paths);
        assert.match(error.message, /needs a value/);
      }
      assert.deepEqual(await all(here, project), [{ name: "production", variables: environment.variables }]);
    },
  });
});

test("DELETE /projects/{id}/environments/{name} keeps its deployments, and a later deployment creates it again", async (t) => {
  const here = await world(t);
  const project = await withProject(here);
  const { id } = await here.deploy(project);
  assert.deepEqual(await all(here, project), [{ name: "production", variables: {} }], "made on first use");
  expect(await put(here, pathOf(project)), 200);
  const events = await here.events();
  expect(await here.call("developer", "DELETE", pathOf(project)), 204);
  assert.deepEqual(await all(here, project), []);
  expect(await here.call("developer", "DELETE", pathOf(project)), 404);
  expect(await put(here, pathOf(project), { TOKEN: secret }), 422);
  assert.deepEqual(await here.events(), events, "nothing is announced");
  await here.service.clock.advance("1m");
  assert.equal(expect(await here.call("viewer", "GET", `/v1/deployments/${id}`), 200).status, "active");
  await here.deploy(project);
  assert.deepEqual(await all(here, project), [{ name: "production", variables: {} }]);
});

test("no environment is named . or .., which no URL can name", async (t) => {
  const here = await world(t);
  const { id: project_id } = await here.project();
  for (const name of [".", ".."]) {
    const order = { project_id, environment: name, source: git };
    const { error } = expect(await here.call("owner", "POST", "/v1/deployments", order), 422);
    assert.match(error.message, /environment must be 1 to 64 of .*, but not \. or \.\./);
    const config = { repo: "acme/web", branch: "main", project_id, environment: name, secret: "s".repeat(16) };
    const integration = await here.call("owner", "POST", "/v1/integrations", { type: "code_host", config });
    assert.deepEqual(pathsOf(expect(integration, 422)), ["config.environment"]);
    const environments = [{ name }];
    const projects = [{ name: "web", region: "eu", environments }];
    await assert.rejects(
      world(t, { seed: { organizations: [{ name: "acme", projects }] } }),
      /projects\.0\.environments\.0\.name must be/,
    );
  }
  for (const environment of ["a..b", "..a", "...", "a."])
    expect(await here.call("owner", "POST", "/v1/deployments", { project_id, environment, source: git }), 201);
});

test("an unknown project, one of another organization and an unknown environment are 404", async (t) => {
  const here = await world(t);
  const project = await withProject(here);
  expect(await put(here, pathOf(project)), 200);
  for (const [who, id] of [
    ["developer", unknown],
    ["stranger", project],
  ] as const) {
    expect(await here.call(who, "GET", `/v1/projects/${id}/environments`), 404);
    expect(await here.call(who, "PUT", pathOf(id), { variables }), 404);
    expect(await here.call(who, "DELETE", pathOf(id)), 404);
  }
  for (const name of ["staging", "Production", "x".repeat(65), "a%20b"])
    expect(await here.call("developer", "DELETE", pathOf(project, name)), 404);
  expect(await here.call("developer", "GET", pathOf(project)), 405);
  assert.equal((await all(here, project)).length, 1);
  expect(await here.call("owner", "DELETE", `/v1/projects/${project}`), 204);
  expect(await here.call("viewer", "GET", `/v1/projects/${project}/environments`), 404);
});

test("the list is by name: whole, or in pages on request", async (t) => {
  const here = await world(t);
  const [project, other] = [await withProject(here), (await here.project("other")).id];
  const names = Array.from({ length: 25 }, (_, i) => `env-${String(i).padStart(2, "0")}`);
  for (const name of names.toReversed()) expect(await put(here, pathOf(project, name), {}), 200);
  expect(await put(here, pathOf(other, "elsewhere"), {}), 200);
  const path = `/v1/projects/${project}/environments`;
  const listed = (await all(here, project)).map(({ name }: { name: string }) => name);
  assert.deepEqual(listed, names);
  const pages = await walk(here, path, 10);
  assert.deepEqual(
    pages.map((page) => page.length),
    [10, 10, 5],
  );
  assert.deepEqual(
    pages.flat().map(({ name }) => name),
    names,
  );
  const { meta } = expect(await here.call("viewer", "GET", `${path}?per_page=2`), 200);
  expect(await here.call("viewer", "GET", `/v1/projects/${other}/environments?cursor=${meta.next_cursor}`), 422);
  for (const query of ["per_page=0", "per_page=101", "per_page=x", "cursor=x"])
    expect(await here.call("viewer", "GET", `${path}?${query}`), 422);
  const full = await world(t, { envelope: "full" });
  const { id } = await full.project();
  for (const name of ["a", "b", "c"]) expect(await put(full, pathOf(id, name), {}), 200);
  const { pagination } = expect(await full.call("viewer", "GET", `/v1/projects/${id}/environments?per_page=2`), 200);
  assert.deepEqual([pagination.total, pagination.page], [3, 1]);
});

test("an archived project keeps its environments, and they can be changed", async (t) => {
  const here = await world(t);
  const project = await withProject(here);
  expect(await here.call("owner", "POST", `/v1/projects/${project}/archive`), 200);
  expect(await put(here, pathOf(project)), 200);
  assert.deepEqual(await all(here, project), [{ name: "production", variables: shown }]);
  expect(await here.call("developer", "DELETE", pathOf(project)), 204);
});

test("a secret variable is in no file of the database, and survives a restart", async (t) => {
  const database = temporary(t);
  const before = await world(t, { database });
  const project = await withProject(before);
  expect(await put(before, pathOf(project), { PORT: "plain-to-see", TOKEN: variables.TOKEN }), 200);
  for (const look of ["while it runs", "after its end"]) {
    assert.notDeepEqual(filesContaining(dirname(database), "plain-to-see"), [], `these are the files, ${look}`);
    assert.deepEqual(filesContaining(dirname(database), "hush-hush"), [], look);
    await before.service.close();
  }
  const after = await world(t, { database });
  assert.deepEqual(expect(await put(after, pathOf(project), { TOKEN: secret }), 200).variables, { TOKEN: secret });
  await after.service.close();
});
