import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Database from "better-sqlite3";
import { createService, type Seed } from "../../lib/index.ts";
import { createRandom } from "../../lib/kernel/random.ts";
import { openOnce } from "../helpers/child-processes.ts";
import { jsonBearer } from "../helpers/headers.ts";
import { filesContaining, folderOf } from "../helpers/temporary-store.ts";

const random = createRandom("secrets");
const canary = () => random.alphanumeric(24);

async function running(t: TestContext, seed: Seed) {
  const folder = folderOf(t);
  const database = join(folder, "svc.db");
  const open = () => createService({ database, seed, clock: "manual@2026-01-01T00:00:00Z", logLevel: "silent" });
  const service = await open();
  t.after(() => service.close());
  return { folder, database, service, open };
}

test("no file of the database contains a key, token or secret variable in plain text", async (t) => {
  const key = `sk_live_${canary()}`;
  const [secret, plain, name] = [canary(), canary(), canary()];
  const environments = [
    { name: "production", variables: { PORT: plain, TOKEN: { value: secret, secret: true } } },
    { name: "staging", variables: { TOKEN: { value: secret, secret: true } } },
  ];
  const { folder, service } = await running(t, {
    organizations: [
      {
        name: "acme",
        users: [{ name, email: "ada@acme.test", role: "owner", keys: [{ key }] }],
        projects: [{ name: "web", region: "eu", environments }],
      },
    ],
  });
  const call = async (path: string, body?: object) => {
    const response = await service.fetch(path, {
      method: body ? "POST" : "GET",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": canary() },
      ...(body && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: what a test expects of an answer is what it asserts
    return (await response.json()) as any;
  };
  const { key: made } = await service.keys.create({});
  await call("/v1/users/invite", { email: "bob@acme.test", role: "viewer" });
  const mails = await call("/_svc/mail");
  const { token } = mails.data[0];
  const stillInvited = filesContaining(folder, token);
  const { api_key } = await call("/v1/invitations/accept", { token, name: "Bob" });
  assert.match(api_key, /^sk_live_/);
  for (const still of ["before", "after"]) {
    const secrets = { key, made, api_key, token, secret };
    for (const [what, words] of Object.entries(secrets)) assert.deepEqual(filesContaining(folder, words), [], what);
    // Public values are found, so the search covers the right files.
    for (const words of [plain, name]) assert.notDeepEqual(filesContaining(folder, words), [], still);
    await service.close();
  }
  assert.deepEqual(stillInvited, []);
});

const fixed = "sk_live_demo_ada";
const small: Seed = {
  organizations: [
    { name: "acme", users: [{ name: "Ada", email: "ada@acme.test", role: "owner", keys: [{ key: fixed }] }] },
  ],
};

test("with a seed, a restarted service repeats no identifier and no key", async (t) => {
  const database = join(folderOf(t), "svc.db");
  const seen = new Set<string>();
  const refused: string[] = [];
  const clock = "manual@2026-01-01T00:00:00Z";
  for (let start = 0; start < 4; start++) {
    const service = await createService({ database, clock, random: "same", seed: small, logLevel: "silent" });
    for (let i = 0; i < 6; i++) {
      const body = JSON.stringify({ name: `web-${start}-${i}`, region: "eu" });
      const headers = jsonBearer(fixed);
      const response = await service.fetch("/v1/projects", { method: "POST", headers, body });
      const { id } = (await response.json()) as { id: string };
      if (response.status !== 201 || seen.has(id)) refused.push(`project ${i} of start ${start}: ${response.status}`);
      seen.add(id);
    }
    await service.keys.create({}).catch((error) => refused.push(`key of start ${start}: ${error.message}`));
    await service.close();
  }
  assert.deepEqual(refused, []);
});

test("a start that verifies the given keys does not count as use of them", async (t) => {
  const database = join(folderOf(t), "svc.db");
  for (const options of [{ seed: small }, { seed: small, key: fixed }, { key: fixed }])
    await (await createService({ database, ...options, logLevel: "silent" })).close();
  const file = new Database(database, { readonly: true });
  t.after(() => file.close());
  assert.deepEqual(file.prepare("select last_used_at from api_keys").pluck().all(), [null]);
});

test("a refused second start in one process does not let other programs remove the WAL of the first", async (t) => {
  const { database, service, open } = await running(t, small);
  await assert.rejects(open(), /is running on it/);
  // Another process opens and closes the file. It would remove the WAL if it saw no other user of the file.
  await openOnce(database);
  const { key } = await service.keys.create({});
  assert.match(key, /^sk_live_/);
  const files = readdirSync(join(database, ".."));
  assert.ok(files.includes("svc.db-wal"), `the log is gone: ${files.join(" ")}`);
  const copy = new Database(database, { readonly: true });
  assert.equal(copy.prepare("select count(*) from api_keys").pluck().get(), 2);
  copy.close();
});
