import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runHere } from "../helpers/cli-in-process.ts";
import { launch, stream, temporaryFolder } from "../helpers/program.ts";

test("start warns about fixed keys of a dev database, in the log and the banner, with the remedy, and leaves its future clock, and says so", async (t) => {
  const database = join(temporaryFolder(t), "svc.db");
  const words = ["--port", "0", "--database", database];
  const log = (level: string) => ["--log-level", level];
  const dev = (...more: string[]) => launch(t, ["dev", ...words, ...more]);
  await (await dev("--key", "sk_live_demo_mine", "--clock", "manual@2040-01-01T00:00:00Z")).stop();
  const again = await dev("--key", "sk_live_demo_other", "--clock", "manual@2030-01-01T00:00:00Z");
  assert.match(again.errors(), /the API key key_\w+ was given with --key and is still valid/);
  assert.match(again.errors(), /the clock starts at 2040-01-01T00:00:00\.000Z, as stored in the database/);
  await again.stop();

  const start = stream(t, ["start", ...words, ...log("warn")], {});
  const shown: string[] = [];
  for (let line = await start.lines.next(); !line.done; line = await start.lines.next()) {
    shown.push(line.value);
    if (line.value.startsWith("In a second terminal")) start.stop("SIGTERM");
  }
  const { code, errors } = await start.ended;
  assert.equal(code, 0);
  // The banner breaks its lines.
  const paragraphs = shown.join("\n").split(/\n(?=WARNING|\n)/);
  const warnings = paragraphs.filter((text) => text.startsWith("WARNING")).map((text) => text.replaceAll("\n", " "));
  assert.equal(warnings.length, 3);
  const all = errors
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { level: string; message: string });
  assert.match(
    warnings[0] ?? "",
    /^WARNING the clock of the database was \d+d\w+ ahead of this machine's, because it was advanced in the mode dev; due times move back/,
  );
  assert.deepEqual(
    all.map(({ level, message }) => [level, `WARNING ${message}`]),
    warnings.map((one) => ["warn", one]),
  );
  for (const warning of warnings.slice(1)) {
    const [, command = ""] = /revoke it with: svc-server (.*)$/.exec(warning) ?? [];
    assert.equal((await runHere(command.split(" "))).status, 0, command);
  }
  const after = await launch(t, ["start", ...words, ...log("warn")]);
  assert.equal((await after.get("/v1/me", "sk_live_demo_mine")).status, 401);
  assert.doesNotMatch(after.errors(), /--key|clock/);
});

test("a misspelled variable and a mode that is not the command's are reported", async (t) => {
  const folder = temporaryFolder(t);
  const env = { SVC_RATELIMIT: "5", SVC_SERVER_PORT: "tcp://10.0.0.1:7400" };
  const said = /the variable SVC_RATELIMIT has no effect; did you mean SVC_RATE_LIMIT\?/;
  const doctor = await runHere(["doctor", "--port", "0"], folder, env);
  assert.match(doctor.stdout, /WRONG +options +/);
  assert.match(doctor.stdout, said);
  assert.doesNotMatch(doctor.stdout, /SVC_SERVER_PORT/);
  const dev = stream(t, ["dev", "--port", "0", "--json"], env);
  await dev.lines.next();
  dev.stop("SIGTERM");
  assert.match((await dev.ended).errors, said);
  const config = join(folder, "config.json");
  writeFileSync(config, '{"mode":"dev"}');
  const { status, stderr } = await runHere(["start", "--port", "0", "--config", config], folder);
  assert.deepEqual([status, stderr.includes("the command svc-server start sets the option mode")], [2, true]);
});
