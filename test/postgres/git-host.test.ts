import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { launch, temporaryFolder } from "../helpers/program.ts";
import { repositories } from "../helpers/repositories.ts";
import { noSandbox } from "../helpers/running-apps.ts";
import { emptyDatabase } from "./databases.ts";

test("the server with the runtime hosts git, and another one answers 421 and names it", async (t) => {
  const { url: database } = await emptyDatabase(t);
  const folder = temporaryFolder(t);
  const env = {
    SVC_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("hex"),
    SVC_DEPLOYMENTS_ISOLATION: noSandbox ? "none" : "bubblewrap",
  };
  const words = ["start", "--database", database, "--port", "0", "--log-level", "warn"];
  const hosting = ["--runtime", "process", "--apps-port", "0", "--apps-folder", join(folder, "apps")];
  const one = await launch(t, [...words, ...hosting], folder, { env });
  const two = await launch(t, words, folder, { env });
  const repos = repositories(t);
  repos.commit("me/hello", { "index.html": "one" });
  const push = (url: string) =>
    new Promise<string>((resolve) => {
      const address = `${url.replace("//", `//me:${one.api_key}@`)}/git/me/hello.git`;
      const options = { cwd: join(repos.root, "me/hello"), env: { PATH: process.env["PATH"], HOME: folder } };
      execFile("git", ["push", address, "main"], options, (_error, _stdout, stderr) => resolve(stderr));
    });
  const refused = await push(two.url);
  assert.match(
    refused,
    /remote: git repositories are on the server with the runtime: .* \(its apps: http:\/\/localhost:\d+\)/,
  );
  assert.match(refused, /error: 421/);
  assert.match(await push(one.url), /^remote: Live at http:\/\/production-hello\.localhost:\d+/m);
});
