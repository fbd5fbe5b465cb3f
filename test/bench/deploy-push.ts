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

/** By the command and by git, each from another program; then previews of requests that open and close. */
export async function pushes(service: Service, { folder, key, project_id }: Given) {
  const { url } = await service.listen();
  const bearer = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const post = async (path: string, body: object, headers: Readonly<Record<string, string>> = bearer) => {
    const response = await service.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return await response.json();
  };

  const shop = join(folder, "shop");
  const env = { ...process.env, SVC_URL: url, SVC_API_KEY: key };
  const deployed = await repeated(6, async (i) => {
    write(shop, `${i}`);
    await run(process.execPath, [join(import.meta.dirname, "svc-server.js"), "deploy", shop], { env });
  });

  const work = join(folder, "work");
  const git = (...words: string[]) =>
    run("git", ["-C", work, "-c", "user.name=b", "-c", "user.email=b@acme.test", ...words]);
  write(work, "one");
  await git("init", "--quiet", "--initial-branch=main");
  const pushed: number[] = [];
  for (let i = 0; i < 6; i++) {
    write(work, `${i}`);
    await git("add", "--all");
    await git("commit", "--quiet", "--message", `${i}`);
    pushed.push(
      await timed(async () => {
        const { stderr } = await git("push", `${url.replace("//", `//b:${key}@`)}/git/acme/work.git`, "main");
        if (!stderr.includes("Live at ")) throw new Error(stderr);
      }),
    );
  }

  const sha = (await run("git", ["-C", join(folder, "repos/acme/web0"), "rev-parse", "HEAD"])).stdout.trim();
  const config = { repo: "acme/web0", branch: "main", environment: "production", project_id, previews: true, secret };
  const { id } = (await post("/v1/integrations", { type: "code_host", name: "code", config })) as { id: string };
  const hook = async (action: string, number: number) => {
    const repository = { full_name: "acme/web0" };
    const pull_request = { number, head: { ref: "main", sha, repo: repository } };
    const body = { action, repository, pull_request };
    const signature = createHmac("sha256", secret).update(JSON.stringify(body)).digest("hex");
    const headers = { "x-github-event": "pull_request", "x-hub-signature-256": `sha256=${signature}` };
    return (await post(`/hooks/code-host/${id}`, body, { ...headers, "content-type": "application/json" })) as {
      data: { deployment_id: string }[];
    };
  };
  const gone: number[] = [];
  for (let number = 1; number <= 4; number++) {
    const { data } = await hook("opened", number);
    const path = `/v1/deployments/${data[0]?.deployment_id}?wait=60`;
    const { status } = (await (await service.fetch(path, { headers: bearer })).json()) as { status: string };
    if (status !== "active") throw new Error(`a preview ended as ${status}`);
    const host = `pr-${number}-web0.localhost`;
    const answers = async () => {
      const { stdout } = await run("curl", [
        "--silent",
        "--output",
        "/dev/null",
        "--write-out",
        "%{http_code}",
        "--header",
        `Host: ${host}`,
        service.appsUrl ?? "",
      ]);
      return stdout;
    };
    if ((await answers()) !== "200") throw new Error("a preview does not answer");
    gone.push(
      await timed(async () => {
        await hook("closed", number);
        while ((await answers()) !== "404") await pause(5);
      }),
    );
  }
  return { deployed: deployed.slice(1), pushed: pushed.slice(1), gone };
}
