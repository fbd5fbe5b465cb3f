import type { StepContext } from "../helpers/all-operations.ts";
import { pullRequest } from "../helpers/pull-requests.ts";

const source = { type: "git", repo: "acme/web", branch: "main" };

/**
 * Two pull requests: pushes and a person deploy one, which lives until its time is over; the other is closed while it
 * builds.
 */
export async function pullRequests({ call, beside, here, random }: StepContext) {
  const project = { name: `p-${random.alphanumeric(8)}`, region: "eu-west-1" };
  const { id: project_id } = (await call("projects.create", {}, project)).body;
  const config = { repo: "acme/web", branch: "main", environment: "staging", project_id, previews: true };
  const { body } = await call("integrations.create", {}, { type: "code_host", config });
  const path = `/hooks/code-host/${body.id ?? "none_01"}`;
  for (const [action, number, commit, wait] of [
    ["opened", 7, "one", "2s"],
    ["synchronize", 7, "two", "0ms"],
    ["opened", 8, "one", "2s"],
    ["closed", 8, "one", "30m"],
  ] as const) {
    await beside("POST", path, pullRequest(action, { number, commit }), { "x-github-event": "pull_request" });
    await here.service.clock.advance(wait);
  }
  await call("deployments.create", {}, { project_id, environment: "pr-7", source });
  for (const wait of ["1h", "1h"]) await here.service.clock.advance(wait);
}
