import assert from "node:assert/strict";
import { test } from "node:test";
import { member, withMembers } from "../helpers/members.ts";
import { type Item, namesOf, newestFirst, walk, withProjects } from "../helpers/pagination.ts";
import { expect, type Reply, type World, world } from "../helpers/test-service.ts";

const many = { rateLimit: 1_000_000 };

/** Deployments of two projects and two environments in several states. */
async function fleet({ project, deploy, call, service }: World) {
  const projects = [(await project("one")).id, (await project("two")).id];
  for (let i = 0; i < 12; i++) {
    const environment = i % 3 === 0 ? "staging" : "production";
    const { id } = await deploy(projects[i % 2], { environment });
    if (i % 4 === 0) expect(await call("owner", "POST", `/v1/deployments/${id}/cancel`), 200);
    if (i === 5) await service.clock.advance("1m");
  }
  return projects as [string, string];
}

test("GET /projects gives 20 a page, newest first", async (t) => {
  const here = await world(t, { seed: withProjects(21) });
  const { data, meta } = expect(await here.call("viewer", "GET", "/v1/projects"), 200);
  assert.deepEqual(
    namesOf(data),
    Array.from({ length: 20 }, (_, i) => `project ${20 - i}`),
  );
  newestFirst(data);
  const rest = expect(await here.call("viewer", "GET", `/v1/projects?cursor=${meta.next_cursor}`), 200);
  assert.deepEqual(namesOf(rest.data), ["project 0"]);
  assert.equal(rest.meta.next_cursor, null);
});

test("a page that takes exactly the rest is the last one", async (t) => {
  const here = await world(t, { seed: withProjects(4) });
  assert.deepEqual(
    (await walk(here, "/v1/projects", 2)).map((page) => page.length),
    [2, 2],
  );
  assert.deepEqual(
    (await walk(here, "/v1/projects", 4)).map((page) => page.length),
    [4],
  );
  assert.deepEqual(
    (await walk(here, "/v1/projects", 5)).map((page) => page.length),
    [4],
  );
  assert.deepEqual(
    (await walk(here, "/v1/projects", 1)).map((page) => page.length),
    [1, 1, 1, 1],
  );
  assert.deepEqual(await walk(here, "/v1/projects", 3, undefined, "stranger"), [[]]);
});

test("a page has 100 items at most", async (t) => {
  const here = await world(t, { seed: withProjects(101) });
  assert.deepEqual(
    (await walk(here, "/v1/projects", 100)).map((page) => page.length),
    [100, 1],
  );
});

test("per_page is a whole number from 1 to 100", async (t) => {
  const { call, project, deploy } = await world(t);
  const { id } = await deploy((await project()).id);
  const lists = ["/v1/projects", "/v1/deployments", "/v1/users", "/v1/invitations", "/v1/events"];
  const logs = `/v1/deployments/${id}/logs`;
  const wrong = ["0", "-1", "101", "1000", "5 ", "+5", " 5", "٥", "５", "1.0", "1e1", "0x5", "five", "", "1_0"];
  const ask = (path: string, value: string) => call("viewer", "GET", `${path}?per_page=${encodeURIComponent(value)}`);
  const paths = (reply: Reply) => expect(reply, 422).error.details.map((one: { path: string }) => one.path);
  for (const path of lists) {
    for (const value of ["1", "100"]) assert.equal(expect(await ask(path, value), 200).meta.per_page, Number(value));
    for (const value of wrong) assert.deepEqual(paths(await ask(path, value)), ["per_page"], `${path} ${value}`);
    assert.deepEqual(paths(await call("viewer", "GET", `${path}?per_page=5&per_page=5`)), ["per_page"]);
  }
  for (const value of ["1", "101", "1000"]) expect(await ask(logs, value), 200);
  for (const value of ["0", "1001", "5 ", "٥"]) assert.deepEqual(paths(await ask(logs, value)), ["per_page"]);
});

test("the pages of deployments concatenate to the whole list, with each filter", async (t) => {
  const here = await world(t, many);
  const [one, two] = await fleet(here);
  const all = (await walk(here, "/v1/deployments", 100)).flat();
  assert.equal(all.length, 12);
  newestFirst(all);
  const states = [...new Set(all.map(({ status }) => status))];
  assert.ok(states.length >= 3, "several states are there to be filtered");
  for (const project_id of [undefined, one, two]) {
    for (const environment of [undefined, "production", "staging", "unknown"]) {
      for (const status of [undefined, ...states, "rolled_back"]) {
        const filters = { project_id, environment, status };
        const given = Object.entries(filters).filter(([, value]) => value !== undefined) as [string, string][];
        const path = `/v1/deployments?${new URLSearchParams(given)}`;
        const wanted = all.filter((item) => given.every(([name, value]) => item[name] === value));
        for (const size of [1, 3])
          assert.deepEqual((await walk(here, path, size)).flat(), wanted, `${path} by ${size}`);
      }
    }
  }
});

