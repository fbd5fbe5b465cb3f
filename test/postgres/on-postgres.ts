import { Client } from "pg";
import type { Options } from "../../lib/config/generated/options.ts";
import { parseOptions } from "../../lib/config/parse-options.ts";
import type { Service } from "../../lib/index.ts";
import { migrations } from "../../lib/store/migrate.ts";
import { openPostgres } from "../../lib/store/postgres/open.ts";

/** The URL of the server's first database, used to make others. */
const first = process.env["SVC_TEST_POSTGRES"] ?? "";
const encryptionKey = Buffer.alloc(32, 7).toString("hex");
/** Databases of this process that no service uses. */
const free: string[] = [];
let made = 0;

const urlOf = (name: string) => Object.assign(new URL(first), { pathname: `/${name}` }).href;

async function ask(url: string, ...texts: string[]) {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    let rows: Record<string, string>[] = [];
    for (const text of texts) rows = (await client.query(text)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

/** The name includes the schema's checksum, because the tester's own server may hold a template of another schema. */
const template = `svc_template_${migrations().at(-1)?.checksum.slice(0, 12)}`;
let hasTemplate: Promise<void> | undefined;

/** Makes the template in the first process of a run; the others wait for its lock. */
async function makeTemplate(): Promise<void> {
  const client = new Client({ connectionString: first });
  await client.connect();
  try {
    await client.query("select pg_advisory_lock(1)");
    const { rows } = await client.query("select 1 from pg_database where datname = $1 and datistemplate", [template]);
    if (rows.length > 0) return;
    await client.query(`drop database if exists ${template}`);
    await client.query(`create database ${template}`);
    const { engine } = await openPostgres(urlOf(template), { isServer: true });
    await engine.close();
    await client.query(`alter database ${template} is_template true`);
  } finally {
    await client.end();
  }
}

/** The SQL that empties a database of the service. */
let emptying: Promise<string> | undefined;

async function emptyingOf(url: string): Promise<string> {
  const named = "select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'migrations'";
  const tables = await ask(url, named);
  return `begin; set constraints all deferred; ${tables.map(({ name }) => `delete from ${name};`).join("")} commit`;
}

async function database(): Promise<string> {
  const used = free.pop();
  if (used !== undefined) {
    emptying ??= emptyingOf(used);
    await ask(used, await emptying);
    return used;
  }
  hasTemplate ??= makeTemplate();
  await hasTemplate;
  const name = `svc_${process.pid}_${made++}`;
  await ask(first, `create database ${name} template ${template}`);
  return urlOf(name);
}

/**
 * Gives a service in memory a PostgreSQL database. Returns other options unchanged, including those that PostgreSQL
 * does not allow.
 */
export async function onPostgres(options: Options): Promise<Options> {
  if ((options.database ?? ":memory:") !== ":memory:") return options;
  const on = (database: string): Options => ({ ...options, database, encryptionKey });
  try {
    parseOptions(options);
    parseOptions(on(first));
  } catch {
    return options;
  }
  const moved = on(await database());
  return moved;
}

/** The service, modified to return its database to the free ones when it closes. */
export function freeing(service: Service<string | null>, { database = "" }: Options): Service<string | null> {
  if (!database.startsWith("postgres:")) return service;
  const { close } = service;
  let hasClosed = false;
  service.close = async () => {
    await close();
    if (!hasClosed) free.push(database);
    hasClosed = true;
  };
  return service;
}
