#!/usr/bin/env node
// The package's command. It is part of the repository because npx does not link a missing file, and a clone has no
// dist/ before its first build.
import { existsSync } from "node:fs";

const program = new URL("../dist/bin/svc-server.js", import.meta.url);
if (existsSync(program)) await import(program.href);
else {
  process.stderr.write(
    "svc-server: this clone is not built yet; run npm run build first, or npm start for the emulator, or npx tsx bin/svc-server.ts for any command\n",
  );
  process.exitCode = 1;
}
