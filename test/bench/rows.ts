import Database from "better-sqlite3";
import { createService } from "../../lib/index.ts";
import { source } from "./order.ts";

/**
 * Makes the database that both servers start from: one project, and some thousand deployments that are over. The rows are
 * copies of one that the service made itself, so they have its columns and its indices.
 */
const [database = "", count = "0"] = process.argv.slice(2);
const service = await createService({
  database,
  logLevel: "silent",
  deployments: { driver: { delay: () => 0, step } },
});
const headers = { authorization: `Bearer ${service.apiKey}`, "content-type": "application/json" };
const post = async (path: string, body: object) => {
  const response = await service.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  return (await response.json()) as { id: string };
};
const project = await post("/v1/projects", { name: "bench", region: "eu-west-1" });
await post("/v1/deployments", { project_id: project.id, environment: "production", source });
await service.settle();
await service.close();

async function step() {
  return { state: "done", version: "1.0.0", logs: [] } as const;
}

const db = new Database(database);
const row = db.prepare("select * from deployments").get() as Record<string, unknown>;
const names = Object.keys(row);
const insert = db.prepare(`insert into deployments (${names}) values (${names.map((name) => `@${name}`)})`);
const ids: string[] = [];
db.transaction(() => {
  for (let i = 0; i < Number(count); i++) {
    const id = `dep_01${String(i).padStart(24, "0")}`;
    ids.push(id);
    insert.run({ ...row, id });
  }
})();
db.close();
process.stdout.write(JSON.stringify({ key: service.apiKey, project_id: project.id, status: row["status"], ids }));
