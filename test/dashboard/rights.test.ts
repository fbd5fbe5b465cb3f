import assert from "node:assert/strict";
import { test } from "node:test";
import type { Seed } from "../../lib/index.ts";
import { nameOf, refusal, roles, rules, scopeSets } from "../helpers/access-table.ts";
import { type Asked, keepAliveClient } from "../helpers/keep-alive-client.ts";
import { member, withMembers } from "../helpers/members.ts";
import { isLong } from "../helpers/properties.ts";
import { type ListeningWorld, listeningWorld } from "../helpers/raw-sockets.ts";
import { comparable, malformed, twoOrganizations, unknownOf } from "../helpers/tenancy.ts";
import { keyOf, seed } from "../helpers/test-service.ts";

/** The operations of `/v1`, called with sessions of the dashboard. */

const hosted = { mode: "start", clock: "real", random: undefined, rateLimit: 0, addressRateLimit: 0 } as const;
const json = ["Content-Type", "application/json"] as const;

function sessionsOf(here: ListeningWorld, t: { after(end: () => void): void }) {
  const client = keepAliveClient(here.port);
  t.after(() => client.close());
  const call = (method: string, path: string, cookie: string, more: Asked = {}) =>
    client.ask(method, `/dashboard${path}`, {
      ...more,
      headers: [
        ["X-Request-Id", "the-same"],
        ...(cookie ? [["Cookie", cookie] as const] : []),
        ...(more.headers ?? []),
      ],
    });
  return {
    call,
    async signIn(key: string): Promise<string> {
      const { headers, status, text } = await call("POST", "/session", "", {
        headers: [json],
        body: JSON.stringify({ key }),
      });
      assert.equal(status, 201, text);
      return headers.get("set-cookie")?.split(";", 1)[0] ?? "";
    },
  };
}

const pathOf = (path: string) => `/api${path.replaceAll("{}", "unknown")}`;

test("the numbers of the whole service are for owners and admins of its only organization", async (t) => {
  const names = ["owner", "admin", "viewer"] as const;
  const statuses = async (organizations: Seed["organizations"]) => {
    const here = await listeningWorld(t, { ...hosted, seed: { organizations } });
    const { call, signIn } = sessionsOf(here, t);
    const answers = [];
    for (const name of names) answers.push(await call("GET", "/session/metrics", await signIn(keyOf(name))));
    return answers.map(({ status, body }) => body.error?.message ?? status);
  };
  const barred = "metrics need the role owner or admin, and yours is viewer";
  assert.deepEqual(await statuses(seed.organizations.slice(0, 1)), [200, 200, barred]);
  const others = "these numbers include other organizations; yours are at /metrics with your key";
  assert.deepEqual(await statuses(seed.organizations), [others, others, barred]);
});

test("every operation is for exactly the roles and scopes of the table in a session too", async (t) => {
  const sets = isLong ? [...scopeSets.keys()] : [0, 1, 2, 3, 4];
  const nameFor = (role: string, set: number) => `${role}.${set}`;
  const everyone = withMembers(
    ...roles.flatMap((role) =>
      sets.map((set) =>
        member(nameFor(role, set), role, { key: `sk_live_${role}_${set}`, scopes: [...(scopeSets[set] ?? [])] }),
      ),
    ),
  );
  const here = await listeningWorld(t, { ...hosted, seed: everyone });
  const { call, signIn } = sessionsOf(here, t);
  let cells = 0;
  for (const role of roles) {
    for (const set of sets) {
      const cookie = await signIn(`sk_live_${role}_${set}`);
      const answers = await Promise.all(rules.map((rule) => call(rule.method, pathOf(rule.path), cookie)));
      for (const [i, rule] of rules.entries()) {
        const { status, body, text } = answers[i] ?? assert.fail();
        const refused = refusal(rule, role, scopeSets[set] ?? []);
        const what = `${nameOf(rule)} for ${role} with ${scopeSets[set]}: ${text}`;
        assert.equal(status, refused ? 403 : rule.whenOpen, what);
        if (refused) assert.equal(body.error.code, refused, what);
        cells += 1;
      }
    }
  }
  t.diagnostic(`${cells} cells`);
});

