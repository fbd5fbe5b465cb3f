#!/usr/bin/env node
// The package's command. It is part of the repository because npx does not link a missing file, and a clone has no
// dist/ before its first build.
import { existsSync, statSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";

const program = new URL("../dist/bin/svc-server.js", import.meta.url);
if (existsSync(program)) {
  // From Node 22.8 on: a start takes 0.9 of the time. Only the owner of the package keeps its code: root would leave files
  // that the owner cannot remove. Node's own folder for this is in /tmp, where other users could put code.
  if (!process.getuid || process.getuid() === statSync(program).uid)
    module.enableCompileCache?.(fileURLToPath(new URL("../node_modules/.cache/svc-server", import.meta.url)));
  await import(program.href);
} else {
  process.stderr.write(
    "svc-server: this clone is not built yet; run npm run build first, or npm start for the emulator, or npx tsx bin/svc-server.ts for any command\n",
  );
  process.exitCode = 1;
}
