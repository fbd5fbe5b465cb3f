// `npm run test:postgres [filter …]`: the tests on PostgreSQL. Services that would run in memory get a database
// instead, on a server that starts and ends with the run, or on the server in SVC_TEST_POSTGRES.
import { spawn } from "node:child_process";
import { startServer } from "./server.ts";

const given = process.env["SVC_TEST_POSTGRES"];
const server = given === undefined ? await startServer() : undefined;
const env = { ...process.env, SVC_TEST_POSTGRES: given ?? server?.url("postgres") };
const tests = spawn(process.execPath, ["test/run.mjs", ...process.argv.slice(2)], { stdio: "inherit", env });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => tests.kill(signal));
tests.on("exit", (code) => {
  server?.end();
  process.exitCode = code ?? 1;
});
