import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeploymentDriver, DeploymentWork, Progress } from "../../lib/drivers/deployment/contract.ts";
import { blocker, deploymentNow, endOf, logOf } from "../helpers/deployments.ts";
import { expect, world } from "../helpers/test-service.ts";

/** A driver with this `step`, whose runtime only records its calls. */
function recorder(step: (work: DeploymentWork) => Promise<Progress>) {
  const told: string[] = [];
  let heard = () => {};
  const tell = async (what: string) => {
    told.push(what);
    heard();
  };
  const driver: DeploymentDriver = {
    delay: () => 0,
    step,
    runtime: {
      name: "recorder",
      refuses: () => undefined,
      begin: async () => {},
      abandon: (id) => tell(`abandon ${id}`),
      take: () => undefined,
      start: () => Promise.reject(new Error("nothing starts")),
      discard: async () => {},
      forget: (id, environment = "") => tell(`forget ${id} ${environment}`.trim()),
      close: async () => {},
    },
  };
  return {
    options: { clock: "real", deployments: { driver }, apps: { port: 0 } } as const,
    /** The calls to the runtime, once there are this many. */
    told: (count: number) =>
      new Promise<readonly string[]>((resolve) => {
        heard = () => {
          if (told.length >= count) resolve(told.splice(0));
        };
        heard();
      }),
  };
}

const running: Progress = { state: "running", again_ms: 1, handle: null, logs: [] };

test("Work that a driver begins after the end of its deployment is ended too", async (t) => {
  const ends = [
    ["POST", (_: string, id: string) => `/v1/deployments/${id}/cancel`, undefined],
    ["DELETE", (project: string) => `/v1/projects/${project}/environments/production`, "production"],
    ["DELETE", (project: string) => `/v1/projects/${project}`, ""],
  ] as const;
  for (const [method, pathOf, forgets] of ends) {
    for (const answer of [running, { state: "done", version: "v1", logs: [] } satisfies Progress]) {
      const [entered, go] = [blocker(), blocker()];
      const { options, told } = recorder(async () => {
        entered.open();
        await go.passed;
        return answer;
      });
      const here = await world(t, options);
      const { id: project } = await here.project();
      const { id } = await here.deploy(project);
      await entered.passed;
      assert.ok((await here.call("owner", method, pathOf(project, id))).status < 300);
      // The runtime does not know this work yet: the step that begins it is still running.
      const orders = [`abandon ${id}`, ...(forgets === undefined ? [] : [`forget ${project} ${forgets}`.trim()])];
      assert.deepEqual(await told(orders.length), orders);
      go.open();
      const late = forgets === "production" ? orders.slice(0, 1) : orders;
      assert.deepEqual(await told(late.length), late);
    }
  }
});

test("A build whose environment is deleted and made again fails at once; the new environment deploys as any other", async (t) => {
  const entered = blocker();
  const { options, told } = recorder(async ({ step, deployment_id }) => {
    entered.open();
    if (deployment_id === first) return running;
    return { state: "done", version: step === "build" ? "v2" : null, logs: [] };
  });
  let first = "";
  const here = await world(t, options);
  const { id: project } = await here.project();
  first = (await here.deploy(project)).id;
  const next = await here.deploy(project);
  await entered.passed;
  const path = `/v1/projects/${project}/environments/production`;
  expect(await here.call("developer", "DELETE", path), 204);
  assert.equal((await deploymentNow(here, first)).status, "failed");
  expect(await here.call("developer", "PUT", path, { variables: { NEW: "1" } }), 200);
  const last = (await logOf(here, first)).slice(-2).map(({ message }) => message);
  assert.deepEqual(last, ["The environment production was deleted", "Deployment failed"]);
  assert.deepEqual((await told(1)).slice(0, 1), [`abandon ${first}`]);
  const ended = await endOf(here, "viewer", next.id);
  assert.ok(["active", "failed"].includes(ended.status));
  const { id: last_id } = await here.deploy(project);
  assert.equal((await endOf(here, "viewer", last_id)).status, "active");
});
