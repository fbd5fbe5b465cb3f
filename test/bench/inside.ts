import assert from "node:assert/strict";
import { createService, type Service } from "../../lib/index.ts";
import { type Figure, figure, repeated } from "./figures.ts";

/** In process, without a port: a whole deployment on the manual clock, and single calls at 1,000 rows. */
const service = await createService({ clock: "manual@2026-01-01T00:00:00Z", logLevel: "silent", rateLimit: 1e9 });
const headers = { authorization: `Bearer ${service.apiKey}`, "content-type": "application/json" };

async function call(path: string, body?: object): Promise<Record<string, string>> {
  const post = body && { method: "POST", body: JSON.stringify(body) };
  const response = await service.fetch(path, { headers, ...post });
  const answer = (await response.json()) as Record<string, string>;
  assert.ok(response.ok, JSON.stringify(answer));
  return answer;
}

const source = { type: "git", repo: "acme/web", branch: "main" };
const { id: project_id } = await call("/v1/projects", { name: "bench", region: "eu-west-1" });
const order = { project_id, environment: "production", source };
const deploy = () => call("/v1/deployments", order);

const lifecycle = async (of: Service<string | null>) => {
  const { id } = await deploy();
  await of.clock.advance("10s");
  assert.equal((await call(`/v1/deployments/${id}`))["status"], "active");
};

const per = 50;
const micro = async (name: string, work: () => Promise<unknown>): Promise<Figure> => {
  const batches = await repeated(22, async () => {
    for (let i = 0; i < per; i++) await work();
  });
  // The first two are warm-up.
  return figure(
    name,
    "µs",
    batches.slice(2).map((ms) => (ms * 1000) / per),
  );
};

const cycles = (await repeated(60, () => lifecycle(service))).slice(10);
let last = "";
for (let i = 0; i < 1000 - 60; i++) last = (await deploy())["id"] ?? "";
const figures: Figure[] = [
  figure("a deployment from POST to active, manual clock", "ms", cycles),
  await micro("in process: GET a deployment, 1,000 rows", () => call(`/v1/deployments/${last}`)),
  await micro("in process: GET the list of 20", () => call("/v1/deployments")),
  await micro("in process: POST a deployment", deploy),
];
await service.close();
process.stdout.write(JSON.stringify(figures));
