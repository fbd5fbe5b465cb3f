import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createProcessRuntime } from "../../lib/platform/process/process.ts";
import { createRuntimeDriver } from "../../lib/platform/runtime/driver.ts";
import { advance, idOf, kept, workOf } from "../helpers/driver-steps.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { repositories } from "../helpers/repositories.ts";
import { noSandbox } from "../helpers/running-apps.ts";
import { runtimeKind } from "../helpers/runtime-kind.ts";

test("A repository whose build lacks a program is left to engine where it has a Dockerfile", async (t) => {
  const repos = repositories(t);
  const driver = createRuntimeDriver([
    createProcessRuntime(join(temporaryFolder(t), "apps"), {
      users: { first: 1_879_048_192, count: 65_536 },
      reach: { ports: [], networks: [] },
      isolation: noSandbox ? "none" : "bubblewrap",
      limits: { timeout_ms: 600_000, memory_bytes: 2 ** 31, disk_bytes: 2 ** 31 },
      codeHost: { url: "", repos: repos.root },
      appMemory_bytes: 2 ** 30,
      healthTimeout_ms: 60_000,
      dataLimit_bytes: 2 ** 30,
      scratch_bytes: 2 ** 20,
      buildVariables: { npm_config_registry: "http://127.0.0.1:9/" },
      leavesDockerfiles: true,
    }),
    runtimeKind,
  ]);
  await driver.runtime.begin(kept);
  t.after(() => driver.runtime.close(Promise.resolve()));
  const source = { type: "git", repo: "acme/web", branch: "main", tag: null, image_url: null } as const;
  const ruby = { "svc.json": { build: "bundle install", start: "bundle exec puma" } };
  const old = { "package.json": { engines: { node: "18.x" } }, "server.js": "", "svc.json": {} };
  const dockerfile = { Dockerfile: "FROM scratch\n" };
  let made = 50;
  const lacksRuby = !existsSync("/usr/bin/bundle");
  for (const [files, isDeclined] of [
    ...(lacksRuby
      ? ([
          [ruby, false],
          [{ ...ruby, ...dockerfile }, true],
        ] as const)
      : []),
    [{ ...old, ...dockerfile }, true],
    [{ ...old, ...dockerfile, "svc.json": { runtime: "process" } }, false],
  ] as const) {
    repos.commit("acme/web", {});
    repos.git("acme/web", "rm", "--quiet", "-r", "--ignore-unmatch", ".");
    repos.commit("acme/web", files);
    made += 1;
    const { end, lines } = await advance(driver, workOf(idOf(made), source));
    assert.equal(end.state, "failed");
    assert.equal(
      lines.some((line) => line.startsWith("The runtime stub is tried next: ")),
      isDeclined,
      lines.join("\n"),
    );
  }
});
