import assert from "node:assert/strict";
import { test } from "node:test";
import { operations } from "../../lib/composition/operations.ts";
import type { Seed } from "../../lib/index.ts";
import { nameOf, type Role, type Rule, refusal, roles, rules, scopeSets } from "../helpers/access-table.ts";
import { type Answered, type Asked, keepAliveClient } from "../helpers/keep-alive-client.ts";
import { withMembers } from "../helpers/members.ts";
import { isLong } from "../helpers/properties.ts";
import { type ListeningWorld, listeningWorld, owner } from "../helpers/raw-sockets.ts";
import { expect, keyOf, start } from "../helpers/test-service.ts";

/** The histories of a key and its user, and whether CONTRACT section 1 still accepts the key. */
const histories = {
  valid: true,
  reactivated: true,
  promoted: true,
  demoted: true,
  revoked: false,
  expired: false,
  suspended: false,
  removed: false,
} as const;
type History = keyof typeof histories;

/** The next role above or below, from which a user was demoted or promoted; undefined if there is none. */
const above = (role: Role) => roles[roles.indexOf(role) - 1];
const below = (role: Role) => roles[roles.indexOf(role) + 1];

/** Each role with each history, and a key for each set of scopes. */
const people = roles.flatMap((role) =>
  (Object.keys(histories) as History[]).flatMap((history) => {
    const first = history === "demoted" ? above(role) : history === "promoted" ? below(role) : role;
    return first ? [{ role, first, history, name: `${role}_${history}` }] : [];
  }),
);
type Person = (typeof people)[number];
const keyFor = ({ name }: Person, set: number) => `sk_live_${name}_${set}`;
const soon = new Date(Date.parse(start) + 60_000).toISOString();

const seed: Seed = withMembers(
  ...people.map((person) => ({
    name: person.name,
    email: `${person.name}@acme.test`,
    role: person.first,
    keys: scopeSets.map((scopes, set) => ({
      key: keyFor(person, set),
      scopes: [...scopes],
      ...(person.history === "expired" && { expires_at: soon }),
    })),
  })),
);

/** Plays the history of each key and its user through the API. */
async function live({ call, service }: ListeningWorld): Promise<void> {
  const users = expect(await call("owner", "GET", "/v1/users"), 200).data;
  const keys = expect(await call("owner", "GET", "/v1/api-keys"), 200).data;
  for (const { name, role, history } of people) {
    const { id } = users.find((user: { name: string }) => user.name === name);
    const change = async (method: string, path: string, body?: object) => {
      const { status, text } = await call("owner", method, `/v1${path}`, body);
      assert.ok(status < 300, text);
    };
    if (history === "suspended" || history === "reactivated") await change("POST", `/users/${id}/suspend`);
    if (history === "reactivated") await change("POST", `/users/${id}/reactivate`);
    if (history === "promoted" || history === "demoted") await change("PUT", `/users/${id}`, { role });
    if (history === "removed") await change("DELETE", `/users/${id}`);
    if (history !== "revoked") continue;
    for (const key of keys) if (key.user_id === id) await change("DELETE", `/api-keys/${key.id}`);
  }
  await service.clock.advance("1m");
}

/** Identifiers are unknown and bodies missing, so that a permitted call changes nothing. */
const pathOf = ({ path }: Rule) => `/v1${path.replaceAll("{}", "unknown")}`;
const asked = (authorization: string): Asked => ({ headers: [["Authorization", authorization]] });

/**
 * The sets of scopes to try, by number. A long run tries all (39,150 cells). A short run tries all for keys without a
 * history; for the others only none, `*`, and every scope by name.
 */
const setsOf = ({ history }: Person, method: string) =>
  isLong || (history === "valid" && method !== "HEAD") ? [...scopeSets.keys()] : [0, 1, 2];

function isUnauthorized({ status, headers, body }: Answered, isHead = false): boolean {
  return (
    status === 401 && headers.get("www-authenticate") === "Bearer" && (isHead || body.error.code === "unauthorized")
  );
}

test("the table of rights has every operation, and no other", () => {
  assert.deepEqual(rules.map(nameOf).sort(), operations.map(nameOf).sort());
});

test("every operation is for exactly the roles, scopes and credentials of the table", async (t) => {
  const here = await listeningWorld(t, { seed, rateLimit: 0, addressRateLimit: 0 });
  await live(here);
  const client = keepAliveClient(here.port);
  t.after(() => client.close());
  let cells = 0;
  const wrong: string[] = [];
  for (const rule of rules) {
    const path = pathOf(rule);
    const methods = rule.method === "GET" ? ["GET", "HEAD"] : [rule.method];
    for (const person of people) {
      const sent = methods.flatMap((method) =>
        setsOf(person, method).map(async (set) => {
          const scopes = scopeSets[set] ?? [];
          const answer = await client.ask(method, path, asked(`Bearer ${keyFor(person, set)}`));
          const refused = refusal(rule, person.role, scopes);
          const isAsWanted =
            rule.scope === "none"
              ? answer.status === rule.whenOpen
              : !histories[person.history]
                ? isUnauthorized(answer, method === "HEAD")
                : refused
                  ? answer.status === 403 && (method === "HEAD" || answer.body.error.code === refused)
                  : answer.status === rule.whenOpen;
          cells += 1;
          if (!isAsWanted) wrong.push(`${method} ${rule.path} for ${person.name} with ${scopes}: ${answer.status}`);
        }),
      );
      await Promise.all(sent);
    }
  }
  assert.deepEqual(wrong, []);
  t.diagnostic(`${cells} cells`);
});

