import { createService } from "../../lib/index.ts";
import { serve } from "./server.ts";

/** The service as `start` runs it: on a file, durable. Deployments stay queued, so only HTTP is measured. */
const [database = ""] = process.argv.slice(2);
const day_ms = 86_400_000;
const service = await createService({
  database,
  mode: "start",
  rateLimit: 1_000_000_000,
  deployments: { driver: { delay: () => day_ms, step: () => Promise.reject(new Error("nothing is due")) } },
});
const { url } = await service.listen({ port: 0 });
serve(url, service.close);
