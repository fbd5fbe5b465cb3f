import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createClient } from "../../lib/client.ts";
import { endSeenBy } from "../helpers/deployments.ts";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { repositories } from "../helpers/repositories.ts";

const key = "sk_live_demo_owner1";
const nobody = { uid: 65_534, gid: 65_534 };
const idOf = (last: string) => `dep_${last.padStart(26, "0")}`;

/** Leftovers of a build: folders without rights, and a path longer than a system call takes. */
const leave = `
const { chmodSync, mkdirSync, writeFileSync } = require("node:fs");
for (const mode of [0o000, 0o300, 0o500]) {
  mkdirSync("mode" + mode + "/inner", { recursive: true });
  writeFileSync("mode" + mode + "/inner/file", "x");
  for (const folder of ["/inner", ""]) chmodSync("mode" + mode + folder, mode);
}
for (let depth = 0; depth < 40; depth++) {
  mkdirSync("d".repeat(200));
  process.chdir("d".repeat(200));
}
process.exit(1);
`;

for (const user of [undefined, nobody])
  test(`What a build leaves is removed, and what stays ends no start, of ${user ? "an ordinary user" : "root"}`, {
    skip: process.getuid?.() !== 0 && "only root may start a server as another user",
  }, async (t) => {
    const folder = temporaryFolder(t);
    const repos = repositories(t);
    repos.commit("acme/web", { "svc.json": { build: "node leave.js", start: "true" }, "leave.js": leave });
    const giveAway = () => user && execFileSync("chown", ["-R", `${user.uid}:${user.gid}`, folder, repos.root]);
    giveAway();
    const database = join(folder, "svc.db");
    const words = ["dev", "--port", "0", "--database", database, "--key", key, "--runtime", "process"];
    const start = () =>
      launch(t, [...words, "--isolation", "none", "--repos", repos.root, "--apps-port", "0"], folder, {
        env: { HOME: folder },
        ...(user && { user }),
      });
    const first = await start();
    const client = createClient({ baseUrl: first.base_url, apiKey: key });
    const { id: project_id } = await client.projects.create({ name: "web", region: "eu-west-1" });
    const source = { type: "git", repo: "acme/web" } as const;
    const { id } = await client.deployments.create({ project_id, environment: "production", source });
    assert.equal((await endSeenBy(client, id)).status, "failed");
    await first.stop("SIGKILL");

    // A killed server left these. The next start cannot remove the folder if another user owns it.
    const releases = join(`${database}-apps`, "releases");
    mkdirSync(join(releases, idOf("ROOT"), "app/inner"), { recursive: true });
    mkdirSync(join(releases, idOf("OWN")));
    execFileSync(process.execPath, ["-e", leave.replace("exit(1)", "exit(0)")], {
      ...{ cwd: join(releases, idOf("OWN")) },
    });
    if (user) execFileSync("chown", ["-R", `${user.uid}:${user.gid}`, join(releases, idOf("OWN"))]);
    const second = await start();
    assert.deepEqual(readdirSync(releases), user ? [idOf("ROOT")] : []);
    assert.equal(existsSync(join(releases, id)), false);
    if (user)
      assert.match(second.errors(), new RegExp(`${idOf("ROOT")}, which nothing uses any more, cannot be removed`));
    assert.equal((await second.stop("SIGTERM")).code, 0);
  });
