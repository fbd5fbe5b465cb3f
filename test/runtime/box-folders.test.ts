import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { needs, obeyingApp, runIn } from "../helpers/obeying-app.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { runtimeWorld } from "../helpers/running-apps.ts";

/* Which folders builds and apps of the runtime `process` share, and which they see. */

test("A build reads nothing that a build of another environment wrote", needs(), async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const build = async (script: string, environment: string) => {
    here.repos.commit("acme/web", { ...obeyingApp, "svc.json": { start: "node server.js", build: script } });
    const { id: release, status } = await here.release(id, {}, environment);
    return [status, (await here.messages(release)).filter((line) => line.startsWith("held "))];
  };
  const poison =
    "mkdir -p /cache/npm/_cacache /tmp/npm; for at in /cache/x /cache/npm/_cacache/x /tmp/x; do echo > $at; done";
  const look = "for at in /cache/x /cache/npm/_cacache/x /tmp/x; do if [ -e $at ]; then echo held $at; fi; done";
  assert.deepEqual(await build(poison, "preview"), ["active", []]);
  assert.deepEqual(await build(look, "production"), ["active", []]);
  assert.deepEqual(await build(look, "preview"), ["active", ["held /cache/x", "held /cache/npm/_cacache/x"]]);
});

test("A box sees the Node of a version manager, and nothing of the home that holds it", needs(), async (t) => {
  const node = process.execPath;
  t.after(() => {
    process.execPath = node;
  });
  for (const place of ["bin/node", "node"]) {
    const home = temporaryFolder(t);
    chmodSync(home, 0o755);
    mkdirSync(dirname(join(home, place)), { recursive: true });
    copyFileSync(node, join(home, place));
    writeFileSync(join(home, "secret"), "a secret");
    process.execPath = join(home, place);
    const here = await runtimeWorld(t);
    const { id } = await here.project("web");
    here.repos.commit("acme/web", obeyingApp);
    assert.equal((await here.release(id)).status, "active");
    assert.equal(await runIn(here, "process.execPath"), realpathSync(process.execPath));
    assert.equal(await runIn(here, `fs.readFileSync("${home}/secret")`), "ENOENT");
    await here.service.close();
  }
});
