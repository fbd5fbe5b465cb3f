import Database from "better-sqlite3";
import { createService } from "../../lib/index.ts";
import { source } from "./request-body.ts";
import type { Rows } from "./servers.ts";

/**
 * Makes the servers' initial database: fifty keys, one project, and the given number of finished deployments. The rows
 * are copies of a row that the service wrote, so they have its columns and indices.
 */
const [file = "", count = "0"] = process.argv.slice(2);
const service = await createService({
  database: file,
  logLevel: "silent",
  deployments: { driver: { delay: () => 0, step } },
});
const headers = { authorization: `Bearer ${service.apiKey}`, "content-type": "application/json" };
const post = async (path: string, body: object) => {
  const response = await service.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  return (await response.json()) as { id: string; key?: string };
};
const project = await post("/v1/projects", { name: "bench", region: "eu-west-1" });
await post("/v1/deployments", { project_id: project.id, environment: "production", source });
await service.settle();
const keys = await Promise.all(Array.from({ length: 50 }, (_, i) => post("/v1/api-keys", { name: `bench ${i}` })));
await service.close();

async function step() {
  return { state: "done", version: "1.0.0", logs: [] } as const;
}

const db = new Database(file);
const row = db.prepare("select * from deployments").get() as Record<string, unknown>;
const names = Object.keys(row);
const insert = db.prepare(`insert into deployments (${names}) values (${names.map((name) => `@${name}`)})`);
const ids: string[] = [];
const every = Math.max(1, Number(count) / 10_000);
db.transaction(() => {
  for (let i = 0; i < Number(count); i++) {
    const id = `dep_01${String(i).padStart(24, "0")}`;
    if (i % every === 0) ids.push(id);
    insert.run({ ...row, id });
  }
})();
db.close();
const made = { file, key: service.apiKey ?? "", keys: keys.map(({ key }) => key ?? ""), project_id: project.id, ids };
process.stdout.write(JSON.stringify(made satisfies Rows));
