import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { banner } from "../../bin/banner.ts";
import { launch, program, temporaryFolder } from "../helpers/program.ts";
import { noSandbox } from "../helpers/running-apps.ts";

test("the banner's curl lines work as they are printed", async (t) => {
  if (spawnSync("curl", ["--version"]).status !== 0) return t.skip("curl is not installed");
  const server = await launch(t, ["dev", "--port", "0", "--clock", "manual"]);
  const text = banner({
    ...server,
    mode: "dev",
    options: { clock: "manual" },
    isNew: false,
    warnings: [],
    color: false,
  });
  assert.match(
    text,
    /^ {2}Control {4}http:\/\/127\.0\.0\.1:\d+\/_svc: svc-server clock, trigger, inbox, mail, scenarios, faults, snapshots, reset$/m,
  );
  assert.match(text, /^ {2}Seed {7}none; --seed demo starts with/m);
  const lines = text.split("\n").filter((line) => line.startsWith("  curl "));
  const outputs = lines.map(
    (line) => spawnSync("sh", ["-c", line.replace("curl", "curl --silent --fail")], { encoding: "utf8" }).stdout,
  );
  const log = outputs.pop() ?? "";
  const [me, project, deployment, advanced, ...more] = outputs.map((text) => JSON.parse(text));
  assert.deepEqual([me.organization.name, project.name, more], ["default", "my-project", []]);
  assert.deepEqual([deployment.project_id, deployment.status, advanced.ran > 0], [project.id, "queued", true]);
  assert.match(log, /event: end\ndata: .*"active"/, "the log of the deployment, to its end");
});

test("the banner of a start with a runtime deploys a folder, as it is printed", { skip: noSandbox }, async (t) => {
  const server = await launch(t, ["dev", "--port", "0", "--runtime", "process", "--apps-port", "0"]);
  const about = { ...server, mode: "dev", options: {}, isNew: false, warnings: [], color: false } as const;
  const [, commands = ""] = banner({ ...about, runtime: "process" }).split("one line after the other:\n");
  const folder = temporaryFolder(t);
  const lines = commands.split("\n").filter((line) => line.startsWith("  "));
  const outputs = lines.map((line) => {
    const words = line.replace("npx svc-server", `${process.execPath} ${program}`);
    return spawnSync("sh", ["-c", words], { cwd: folder, encoding: "utf8" }).stdout;
  });
  assert.deepEqual([outputs.length, outputs[2]], [3, "Hello from my first app\n"], String(outputs));
  assert.match(banner({ ...about, runtime: "engine" }), /^ {2}mkdir -p hello && printf 'FROM busybox\\n/m);
});

test("the banner names a repository of the folder --repos", async (t) => {
  const folder = temporaryFolder(t);
  const named = () => {
    const about = { mode: "dev", url: "", base_url: "", dashboard_url: null, api_key: null, apps_url: null } as const;
    const text = banner({
      ...about,
      options: { codeHost: { repos: folder } },
      isNew: false,
      warnings: [],
      color: false,
    });
    return /"source":(\{.*?\})/.exec(text)?.[1];
  };
  assert.equal(named(), '{"type":"git","repo":"OWNER/REPO"}');
  mkdirSync(join(folder, "notes/old"), { recursive: true });
  mkdirSync(join(folder, "shop/api.git"), { recursive: true });
  writeFileSync(join(folder, "shop/api.git/HEAD"), "ref: refs/heads/master\n");
  assert.equal(named(), '{"type":"git","repo":"shop/api"}');
  mkdirSync(join(folder, "app/.git"), { recursive: true });
  assert.equal(named(), '{"type":"git","repo":"acme/app"}');
});
