import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Client } from "../../lib/index.ts";
import { compiled } from "./bundle.ts";
import type { ListeningWorld } from "./raw-sockets.ts";

/** The folder in which programs find the package. */
const packageFolder = compiled("../");

export interface Prepared extends ListeningWorld {
  readonly client: Client;
}
/** Makes records in states that only further calls restore, such as an archived project. */
export async function fillBefore({ client, service, project }: Prepared): Promise<string> {
  const shelved = await project("shelved");
  await client.projects.archive({ id: shelved.id });
  const { id } = await project("shop");
  await client.webhooks.create({ url: "https://old.inbox.test", events: ["*"], secret: "hunter2" });
  const [hook] = (await client.webhooks.list()).data;
  const config = {
    webhook_url: "https://chat.inbox.test/services/T0/B0",
    channel: "#deploys",
    events: ["*"] as ["*"],
  };
  await client.integrations.create({ type: "chat", config });
  const delivery = await client.webhooks.test({ id: hook?.id ?? "" });
  await client.keys.create({ name: "ci", scopes: ["projects:read"] });
  await client.users.invite({ email: "grace@acme.test", role: "developer" });
  await service.settle();
  await client.webhooks.update({ id: hook?.id ?? "", status: "inactive" });
  await service.scenarios.add({ match: { branch: "x" }, outcome: { result: "fail" } });
  const source = { type: "git", repo: "acme/web" } as const;
  await client.deployments.create({ project_id: id, environment: "production", source });
  await service.clock.advance("2s");
  return `/webhooks/${hook?.id}/${delivery.id}`;
}

/** Runs a recorded test file, which has no type syntax, so Node runs it directly. */
export async function passes(text: string): Promise<void> {
  const file = join(packageFolder, `recorded-${process.pid}.test.mjs`);
  writeFileSync(file, text);
  // With this variable, which the outer runner sets, node would skip the file and end well.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, ["--test", file], { cwd: packageFolder, env }).catch(
    (error) => assert.fail(`${text}\n${error.stdout}${error.stderr}`),
  );
  assert.match(stdout, /^[#ℹ] pass 1$/m, stdout);
}
