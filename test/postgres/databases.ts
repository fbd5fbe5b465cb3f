import { randomUUID } from "node:crypto";
import type { TestContext } from "node:test";
import { Client } from "pg";

/** An empty database of the run's server; `ask` sends SQL to it from outside. */
export async function emptyDatabase(t: TestContext) {
  const first = process.env["SVC_TEST_POSTGRES"] ?? "";
  const name = `svc_engine_${randomUUID().replaceAll("-", "")}`;
  const ask = async (url: string, text: string) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    return client
      .query(text)
      .then(
        ({ rows }) => rows,
        (error) => Promise.reject(error),
      )
      .finally(() => client.end());
  };
  await ask(first, `create database ${name}`);
  t.after(() => ask(first, `drop database if exists ${name} with (force)`));
  const url = Object.assign(new URL(first), { pathname: `/${name}` }).href;
  return { url, ask: (text: string) => ask(url, text) };
}
