import { readFileSync } from "node:fs";
import { Client } from "pg";
import { copyDatabases } from "../../lib/store/copy-databases.ts";
import { startServer } from "../postgres/server.ts";
import { type Figure, figure, timed } from "./figures.ts";
import { type Bench, createLoad, forkServer, inTurns, pin, type Rows, ratios, requests } from "./servers.ts";
import { conditions, severalServers } from "./several-on-postgres.ts";

/** The service of the tests loses much in a power cut; a service for people does not. */
const durable = { fsync: "on", full_page_writes: "on", synchronous_commit: "on", autovacuum: "on" };
const [few, many] = [1_000, 1_000_000];

/** Deployments that are copies of one, with the identifiers of `rows.ts`. */
const copies = `insert into deployments
  select (json_populate_record(one, json_build_object('id', 'dep_01' || lpad(i::text, 24, '0')))).*
  from (select deployments as one from deployments order by id limit 1) as first, generate_series($1::int, $2::int) as i`;

async function ask(url: string, text: string, values: readonly number[] = []): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(text, [...values]).finally(() => client.end());
}

/**
 * The service on PostgreSQL: reads among 1,000,000 deployments against 1,000, and what several servers do. `given` is a
 * server of the machine; without it one is started. `small` has 1,000 deployments.
 */
export async function onPostgres(bench: Bench, small: Rows, given: string): Promise<Figure[]> {
  const own = given === "" ? await startServer(durable) : undefined;
  if (own) pin({ pid: own.pid() }, "database");
  process.stdout.write(`\n${conditions()}\n`);
  const first = own?.url("postgres") ?? given;
  const urlOf = (name: string) => Object.assign(new URL(first), { pathname: `/${name}` }).href;
  const names = ["few", "many", "several"].map((name) => `svc_bench_${process.pid}_${name}`) as [
    string,
    string,
    string,
  ];
  const [less, more] = [urlOf(names[0]), urlOf(names[1])];
  const ends: (() => unknown)[] = [];
  try {
    await ask(first, `create database ${names[0]}`);
    const request = { from: small.file, to: less, key: undefined, folder: undefined };
    const copy_ms = await timed(() => copyDatabases(request, () => {}));
    await ask(first, `create database ${names[1]} template ${names[0]}`);
    for (let i = few; i < many; i += 100_000) await ask(more, copies, [i, Math.min(many, i + 100_000) - 1]);
    await ask(more, "vacuum analyze");
    await ask(first, `create database ${names[2]}`);
    const large = { ...small, ids: small.ids.map((_, i) => `dep_01${String(i * (many / few)).padStart(24, "0")}`) };
    const key = readFileSync(`${small.file}.key`, "utf8").trim();
    const load = createLoad(bench);
    const servers = [await forkServer(bench, "few", less, key), await forkServer(bench, "many", more, key)] as const;
    ends.push(...[load, ...servers].map((one) => () => one.end()));
    return [
      figure("copy of 1,000 deployments into PostgreSQL, compared", "ms", [copy_ms]),
      ...(await reads(bench, load, servers, [small, large])),
      ...(await severalServers(bench, urlOf(names[2]), key)),
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
