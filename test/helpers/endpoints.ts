import type { TestContext } from "node:test";
import Database from "better-sqlite3";
import type { Options } from "../../lib/index.ts";
import { expect, type World, world } from "./test-service.ts";

/** More deliveries than one transaction deletes. */
export const deliveryCount = 230;
export const options = { rateLimit: 1_000_000 } satisfies Options;
export const addresses = { large: "https://large.inbox.test/in", small: "https://small.inbox.test/in" };

export const kinds = {
  webhooks: (url: string) => ({ url, events: ["project.created"] }),
  integrations: (url: string) => ({ type: "custom", config: { url, events: ["project.created"] } }),
};
export type Family = keyof typeof kinds;

/** A world where every attempt fails: one endpoint with many deliveries, one with a single delivery. */
export async function twoEndpoints(t: TestContext, family: Family = "webhooks", more: Options = {}) {
  const here = await world(t, { ...options, ...more });
  const made = async (url: string) =>
    expect(await here.call("owner", "POST", `/v1/${family}`, kinds[family](url)), 201);
  const large = await made(addresses.large);
  const tests = Array.from({ length: deliveryCount - 1 }, () =>
    here.call("owner", "POST", `/v1/${family}/${large.id}/test`),
  );
  for (const reply of await Promise.all(tests)) expect(reply, 202);
  const small = await made(addresses.small);
  for (const name of ["large", "small"]) here.service.webhooks.sink(name, () => new Response(null, { status: 500 }));
  await here.project();
  await here.service.settle();
  return { here, large: `/v1/${family}/${large.id}`, small: `/v1/${family}/${small.id}` };
}

export const sentTo = ({ service }: World, name: string) => service.inbox.list({ endpoint: name }).length;
export const metric = async ({ service }: World, name: string) => {
  const lines = (await (await service.fetch("/metrics")).text()).split("\n");
  return Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length));
};
export const pending = (here: World) => metric(here, "svc_deliveries_pending");

/** The remaining rows in each table of endpoints. */
export function rowsLeft(file: string): Record<string, number> {
  const database = new Database(file, { readonly: true });
  const count = (table: string) => database.prepare(`select count(*) from ${table}`).pluck().get() as number;
  const left = Object.fromEntries(
    ["endpoints", "deliveries", "delivery_attempts"].map((table) => [table, count(table)]),
  );
  database.close();
  return left;
}
