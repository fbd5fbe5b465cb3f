import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import type { Service } from "../../lib/index.ts";
import { repeated, timed } from "./figures.ts";

export const pushGoal = { floor: 1_500, aim: 1_000 };
const run = promisify(execFile);
const secret = "whsec_bench_hooks";

interface Given {
  readonly folder: string;
  readonly key: string;
  /** The project of the repository `acme/web0`. */
  readonly project_id: string;
}

const app = (version: string) => ({
  "server.js": `require("node:http").createServer((q, r) => r.end("${version}")).listen(process.env.PORT, process.env.HOST);\n`,
  "package.json": JSON.stringify({ scripts: { start: "node server.js" } }),
});

function write(at: string, version: string): void {
  mkdirSync(at, { recursive: true });
  for (const [name, text] of Object.entries(app(version))) writeFileSync(join(at, name), text);
}

/** `svc-server deploy` of a folder that changes, from the program's start to its exit. */
function deploys(url: string, { folder, key }: Given): Promise<number[]> {
  const shop = join(folder, "shop");
  const env = { ...process.env, SVC_URL: url, SVC_API_KEY: key };
  return repeated(6, async (i) => {
    write(shop, `${i}`);
    await run(process.execPath, [join(import.meta.dirname, "svc-server.js"), "deploy", shop], { env });
  });
}

async function gitPushes(url: string, { folder, key }: Given): Promise<number[]> {
  const work = join(folder, "work");
  const git = (...words: string[]) =>
    run("git", ["-C", work, "-c", "user.name=b", "-c", "user.email=b@acme.test", ...words]);
  write(work, "one");
  await git("init", "--quiet", "--initial-branch=main");
  const took: number[] = [];
  for (let i = 0; i < 6; i++) {
    write(work, `${i}`);
    await git("add", "--all");
    await git("commit", "--quiet", "--message", `${i}`);
    took.push(
      await timed(async () => {
        const { stderr } = await git("push", `${url.replace("//", `//b:${key}@`)}/git/acme/work.git`, "main");
        if (!stderr.includes("Live at ")) throw new Error(stderr);
      }),
    );
  }
  return took;
}

/** From the hook that closes a pull request until its preview stops responding. */
async function previewEnds(service: Service<string | null>, { folder, key, project_id }: Given): Promise<number[]> {
  const json = { "content-type": "application/json" };
  const bearer = { ...json, authorization: `Bearer ${key}` };
  const post = async (path: string, body: object, headers: Readonly<Record<string, string>>) => {
    const response = await service.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return response.json();
  };
  const sha = (await run("git", ["-C", join(folder, "repos/acme/web0"), "rev-parse", "HEAD"])).stdout.trim();
  const config = { repo: "acme/web0", branch: "main", environment: "production", project_id, previews: true, secret };
  const made = (await post("/v1/integrations", { type: "code_host", name: "code", config }, bearer)) as { id: string };
  const hook = async (action: string, number: number) => {
    const repository = { full_name: "acme/web0" };
    const body = { action, repository, pull_request: { number, head: { ref: "main", sha, repo: repository } } };
    const signature = createHmac("sha256", secret).update(JSON.stringify(body)).digest("hex");
    const headers = { ...json, "x-github-event": "pull_request", "x-hub-signature-256": `sha256=${signature}` };
    return (await post(`/hooks/code-host/${made.id}`, body, headers)) as { data: { deployment_id: string }[] };
  };
  const answerOf = async (number: number) => {
    const words = ["--silent", "--output", "/dev/null", "--write-out", "%{http_code}"];
    const host = `Host: pr-${number}-web0.localhost`;
    return (await run("curl", [...words, "--header", host, service.appsUrl ?? ""])).stdout;
  };
  const took: number[] = [];
  for (let number = 1; number <= 4; number++) {
    const { data } = await hook("opened", number);
    await service.fetch(`/v1/deployments/${data[0]?.deployment_id}?wait=60`, { headers: bearer });
    if ((await answerOf(number)) !== "200") throw new Error("a preview does not answer");
    took.push(
      await timed(async () => {
        await hook("closed", number);
        while ((await answerOf(number)) !== "404") await pause(5);
      }),
    );
  }
  return took;
}

/**
 * Deployments by the command and by git, each from another program; then previews of pull requests that open and close.
 */
export async function pushes(service: Service<string | null>, given: Given) {
  const { url } = await service.listen();
  const deployed = await deploys(url, given);
  const pushed = await gitPushes(url, given);
  return { deployed: deployed.slice(1), pushed: pushed.slice(1), gone: await previewEnds(service, given) };
}
