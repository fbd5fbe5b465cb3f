import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { openPostgres } from "../../lib/store/postgres/open.ts";
import { bearer } from "../helpers/headers.ts";
import { isLong } from "../helpers/properties.ts";
import { until } from "../helpers/until.ts";
import { startProcesses } from "./processes.ts";
import { severalServices } from "./several.ts";

const secret = "of the connected app";
/** No server listens there: deliveries fail and wait. */
const nowhere = "127.0.0.1:9";
const limits = isLong ? { deployments: 100, generations: 3 } : { deployments: 15, generations: 3 };
const organizations = 4;
/** The code host's app serves all organizations. */
const served = Object.fromEntries(
  ["acme", ...Array.from({ length: organizations }, (_, i) => `organization ${i}`)].map((name) => [name, ["*"]]),
);
const writers = 12;
const writes = isLong ? 300 : 15;
const git = (branch: string) => ({ type: "git", repo: "acme/web", branch });

/** Random numbers that are the same in each run, for one writer. */
function createChance(seed: number) {
  let state = seed + 1;
  return (below: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

/** The options of the other processes; the first gets the same options below. */
const variables = {
  SVC_RATE_LIMIT: "0",
  SVC_DEPLOYMENTS_CONCURRENCY: String(limits.deployments),
  SVC_GENERATIONS_CONCURRENCY: String(limits.generations),
  SVC_GENERATIONS_MEDIA: "fast",
  SVC_CODE_HOST_SECRET: secret,
  SVC_CODE_HOST_ORGANIZATIONS: JSON.stringify(served),
  SVC_OUTBOUND_ALLOW: nowhere,
};

/** A push to the connected app. It deploys in every organization with an integration of the repository. */
function pushOf(n: number): [body: object, headers: object] {
  const body = { ref: "refs/heads/main", after: String(n).padStart(40, "0"), repository: { full_name: "acme/web" } };
  const signature = createHmac("sha256", secret).update(JSON.stringify(body)).digest("hex");
  const headers = {
    "x-github-event": "push",
    "x-github-delivery": `${n}`,
    "x-hub-signature-256": `sha256=${signature}`,
  };
  return [body, headers];
}

test(`${writers} writers in three processes, in ${organizations} organizations and across them, leave a right database`, {
  timeout: 1_800_000,
}, async (t) => {
  const { services, url, ask, key } = await severalServices(t, 1, {
    rateLimit: 0,
    deployments: { concurrency: limits.deployments },
    generations: { concurrency: limits.generations, media: "fast" },
    codeHost: { secret, organizations: served },
    outbound: { allow: [nowhere] },
  });
  const service = services[0];
  assert.ok(service);
  const processes = await startProcesses(t, url, 2, variables);
  const bases = [(await service.listen({ port: 0 })).url, ...processes.urls()];
  const owners = [key];
  for (let i = 1; i < organizations; i++) {
    await service.organizations.create({ name: `organization ${i}`, plan: "pro" });
    owners.push((await service.keys.create({ organization: `organization ${i}` })).key);
  }
  const statuses: Record<string, number> = {};
  const send = async (base: string, owner: string, method: string, path: string, body?: object, more = {}) => {
    const text = body && JSON.stringify(body);
    const headers = { ...bearer(owner), ...(text && { "content-type": "application/json" }), ...more };
    const response = await fetch(base + path, { method, headers, ...(text && { body: text }) });
    const answer = await response.text();
    assert.ok(response.status < 500, `${method} ${path}: ${response.status} ${answer}`);
    const name = `${method} ${path.replace(/[a-z]+_[0-9A-Z]{26}/g, "{id}")} ${response.status}`;
    statuses[name] = (statuses[name] ?? 0) + 1;
    return { status: response.status, body: answer ? JSON.parse(answer) : undefined };
  };
  const push = (base: string, n: number) => send(base, "sk_live_demo_nobody", "POST", "/hooks/code-host", ...pushOf(n));

  for (const [i, owner] of owners.entries()) {
    const made = (await send(bases[0] ?? "", owner, "POST", "/v1/projects", { name: "kept", region: "eu-west-1" }))
      .body;
    const config = { repo: "acme/web", branch: "main", environment: "pushed", project_id: made.id };
    await send(bases[0] ?? "", owner, "POST", "/v1/integrations", { type: "code_host", config });
    await send(bases[0] ?? "", owner, "POST", "/v1/webhooks", { url: `https://${nowhere}/${i}`, events: ["*"] });
  }

  const write = async (writer: number) => {
    const chance = createChance(writer);
    const organization = writer % organizations;
    const owner = owners[organization] ?? "";
    const projects: string[] = [];
    const deployments: string[] = [];
    const pick = (list: readonly string[]) => list[chance(Math.max(1, list.length))];
    for (let n = 0; n < writes; n++) {
      const base = bases[chance(bases.length)] ?? "";
      const call = (method: string, path: string, body?: object) => send(base, owner, method, `/v1${path}`, body);
      const [project_id, deployment] = [pick(projects), pick(deployments)];
      const kind = chance(16);
      if (kind === 0 || project_id === undefined) {
        const { status, body } = await call("POST", "/projects", {
          name: `project ${chance(40)}`,
          region: "eu-west-1",
        });
        if (status === 201) projects.push(body.id);
      } else if (kind <= 5 || deployment === undefined) {
        const order = { project_id, environment: ["production", "staging"][chance(2)], source: git(`w${writer}-${n}`) };
        const { status, body } = await call("POST", "/deployments", order);
        if (status === 201) deployments.push(body.id);
      } else if (kind === 6) await call("POST", `/deployments/${deployment}/cancel`);
      else if (kind === 7) await call("POST", `/deployments/${deployment}/rollback`);
      else if (kind === 8) {
        await call("DELETE", `/projects/${project_id}`);
        projects.splice(projects.indexOf(project_id), 1);
      } else if (kind === 9) await push(base, writer * 1_000_000 + n);
      else if (kind === 10) await call("PUT", "/organization", { name: `name ${chance(organizations + 1)}` });
      else if (kind === 11)
        await call("PUT", `/projects/${project_id}/environments/production`, { variables: { N: `${n}` } });
      else if (kind === 12) {
        const { body } = await call("POST", "/generations", {
          model: "image-draft",
          prompt: `a lake ${n}`,
          resolution: "512",
        });
        if (chance(3) === 0) await call("POST", `/generations/${body.id}/cancel`);
      } else if (kind === 13) {
        const { body } = await call("POST", "/api-keys", { name: "short", scopes: ["*"] });
        const using = send(base, body.key, "POST", "/v1/projects", {
          name: `of a key ${writer} ${n}`,
          region: "eu-west-1",
        });
        await Promise.all([using, call("DELETE", `/api-keys/${body.id}`)]);
      } else if (kind === 14) {
        const name = (await call("GET", "/organization")).body.name;
        // Another writer may have renamed the organization.
        const made = await service.keys.create({ organization: name, role: "developer" }).catch(() => undefined);
        const user = made && (await send(base, made.key, "GET", "/v1/me")).body.user?.id;
        if (user) await Promise.all([call("DELETE", `/users/${user}`), call("POST", `/users/${user}/suspend`)]);
      } else {
        const { data } = (await call("GET", "/webhooks")).body;
        const status = ["active", "inactive"][chance(2)];
        await call("PATCH", `/webhooks/${data[0].id}`, { status });
      }
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, i) => write(i)));

  for (const [table, path] of [
    ["deployments", "queued', 'building', 'deploying"],
    ["generations", "queued', 'in_progress"],
  ])
    for (let done = 0; done < 100_000; done++) {
      const [row] = await ask(
        `select id, organization_id from ${table} where status in ('${path}') order by id limit 1`,
      );
      if (!row) break;
      const [owner] = await ask(`select min(id) as id from organizations where id < '${row.organization_id}'`);
      assert.ok(owner);
      const at = (await ask("select id from organizations order by id")).findIndex(
        ({ id }) => id === row.organization_id,
      );
      await send(bases[0] ?? "", owners[at] ?? "", "GET", `/v1/${table}/${row.id}?wait=60`);
    }
  const events = await ask(`select event, organization_id, data::json->>'deployment_id' as id from events order by id`);
  t.diagnostic(`${events.length} events; ${JSON.stringify(statuses)}`);
  const [{ deadlocks }] = (await ask(
    "select deadlocks::int from pg_stat_database where datname = current_database()",
  )) as [{ deadlocks: number }];
  t.diagnostic(`${deadlocks} transactions ran again because two waited for each other`);
  assert.equal(deadlocks, 0);
  // Jobs go on after the last status, such as those that delete the rows of a removed project.
  const left = "select id, kind, state from jobs where kind not similar to '(service|deliveries).%'";
  await until(
    async () => (await ask(left)).length === 0,
    () => send(bases[0] ?? "", key, "GET", "/v1/me"),
  );
  assert.deepEqual((await processes.stop()).codes, [0, 0]);
  await service.close();
  assert.deepEqual(await ask(left), []);
  const opened = await openPostgres(url, { isServer: false });
  t.after(() => opened.engine.close());
  assert.deepEqual(await opened.violations(new AbortController().signal), []);
});
