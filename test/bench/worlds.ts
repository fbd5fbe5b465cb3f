import assert from "node:assert/strict";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createService, type Service } from "../../lib/index.ts";
import { emulated } from "./emulate.ts";
import { type Figure, figure, type Goal, repeated, timed } from "./figures.ts";

/** The emulator's tools, in process: calls of the typed client, snapshots, forks, and an advanced clock. */
const [folder = "", peers = ""] = process.argv.slice(2);
const key = "sk_live_demo_bench";
const options = { clock: "manual@2026-01-01T00:00:00Z", logLevel: "silent", rateLimit: 1e9, key } as const;
const source = { type: "git", repo: "acme/web", branch: "main" } as const;

const clientOf = (service: Service<string | null>) => service.client({ apiKey: key });

const atMost = (value: number): Goal => ({ floor: value, aim: value });

/** The rows of one finished deployment: its own, three events, and ten log lines. */
const rowsOfOne = 14;
const copied = ["deployments", "deployment_logs", "events"] as const;

let databases = 0;
/** A service in memory with so many rows: copies of a deployment that it ran, with the events and log. */
async function withRows(count: number) {
  databases += 1;
  const database = join(folder, `worlds-${databases}.db`);
  const first = await createService({ ...options, database });
  const { projects, deployments } = clientOf(first);
  const project = await projects.create({ name: "bench", region: "eu-west-1" });
  const { id } = await deployments.create({ project_id: project.id, environment: "production", source });
  await first.clock.runUntilIdle();
  await first.close();
  multiply(database, id, Math.round(count / rowsOfOne) - 1);
  const again = await createService({ ...options, database });
  const service = await again.fork();
  await again.close();
  return { service, database, deployment: id, project_id: project.id };
}

function multiply(database: string, id: string, copies: number): void {
  const db = new Database(database);
  db.transaction(() => {
    for (const table of copied) {
      const rows = db.prepare(`select * from ${table}`).all() as Record<string, unknown>[];
      const mine = rows.filter((row) => JSON.stringify(row).includes(id));
      const names = Object.keys(rows[0] ?? {});
      const insert = db.prepare(`insert into ${table} (${names}) values (${names.map(() => "?")})`);
      for (let i = 0; i < copies; i++) {
        const number = String(i).padStart(24, "0");
        // Gives the row a new id, and replaces the deployment's id wherever it occurs.
        const other = (value: unknown, name: string) => {
          if (typeof value !== "string") return value;
          return table === "events" && name === "id"
            ? `evt_00${number.slice(2)}${value.slice(-2)}`
            : value.replaceAll(id, `dep_00${number}`);
        };
        for (const row of mine) insert.run(names.map((name) => other(row[name], name)));
      }
    }
  })();
  db.close();
}

const micro = async (name: string, work: () => Promise<unknown>, goal?: Goal): Promise<Figure> => {
  const per = 50;
  // V8 finishes optimizing a call only after several thousand of them.
  for (let i = 0; i < 3_000; i++) await work();
  const batches = await repeated(20, async () => {
    for (let i = 0; i < per; i++) await work();
  });
  const each = batches.map((ms) => (ms * 1000) / per);
  return figure(`typed client in process, 1,000 rows: ${name}`, "µs", each, goal);
};

async function calls(): Promise<Figure[]> {
  const { service, deployment, project_id } = await withRows(1000);
  const { deployments } = clientOf(service);
  const order = { project_id, environment: "production", source } as const;
  const all = [
    await micro("GET a deployment", () => deployments.get({ id: deployment }), atMost(60)),
    await micro("GET the list of 20", () => deployments.list({})),
    await micro("POST a deployment", () => deployments.create(order), atMost(150)),
  ];
  await service.close();
  return all;
}