test("a filter that names an unknown or foreign project gives an empty list", async (t) => {
  const here = await world(t, many);
  const [one] = await fleet(here);
  for (const [who, id] of [
    ["viewer", "proj_unknown"],
    ["viewer", ""],
    ["stranger", one],
  ] as const) {
    const { data, meta } = expect(await here.call(who, "GET", `/v1/deployments?project_id=${id}`), 200);
    assert.deepEqual(data, []);
    assert.equal(meta.next_cursor, null);
  }
});

test("a filter's unknown state, or a filter given twice, is 422", async (t) => {
  const { call } = await world(t);
  for (const query of [
    "status=done",
    "status=",
    "status=ACTIVE",
    "status=active&status=active",
    "project_id=a&project_id=b",
  ]) {
    expect(await call("viewer", "GET", `/v1/deployments?${query}`), 422);
  }
});

test("users, invitations and logs give everything, and page when per_page or cursor is given", async (t) => {
  const crowd = Array.from({ length: 25 }, (_, i) => member(`member${i}`, "viewer"));
  const here = await world(t, { ...many, seed: withMembers(...crowd) });
  const { call, project, deploy, service } = here;
  const { id } = await deploy((await project()).id);
  await service.clock.advance("1m");
  for (let i = 0; i < 23; i++) {
    expect(await call("owner", "POST", "/v1/users/invite", { email: `guest${i}@acme.test`, role: "viewer" }), 201);
  }
  for (const [path, count] of [
    ["/v1/users", 29],
    ["/v1/invitations", 23],
    [`/v1/deployments/${id}/logs`, undefined],
  ] as const) {
    const { data, meta } = expect(await call("viewer", "GET", path), 200);
    assert.equal(data.length, count ?? data.length);
    assert.ok(data.length > 2, path);
    assert.equal(meta.next_cursor, null);
    assert.deepEqual((await walk(here, path, 2)).flat(), data, path);
    const first = expect(await call("viewer", "GET", `${path}?per_page=1`), 200);
    const second = expect(await call("viewer", "GET", `${path}?cursor=${first.meta.next_cursor}`), 200);
    assert.equal(second.meta.per_page, 20, "a cursor alone pages by the default");
    assert.deepEqual(second.data, data.slice(1, 21));
    if (count) newestFirst(data);
  }
});

test("logs are oldest first, and events newest first", async (t) => {
  const here = await world(t, many);
  await fleet(here);
  await here.service.clock.advance("5m");
  const events = (await walk(here, "/v1/events", 7)).flat();
  newestFirst(events);
  assert.deepEqual(namesOf(events.map(({ id, event }) => ({ id, name: event }))).reverse(), await here.events());
  const [{ id }] = (await walk(here, "/v1/deployments?status=active", 1)).flat() as [Item];
  const logs = (await walk(here, `/v1/deployments/${id}/logs`, 1)).flat();
  const times = logs.map(({ timestamp }) => String(timestamp));
  assert.deepEqual(times, [...times].sort());
});

test("the full envelope counts the pages from 1 and has the total of the filtered list", async (t) => {
  const here = await world(t, { ...many, envelope: "full" });
  const [one] = await fleet(here);
  const path = `/v1/deployments?project_id=${one}&per_page=4`;
  const seen = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const { pagination }: { pagination: Record<string, unknown> & { next_cursor: string | null } } = expect(
      await here.call("viewer", "GET", cursor ? `${path}&cursor=${cursor}` : path),
      200,
    );
    const { next_cursor, ...rest } = pagination;
    seen.push(rest);
    cursor = next_cursor;
  }
  const about = { total: 6, per_page: 4 };
  assert.deepEqual(seen, [
    { ...about, page: 1 },
    { ...about, page: 2 },
  ]);
  const users = expect(await here.call("viewer", "GET", "/v1/users"), 200).pagination;
  assert.equal(users.total, 4);
  assert.equal(users.page, 1);
});
