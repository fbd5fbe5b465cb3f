import { execFile, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";

/** The files of a commit. Objects are written as JSON. */
export type Files = Readonly<Record<string, string | object>>;

const person = { GIT_AUTHOR_NAME: "t", GIT_AUTHOR_EMAIL: "t@acme.test" };
const committer = { GIT_COMMITTER_NAME: "t", GIT_COMMITTER_EMAIL: "t@acme.test" };

/** A folder of repositories, with helpers that run git. */
export function repositories(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), "svc-server-repos-"));
  t.after(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));
  const env = { PATH: process.env["PATH"], HOME: root, GIT_CONFIG_NOSYSTEM: "1", ...person, ...committer };
  return {
    root,
    /** Runs git in a repository. */
    git: (repo: string, ...args: string[]) =>
      execFileSync("git", args, { cwd: join(root, repo), env, encoding: "utf8", stdio: "pipe" }).trim(),
    /** Runs git while this process serves its requests. */
    async ask(repo: string, ...args: string[]): Promise<void> {
      await promisify(execFile)("git", args, { cwd: join(root, repo), env });
    },
    /** Commits files to the branch main of a working copy, and creates it if needed; returns the commit. */
    commit(repo: string, files: Files): string {
      const folder = join(root, repo);
      mkdirSync(folder, { recursive: true });
      this.git(repo, "init", "--quiet", "--initial-branch=main");
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, name)), { recursive: true });
        writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
      }
      this.git(repo, "add", "--all");
      this.git(repo, "commit", "--quiet", "--allow-empty", "--message=change");
      return this.git(repo, "rev-parse", "HEAD");
    },
  };
}

/** How repositories are served. Changes apply from the next request on. */
export interface Serving {
  /** The password that the server requires. */
  token?: string | undefined;
  /** Called with each path. If it returns a URL, the client is redirected there. */
  redirect?: ((path: string) => string | undefined) | undefined;
  /** Called with each path. If it returns true, the request gets no answer. */
  hold?: ((path: string) => boolean) | undefined;
  /** Called when a long answer has begun. The answer then stalls, and the client waits forever. */
  onStalled?: (() => void) | undefined;
}

/** Serves a folder of repositories over smart HTTP, like a code host. */
export async function serveRepositories(t: TestContext, root: string, serving: Serving = {}): Promise<string> {
  const server = createServer((request, response) => {
    const { token, redirect, onStalled } = serving;
    const wanted = token && `Basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`;
    if (wanted && request.headers.authorization !== wanted) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
      return;
    }
    const { pathname, search } = new URL(request.url ?? "/", "http://localhost");
    const location = redirect?.(pathname);
    if (serving.hold?.(pathname)) return;
    if (location) return void response.writeHead(302, { location }).end();
    const child = spawn("git", ["http-backend"], {
      env: {
        PATH: process.env["PATH"],
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: "1",
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_CONFIG_COUNT: "1",
        GIT_CONFIG_KEY_0: "safe.directory",
        GIT_CONFIG_VALUE_0: "*",
        GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
        PATH_INFO: pathname.replace(/\.git(?=\/)/, "/.git"),
        QUERY_STRING: search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers["content-type"] ?? "",
        CONTENT_LENGTH: request.headers["content-length"] ?? "",
        HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
        REMOTE_ADDR: "127.0.0.1",
      },
    });
    request.pipe(child.stdin);
    child.stdin.on("error", () => {});
    // If the client gives up, nobody reads the pack, and git would wait forever.
    response.once("close", () => {
      child.kill("SIGKILL");
      child.stdout.destroy();
    });
    let head = "";
    const readHead = (chunk: Buffer) => {
      head += chunk.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      child.stdout.off("data", readHead);
      const lines = head.slice(0, end).split("\r\n");
      const headers = Object.fromEntries(lines.map((line) => line.split(/: (.*)/s, 2) as [string, string]));
      response.writeHead(Number(headers["Status"]?.slice(0, 3) ?? 200), headers);
      response.write(Buffer.from(head.slice(end + 4), "latin1"));
      if (!onStalled) return void child.stdout.pipe(response);
      let sent = 0;
      child.stdout.on("data", (chunk: Buffer) => {
        sent += chunk.length;
        response.write(chunk);
        if (sent < 128 * 1024) return;
        child.kill("SIGKILL");
        child.stdout.removeAllListeners();
        onStalled();
      });
      child.stdout.on("end", () => response.end());
    };
    child.stdout.on("data", readHead);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/{repo}.git`;
}
