/**
 * A server that receives concurrent requests to create projects. It kills itself at the given number of answers,
 * between the answers of one commit. It prints each answer.
 */
import { createService } from "../../lib/index.ts";
import { bearer } from "./headers.ts";

const [, , database = "", key = "", encryptionKey = "", count = "", last = "", prefix = ""] = process.argv;
const service = await createService({
  mode: "start",
  database,
  ...(encryptionKey && { encryptionKey }),
  logLevel: "silent",
  rateLimit: 0,
});
const headers = { ...bearer(key), "content-type": "application/json" };
let answers = 0;
const ask = async (i: number) => {
  const name = `${prefix}-${i}`;
  const body = JSON.stringify({ name, region: "eu" });
  const asked = { method: "POST", headers: { ...headers, "idempotency-key": name }, body };
  const answer = (await (await service.fetch("/v1/projects", asked)).json()) as { id: string };
  // Writing to a pipe is synchronous, so a printed line survives the kill.
  process.stdout.write(`${name} ${answer.id}\n`);
  answers += 1;
  if (answers === Number(last)) process.kill(process.pid, "SIGKILL");
};
await Promise.all(Array.from({ length: Number(count) }, (_, i) => ask(i)));
await service.close();
