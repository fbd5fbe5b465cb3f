import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeploymentDriver } from "../../lib/index.ts";
import { pathsOf } from "../helpers/deployments.ts";
import fc from "../helpers/fast-check.ts";
import { check, expect, type World, world } from "../helpers/test-service.ts";

const secret = { secret: true };
const pathOf = (project: string, name = "production") => `/v1/projects/${project}/environments/${name}`;
const put = (here: World, path: string, variables: unknown) => here.call("developer", "PUT", path, { variables });
const all = async (here: World, project: string) =>
  expect(await here.call("viewer", "GET", `/v1/projects/${project}/environments`), 200).data;
const withProject = async (here: World) => (await here.project()).id as string;

test("what variables are refused", async (t) => {
  const raw = (text: string) => `{"variables":${text}}`;
  const refused: [string, unknown, string[]][] = [
    ["no variables", {}, ["variables"]],
    ["null for variables", { variables: null }, ["variables"]],
    ["a list of variables", { variables: [] }, ["variables"]],
    ["text for variables", { variables: "PORT=1" }, ["variables"]],
    ["a name that begins with a digit", { variables: { "1A": "x" } }, ["variables.1A"]],
    ["a name with a hyphen", { variables: { "A-B": "x" } }, ["variables.A-B"]],
    ["a name of another alphabet", { variables: { Ä: "x" } }, ["variables.Ä"]],
    ["an empty name", { variables: { "": "x" } }, ["variables."]],
    ["a name of 256 characters", { variables: { ["A".repeat(256)]: "x" } }, [`variables.${"A".repeat(256)}`]],
    ["a name that JavaScript keeps for itself", raw('{"__proto__":"x"}'), ["variables"]],
    ["another of those", raw('{"constructor":"x","A":"b"}'), ["variables"]],
    [
      "201 variables",
      { variables: Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`A${i}`, ""])) },
      ["variables"],
    ],
    ["a number", { variables: { PORT: 8080 } }, ["variables.PORT"]],
    ["null for a variable", { variables: { PORT: null } }, ["variables.PORT"]],
    ["32 KiB and a byte", { variables: { A: "x".repeat(32_769) } }, ["variables.A"]],
    ["as much of two-byte characters", { variables: { A: "é".repeat(16_385) } }, ["variables.A"]],
    ["as much in a secret", { variables: { A: { value: "x".repeat(32_769), secret: true } } }, ["variables.A.value"]],
    ["a value with U+0000", { variables: { A: "a\u0000" } }, ["variables.A"]],
    ["a lone surrogate in a secret", raw('{"A":{"value":"\\ud800","secret":true}}'), ["variables.A.value"]],
    ["a value that does not say whether it is secret", { variables: { A: { value: "x" } } }, ["variables.A"]],
    ["a value that keeps a plain one", { variables: { A: { secret: false } } }, ["variables.A"]],
    ["a misspelt field", { variables: { A: { value: "x", secret: true, hidden: 1 } } }, ["variables.A"]],
    ["null for a secret's value", { variables: { A: { value: null, secret: true } } }, ["variables.A"]],
    ["text for whether it is secret", { variables: { A: { value: "x", secret: "yes" } } }, ["variables.A"]],
    ["two at once", { variables: { "-": "x", A: 1 } }, ["variables.-", "variables.A"]],
  ];
  for (const [what, body, paths] of refused) {
    await check(t, {
      name: `refuses ${what}`,
      as: "developer",
      given: withProject,
      when: ["PUT", pathOf],
      body,
      then: [422, "validation_failed"],
      and: async (answer, _reply, here, project) => {
        assert.deepEqual(pathsOf(answer), paths);
        assert.deepEqual(await all(here, project), []);
      },
    });
  }
});

test("what variables are taken", async (t) => {
  for (const [what, given] of [
    ["none", {}],
    ["200", Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`A${i}`, `${i}`]))],
    ["one with a name of 255 characters", { ["_".repeat(255)]: "x" }],
    ["one of 32 KiB", { A: "x".repeat(32_768) }],
    ["one of 32 KiB in two-byte characters", { A: "é".repeat(16_384) }],
    ["one that every object has", { toString: "x", hasOwnProperty: "y" }],
    ["lines, quotes and braces", { A: '{"secret":true}\r\n\t\'"' }],
  ] as const) {
    await check(t, {
      name: `takes ${what}`,
      as: "developer",
      given: withProject,
      when: ["PUT", pathOf],
      body: { variables: given },
      then: 200,
      and: (environment) => assert.deepEqual(environment.variables, given),
    });
  }
});

