import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Figure, figure, repeated, timed } from "./figures.ts";

/** The measured part of the npm package `emulate`. */
interface Emulate {
  readonly version: string;
  defineEmulator(definition: object): object;
  createEmulator(options: object): Promise<Emulator>;
}
interface Emulator {
  request(path: string, init?: RequestInit): Promise<Response>;
  snapshot(): object;
  restore(kept: object): Promise<void>;
  close(): Promise<void>;
}
interface Context {
  readonly req: { param(name: string): string; json(): Promise<object> };
  json(body: object, status?: number): Response;
}
interface Setup {
  readonly app: Record<"get" | "post", (path: string, run: (context: Context) => unknown) => void>;
  readonly state: { readonly deployments: Record<string, object> };
}

const count = 1000;
const idOf = (i: number) => `dep_01${String(i).padStart(24, "0")}`;
const path = "/v1/deployments";
const headers = { "content-type": "application/json" };

/** A deployment in the form of this service's responses. */
const record = (id: string) => ({
  ...{ id, project_id: "proj_01KDVDNA00CFHJ6ADY54JFJCFD", environment: "production", status: "active" },
  source: { type: "git", repo: "acme/web", branch: "main", tag: null, image_url: null },
  version: "714a4ca42fbdc3a0d90a2ee7584546f38b2c2cea",
  ...{ created_at: "2026-01-01T00:00:00.000Z", updated_at: "2026-01-01T00:00:06.000Z" },
  ...{ completed_at: "2026-01-01T00:00:06.000Z", deployed_at: "2026-01-01T00:00:06.000Z" },
});

/** A thousand deployments with the same calls, without keys, rules, events or a clock. */
const definition = {
  name: "bench",
  state: () => ({
    deployments: Object.fromEntries(Array.from({ length: count }, (_, i) => [idOf(i), record(idOf(i))])),
  }),
  setup({ app, state: { deployments } }: Setup) {
    app.get(`${path}/:id`, (context) => context.json(deployments[context.req.param("id")] ?? {}));
    app.post(path, async (context) => {
      const id = idOf(Object.keys(deployments).length);
      deployments[id] = { ...record(id), ...(await context.req.json()) };
      return context.json(deployments[id] ?? {}, 201);
    });
  },
};

/** Imports `emulate` from a folder of peer packages by its file, because its exports allow only `import`. */
async function load(peers: string): Promise<Emulate> {
  const folder = join(peers, "node_modules/emulate");
  const { main, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const module: Emulate = await import(pathToFileURL(join(folder, main)).href);
  if (!module.createEmulator) throw new Error(`${version} is another package of this name; install emulate@0.12.2`);
  return { ...module, version };
}

/** The same measurements for `emulate`: start, calls, and a restored snapshot instead of a fork. */
export async function emulated(peers: string): Promise<Figure[]> {
  if (peers === "") {
    process.stderr.write("emulate is not measured: name the folder where it is with --peers\n");
    return [];
  }
  return load(peers).then(measured, (error: Error) => {
    process.stderr.write(`emulate is not measured: ${error.message}\n`);
    return [];
  });
}

async function measured(emulate: Emulate): Promise<Figure[]> {
  const create = () => emulate.createEmulator({ service: emulate.defineEmulator(definition), listen: false });
  const ups = await repeated(5, async () => (await create()).close());
  const emulator = await create();
  const call = (path: string, init?: RequestInit) => async () => {
    const answer = await emulator.request(path, init);
    assert.ok(answer.ok);
    await answer.json();
  };
  const get = await repeated(200, call(`${path}/${idOf(5)}`));
  const post = await repeated(200, call(path, { method: "POST", headers, body: '{"environment":"production"}' }));
  const snapshots: number[] = [];
  const restores: number[] = [];
  for (let i = 0; i < 10; i++) {
    let kept: object = {};
    snapshots.push(
      await timed(() => {
        kept = emulator.snapshot();
      }),
    );
    restores.push(await timed(() => emulator.restore(kept)));
  }
  await emulator.close();
  const of = (what: string, unit: string, values: readonly number[]) =>
    figure(`emulate ${emulate.version}, ${count} entities: ${what}`, unit, values);
  const us = (values: readonly number[]) => values.slice(50).map((ms) => ms * 1000);
  return [
    of("up and closed", "ms", ups),
    of("GET in process", "µs", us(get)),
    of("POST in process", "µs", us(post)),
    of("snapshot", "ms", snapshots),
    of("restore", "ms", restores),
  ];
}
