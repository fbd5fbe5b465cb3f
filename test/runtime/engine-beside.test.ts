import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { containerEngine, kinds, lacking } from "../helpers/container-engine.ts";
import { answering, registry } from "../helpers/image-registry.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { isLong } from "../helpers/properties.ts";
import { runtimeWorld } from "../helpers/running-apps.ts";
import { expect } from "../helpers/test-service.ts";
import { firstOf } from "../helpers/until.ts";

type Run = { name: string; status: string; exit_code: number | null };

for (const kind of kinds) {
  const skip = lacking(kind) || (!isLong && "the long form only: TEST_LONG=1");

  test(`${kind}: Workers and schedules of a repository run in containers of its image, beside the app`, {
    skip,
  }, async (t) => {
    const engine = await containerEngine(t, kind);
    const { host: place, put } = await registry(t);
    put("base", "1", answering("one"));
    const database = join(temporaryFolder(t), "svc.db");
    const options = { database, deployments: { runtime: "engine" } } as const;
    const before = await runtimeWorld(t, options);
    const { id } = await before.project("web");
    const trap = (word: string) =>
      `trap 'echo ${word} ends >> /data/said; exit' TERM; echo up; while :; do sleep 0.1; done`;
    const files = (word: string) => ({
      Dockerfile: `FROM ${place}/base:1\nCOPY . /srv\n`,
      Procfile: `web: no-such-command\nqueue: ${trap(word)}\nquick: echo $PORT$SVC_ENVIRONMENT; exit 3\n`,
      "svc.json": {
        schedules: [
          { name: "tick", cron: "0 0 1 1 *", command: "cat /data/said; echo ticked in $SVC_ENVIRONMENT" },
          { name: "broken", cron: "0 1 1 1 *", command: "no-such-command" },
          { name: "late", cron: "0 2 1 1 *", command: "trap '' TERM; while :; do sleep 1; done", timeout: "1s" },
        ],
      },
    });
    before.repos.commit("acme/web", files("one"));
    const one = await before.release(id);
    assert.equal(one.status, "active", String(await before.messages(one.id)));
    await before.printed(id, /^\[queue\] up$/);
    await before.printed(id, /^\[quick\] production$/);
    await before.printed(id, /^\[quick\] The worker ended with the exit code 3; it starts again in 0.5 s$/);
    const protect = (given: unknown) =>
      before.call("developer", "PUT", `/v1/projects/${id}/environments/production`, { variables: {}, protect: given });
    expect(await protect({ user: "ann", password: "one two" }), 200);
    assert.match(await before.ask("production-web.localhost"), /^401/);
    expect(await protect(null), 200);
    assert.equal(await before.ask("production-web.localhost"), "200 one");
    // The switch stops the worker, then starts the new one.
    before.repos.commit("acme/web", files("two"));
    const two = await before.release(id);
    assert.equal(two.status, "active");
    const path = `/v1/projects/${id}/environments`;
    const { data: shown } = expect(await before.call("viewer", "GET", path), 200);
    assert.deepEqual(shown[0].workers, ["queue", "quick"]);
    const queues = async (): Promise<string[]> => {
      const label = ["svc-server.beside=worker queue", `svc-server.deployment=${two.id}`];
      const found = await engine.ask(`/containers/json?filters=${encodeURIComponent(JSON.stringify({ label }))}`);
      return found.map(({ Id }: { Id: string }) => Id);
    };
    const queue = await firstOf(async () => {
      const found = await queues();
      return found.length === 1 ? found : undefined;
    });
    await before.service.close();
    assert.deepEqual(await queues(), queue);

    const file = new Database(database);
    file.prepare("update schedules set next_at = '2026-01-01T00:00:00.000Z'").run();
    file.close();
    const here = await runtimeWorld(t, { ...options, codeHost: { repos: before.repos.root } });
    await here.printed(id, /^\[tick\] one ends$/);
    await here.printed(id, /^\[tick\] ticked in production$/);
    await here.printed(id, /^\[late\] The run did not end within its timeout of 1 s$/);
    await here.printed(id, /^\[broken\] The run ended with the exit code 127: the command was not found/);
    const runs = await firstOf(async (): Promise<Run[] | undefined> => {
      const { data } = expect(await here.call("viewer", "GET", `${path}/production/runs`), 200);
      return data.length === 3 && data.every(({ status }: Run) => status !== "running") ? data : undefined;
    });
    assert.deepEqual(runs.map(({ name, status, exit_code }) => [name, status, exit_code]).sort(), [
      ["broken", "failed", 127],
      ["late", "failed", null],
      ["tick", "succeeded", 0],
    ]);
    // The worker kept running while the server was stopped, and the next server took it over.
    assert.deepEqual(await queues(), queue);
    expect(await here.call("developer", "DELETE", `${path}/production`), 204);
    await firstOf(async () => (await engine.containers()).length === 0 || undefined);
    await here.service.close();
  });

  test(`${kind}: A wrong schedule in an image's label fails the deployment, with what would be right`, {
    skip,
  }, async (t) => {
    await containerEngine(t, kind);
    const { host: place, put } = await registry(t);
    const here = await runtimeWorld(t, { deployments: { runtime: "engine" } });
    const { id } = await here.project("web");
    const Labels = { "svc-server.schedules": '[{"name":"never","cron":"0 0 30 2 *","command":"true"}]' };
    put("web", "1", { ...answering("one"), config: { Cmd: ["/main"], Labels } });
    const failed = await here.release(id, { type: "image", repo: undefined, image_url: `${place}/web:1` });
    assert.equal(failed.status, "failed");
    assert.match(
      String(await here.messages(failed.id)),
      /label svc-server\.schedules: 0\.cron never fires: no such day exists/,
    );
  });
}
