import assert from "node:assert/strict";
import { test } from "node:test";
import { createService, type Service } from "../../lib/index.ts";
import { until } from "../helpers/until.ts";
import { emptyDatabase } from "./databases.ts";
import { between } from "./network.ts";
import { call, encryptionKey, severalServices } from "./several.ts";

test("other processes soon show the last use of a key", { timeout: 60_000 }, async (t) => {
  const { services, key, ask } = await severalServices(t, 2);
  const [one, two] = services as [Service, Service];
  const { id, key: used } = (await call(one, key, "POST", "/v1/api-keys", { name: "ci" })).body;
  assert.equal((await call(one, used, "GET", "/v1/me")).status, 200);
  const shown = async () => (await ask(`select last_used_at from api_keys where id = '${id}'`))[0]?.last_used_at;
  await until(shown, () => {});
  assert.equal((await call(two, key, "GET", `/v1/api-keys/${id}`)).body.last_used_at, await shown());
});

test("a read that began before the last use was written shows it", { timeout: 60_000 }, async (t) => {
  const { url, ask } = await emptyDatabase(t);
  const use = async (name: string) =>
    (await ask(`select last_used_at from api_keys where name = '${name}'`))[0]?.last_used_at;
  const written = async (name: string) => {
    const seen = until(
      () => use(name),
      () => {},
    );
    // One question more, so that the service hears of the commit too.
    return seen.then(() => use(name));
  };
  let isHeld = false;
  const network = await between(t, url, async (data) => {
    if (isHeld && data.includes("in use")) await written("in use");
    return data;
  });
  const options = { mode: "start", database: network.url, encryptionKey, logLevel: "error" } as const;
  const service = await createService(options);
  t.after(() => service.close());
  const key = service.apiKey ?? "";
  const { id, key: used } = (await call(service, key, "POST", "/v1/api-keys", { name: "in use" })).body;
  await written("first key");
  assert.equal((await call(service, used, "GET", "/v1/me")).status, 200);
  isHeld = true;
  const { last_used_at } = (await call(service, key, "GET", `/v1/api-keys/${id}`)).body;
  assert.equal(last_used_at, await use("in use"));
});