/** Forks and snapshots: the first fork of a state copies it, a later one starts from that copy. */
async function states(count: number, times: number, goal: Goal): Promise<Figure[]> {
  const { service, database } = await withRows(count);
  const file = new Database(database);
  const bare = new Database(file.serialize().fill(1, 18, 20));
  file.close();
  const { projects } = clientOf(service);
  const change = () => projects.create({ name: `p ${performance.now()}`, region: "eu-west-1" });
  const fork = async () => {
    let made: Service<string | null> | undefined;
    const ms = await timed(async () => {
      made = await service.fork();
    });
    await made?.close();
    return ms;
  };
  const bareCopy = () => timed(() => new Database(bare.serialize()).close());
  const changed: number[] = [];
  const same: number[] = [];
  const bares: number[] = [];
  const snapshots: number[] = [];
  const restores: number[] = [];
  for (let i = 0; i < times; i++) {
    await change();
    if (i % 2) bares.push(await bareCopy());
    changed.push(await fork());
    if (i % 2 === 0) bares.push(await bareCopy());
    same.push(await fork());
  }
  // Snapshots come last: they stay in memory, which the other measurements need.
  for (let i = 0; i < times; i++) {
    await change();
    let id = "";
    snapshots.push(
      await timed(async () => {
        ({ id } = await service.snapshot());
      }),
    );
    restores.push(await timed(() => service.restore(id)));
  }
  await service.close();
  bare.close();
  const name = (what: string) => `${what}, ${count.toLocaleString("en")} rows`;
  const warm = (all: readonly number[]) => all.slice(times / 5);
  const ratios = changed.map((ms, i) => (bares[i] ?? Number.NaN) / ms);
  return [
    figure(name("fork, the first of a state"), "ms", warm(changed), goal),
    figure(name("fork, the first of a state: ratio to SQLite's bare copy"), "×", warm(ratios)),
    figure(name("fork, a further one"), "ms", warm(same), goal),
    figure(name("snapshot"), "ms", warm(snapshots)),
    figure(name("restore"), "ms", warm(restores)),
  ];
}

/** The whole backoff of one failing delivery: six attempts in 2 h 42 min 30 s of the service's clock. */
async function ladder(): Promise<number> {
  const service = await createService(options);
  const { webhooks, projects } = clientOf(service);
  service.inbox.script("hook", [500, 500, 500, 500, 500, 500]);
  await webhooks.create({ url: "https://hook.inbox.test/", events: ["project.created"] });
  await projects.create({ name: "bench", region: "eu-west-1" });
  const ms = await timed(() => service.clock.advance("2h42m30s"));
  assert.equal(service.inbox.list().length, 6);
  await service.close();
  return ms;
}

const up = async () => {
  const begun = performance.now();
  const service = await createService(options);
  const ms = performance.now() - begun;
  await service.close();
  return ms;
};

const each = async (times: number, measure: () => Promise<number>) => {
  const all: number[] = [];
  for (let i = 0; i < times; i++) all.push(await measure());
  return all.slice(times / 5);
};

const sideBySide = 30;
/** Concurrent worlds, as in a test suite: each runs a deployment until it is active, then closes. */
const inParallel = () =>
  timed(() =>
    Promise.all(
      Array.from({ length: sideBySide }, async () => {
        const service = await createService(options);
        const { projects, deployments } = clientOf(service);
        const { id: project_id } = await projects.create({ name: "bench", region: "eu-west-1" });
        const { id } = await deployments.create({ project_id, environment: "production", source });
        await service.clock.advance("1m");
        assert.equal((await deployments.get({ id })).status, "active");
        await service.close();
      }),
    ),
  );

const figures: Figure[] = [
  // Comes first, because it needs a process that has done nothing yet.
  figure(`${sideBySide} worlds with a deployment each, the first`, "ms", [await inParallel()], atMost(600)),
  figure(`${sideBySide} worlds with a deployment each, warm`, "ms", await each(10, inParallel), atMost(600)),
  figure("a service in process, up", "ms", await each(50, up), { floor: 5, aim: 1 }),
  ...(await calls()),
  ...(await states(1000, 100, atMost(1))),
  ...(await states(100_000, 20, atMost(20))),
  figure("the retry ladder of 2 h 42 min", "ms", await each(40, ladder), atMost(20)),
  ...(await emulated(peers)),
];
process.stdout.write(JSON.stringify(figures));
