import assert from "node:assert/strict";
import { test } from "node:test";
import { type Role, type Rule, roles, rules } from "../helpers/access-table.ts";
import { type Answered, keepAliveClient } from "../helpers/keep-alive-client.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import {
  asking,
  body,
  comparable,
  type Ids,
  managesKeys,
  records,
  twoOrganizations,
  unknownOf,
} from "../helpers/tenancy.ts";
import { expect, git, seed as usual, type Who, world } from "../helpers/test-service.ts";

/** Each identifier in a body, a query, a cursor or a header, for each role. */

const many = { rateLimit: 0 };
test("every identifier in a body or a query: a foreign, deleted, unknown or malformed one is answered alike", async (t) => {
  const here = await listeningWorld(t, many);
  const client = keepAliveClient(here.port);
  t.after(() => client.close());
  const { send } = asking(client);
  const { own, foreign, deleted } = await twoOrganizations(here);
  const mine = own["projects"] ?? "";
  const codeHost = (project_id: string) => ({
    repo: "acme/web",
    branch: "main",
    environment: "production",
    project_id,
  });
  const made = await send("owner", "POST", "/integrations", { type: "code_host", config: codeHost(mine) });
  const change = `/integrations/${made.body.id}`;
  /** The place, the request, the roles that may send it, and the status for an own and for any other identifier. */
  const places: readonly [
    string,
    (who: Who, id: string) => Promise<Answered>,
    readonly Role[],
    own: number,
    other: number,
  ][] = [
    [
      "project_id of a new deployment",
      (who, project_id) => send(who, "POST", "/deployments", { project_id, environment: "production", source: git }),
      ["owner", "admin", "developer"],
      ...([201, 404] as const),
    ],
    [
      "project_id of a new integration",
      (who, id) => send(who, "POST", "/integrations", { type: "code_host", config: codeHost(id) }),
      ["owner", "admin", "developer"],
      ...([201, 422] as const),
    ],
    [
      "project_id of an integration",
      (who, id) => send(who, "PATCH", change, { config: codeHost(id) }),
      ["owner", "admin", "developer"],
      ...([200, 422] as const),
    ],
    [
      "project_id of a list",
      (who, id) => send(who, "GET", `/deployments?project_id=${encodeURIComponent(id)}`),
      roles,
      ...([200, 200] as const),
    ],
  ];
  for (const [name, ask, allowed, whenOwn, whenOther] of places) {
    for (const role of roles) {
      const wrong = [
        foreign["projects"] ?? "",
        deleted["projects"] ?? "",
        unknownOf(mine),
        "unknown",
        mine.toLowerCase(),
        `${mine} `,
      ];
      const answers = await Promise.all(wrong.map((id) => ask(role, id)));
      const isAllowed = allowed.includes(role);
      assert.equal(answers[0]?.status, isAllowed ? whenOther : 403, `${name} for ${role}: ${answers[0]?.text}`);
      assert.equal(new Set(answers.map(comparable)).size, 1, `${name} for ${role}`);
      if (whenOther === 200) assert.deepEqual(answers[0]?.body.data, []);
      const found = await ask(role, mine);
      assert.equal(found.status, isAllowed ? whenOwn : 403, `${name} for ${role}: ${found.text}`);
      if (found.body.data) assert.equal(found.body.data.length > 0, true);
    }
  }
});

/** The lists, with a way to make each longer than a page. A simulation runs no app that would print logs, and hosts no git. */
const lists = rules.filter(
  ({ method, path }) =>
    method === "GET" &&
    !/\/(me|usage|stream|organization|openapi\.json|repositories|environments\/{}\/(logs|runs))$/.test(path) &&
    !path.endsWith("{}"),
);

