import assert from "node:assert/strict";
import { test } from "node:test";
import { withSnapshots } from "../helpers/engine.ts";
import fc from "../helpers/fast-check.ts";
import { newestFirst, walk, withProjects } from "../helpers/pagination.ts";
import { anyText, runs } from "../helpers/properties.ts";
import { expect, type Who, type World, world } from "../helpers/test-service.ts";

const many = { rateLimit: 1_000_000 };

/** Lists of at least two items in both organizations, with the first cursor of each. */
async function lists(here: World, who: Who) {
  const { call } = here;
  const project = async (name: string) =>
    expect(await call(who, "POST", "/v1/projects", { name, region: "eu-west-1" }), 201).id;
  const [one, two] = [await project("one"), await project("two")];
  const source = { type: "git", repo: "acme/web", branch: "main" };
  const deployments: string[] = [];
  for (const project_id of [one, one, two, two]) {
    const body = { project_id, environment: "production", source };
    deployments.push(expect(await call(who, "POST", "/v1/deployments", body), 201).id);
  }
  for (const email of ["a@x.test", "b@x.test", "c@x.test"]) {
    const { id } = expect(await call(who, "POST", "/v1/users/invite", { email, role: "viewer" }), 201);
    assert.match(id, /^inv_/);
  }
  await here.service.clock.advance("1m");
  return {
    projects: "/v1/projects",
    deployments: "/v1/deployments",
    of_project: `/v1/deployments?project_id=${one}`,
    of_environment: "/v1/deployments?environment=production",
    of_both: `/v1/deployments?project_id=${one}&environment=production`,
    of_state: "/v1/deployments?status=active",
    invitations: "/v1/invitations",
    events: "/v1/events",
    logs: `/v1/deployments/${deployments[0]}/logs`,
    other_logs: `/v1/deployments/${deployments[1]}/logs`,
  };
}

const at = (path: string, query: string) => `${path}${path.includes("?") ? "&" : "?"}${query}`;

const cursorOf = async ({ call }: World, who: Who, path: string): Promise<string> => {
  const { next_cursor } = expect(await call(who, "GET", at(path, "per_page=1")), 200).meta;
  assert.equal(typeof next_cursor, "string", `${path} has a second page`);
  return next_cursor;
};

const refused = async ({ call }: World, who: Who, path: string, cursor: string) => {
  const { error } = expect(await call(who, "GET", at(path, `cursor=${encodeURIComponent(cursor)}`)), 422);
  assert.equal(error.code, "validation_failed");
  assert.deepEqual(
    error.details.map((one: { path: string }) => one.path),
    ["cursor"],
  );
};

test("a cursor belongs to its list and its filters", async (t) => {
  const here = await world(t, many);
  const paths = Object.values(await lists(here, "owner"));
  for (const from of paths) {
    const cursor = await cursorOf(here, "owner", from);
    for (const path of paths) {
      if (path !== from) await refused(here, "owner", path, cursor);
      else expect(await here.call("owner", "GET", at(path, `cursor=${cursor}`)), 200);
    }
  }
});

test("a cursor belongs to its organization, and to everybody in it", async (t) => {
  const here = await world(t, many);
  const ours = await lists(here, "owner");
  const theirs = await lists(here, "stranger");
  for (const name of ["projects", "deployments", "invitations", "events"] as const) {
    const cursor = await cursorOf(here, "owner", ours[name]);
    await refused(here, "stranger", theirs[name], cursor);
    expect(await here.call("viewer", "GET", at(ours[name], `cursor=${cursor}`)), 200);
  }
});

test("a cursor goes with any per_page", async (t) => {
  const here = await world(t, many);
  const { events } = await lists(here, "owner");
  const cursor = await cursorOf(here, "owner", events);
  for (const size of [1, 2, 50])
    expect(await here.call("owner", "GET", at(events, `cursor=${cursor}&per_page=${size}`)), 200);
});

test("a cursor of a log that a restore has made shorter is 422", withSnapshots, async (t) => {
  const here = await world(t);
  const { id } = await here.deploy((await here.project()).id);
  const before = await here.service.snapshot();
  await here.service.clock.advance("1m");
  const path = `/v1/deployments/${id}/logs`;
  const cursor = await cursorOf(here, "owner", path);
  expect(await here.call("owner", "GET", at(path, `cursor=${cursor}`)), 200);
  await here.service.restore(before.id);
  await refused(here, "owner", path, cursor);
});

