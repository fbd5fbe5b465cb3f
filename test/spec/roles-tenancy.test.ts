import assert from "node:assert/strict";
import { test } from "node:test";
import { operations } from "../../lib/composition/operations.ts";
import { nameOf, type Rule, roles, rules } from "../helpers/access-table.ts";
import { hasSnapshots } from "../helpers/engine.ts";
import { keepAliveClient } from "../helpers/keep-alive-client.ts";
import { listeningWorld } from "../helpers/raw-sockets.ts";
import {
  asking,
  comparable,
  malformed,
  managesKeys,
  records,
  twoOrganizations,
  unknownOf,
} from "../helpers/tenancy.ts";
import { expect, type World } from "../helpers/test-service.ts";

/** Each identifier in a path, with records of each kind in its place, for each role. */

const many = { rateLimit: 0 };
/** The second identifier of a path. */
const second = ({ path }: Rule) =>
  path.includes("/deliveries/{}")
    ? `of ${path.split("/")[1]}`
    : path.includes("/environments/{}")
      ? "environment"
      : undefined;
const kindOf = ({ path }: Rule) => path.split("/")[1] ?? "";

/** Without repositories, which a simulation does not host: test/runtime/repositories.test.ts has their cells. */
const withId = rules.filter(({ path }) => path.includes("{}") && !path.startsWith("/repositories/"));

/** Everything that `acme` can read, except the call counters. */
async function readAll({ call }: World) {
  const all = [];
  for (const { path, method, answers } of operations) {
    if (method !== "GET" || answers !== "list" || path.includes("{")) continue;
    const { data } = expect(await call("owner", "GET", `/v1${path}`), 200);
    all.push(data.map(({ last_used_at, ...record }: Record<string, unknown>) => record));
  }
  return all;
}

test("every identifier in a path: foreign, deleted, unknown and malformed ones are one and the same 404", async (t) => {
  const here = await listeningWorld(t, many);
  const client = keepAliveClient(here.port);
  t.after(() => client.close());
  const ask = asking(client);
  const { own, foreign, deleted } = await twoOrganizations(here);
  const before = await readAll(here);
  let cells = 0;
  for (const rule of withId) {
    const kind = kindOf(rule);
    const other = second(rule);
    const mine = own[kind] ?? "";
    assert.ok(mine, `records() makes no record for ${rule.path}`);
    const theirs = [foreign[kind], ...(kind === "generations" ? [] : [deleted[kind]])] as string[];
    const otherKinds = Object.values(own).filter((id) => id !== mine && id !== own["environment"]);
    const nowhere = [...theirs, unknownOf(mine), ...malformed(mine), ...otherKinds];
    for (const role of roles) {
      const answers = await Promise.all(nowhere.map((id) => ask.of(rule, role, id, other && own[other])));
      const wanted = rule.roles.includes(role) ? 404 : 403;
      assert.equal(answers[0]?.status, wanted, `${nameOf(rule)} for ${role}: ${answers[0]?.text}`);
      const forms = new Set(answers.map(comparable));
      assert.equal(forms.size, 1, `${nameOf(rule)} for ${role}: ${[...forms].join("\n")}`);
      for (const id of nowhere.slice(0, 3)) assert.ok(!answers[0]?.text.includes(id), "the answer does not repeat it");
      if (wanted === 403) {
        const refused = await ask.of(rule, role, mine, other && own[other]);
        assert.ok(forms.has(comparable(refused)), `${nameOf(rule)} for ${role}: an own record is refused alike`);
      }
      cells += nowhere.length;
    }
  }
  assert.deepEqual(await readAll(here), before, "nothing was changed");
  t.diagnostic(`${cells} cells`);
});

test("every identifier in a path: an own record is found, by the roles of the table alone", async (t) => {
  const here = await listeningWorld(t, many);
  const client = keepAliveClient(here.port);
  t.after(() => client.close());
  const ask = asking(client);
  let own = await records(here, "owner", "production");
  let renewed = 0;
  const kept = hasSnapshots ? await here.service.snapshot() : undefined;
  for (const rule of withId) {
    const kind = kindOf(rule);
    const other = second(rule);
    for (const role of roles) {
      const { status, text } = await ask.of(rule, role, own[kind] ?? "", other && own[other]);
      const hidden = kind === "api-keys" && !managesKeys(role);
      const wanted = !rule.roles.includes(role) ? 403 : hidden ? 404 : rule.whenOwn;
      assert.equal(status, wanted, `${nameOf(rule)} for ${role}: ${text}`);
      if (rule.method === "GET" || status >= 300) continue;
      if (kept) await here.service.restore(kept.id);
      else {
        // The next project takes this one's name, and the old endpoints would receive each event, so all three kinds
        // go.
        for (const kind of ["projects", "webhooks", "integrations"])
          await here.call("owner", "DELETE", `/v1/${kind}/${own[kind]}`);
        own = await records(here, "owner", `again-${renewed++}`);
      }
    }
  }
});

test("the second identifier of a path: a foreign, deleted, unknown or malformed one is 404", async (t) => {
  const here = await listeningWorld(t, many);
  const client = keepAliveClient(here.port);
  t.after(() => client.close());
  const ask = asking(client);
  const { own, foreign, deleted } = await twoOrganizations(here);
  for (const rule of withId) {
    const other = second(rule);
    // `PUT` and `PATCH` of an unknown environment create it: CONTRACT section 3.
    if (!other || rule.method === "PUT" || (rule.path.endsWith("/environments/{}") && rule.method === "PATCH"))
      continue;
    const mine = own[other] ?? "";
    const wrong = [foreign[other], deleted[other], other === "environment" ? "unknown" : unknownOf(mine)] as string[];
    const ofAnother =
      other === "environment" ? [] : [own[other === "of webhooks" ? "of integrations" : "of webhooks"] ?? ""];
    for (const role of roles) {
      const nowhere = [...wrong, ...ofAnother, ...malformed(mine)];
      const answers = await Promise.all(nowhere.map((id) => ask.of(rule, role, own[kindOf(rule)] ?? "", id)));
      assert.equal(answers[0]?.status, rule.roles.includes(role) ? 404 : 403, nameOf(rule));
      assert.equal(new Set(answers.map(comparable)).size, 1, `${nameOf(rule)} for ${role}`);
    }
  }
});