test("the name of an environment is 1 to 64 of A-Z, a-z, 0-9, dot, underscore and hyphen", async (t) => {
  for (const name of ["a", "A.b_c-1", "x".repeat(64), "%61", "...", ".a"]) {
    await check(t, {
      name: `takes the name ${name}`,
      as: "developer",
      given: withProject,
      when: ["PUT", (project) => pathOf(project, name)],
      body: { variables: { PORT: "8080" } },
      then: 200,
      and: (environment) => assert.equal(environment.name, decodeURIComponent(name)),
    });
  }
  for (const name of ["x".repeat(65), "a%20b", "%C3%A4", "a:b", "a%00", "{name}"]) {
    await check(t, {
      name: `refuses the name ${name}`,
      as: "developer",
      given: withProject,
      when: ["PUT", (project) => pathOf(project, name)],
      body: { variables: { PORT: "8080" } },
      then: [422, "validation_failed"],
      and: async (answer, _reply, here, project) => {
        assert.deepEqual(pathsOf(answer), ["name"]);
        assert.deepEqual(await all(here, project), []);
      },
    });
  }
});

test("an encoded slash or ;x in the place of a name makes another path", async (t) => {
  for (const name of ["a%2Fb", "a%2F", "a;x", "a%3Bx"]) {
    await check(t, {
      name: `has nothing at ${name}`,
      as: "developer",
      given: withProject,
      when: ["PUT", (project) => pathOf(project, name)],
      body: { variables: {} },
      then: [404, "not_found"],
      and: async (_answer, _reply, here, project) => assert.deepEqual(await all(here, project), []),
    });
  }
});

test("PUT changes what is given, and leaves the rest as it was", async (t) => {
  const here = await world(t);
  const project = await withProject(here);
  await put(here, pathOf(project), { PORT: "8080", TOKEN: { value: "hidden", secret: true } });
  const path = pathOf(project);
  const variables = { PORT: "8080", TOKEN: secret };
  const protect = { user: "ann", password: "pass word" };
  const changed = (body: unknown) => here.call("developer", "PUT", path, body);
  const shown = { name: "production", variables, protect: { user: "ann", password: "[redacted]" } };
  const { meta: _meta, ...answer } = expect(await changed({ protect }), 200);
  assert.deepEqual(answer, shown);
  const { root, ...rest } = expect(await changed({ root: "apps/web" }), 200);
  assert.equal(root, "apps/web");
  assert.deepEqual(rest.variables, variables);
  assert.deepEqual(rest.protect, shown.protect);
  // A new environment needs no variables either.
  const other = expect(await here.call("developer", "PUT", pathOf(project, "staging"), { root: "docs" }), 200);
  assert.deepEqual([other.variables, other.root], [{}, "docs"]);
});

test("GET returns the variables that were PUT, with secrets hidden", async (t) => {
  const here = await world(t, { rateLimit: 1_000_000 });
  const project = await withProject(here);
  const name = fc
    .stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,20}$/)
    .filter((one) => !["constructor", "prototype", "__proto__"].includes(one));
  const value = fc.string({ unit: "grapheme" }).filter((one) => !one.includes("\u0000"));
  const variable = fc.oneof(value, fc.record({ value, secret: fc.boolean() }));
  await fc.assert(
    fc.asyncProperty(fc.dictionary(name, variable, { noNullPrototype: true }), async (given) => {
      const { variables } = expect(await put(here, pathOf(project), given), 200);
      const wanted = Object.entries(given).map(([key, one]) =>
        typeof one === "string" ? [key, one] : [key, one.secret ? secret : one.value],
      );
      assert.deepEqual(variables, Object.fromEntries(wanted));
      // Sending the answer back changes nothing.
      assert.deepEqual(expect(await put(here, pathOf(project), variables), 200).variables, variables);
    }),
    { numRuns: 50 },
  );
});

test("a driver alone gets the variables, secrets included, as they are at its step", async (t) => {
  const handed: [string, Readonly<Record<string, string>>][] = [];
  const driver: DeploymentDriver = {
    delay: () => 0,
    async step({ step, variables }) {
      handed.push([step, variables]);
      return { state: "done", version: "1", logs: [] };
    },
  };
  const here = await world(t, { deployments: { driver } });
  const project = await withProject(here);
  const { id } = await here.deploy(project);
  await put(here, pathOf(project), { PORT: "8080", TOKEN: { value: "hidden", secret: true } });
  await put(here, pathOf(project, "staging"), { PORT: "9090" });
  await here.service.clock.advance("1s");
  assert.deepEqual(handed, [
    ["build", { PORT: "8080", TOKEN: "hidden" }],
    ["rollout", { PORT: "8080", TOKEN: "hidden" }],
  ]);
  const seen = [
    await here.call("owner", "GET", `/v1/deployments/${id}`),
    await here.call("owner", "GET", `/v1/deployments/${id}/logs`),
    await here.call("owner", "GET", "/v1/events"),
  ];
  assert.ok(!JSON.stringify(seen).includes("hidden"));

  expect(await here.call("developer", "DELETE", pathOf(project)), 204);
  await here.deploy(project);
  await here.service.clock.advance("1s");
  assert.deepEqual(
    handed.slice(2).map(([, variables]) => variables),
    [{}, {}],
  );
});
