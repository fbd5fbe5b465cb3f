import assert from "node:assert/strict";
import { test } from "node:test";
import { run, temporaryFolder } from "../helpers/program.ts";

test("Without an engine the start fails and says how to get one; doctor says what works", (t) => {
  const folder = temporaryFolder(t);
  const words = ["start", "--port", "0", "--apps-port", "0", "--database", "svc.db", "--runtime", "engine"];
  const begin = (host: string) => run(words, folder, { DOCKER_HOST: host });
  const none = begin(`unix://${folder}/none.sock`);
  assert.notEqual(none.status, 0);
  assert.match(none.stderr, /no container engine at .*none\.sock, which DOCKER_HOST names; start it/);
  assert.match(begin("tcp://127.0.0.1:1").stderr, /the runtime engine needs a unix socket; correct DOCKER_HOST/);

  const doctor = (...more: string[]) => {
    const { stdout } = run(["doctor", "--port", "0", "--json", ...more], folder, {
      DOCKER_HOST: `unix://${folder}/none.sock`,
    });
    return (JSON.parse(stdout) as { check: string; ok: boolean; says: string }[]).find(
      ({ check }) => check === "runtime",
    );
  };
  const simulated = doctor();
  assert.equal(simulated?.ok, true);
  assert.match(
    simulated?.says ?? "",
    /^deployments are simulated\. .*engine does not work here: no container engine at/,
  );
  assert.equal(doctor("--runtime", "process,engine")?.ok, false);
});
