import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import {
  type App,
  checkProgress,
  type DeploymentDriver,
  type DeploymentSource,
  type DeploymentWork,
  type Instance,
  type Kept,
  type LogLine,
  type Progress,
} from "../../lib/drivers/deployment/contract.ts";
import { createPasswordHashes } from "../../lib/kernel/secrets/password-hash.ts";
import { createProxy } from "../../lib/platform/proxy/proxy.ts";

/** Helpers that call a deployment driver as the service does. */

/** Unique per process: processes are found by their deployment id, and other tests may run on this machine. */
export const idOf = (number: number) =>
  `dep_${String(process.pid).padStart(20, "0")}${String(number).padStart(6, "0")}`;
const organization_id = "org_00000000000000000000000001";
const project_id = "proj_00000000000000000000000001";
const secret = "s3cret-of-the-environment";

export const workOf = (deployment_id: string, source: DeploymentSource): DeploymentWork => ({
  deployment_id,
  organization_id,
  project_id,
  environment: "production",
  source,
  variables: { TOKEN: secret },
  secrets: [secret],
  usesCredential: true,
  url: null,
  version: null,
  revision: null,
  pin: null,
  release: null,
  root: null,
  outcome: null,
  step: "build",
  elapsed_ms: 0,
  handle: null,
});

type End = Exclude<Progress, { state: "running" }>;
interface Ended {
  readonly end: End;
  readonly lines: readonly string[];
  readonly logs: readonly LogLine[];
  /** The number of answers that delivered them. */
  readonly answers: number;
}

/** Calls a step until it ends or a line is logged. Passes everything through JSON, as the service does. */
export async function advance(driver: DeploymentDriver, work: DeploymentWork, until?: string): Promise<Ended> {
  const logs: LogLine[] = [];
  const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
  let { elapsed_ms, handle } = work;
  for (let answers = 1; ; answers++) {
    const given = await driver.step(plain({ ...work, elapsed_ms, handle }));
    assert.deepEqual(plain(given), given, "an answer is plain data");
    assert.doesNotMatch(JSON.stringify(given), new RegExp(secret), "no secret is in an answer");
    const answer = checkProgress(given, { needsVersion: work.step === "build" });
    logs.push(...answer.logs);
    const lines = logs.map(({ message }) => message);
    if (answer.state !== "running") return { end: answer, lines, logs, answers };
    if (until !== undefined && lines.includes(until))
      return { end: { state: "failed", message: "", logs: [] }, lines, logs, answers };
    elapsed_ms += answer.again_ms;
    handle = answer.handle;
  }
}

export const done = ({ end, lines }: Ended) => {
  assert.equal(end.state, "done", lines.join("\n"));
  return end as End & { state: "done" };
};

export const rolloutOf = (work: DeploymentWork, { version, pin = null, release = null }: End & { state: "done" }) =>
  ({ ...work, step: "rollout", version: work.version ?? version, pin, release }) as const;

/** Builds and rolls out. Returns the rollout's work, in the form that is stored for a deployment. */
export async function deploy(driver: DeploymentDriver, work: DeploymentWork): Promise<DeploymentWork> {
  const rollout = rolloutOf(work, done(await advance(driver, work)));
  done(await advance(driver, rollout));
  return rollout;
}

export const appOf = ({ outcome, step, elapsed_ms, handle, release, ...work }: DeploymentWork): App => ({
  ...work,
  release: release ?? "",
});

/** Sends a request to a port of this machine. */
export const ask = (port: number | undefined, path = "/", method = "GET", host = "localhost") =>
  new Promise<string>((resolve) => {
    request({ host: "127.0.0.1", port, path, method, headers: { host }, agent: false }, async (response) => {
      let text = "";
      for await (const chunk of response) text += chunk;
      resolve(text);
    })
      .on("error", ({ code }: NodeJS.ErrnoException) => resolve(String(code)))
      .end();
  });

export const kept: Kept = {
  release: async () => true,
  project: async () => true,
  live: async () => ({ since_ms: 0 }),
  warn: () => {},
};

/** Starts the apps' proxy on its own port. */
export async function wayIn(t: TestContext) {
  const proxy = createProxy({ behindProxy: false, passwords: createPasswordHashes() });
  const server = createServer((asked, answer) => void proxy.handle(asked, answer));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close().closeAllConnections());
  return { proxy, port: (server.address() as AddressInfo).port };
}

/** Collects the lines that an instance prints, and can wait for one of them. */
export function listen(instance: Instance) {
  const lines: string[] = [];
  let look = () => {};
  instance.output((more) => {
    lines.push(...more.map(({ message }) => message));
    look();
  });
  return (line: RegExp) =>
    new Promise<string>((resolve) => {
      look = () => {
        const found = lines.find((one) => line.test(one));
        if (found !== undefined) resolve(found);
      };
      look();
    });
}
