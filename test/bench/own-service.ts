import { createService } from "../../lib/index.ts";
import { serve } from "./server.ts";

/**
 * The service as `start` runs it, with durable commits: on a file, or on PostgreSQL with its key. Deployments stay
 * queued, so only HTTP is measured.
 */
const [database = "", encryptionKey, seed = ""] = process.argv.slice(2);
const day_ms = 86_400_000;
const service = await createService({
  database,
  ...(encryptionKey !== undefined && { encryptionKey }),
  ...(seed && { seed: JSON.parse(seed) }),
  mode: "start",
  rateLimit: 1_000_000_000,
  deployments: { driver: { delay: () => day_ms, step: () => Promise.reject(new Error("nothing is due")) } },
});
const { url } = await service.listen({ port: 0 });
serve(url, service.close);
