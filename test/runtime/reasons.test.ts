import assert from "node:assert/strict";
import { test } from "node:test";
import { deniedAdvice } from "../../lib/platform/containers/denied-advice.ts";
import { createAdviceReader } from "../../lib/platform/process/build-advice.ts";
import type { Build } from "../../lib/platform/process/build-steps.ts";
import type { Plan } from "../../lib/platform/process/detect.ts";
import type { Box } from "../../lib/platform/process/sandbox.ts";
import { provideTools } from "../../lib/platform/process/tools.ts";
import type { Files } from "../helpers/repositories.ts";
import { runtimeWorld, server } from "../helpers/running-apps.ts";

test("A failed start names the variables of .env.example that the environment lacks, and a .env that is not there", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const variables = { HOSTED: "here" };
  await here.call("developer", "PUT", `/v1/projects/${id}/environments/production`, { variables });
  const fails = async (files: Files): Promise<string> => {
    here.repos.commit("acme/web", { "package.json": {}, ...files });
    const { id: deployment, status } = await here.release(id);
    assert.equal(status, "failed");
    return (await here.messages(deployment)).find((line) => line.startsWith("the health check failed")) ?? "";
  };
  const example =
    "# DATABASE\nPORT=3000\nexport MYSQL_HOST=localhost\nHOSTED=\n SECRET = a\nMYSQL_HOST=again\nnot one\n";
  assert.equal(
    await fails({ "server.js": "process.exit(1)", ".env.example": example }),
    "the health check failed: the app ended with the exit code 1; the environment does not set these variables of .env.example: MYSQL_HOST, SECRET",
  );
  const many = Array.from({ length: 11 }, (_, at) => `NAME_${at}=`).join("\n");
  assert.match(
    await fails({ "server.js": `throw new TypeError("no NAME_0")`, ".env.example": many }),
    /; it printed: TypeError: no NAME_0; the environment does not set .*: NAME_0, .*, NAME_7 and 3 more$/,
  );
  assert.doesNotMatch(await fails({ "server.js": "process.exit(1)", ".env": "NAME_0=x" }), /does not set/);
  assert.match(
    await fails({
      "package.json": { scripts: { start: "node --env-file=.env.local server.js" } },
      "server.js": server("x"),
    }),
    /; its start reads \.env\.local, which is not in the repository: set its variables in the environment, .*--env-file-if-exists$/,
  );
});

test("A failed build names the variables of .env.example that the environment lacks", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  here.repos.commit("acme/web", {
    "package.json": { scripts: { build: "exit 7" } },
    "server.js": server("one"),
    ".env.example": "POSTGRES_URL=\n",
  });
  const { id: deployment } = await here.release(id);
  assert.match(
    (await here.messages(deployment)).join("\n"),
    /^Building failed with the exit code 7: .*; the environment does not set these variables of \.env\.example: POSTGRES_URL$/m,
  );
});

test("A failed start of a language that is not built here says so", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  here.repos.commit("acme/web", { "pom.xml": "<project/>", Procfile: "web: echo Error: no jar; exit 1" });
  const { id: deployment } = await here.release(id);
  assert.match(
    (await here.messages(deployment)).join("\n"),
    /; it printed: Error: no jar\. The repository is for Java \(pom\.xml\), which is not built here: add a Dockerfile/,
  );
});

test("A program of another language that fails by itself is not said to lack a build", async (t) => {
  const here = await runtimeWorld(t);
  const { id } = await here.project("web");
  const start = "echo Error: no database; exit 1";
  here.repos.commit("acme/web", { "Cargo.toml": "[package]", Procfile: "web: sh ./server", server: start });
  const { id: deployment } = await here.release(id);
  const lines = (await here.messages(deployment)).join("\n");
  assert.match(lines, /exit code 1; it printed: Error: no database$/m);
  assert.doesNotMatch(lines, /Rust/);
});

test("A build whose webpack is too old for this Node says which setting helps", () => {
  const { read, advice } = createAdviceReader();
  read("Error: error:0308010C:digital envelope routines::unsupported");
  read("    at new Hash (node:internal/crypto/hash:79:19)");
  assert.match(advice(), /^; .*NODE_OPTIONS .*--openssl-legacy-provider.*engines of package\.json/);
});

test("A package manager that cannot be fetched because of a certificate says how builds trust it", async () => {
  const start = (script: string, _: unknown, take: (chunk: Buffer) => void) => {
    const isFetch = script.includes("npm install");
    if (isFetch) take(Buffer.from("npm error code SELF_SIGNED_CERT_IN_CHAIN\n"));
    return { pid: undefined, kill: () => {}, ended: Promise.resolve({ code: isFetch ? 1 : 0, signal: null }) };
  };
  const build = {
    sandbox: { start },
    signal: new AbortController().signal,
    log: () => {},
    hide: (text: string) => text,
    isFull: () => false,
    limits: { memory_bytes: 2 ** 30, disk_bytes: 2 ** 30 },
    written: async () => 0,
    engines: { read: () => {}, advice: () => "" },
    unset: "",
  } as unknown as Build;
  const manager = { name: "yarn", range: "1", fetches: "1", from: "yarn.lock" };
  await assert.rejects(
    provideTools({ manager } as unknown as Plan, {} as Box, build),
    /npm could not fetch yarn@1: .*deployments\.buildVariables; it does not trust the certificate of a server: .*NODE_EXTRA_CA_CERTS/,
  );
});

test("A container that may not write is told where it may", () => {
  const advice = (message: string) => deniedAdvice([{ message }]);
  for (const message of ["mkdir: can't create directory '/own': Permission denied", "Error: EACCES, open '/own'"])
    assert.match(advice(message), /^; the user of the image may not write there: .*\/data .*\/tmp/);
  assert.equal(advice("Error: listen EACCES: permission denied 0.0.0.0:80"), "");
  assert.equal(advice("no database"), "");
});
