import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Options } from "../../lib/index.ts";
import { runtimeWorld } from "./running-apps.ts";
import { keyOf } from "./test-service.ts";

/** A service that hosts git, and the output that git shows to a user with a working copy. */
export async function gitHost(t: TestContext, options: Options = {}) {
  const here = await runtimeWorld(t, options);
  const { port } = await here.service.listen();
  const urlOf = (repo: string, password: string) => `http://me:${password}@127.0.0.1:${port}/git/${repo}.git`;
  const run = (copy: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    new Promise<{ code: number; text: string }>((resolve) => {
      execFile(
        "git",
        args,
        {
          cwd: join(here.repos.root, copy),
          env: {
            PATH: process.env["PATH"],
            HOME: here.repos.root,
            GIT_CONFIG_NOSYSTEM: "1",
            GIT_TERMINAL_PROMPT: "0",
            ...env,
          },
          maxBuffer: 1e8,
        },
        (error, stdout, stderr) => resolve({ code: error ? Number(error.code) : 0, text: stdout + stderr }),
      );
    });
  return {
    ...here,
    port,
    urlOf,
    run,
    push: (copy: string, who: string, ref = "main", more: readonly string[] = [], repo = copy) =>
      run(copy, ["push", ...more, urlOf(repo, who.startsWith("sk_") ? who : keyOf(who as "owner")), ref]),
    /** A push of the owner that stores nothing. */
    pushNothing: (repo: string) =>
      fetch(`http://127.0.0.1:${port}/git/${repo}.git/git-receive-pack`, {
        method: "POST",
        headers: {
          authorization: `Basic ${btoa(`me:${keyOf("owner")}`)}`,
          "content-type": "application/x-git-receive-pack-request",
        },
        body: "0000",
      }),
    folder(): string {
      const folder = mkdtempSync(join(tmpdir(), "svc-server-clone-"));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      return folder;
    },
  };
}
