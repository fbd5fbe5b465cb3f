import assert from "node:assert/strict";
import { test } from "node:test";
import { pathsOf } from "../helpers/deployments.ts";
import { check, expect, type World, world } from "../helpers/test-service.ts";

const secret = { secret: true };
const pathOf = (project: string, name = "production") => `/v1/projects/${project}/environments/${name}`;
const put = (here: World, path: string, variables: unknown) => here.call("developer", "PUT", path, { variables });
const all = async (here: World, project: string) =>
  expect(await here.call("viewer", "GET", `/v1/projects/${project}/environments`), 200).data;
const withProject = async (here: World) => (await here.project()).id as string;

test("what PATCH refuses", async (t) => {
  const many = (count: number, prefix: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, ""]));
  const before = { PORT: "8080", TOKEN: { value: "hidden", secret: true } };
  const large = Object.fromEntries(Array.from({ length: 31 }, (_, i) => [`LARGE${i}`, "x".repeat(32_768)]));
  const refused: [string, Record<string, unknown>, unknown, string[], RegExp][] = [
    ["no field", before, {}, ["variables"], /is required/],
    ["null for variables", before, { variables: null }, ["variables"], /must be an object/],
    ["a number", before, { variables: { PORT: 1 } }, ["variables.PORT"], /or null to remove it/],
    ["a name that none can have", before, { variables: { "A-B": null } }, ["variables.A-B"], /must be named/],
    ["a secret that is not stored", before, { variables: { PORT: secret } }, ["variables.PORT"], /needs a value/],
    ["a domain beyond ASCII", before, { domains: ["Bücher.example"] }, ["domains.0"], /DNS, xn--bcher-kva\.example"/],
    ["a domain that is none", before, { domains: ["bü cher"] }, ["domains.0"], /such as www\.example\.com/],
    ["a 201st variable", many(199, "A"), { variables: many(2, "B") }, ["variables"], /at most 200.*would have 201/],
    ["more than 1 MiB in all", large, { variables: { A: "x".repeat(32_768) } }, ["variables"], /at most 1 MiB/],
  ];
  for (const [what, variables, body, paths, message] of refused) {
    await check(t, {
      name: `refuses ${what}`,
      as: "developer",
      given: async (here) => {
        const project = await withProject(here);
        expect(await put(here, pathOf(project), variables), 200);
        return project;
      },
      when: ["PATCH", pathOf],
      body,
      then: [422, "validation_failed"],
      and: async (answer, _reply, here, project) => {
        assert.deepEqual(pathsOf(answer), paths);
        assert.match(JSON.stringify(answer), message);
        assert.deepEqual(Object.keys((await all(here, project))[0].variables), Object.keys(variables));
      },
    });
  }
});

test("PATCH sets the variables that it names, removes those that are null, and leaves the rest", async (t) => {
  const here = await world(t);
  const project = await withProject(here);
  const path = pathOf(project);
  const patch = (body: unknown, at = path) => here.call("developer", "PATCH", at, body);
  // A person sets variables before the first deployment.
  assert.deepEqual(expect(await patch({ variables: { A: "1" } }), 200).variables, { A: "1" });
  await put(here, path, { PORT: "8080", TOKEN: { value: "hidden", secret: true }, OTHER: "x", LAST: "y" });
  const changed = { OTHER: null, PORT: "9090", KEY: { value: "hush", secret: true }, GONE: null };
  const { meta: _meta, ...answer } = expect(await patch({ variables: changed }), 200);
  const left = { PORT: "9090", TOKEN: secret, LAST: "y", KEY: secret };
  assert.deepEqual(answer, { name: "production", variables: left });
  assert.deepEqual(await all(here, project), [answer]);
  // A secret that comes back as it was read stays, and one that becomes plain is plain.
  const again = { TOKEN: secret, KEY: "seen" };
  assert.deepEqual(expect(await patch({ variables: again }), 200).variables, { ...left, KEY: "seen" });
  const other = expect(await patch({ root: "apps/web" }), 200);
  assert.deepEqual([other.root, other.variables], ["apps/web", { ...left, KEY: "seen" }]);
  // More than the limits allow, by an earlier version or by a copy, can still become less.
  const none = Object.fromEntries(["PORT", "TOKEN", "LAST", "KEY"].map((name) => [name, null]));
  assert.deepEqual(expect(await patch({ variables: none }), 200).variables, {});
  expect(await patch({ variables: { A: "1" } }, pathOf("proj_01ARZ3NDEKTSV4RRFFQ69G5FAV")), 404);
  expect(await patch({ variables: { A: "1" } }, pathOf(project, "a b")), 422);
  expect(await patch({ variables: { A: "1" } }, pathOf(project, "a%2Fb")), 404);
});
