import type { Service } from "../../lib/index.ts";
import { createService } from "../../lib/index.ts";
import { containerEngine, noEngine } from "../helpers/container-engine.ts";
import { answering, registry } from "../helpers/image-registry.ts";
import { type Figure, figure, repeated } from "./figures.ts";

const key = "sk_live_demo_bench";

async function call(service: Service<string | null>, method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await service.fetch(path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { id: string; status: string };
}

async function ended(service: Service<string | null>, { id }: { id: string }): Promise<string> {
  const { status } = await call(service, "GET", `/v1/deployments/${id}?wait=60`);
  if (status !== "active") throw new Error(`a deployment ended as ${status}`);
  return id;
}

/** Images of 2 MB from a registry on loopback, with the runtime `engine` on a Docker Engine of its own. */
export async function engineFigures(): Promise<Figure[]> {
  if (noEngine) return [];
  const ends: (() => unknown)[] = [];
  const scope = { after: (end: () => unknown) => void ends.unshift(end) };
  try {
    await containerEngine(scope);
    const { host, put } = await registry(scope);
    const service = await createService({
      key,
      rateLimit: 1e9,
      logLevel: "error",
      apps: { port: 0 },
      deployments: { runtime: "engine" },
    });
    scope.after(() => service.close());
    const { id: project_id } = await call(service, "POST", "/v1/projects", { name: "web", region: "eu-west-1" });
    let id = "";
    const live = await repeated(5, async (i) => {
      put("web", `v${i}`, answering(`v${i}`));
      const source = { type: "image", image_url: `${host}/web:v${i}` };
      const order = { project_id, environment: "production", source };
      id = await ended(service, await call(service, "POST", "/v1/deployments", order));
    });
    const back = await repeated(5, async () => {
      id = await ended(service, await call(service, "POST", `/v1/deployments/${id}/rollback`));
    });
    return [
      figure("an image of 2 MB, from the POST to live", "ms", live),
      figure("rollback to a kept image", "ms", back),
    ];
  } finally {
    for (const end of ends) await end();
  }
}
