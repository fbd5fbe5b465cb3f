import type { TestContext } from "node:test";
import type { Options, Service } from "../../lib/index.ts";
import { createTestService } from "../../lib/testing.ts";

const source = { type: "git", repo: "acme/web", branch: "main" } as const;
export const start = Date.parse("2026-01-01T00:00:00Z");

/** A service whose clock moves the fake timers of the test. */
export async function coupled(t: TestContext, options: Options = {}) {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "setImmediate", "Date"] });
  const service = await createTestService(t, { timers: t.mock.timers, ...options });
  return { service, deploy: await deployer(service) };
}

/** Deploys to a new project. */
export async function deployer(service: Service<string | null>) {
  const { projects, deployments } = service.client();
  const { id: project_id } = await projects.create({ name: "web", region: "eu-west-1" });
  return () => deployments.create({ project_id, environment: "production", source });
}

/** Seconds since the start, by the service. */
export const secondsOf = ({ clock }: Service<string | null>) => (clock.now().getTime() - start) / 1_000;
