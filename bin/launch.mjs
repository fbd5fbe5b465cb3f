#!/usr/bin/env node
// The command of the package. It is a file of the repository, because npx makes no command of a file that is missing: a
// clone has no dist/ before its first build.
import { existsSync } from "node:fs";

const program = new URL("../dist/bin/svc-server.js", import.meta.url);
if (existsSync(program)) await import(program.href);
else {
  process.stderr.write(
    "svc-server: this clone is not built yet; run npm run build first, or npm start for the emulator, or npx tsx bin/svc-server.ts for any command\n",
  );
  process.exitCode = 1;
}