test("no operation of the dashboard takes a request without a living session, or from another origin", async (t) => {
  const here = await listeningWorld(t, hosted);
  const { call, signIn } = sessionsOf(here, t);
  const living = await signIn(keyOf("owner"));
  const ended = await signIn(keyOf("owner"));
  assert.equal((await call("DELETE", "/session", ended)).status, 204);
  const name = living.split("=", 1)[0] ?? "";
  const strangers: Readonly<Record<string, readonly [cookie: string, more?: Asked]>> = {
    "no session": [""],
    "an ended one": [ended],
    "an unknown one": [`${name}=${"x".repeat(43)}`],
    "an empty one": [`${name}=`],
    "one letter less": [living.slice(0, -1)],
    "another cookie": [living.replace(name, "svc")],
    "the cookie of https": [living.replace(name, "__Host-svc")],
    "a key as the cookie": [`${name}=${keyOf("owner")}`],
    "a key": ["", { headers: [["Authorization", `Bearer ${keyOf("owner")}`]] }],
    "a person of dev": ["", { headers: [["X-Svc-Person", "org.usr"]] }],
  };
  const wrong: string[] = [];
  for (const rule of [
    ...rules,
    { method: "GET", path: "", scope: "key" },
    { method: "GET", path: "/me", scope: "key" },
  ]) {
    const path = rule.path === "" ? "/session" : pathOf(rule.path);
    for (const [what, [cookie, more]] of Object.entries(strangers)) {
      const { status } = await call(rule.method, path, cookie, more);
      if (rule.scope === "none" ? status >= 500 : status !== 401)
        wrong.push(`${rule.method} ${path}, ${what}: ${status}`);
    }
    for (const origin of ["https://evil.test", "null", `http://localhost:${here.port}`]) {
      const { status } = await call(rule.method, path, living, { headers: [["Origin", origin]] });
      if (status !== 403) wrong.push(`${rule.method} ${path} from ${origin}: ${status}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test("a session finds no record of another organization", async (t) => {
  const made = await listeningWorld(t, { rateLimit: 0 });
  const { own, foreign } = await twoOrganizations(made);
  // In dev a person takes the place of a session. Like a session, it acts for one organization.
  const { data: people } = (await made.send("GET", "/dashboard/session/people")).body;
  const { person } = people.find(
    (one: { organization: string; role: string }) => one.organization === "acme" && one.role === "owner",
  );
  const { call } = sessionsOf(made, t);
  const ask = (method: string, path: string) =>
    call(method, `/api${path}`, "", {
      headers: [["X-Svc-Person", person], json],
      ...(method !== "GET" &&
        method !== "DELETE" && {
          body: JSON.stringify({ name: "taken", role: "viewer", variables: {}, since: "2026-01-01T00:00:00Z" }),
        }),
    });
  // A simulation hosts no repositories: test/runtime/repositories.test.ts has their cells.
  for (const rule of rules.filter(({ path }) => path.includes("{}") && !path.startsWith("/repositories/"))) {
    const kind = rule.path.split("/")[1] ?? "";
    const mine = own[kind] ?? "";
    const nowhere = [foreign[kind] ?? "", unknownOf(mine), ...malformed(mine).slice(0, 3)];
    const answers = await Promise.all(
      nowhere.map((id) => ask(rule.method, rule.path.replace("{}", () => id).replace("{}", "production"))),
    );
    assert.equal(answers[0]?.status, 404, `${nameOf(rule)}: ${answers[0]?.text}`);
    assert.equal(new Set(answers.map(comparable)).size, 1, nameOf(rule));
  }
});
