import { readFileSync } from "node:fs";
import { Client } from "pg";
import { copyDatabases } from "../../lib/store/transfer/copy-databases.ts";
import { startServer } from "../postgres/server.ts";
import { besideLimit } from "./beside-limit.ts";
import { type Figure, figure, timed } from "./figures.ts";
import { pin } from "./processors.ts";
import {
  type Bench,
  createLoad,
  forkServer,
  inTurns,
  type Rows,
  ratios,
  requests,
  startLimitOnPostgres,
  startPacked,
} from "./servers.ts";
import { conditions, severalServers } from "./several-on-postgres.ts";

/** The tests' PostgreSQL gives up durability for speed; these settings restore it, as in production. */
const durable = { fsync: "on", full_page_writes: "on", synchronous_commit: "on", autovacuum: "on" };
const [few, many] = [1_000, 1_000_000];

/** Inserts copies of the first deployment, with the identifiers of `rows.ts`. */
async function copyRow(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { fields } = await client.query("select * from deployments limit 0");
    const names = fields.map(({ name }) => client.escapeIdentifier(name));
    const values = fields.map(({ name }, i) => (name === "id" ? "'dep_01' || lpad(i::text, 24, '0')" : names[i]));
    await client.query(`insert into deployments (${names}) select ${values}
      from (select * from deployments order by id limit 1) as first, generate_series(${few}, ${many - 1}) as i`);
    await client.query("vacuum analyze");
  } finally {
    await client.end();
  }
}

async function ask(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(text).finally(() => client.end());
}

/**
 * The service on PostgreSQL: reads among 1,000,000 deployments against 1,000, and several servers on one database.
 * `given` is a running server; without it the bench starts one. `small` has 1,000 deployments.
 */
export async function onPostgres(bench: Bench, small: Rows, given: string): Promise<Figure[]> {
  const own = given === "" ? await startServer(durable) : undefined;
  if (own) pin({ pid: own.pid() }, "database");
  process.stdout.write(`\n${conditions()}\n`);
  const first = own?.url("postgres") ?? given;
  const nameOf = (what: string) => `svc_bench_${process.pid}_${what}`;
  const urlOf = (what: string) => Object.assign(new URL(first), { pathname: `/${nameOf(what)}` }).href;
  const names = ["few", "many", "several", "claims", "beside"].map(nameOf);
  const [less, more, near, empty] = [urlOf("few"), urlOf("many"), urlOf("several"), urlOf("claims")];
  const beside = urlOf("beside");
  const ends: (() => unknown)[] = [];
  try {
    await ask(first, `create database ${names[0]}`);
    const request = { from: small.file, to: less, key: undefined, folder: undefined };
    const copy_ms = await timed(() => copyDatabases(request, () => {}));
    for (const name of [names[1], names[4]]) await ask(first, `create database ${name} template ${names[0]}`);
    await copyRow(more);
    for (const name of names.slice(2, 4)) await ask(first, `create database ${name}`);
    const large = { ...small, ids: small.ids.map((_, i) => `dep_01${String(i * (many / few)).padStart(24, "0")}`) };
    const key = readFileSync(`${small.file}.key`, "utf8").trim();
    const load = createLoad(bench);

    const servers = [await forkServer(bench, "few", less, key), await forkServer(bench, "many", more, key)] as const;
    ends.push(...[load, ...servers].map((one) => () => one.end()));
    return [
      figure("copy of 1,000 deployments into PostgreSQL, compared", "ms", [copy_ms]),
      ...(await overHttp(bench, load, beside, key, small)),
      ...(await reads(bench, load, servers, [small, large])),
      ...(await severalServers(bench, { near, empty }, key)),
    ];
  } finally {
    await Promise.all(ends.map((end) => end()));
    if (own) own.end();
    else for (const name of names) await ask(first, `drop database if exists ${name} with (force)`);
  }
}

type Load = ReturnType<typeof createLoad>;
type Server = Awaited<ReturnType<typeof forkServer>>;
type Pair<T> = readonly [T, T];

/** The packed program and the limit, in one database. */
async function overHttp(bench: Bench, load: Load, url: string, key: string, rows: Rows): Promise<Figure[]> {
  const ours = await startPacked(url, key);
  const limit = await startLimitOnPostgres(bench, url);
  const goals = { get: { floor: 0.6, aim: 0.8 }, list: { floor: 0.6, aim: 0.8 }, post: { floor: 0.45, aim: 0.6 } };
  try {
    return await besideLimit(bench, load, [ours, limit], rows, goals);
  } finally {
    await Promise.all([ours.end(), limit.end()]);
  }
}

async function reads(bench: Bench, load: Load, servers: Pair<Server>, rows: Pair<Rows>): Promise<Figure[]> {
  const round = (i: 0 | 1) => [servers[i], { requests: requests.get(rows[i]), keys: [rows[i].key] }] as const;
  const [less = [], more = []] = await inTurns(bench, load, [round(0), round(1)]);
  const name = "GET by id on PostgreSQL, 99th percentile";
  return [
    ...[less, more].map((one, i) =>
      figure(
        `${name}, ${[few, many][i]?.toLocaleString("en")} rows`,
        "ms",
        one.map(({ p99_ms }) => p99_ms),
      ),
    ),
    figure(`${name}: at 1,000,000 rows, of that at 1,000`, "×", ratios(more, less, "p99_ms", "more"), {
      floor: 2,
      aim: 1.2,
    }),
  ];
}
