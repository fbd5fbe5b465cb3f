import assert from "node:assert/strict";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { hiddenFiles } from "../../lib/platform/box/machine-files.ts";
import { bubblewrap } from "../../lib/platform/process/sandbox.ts";
import { needs, obeyingApp, runIn } from "../helpers/obeying-app.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { runtimeWorld } from "../helpers/running-apps.ts";
import { expect } from "../helpers/test-service.ts";

test("Files of /proc that vanish while a box is prepared do not stop it", (t) => {
  const proc = temporaryFolder(t);
  const gone = join(proc, "vanished");
  for (const name of ["31535", "kcore"]) symlinkSync(gone, join(proc, name));
  mkdirSync(join(proc, "pressure"));
  for (const name of ["diskstats", "uptime"]) writeFileSync(join(proc, name), "");
  const hidden = hiddenFiles({ folder: "/no/folder", file: "/no/file" }, proc);
  assert.deepEqual(
    [hidden.slice(0, 3), hidden.slice(3)].sort(),
    [
      ["--ro-bind", "/no/file", "/proc/diskstats"],
      ["--ro-bind", "/no/folder", "/proc/pressure"],
    ].sort(),
  );
});

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

test(
  "An app writes below its folder, up to deployments.scratch; its release stays as it was, and the log says so",
  needs(),
  async (t) => {
    const database = join(temporaryFolder(t), "svc.db");
    const here = await runtimeWorld(t, { database, deployments: { scratch: "4MiB" } });
    const { id } = await here.project("web");
    const setUp = `const fs = require("node:fs");
    fs.mkdirSync("uploads"); fs.writeFileSync("db.json", "{}"); fs.appendFileSync("old/kept", "more");`;
    here.repos.commit("acme/web", {
      "old/kept": "first",
      "server.js": setUp + obeyingApp["server.js"].replace(', fs = require("node:fs")', ""),
      Procfile:
        "web: node server.js\nrelease: echo x > uploaded && rm -r old\nbeside: echo x > beside && cat beside && sleep 60",
    });
    const { id: release, status } = await here.release(id);
    assert.equal(status, "active", (await here.messages(release)).join("\n"));
    assert.equal(await here.printed(id, /^\[beside\] /), "[beside] x");
    const files = 'fs.readdirSync(".").sort().join(" ") + " " + fs.readFileSync("old/kept")';
    const present = "Procfile db.json old server.js uploads firstmore";
    assert.equal(await runIn(here, files), present);
    assert.equal(await runIn(here, 'fs.writeFileSync("uploads/large", Buffer.alloc(5 * 2 ** 20))'), "ENOSPC");
    assert.equal(
      await runIn(here, 'fs.rmSync("old", { recursive: true }); fs.mkdirSync("old"); fs.readdirSync("old").length'),
      "0",
    );
    const folder = join(`${database}-apps`, "releases", release, "app");
    const unchanged = () => {
      assert.deepEqual(readdirSync(folder).sort(), ["Procfile", "old", "server.js"]);
      assert.equal(readFileSync(join(folder, "old", "kept"), "utf8"), "first");
    };
    unchanged();
    expect(await here.call("developer", "POST", `/v1/projects/${id}/environments/production/restart`), 200);
    assert.equal(await runIn(here, files), present);
    assert.match(await here.printed(id, /are gone/), /outside of \/data are gone: what has to stay belongs in \/data/);
    const crash = `/?${encodeURIComponent("process.exit(3)")}`;
    assert.match(await here.ask("production-web.localhost", crash, { method: "POST", body: "x" }), /^502 /);
    assert.equal(await runIn(here, files), present);
    unchanged();
    await here.service.close();
  },
);

for (const kind of ["overlay", "copy"] as const)
  test(`What a box writes below its folder is limited and ends with it (${kind})`, needs(), async (t) => {
    const folder = temporaryFolder(t);
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, "kept"), "first");
    const isRoot = process.getuid?.() === 0;
    const as = ["unshare", ...(isRoot ? [] : ["--user", "--map-root-user"]), "--mount", "--"];
    const user = isRoot ? 1_879_048_999 : undefined;
    if (user !== undefined) for (const path of [folder, join(folder, "kept")]) chownSync(path, user, user);
    const layers = { kind, bytes: 2 ** 20 };
    const sandbox = bubblewrap({ as, reach: undefined, filter: undefined, layers }, undefined);
    const run = async (script: string) => {
      let output = "";
      const box = { app: folder, user, env: {}, memory_bytes: 2 ** 30, hasLayer: true };
      const [left, text] = await new Promise<[boolean | undefined, string]>((resolve) => {
        const waiting = `trap 'exit 0' TERM; ${script}; echo end; sleep 60 & wait`;
        const child = sandbox.start(waiting, box, (chunk) => {
          output += chunk;
          const hasLeft = output.endsWith("end\n") && sandbox.layerOf?.(child);
          if (hasLeft) void child.stop(10_000).then(() => resolve([hasLeft(), output]));
          return 0;
        });
      });
      return [text.replace("end\n", ""), left];
    };
    assert.deepEqual(await run("cat kept"), ["first", false]);
    assert.deepEqual(await run("echo more >> kept; cp kept new; cat new"), ["firstmore\n", true]);
    const [full] = await run("head -c 2000000 /dev/zero 2>&1 > large");
    assert.match(String(full), /No space left on device/);
    assert.deepEqual([readdirSync(folder), readFileSync(join(folder, "kept"), "utf8")], [["kept"], "first"]);
  });