test("every cursor: one of another organization, another list or another record is 422, for every role", async (t) => {
  const seed = { organizations: usual.organizations.map((one) => ({ ...one, plan: "pro" as const })) };
  const here = await listeningWorld(t, { ...many, seed });
  const client = keepAliveClient(here.port);
  t.after(() => client.close());
  const { send } = asking(client);
  const [own, more] = [await records(here, "owner", "production"), await records(here, "owner", "staging")];
  const [foreign] = [await records(here, "stranger", "theirs"), await records(here, "stranger", "others")];
  for (const ids of [own, foreign]) {
    const as = ids === own ? "owner" : "stranger";
    const one = await send(as, "PUT", `/projects/${ids["projects"]}/environments/second`, body);
    assert.equal(one.status, 200, one.text);
  }
  const pathOf = ({ path }: Rule, ids: Ids) => path.replace("{}", ids[path.split("/")[1] ?? ""] ?? "");
  const cursorOf = async (rule: Rule, who: Who, ids: Ids) => {
    const { body } = await send(who, "GET", `${pathOf(rule, ids)}?per_page=1`);
    return body.meta.next_cursor as string | null;
  };
  const cursors = new Map<Rule, { own: string; foreign: string }>();
  for (const rule of lists) {
    const pair = { own: await cursorOf(rule, "owner", own), foreign: await cursorOf(rule, "stranger", foreign) };
    assert.ok(pair.own && pair.foreign, `${rule.path} has too few records here`);
    cursors.set(rule, pair as { own: string; foreign: string });
  }
  for (const [rule, cursor] of cursors) {
    const others = [...cursors].filter(([one]) => one !== rule).map(([, one]) => one.own);
    const wrong = [cursor.foreign, ...others, `${cursor.own}x`, cursor.own.slice(1), "unknown", "%00"];
    for (const role of roles) {
      // Only roles that manage keys may read the audit log.
      if (rule.path === "/audit-log" && !managesKeys(role)) continue;
      const asked = (cursor: string, ids = own) =>
        send(role, "GET", `${pathOf(rule, ids)}?per_page=1&cursor=${cursor}`);
      for (const { status, text } of await Promise.all(wrong.map((one) => asked(one)))) {
        assert.equal(status, 422, `${rule.path} for ${role}: ${text}`);
      }
      // Developers and viewers list only their own keys.
      const isShared = rule.path !== "/api-keys" || managesKeys(role);
      assert.equal((await asked(cursor.own)).status, isShared ? 200 : 422, `${rule.path} for ${role}`);
      if (rule.path.includes("{}"))
        assert.equal((await asked(cursor.own, more)).status, 422, `${rule.path} of another record`);
    }
  }
});

test("An Idempotency-Key of a colleague or of another organization is another key", async (t) => {
  const here = await world(t, many);
  const ids = new Set<string>();
  for (const who of ["owner", "admin", "stranger"] as const) {
    const order = { name: `web ${who === "stranger" ? "owner" : who}`, region: "eu-west-1" };
    const reply = await here.call(who, "POST", "/v1/projects", order, { "idempotency-key": "one" });
    ids.add(expect(reply, 201).id);
    assert.equal(reply.headers.get("idempotent-replayed"), null);
  }
  assert.equal(ids.size, 3);
});

test("Lists and totals hold nothing of another organization", async (t) => {
  const here = await world(t, { ...many, envelope: "full" });
  const { projects } = await records(here, "owner", "production");
  for (const path of [
    "/v1/projects",
    "/v1/deployments",
    "/v1/invitations",
    "/v1/events",
    `/v1/deployments?project_id=${projects}`,
  ]) {
    const { data, pagination } = expect(await here.call("stranger", "GET", path), 200);
    assert.deepEqual(data, [], path);
    assert.equal(pagination.total, 0, path);
  }
  const { data, pagination } = expect(await here.call("stranger", "GET", "/v1/users"), 200);
  assert.equal(data.length, 1);
  assert.equal(pagination.total, 1);
});

test("Two organizations may have a project, a user and an invitation of the same name", async (t) => {
  const here = await world(t, many);
  await records(here, "owner", "production");
  const { call } = here;
  expect(await call("stranger", "POST", "/v1/projects", { name: "web", region: "eu" }), 201);
  for (const email of ["guest@acme.test", "viewer@acme.test"]) {
    expect(await call("stranger", "POST", "/v1/users/invite", { email, role: "viewer" }), 201);
  }
});
