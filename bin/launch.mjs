#!/usr/bin/env node
// The package's command. This file is in git, because npx does not link a file that only a build creates. Without
// dist/, it runs the sources. Any version of Node and Bun must be able to read it.
import { existsSync, statSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";

const fail = (sentence) => {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
};

const { node, bun } = process.versions;
const [major, minor] = node.split(".").map(Number);
if (bun !== undefined || major < 20 || (major === 20 && minor < 19))
  fail(`svc-server needs Node 20.19 or later; this is ${bun === undefined ? `Node ${node}` : `Bun ${bun}`}`);

const program = new URL("../dist/bin/svc-server.js", import.meta.url);
if (existsSync(program)) {
  // From Node 22.8 on, for faster starts. Only the owner of the package stores compiled code: root would leave files
  // that the owner cannot remove. Node's own folder for this is in /tmp, where other users could put code.
  if (!process.getuid || process.getuid() === statSync(program).uid)
    module.enableCompileCache?.(fileURLToPath(new URL("../node_modules/.cache/svc-server", import.meta.url)));
  await import(program.href);
} else {
  const tsx = await import("tsx/esm/api").catch(() =>
    fail("svc-server: this clone has no packages yet; run npm ci first"),
  );
  tsx.register();
  await import("./svc-server.ts");
}