test("a cursor can be used again, and gives the same page", async (t) => {
  const here = await world(t, many);
  const { events } = await lists(here, "owner");
  const cursor = await cursorOf(here, "owner", events);
  const page = async () => expect(await here.call("owner", "GET", at(events, `cursor=${cursor}`)), 200).data;
  assert.deepEqual(await page(), await page());
});

test("a cursor is good after the item that it stands on is gone", async (t) => {
  const here = await world(t, many);
  const { projects } = await lists(here, "owner");
  const first = expect(await here.call("owner", "GET", at(projects, "per_page=1")), 200);
  expect(await here.call("owner", "DELETE", `/v1/projects/${first.data[0].id}`), 204);
  const rest = expect(await here.call("owner", "GET", at(projects, `cursor=${first.meta.next_cursor}`)), 200);
  assert.deepEqual(
    rest.data.map(({ name }: { name: string }) => name),
    ["one"],
  );
});

test("a malformed, shortened or changed cursor is 422", async (t) => {
  const here = await world(t, many);
  const { projects } = await lists(here, "owner");
  const cursor = await cursorOf(here, "owner", projects);
  const wrong = [
    "",
    ".",
    "..",
    "x",
    "null",
    "0",
    "1",
    "proj_01",
    `${cursor}x`,
    ` ${cursor}`,
    `${cursor} `,
    `${cursor}.`,
    "%00",
    "\u0000",
    "é",
  ];
  for (const one of wrong) await refused(here, "owner", projects, one);
  for (let i = 0; i < cursor.length; i++) {
    await refused(here, "owner", projects, cursor.slice(0, i));
    const other = cursor[i] === "A" ? "B" : "A";
    await refused(here, "owner", projects, cursor.slice(0, i) + other + cursor.slice(i + 1));
  }
  const twice = await here.call("owner", "GET", at(projects, `cursor=${cursor}&cursor=${cursor}`));
  expect(twice, 422);
});

test("any text as a cursor is 422 and nothing else", async (t) => {
  const here = await world(t, many);
  const base64 = fc.tuple(fc.string({ maxLength: 40 }), fc.string({ maxLength: 12 }));
  const forged = base64.map(([body, sum]) => `${Buffer.from(body).toString("base64url")}.${sum}`);
  const cursors = fc.oneof(anyText(), fc.base64String(), forged);
  await fc.assert(
    fc.asyncProperty(cursors, async (cursor) => {
      for (const path of ["/v1/projects", "/v1/users"]) await refused(here, "viewer", path, cursor);
    }),
    runs(20),
  );
});

test("inserts and removals between pages repeat and skip no other item", async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 14 }),
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.record({ remove: fc.array(fc.nat(13), { maxLength: 3 }), insert: fc.boolean() }), { maxLength: 6 }),
      async (count, per_page, changes) => {
        const here = await world(t, { ...many, seed: withProjects(count) });
        const before = (await walk(here, "/v1/projects", 100)).flat();
        const gone = new Set<string>();
        let turn = 0;
        const pages = await walk(here, "/v1/projects", per_page, async () => {
          const { remove, insert } = changes[turn++] ?? { remove: [], insert: false };
          if (insert) await here.project(`new ${turn}`);
          for (const index of remove) {
            const id = before[index]?.id;
            if (!id || gone.has(id)) continue;
            gone.add(id);
            expect(await here.call("owner", "DELETE", `/v1/projects/${id}`), 204);
          }
        });
        const seen = pages.flat().map(({ id }) => id);
        assert.equal(new Set(seen).size, seen.length, "nothing comes twice");
        newestFirst(pages.flat());
        const stayed = before.map(({ id }) => id).filter((id) => !gone.has(id));
        assert.deepEqual(
          seen.filter((id) => !gone.has(id)),
          stayed,
          "all that stayed is there, and nothing newer slips in",
        );
        await here.service.close();
      },
    ),
    runs(10),
  );
});
