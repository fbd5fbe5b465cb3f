import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { LogLine } from "../../lib/drivers/deployment/contract.ts";
import { createAdviceReader, createEngineReader } from "../../lib/platform/process/build-advice.ts";
import { adviceOf, errorIn } from "../../lib/platform/process/failure-advice.ts";
import { lackIn, notFoundIn } from "../../lib/platform/process/missing-programs.ts";
import { deniedIn, programFault } from "../../lib/platform/process/program-faults.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { lacks, runtimeWorld } from "../helpers/running-apps.ts";

const host = "production-web.localhost";

test("What a failing app printed says what would help", () => {
  const advice = (message: string) =>
    adviceOf([{ message }, { message: "at rest" }], { reachesLoopback: false, isPruned: true, variables: {} });
  const writes = ["EROFS: read-only file system, mkdir '/etc/todos'", "open /etc/todos: read-only file system"];
  const made = "Error: ENOENT: no such file or directory, mkdir '/etc/todos'";
  for (const line of [...writes, made, "OSError: [Errno 30] Read-only file system: '/etc/todos'"])
    assert.match(advice(line), /^; it writes to \/etc\/todos, which is read-only: permanent files belong in \/data/);
  for (const line of [
    "Error: connect ECONNREFUSED 127.0.0.1:6379",
    "dial tcp 127.0.0.1:6379: connect: connection refused",
    "Error 111 connecting to localhost:6379. Connection refused.",
    `connection to server at "127.0.0.1", port 6379 failed: Connection refused`,
  ])
    assert.match(advice(line), /adds 127.0.0.1:6379 to the option deployments.reach$/, line);
  assert.match(advice("ENOSPC: no space left on device, write"), /^; it wrote more than deployments\.scratch/);
  for (const own of ["/app/a/b", "/data", "/tmp/a"])
    assert.equal(advice(`ENOENT: no such file or directory, mkdir '${own}'`), "", own);
  assert.match(advice("ENOENT: no such file or directory, mkdir '/database/a'"), /^; it writes to \/database\/a,/);
  const refused = { message: "connect ECONNREFUSED 127.0.0.1:6379" };
  assert.equal(adviceOf([refused], { reachesLoopback: true, isPruned: false, variables: {} }), "");
  const absent = "Error: Cannot find module '@acme/dev/register'";
  assert.match(advice(absent), /no development dependencies: if @acme\/dev is one, move it to dependencies/);
  assert.equal(advice("Error: Cannot find module './own.js'"), "");
  assert.equal(advice("connect ECONNREFUSED 10.0.0.1:6379"), "");
  const printed = [
    "Starting",
    "Error: Could not find a production build",
    "    at start (server.js:1:1)",
    "Error: later",
  ];
  assert.equal(
    errorIn(printed.map((one) => ({ message: one }))),
    "; it printed: Error: Could not find a production build",
  );
  assert.equal(errorIn([{ message: "ready" }]), "");
});

test("The advice names the variable that leads to localhost, and what generates, trusts or converts a file", () => {
  const of = (line: string, variables = {}) =>
    adviceOf([{ message: line }], { reachesLoopback: false, isPruned: false, variables });
  const redis = { A: "1", REDIS_URL: "redis://:secret@localhost:6379/0", OTHER: "http://localhost:1/" };
  assert.match(
    of("connect ECONNREFUSED 127.0.0.1:6379", redis),
    /^; the variable REDIS_URL names localhost: nothing .*6379/,
  );
  assert.match(
    of("AggregateError [ECONNREFUSED]:", { DB: "postgres://localhost/app" }),
    /^; the variable DB names localhost/,
  );
  assert.doesNotMatch(of("connect ECONNREFUSED 127.0.0.1:5432", redis), /variable/);
  for (const line of [
    "connect ECONNREFUSED 10.1.2.3:5432",
    "connect ECONNREFUSED 2001:db8::1:5432",
    "dial tcp [2001:db8::1]:5432: connect: connection refused",
    "Error 111 connecting to redis:6379. Connection refused.",
    'connection to server at "db.example.com" (10.1.2.3), port 5432 failed: Connection refused',
  ])
    assert.equal(of(line, { APP_URL: "http://localhost:3000" }), "", line);
  assert.match(of("2026-11-29T11:20:40Z 11:20:40 Connection refused", redis), /^; the variable REDIS_URL names/);
  assert.equal(of("AggregateError [ECONNREFUSED]:", { DB: "postgres://db.example.com/localhost" }), "");
  assert.doesNotMatch(of("connect ECONNREFUSED 127.0.0.1:6379", redis), /secret/);
  for (const line of [
    '@prisma/client did not initialize yet. Please run "prisma generate" and try to import it again.',
    "Error: Cannot find module '.prisma/client/default'",
  ])
    assert.match(of(line), /"postinstall": "prisma generate"/);
  assert.match(
    of("Error: self-signed certificate in certificate chain"),
    /NODE_EXTRA_CA_CERTS .* a variable of the env/,
  );
  for (const line of ["env: ‘bash\\r’: No such file or directory", "./start.sh: line 2: $'\\r': command not found"])
    assert.match(of(line), /line ends of Windows \(CRLF\)/, line);
  const build = createAdviceReader();
  build.read("npm error code SELF_SIGNED_CERT_IN_CHAIN");
  assert.match(build.advice(), /NODE_EXTRA_CA_CERTS \(Node\), PIP_CERT .* as deployments.buildVariables/);
});

