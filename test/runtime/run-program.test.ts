import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { askCredentialHelper } from "../../lib/platform/containers/credential-helper.ts";
import { runProgram } from "../../lib/platform/runtime/run-program.ts";
import { temporaryFolder } from "../helpers/program.ts";

const flood = "head -c 68000000 /dev/zero | tr '\\0' a >&2";

test("A program may print any amount of errors, of which the last are kept", async () => {
  assert.equal(await runProgram(["sh", "-c", `${flood}; echo done`]), "done\n");
  await assert.rejects(runProgram(["sh", "-c", `${flood}; echo the last words >&2; exit 1`]), ({ message }: Error) => {
    assert.match(message, /a{100}the last words$/);
    return message.length < 1_024;
  });
  await assert.rejects(runProgram(["sh", "-c", "exit 3"]), /^Error: sh ended with the exit code 3$/);
});

test("A credential helper answers even if it leaves a process that holds its stderr", async (t) => {
  const folder = temporaryFolder(t);
  const answer = JSON.stringify({ ServerURL: "x", Username: "reader", Secret: "s3cret" });
  const script = `#!/bin/sh\nread -r server\ntail -f /dev/null > /dev/null &\necho $! > ${folder}/pid\necho '${answer}'\n`;
  writeFileSync(join(folder, "docker-credential-left"), script, { mode: 0o755 });
  const before = process.env["PATH"];
  process.env["PATH"] = `${folder}:${before}`;
  try {
    assert.deepEqual(await askCredentialHelper("left", "example.com"), { username: "reader", password: "s3cret" });
  } finally {
    process.env["PATH"] = before;
    process.kill(Number(readFileSync(join(folder, "pid"), "utf8")));
  }
});
