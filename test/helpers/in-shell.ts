import { execFile } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { program } from "./program.ts";

const execute = promisify(execFile);
const { NODE_TEST_CONTEXT: _, ...env } = process.env;
export const withoutShell = process.platform === "win32" && "the lines are for a shell";

/** Runs lines in a shell where npx is this program; returns their output. */
export async function inShell(
  folder: string,
  lines: string,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  writeFileSync(join(folder, ".curlrc"), "fail\nsilent\nshow-error\n");
  writeFileSync(
    join(folder, "npx"),
    `#!/bin/sh\n[ "$1" != --yes ] || shift\nshift\nexec "${process.execPath}" "${program}" "$@"\n`,
  );
  chmodSync(join(folder, "npx"), 0o755);
  const inFolder = { ...env, ...more, CURL_HOME: folder, PATH: `${folder}:${env["PATH"]}` };
  return (await execute("/bin/sh", ["-e", "-c", lines], { cwd: folder, env: inFolder })).stdout;
}
