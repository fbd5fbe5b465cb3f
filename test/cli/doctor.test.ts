import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { configuration } from "../../bin/server-options.ts";
import { runHere as run } from "../helpers/cli-in-process.ts";
import { stream, temporaryFolder } from "../helpers/program.ts";

const demo = resolve("fixtures/demo.json");

test("doctor finds faults, says how to fix them, and ends with 1", async (t) => {
  const folder = temporaryFolder(t);
  const database = join(folder, "svc.db");
  const words = ["doctor", "--database", database, "--port", "0", "--json"];
  const look = async (...more: string[]) => {
    const { status, stdout } = await run([...words, ...more]);
    const findings = JSON.parse(stdout) as { check: string; ok: boolean; says: string }[];
    return {
      status,
      wrong: findings.filter(({ ok }) => !ok),
      checks: findings.map(({ check }) => check).filter((one) => one !== "box"),
    };
  };
  const fresh = await look();
  assert.deepEqual([fresh.status, fresh.wrong], [0, []]);
  assert.deepEqual(fresh.checks, [
    ...[
      "options",
      "node",
      "native module",
      "restore",
      "database",
      "key file",
      "checksums",
      "files",
      "disk",
      "clock",
      "port",
      "drivers",
      "mail",
      "runtime",
    ],
  ]);
  assert.equal((await run(["seed", demo, "--database", database])).status, 0);
  assert.deepEqual((await look()).wrong, []);
  if (process.platform !== "win32") {
    chmodSync(`${database}.key`, 0o644);
    assert.match((await look()).wrong[0]?.says ?? "", /other users can read [^;]*; run: chmod 600/);
  }
  rmSync(`${database}.key`);
  const lost = await look();
  assert.deepEqual([lost.status, lost.wrong.map(({ check }) => check)], [1, ["key file"]]);
  writeFileSync(database, "no database");
  assert.match((await look()).wrong[0]?.says ?? "", /it is not an SQLite database/);
  const holder = createServer().listen(0, "127.0.0.1");
  await once(holder, "listening");
  t.after(() => void holder.close());
  const taken = await look("--port", String((holder.address() as AddressInfo).port));
  assert.match(taken.wrong.at(-1)?.says ?? "", /is in use/);
});

test("doctor asks the model servers of the options", async (t) => {
  const folder = temporaryFolder(t);
  const asked: (string | undefined)[] = [];
  const models = createServer(({ url, headers }, response) => {
    asked.push(url);
    response.writeHead(headers.authorization === "Bearer right" ? 200 : 401).end();
  }).listen(0, "127.0.0.1");
  await once(models, "listening");
  t.after(() => void models.close());
  const url = `http://127.0.0.1:${(models.address() as AddressInfo).port}/v1`;
  const server = (more: object) => ({ type: "openai", url, models: { flux: {} }, ...more });
  const backends = {
    right: server({ key: "right" }),
    wrong: server({ key: "wrong" }),
    keyless: server({}),
    gone: server({ url: "http://127.0.0.1:1/v1" }),
  };
  writeFileSync(join(folder, "config.json"), JSON.stringify({ port: 0, generations: { backends } }));
  const child = stream(t, ["doctor", "--config", join(folder, "config.json"), "--json"], {
    SVC_DATABASE: join(folder, "svc.db"),
  });
  const findings = JSON.parse((await child.lines.next()).value) as { check: string; ok: boolean; says: string }[];
  assert.equal((await child.ended).code, 1);
  assert.deepEqual(
    findings.filter(({ check }) => check.startsWith("backend")).map(({ check, ok, says }) => [check, ok, says]),
    [
      ["backend right", true, `${url} answers and accepts the key`],
      ["backend wrong", false, `${url} answers 401; correct generations.backends.wrong.key`],
      ["backend keyless", false, `${url} answers 401; set generations.backends.keyless.key`],
      [
        "backend gone",
        false,
        "http://127.0.0.1:1/v1 does not answer: connection refused; start the server, or correct generations.backends.gone.url",
      ],
    ],
  );
  assert.deepEqual([...new Set(asked)], ["/v1/models"]);
  assert.match(findings.find(({ check }) => check === "database")?.says ?? "", /svc\.db does not exist yet/);
  const wrong = await run(["doctor", "--port", "0", "--json"], folder, { SVC_CLOCK: "manual" });
  assert.deepEqual([wrong.status, /SVC_CLOCK must be real/.test(wrong.stderr)], [2, true], "wrong usage");
  assert.match(wrong.stdout, /"check":"options","ok":false,"says":"SVC_CLOCK must be real in the mode start"/);
  assert.ok(!existsSync(join(folder, "svc.db")) && !existsSync(join(folder, "svc-data")), "nothing is made");
});

test("a port that browsers refuse is named by doctor, and by a start", async (t) => {
  const sentence =
    "browsers and most HTTP clients refuse the port 6000, as the Fetch Standard says; choose another with";
  const port = "6000";
  const { status, stdout } = await run(["doctor"], temporaryFolder(t), { SVC_PORT: port });
  assert.deepEqual([status, stdout.includes(`WRONG  port           ${sentence} --port`)], [1, true], stdout);
  assert.deepEqual(configuration("dev", { port }).notes, [`${sentence} --port`]);
  assert.deepEqual(configuration("start", { "apps-port": port }).notes, [`${sentence} --apps-port`]);
});
