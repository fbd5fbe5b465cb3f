// `npm run test:crash`: compiles the programs that the suite starts, and runs the suite.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { compile } from "../compile.mjs";

const suite = join(await compile({ tests: false }), "dist/test/crash/suite.child.js");
const run = spawn(process.execPath, ["--enable-source-maps", suite, ...process.argv.slice(2)], { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => run.kill(signal));
run.on("exit", (code) => process.exit(code ?? 1));