const key = keyOf("owner");
const unknown = "sk_live_unknown";
/** Requests without a valid credential. */
const strangers: Readonly<Record<string, Asked & { query?: string }>> = {
  none: {},
  empty: asked(""),
  "scheme alone": asked("Bearer"),
  "key alone": asked(key),
  "wrong scheme": asked(`Basic ${key}`),
  unknown: asked(`Bearer ${unknown}`),
  "no prefix": asked(`Bearer ${key.slice(8)}`),
  "other prefix": asked(`Bearer ${key.replace("live", "test")}`),
  "too long": asked(`Bearer ${key}${"x".repeat(4_000)}`),
  "one letter less": asked(`Bearer ${key.slice(0, -1)}`),
  "upper case": asked(`Bearer ${key.toUpperCase()}`),
  "two keys": asked(`Bearer ${key} ${key}`),
  list: asked(`Bearer ${key}, Bearer ${key}`),
  query: { query: `?api_key=${key}&access_token=${key}&authorization=Bearer%20${key}` },
  cookie: { headers: [["Cookie", `authorization=Bearer ${key}; session=${key}`]] },
  "another header": { headers: [["X-Api-Key", key]] },
  "proxy's header": { headers: [["Proxy-Authorization", `Bearer ${key}`]] },
  "two headers, the first unknown": {
    headers: [...(asked(`Bearer ${unknown}`).headers ?? []), ...(asked(`Bearer ${key}`).headers ?? [])],
  },
};

test("no operation but those that need no key takes a request without a valid one", async (t) => {
  const here = await listeningWorld(t, { rateLimit: 0, addressRateLimit: 0 });
  const client = keepAliveClient(here.port);
  t.after(() => client.close());
  const words = new Set<string>();
  for (const rule of rules) {
    for (const [name, { query = "", ...request }] of Object.entries(strangers)) {
      const answer = await client.ask(rule.method, pathOf(rule) + query, request);
      if (rule.scope === "none") assert.equal(answer.status, rule.whenOpen, `${nameOf(rule)}, ${name}`);
      else assert.ok(isUnauthorized(answer), `${nameOf(rule)}, ${name}: ${answer.status}`);
      if (answer.status === 401) words.add(answer.body.error.message);
    }
  }
  assert.equal(words.size, 1, "the same words for every reason");
});

test("of two Authorization headers the first counts", async (t) => {
  const here = await listeningWorld(t);
  const client = keepAliveClient(here.port);
  t.after(() => client.close());
  const both = (...keys: string[]) => ({ headers: keys.map((one) => ["Authorization", `Bearer ${one}`] as const) });
  assert.equal((await client.ask("GET", "/v1/me", both(key, unknown))).status, 200);
  assert.equal((await client.ask("GET", "/v1/me", both(unknown, key))).status, 401);
});

test("another method of a path is 405 with a key and 401 without; an unknown path 404 and 401", async (t) => {
  const here = await listeningWorld(t, { rateLimit: 0, addressRateLimit: 0 });
  const client = keepAliveClient(here.port);
  t.after(() => client.close());
  const withKey = asked(owner.authorization);
  for (const path of new Set(rules.map((rule) => rule.path))) {
    const known = rules.filter((rule) => matches(rule.path, path)).map(({ method }) => method);
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]) {
      if (known.includes(method)) continue;
      const at = `/v1${path.replaceAll("{}", "unknown")}`;
      const answer = await client.ask(method, at, withKey);
      assert.equal(answer.status, 405, `${method} ${at}`);
      assert.ok(answer.headers.get("allow"));
      assert.ok(isUnauthorized(await client.ask(method, at)), `${method} ${at} without a key`);
    }
    for (const tail of ["/", "/more", ";x", "%2F"]) {
      const at = `/v1${path.replaceAll("{}", "unknown")}${tail}`;
      if (rules.some((rule) => matches(rule.path, at.slice(3)))) continue;
      assert.equal((await client.ask("GET", at, withKey)).status, 404, at);
      assert.ok(isUnauthorized(await client.ask("GET", at)), `${at} without a key`);
    }
  }
});

/** Whether a path of the table matches this path. */
const matches = (path: string, at: string) => new RegExp(`^${path.replaceAll("{}", "[^/]+")}$`).test(at);