test("A file of the repository that cannot run is named", async (t) => {
  const root = temporaryFolder(t);
  writeFileSync(join(root, "denied.sh"), "#!/bin/sh\n");
  writeFileSync(join(root, "windows.sh"), "#!/bin/sh\r\necho\r\n", { mode: 0o755 });
  writeFileSync(join(root, "works.sh"), "#!/bin/sh\necho\r\n", { mode: 0o755 });
  let looks = 0;
  const look = async (script: string) => {
    looks += 1;
    return execFileSync("sh", ["-c", script], { cwd: root, encoding: "utf8" });
  };
  const fine = ["./works.sh", "sh denied.sh", "/bin/true", "node ./denied.sh", "'./a b'"];
  assert.equal(await programFault(fine, look), undefined);
  for (const [command, reason] of [
    ["exec ./denied.sh --port 1", /^\.\/denied\.sh is not executable: /],
    ["A=1 ./windows.sh", /^the interpreter of \.\/windows\.sh .*CRLF.*"windows\.sh text/],
  ] as const)
    assert.match((await programFault([...fine, "no-such-program", command], look))?.reason ?? "", reason);
  assert.deepEqual(await programFault([...fine, "./missing.sh"], look), { program: "./missing.sh", reason: undefined });
  assert.equal(looks, 4, "one look for all commands");
  assert.equal(deniedIn("sh: 1: exec: ./run.sh: Permission denied"), "./run.sh");
  assert.equal(deniedIn("Permission denied"), undefined);
});

test("A line of a build says which part the machine lacks", () => {
  for (const line of ["sh: 1: go: not found", "sh: 1: exec: go: not found", "/bin/sh: line 1: go: command not found"])
    assert.equal(notFoundIn(line), "go", line);
  assert.equal(notFoundIn("404: not found"), undefined);
  assert.match(
    lackIn("error: command 'x86_64-linux-gnu-gcc' failed: No such file or directory") ?? "",
    /build-essential$/,
  );
  assert.match(lackIn("because ensurepip is not available.") ?? "", /apt-get install python3 python3-venv$/);
  assert.equal(lackIn("error: command 'gcc' failed with exit code 1"), undefined);
  for (const line of [
    "/app/go.mod:4: invalid go version '1.25.0': must match format 1.23",
    "go: go.mod requires go >= 1.25.0 (running go 1.24.4; GOTOOLCHAIN=local)",
  ])
    assert.match(lackIn(line) ?? "", /^builds find no Go 1\.25\.0, which go.mod asks for, on this machine/, line);
});

test("The reason of a failed build names the server that it could not reach, and the variable that names another", () => {
  const advice = (...lines: string[]) => {
    const reach = createAdviceReader();
    for (const line of lines) reach.read(line);
    return reach.advice();
  };
  const connection = "Failed to establish a new connection: [Errno -2] Name or service not known";
  const pip = advice(
    `WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<HTTPSConnection>: ${connection}')': /simple/flask/`,
    "ERROR: Could not find a version that satisfies the requirement Flask==3.1.0 (from versions: none)",
    "ERROR: No matching distribution found for Flask==3.1.0",
  );
  assert.match(
    pip,
    /the package index of pip \(pypi.org, .*\), which it asked for Flask==3\.1\.0: .*\(PIP_INDEX_URL, or /,
  );
  assert.equal(advice("ERROR: No matching distribution found for Flask==99"), "", "an index that answers");
  const cases = [
    [
      `go: acme.test/id@v3.3.0+incompatible: Get "https://proxy.example.com/acme.test/id/@v/v3.3.0.mod": dial tcp: lookup proxy.example.com: no such host`,
      /^; it could not reach proxy.example.com, which it asked for acme.test\/id@v3\.3\.0\+incompatible: .*\(GOPROXY, or /,
    ],
    [
      "npm error request to https://registry.example.com/express failed, reason: getaddrinfo ENOTFOUND registry.example.com",
      /^; it could not reach registry.example.com, which it asked for \/express: .*\(npm_config_registry, or /,
    ],
    [
      `error An unexpected error occurred: "https://registry.yarnpkg.com/ms/-/ms-2.1.3.tgz: getaddrinfo EAI_AGAIN registry.yarnpkg.com".`,
      /registry.yarnpkg.com, which it asked for \/ms\/-\/ms-2\.1\.3\.tgz: .*\(npm_config_registry, or /,
    ],
    [
      "curl: (6) Could not resolve host: files.example.com",
      /^; it could not reach files.example.com: .*\(HTTPS_PROXY /,
    ],
  ] as const;
  for (const [line, expected] of cases) assert.match(advice("Installing", line, "done"), expected, line);
  assert.equal(advice("Error: connect ECONNREFUSED 127.0.0.1:6379"), "", "a server of this machine is no other server");
  assert.equal(advice("GET https://registry.example.com/nothing 404"), "");
  assert.match(
    advice(`[vite]: Rollup failed to resolve import "@acme/sharp" from "/app/service.js".`),
    /^; it finds no package @acme\/sharp: package.json does not list it, or it is optional/,
  );
  assert.equal(advice(`Could not resolve "./own.js"`), "");
});

test("The reason of a failed build names the package whose install script failed, and a Node that packages ask for", () => {
  for (const line of [
    "npm error path /app/node_modules/@acme/native",
    "npm ERR! path /app/node_modules/@acme/native",
    "error /app/node_modules/@acme/native: Command failed.",
    ".../node_modules/@acme/native: Running install script, failed in 40ms",
  ]) {
    const reach = createAdviceReader();
    for (const one of ["npm error code 1", line, "npm error command failed"]) reach.read(one);
    assert.match(
      reach.advice(),
      /^; the install script of the package @acme\/native failed: try a newer version/,
      line,
    );
  }
  const traces = createAdviceReader();
  traces.read("    at run (/app/node_modules/acme/index.js:1:1)");
  assert.equal(traces.advice(), "");
  for (const line of [
    "npm warn EBADENGINE   required: { node: '>=22.18.0' },",
    ' WARN  Unsupported engine: wanted: {"node":">=22.18.0"} (current: {"node":"v20.1.0","pnpm":"9.1.1"})',
    'error acme@1.0.0: The engine "node" is incompatible with this module. Expected version ">=22.18.0". Got "20.1.0"',
  ]) {
    const engines = createEngineReader();
    assert.equal(engines.advice(), "");
    for (const one of [line, "npm warn EBADENGINE   required: { node: '>=30' },"]) engines.read(one);
    assert.match(
      engines.advice(),
      /^; its packages need Node >=22\.18\.0, which this build does not have: name the version/,
    );
  }
});

test("An app with a port of its own is found there, and heard while it starts", {
  skip: lacks("network"),
}, async (t) => {
  const here = await runtimeWorld(t, { deployments: { healthTimeout: "12s" } });
  const { id } = await here.project("web");
  const listening = (port: string) => `
console.log("told", process.env.PORT === "3000");
require("node:http").createServer((_, response) => response.end("at ${port}")).listen(${port});`;
  here.repos.commit("acme/web", { "package.json": { name: "web" }, "server.js": listening("3000") });
  // Each box has its own ports, so no other program takes this one.
  const port = 3000;
  // Two releases run side by side on one port, each in its own box.
  for (const known of [false, true]) {
    if (known) here.repos.commit("acme/web", { "svc.json": { port } });
    const { id: deployment, status } = await here.release(id);
    const messages = (await here.messages(deployment)).join("\n");
    assert.equal(status, "active", messages);
    assert.equal(await here.ask(host), "200 at 3000");
    const found = /^The app listens on port 3000 instead of \d+, which the variable PORT names$/m;
    assert.equal(found.test(messages), !known, messages);
    assert.match(messages, /^told true$/m);
  }
  const local = `
require("node:http").createServer((request, response) => request.pipe(response)).listen(process.env.PORT, "::1");`;
  for (const settings of [{}, { port }]) {
    here.repos.commit("acme/web", { "svc.json": settings, "server.js": local });
    const { id: deployment, status } = await here.release(id);
    const messages = (await here.messages(deployment)).join("\n");
    assert.equal(status, "active", messages);
    assert.match(messages, /^The app starts again, with a relay to \[::1\]:\d+$/m);
    const body = "x".repeat(100_000);
    assert.equal(await here.ask(host, "/", { method: "POST", body }), `200 ${body}`);
  }
  here.repos.commit("acme/web", { "svc.json": {}, "server.js": `require("node:fs").mkdirSync("/etc/todos")` });
  const { id: writing } = await here.release(id);
  const { data } = (await here.call("viewer", "GET", `/v1/deployments/${writing}/logs`)).body as { data: LogLine[] };
  const [reason] = data.filter(({ message }) => message.startsWith("the health check failed"));
  assert.match(reason?.message ?? "", /exit code 1; it writes to \/etc\/todos, which is read-only: .*\/data/);
});
