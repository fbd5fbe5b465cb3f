import assert from "node:assert/strict";
import { test } from "node:test";
import { createRepositories } from "../../lib/platform/repositories/repositories.ts";
import { temporaryFolder } from "../helpers/program.ts";

test("an organization has at most 16 git requests at once, even if they come together", async (t) => {
  const repositories = createRepositories(temporaryFolder(t), { pushLimit: 1_000_000 });
  t.after(repositories.close);
  const push = {
    ...{ method: "POST", service: "git-receive-pack" as const, query: "", header: () => undefined, seen: () => {} },
    body: (async function* () {})(),
  };
  const serve = (_: unknown, i: number) =>
    repositories.serve({ organization_id: "org_a", repo: `app/${i}` }, push, true);
  const answers = await Promise.allSettled(Array.from({ length: 17 }, serve));
  const refused = answers.flatMap((one) => (one.status === "rejected" ? [one.reason.message] : []));
  assert.deepEqual(refused, ["16 git requests of this organization run already; try again later"]);
  for (const one of answers) if (one.status === "fulfilled") one.value?.end();
});
