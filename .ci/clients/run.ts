// Runs the stories of the generated clients in FOLDER against a service that listens: `node --import tsx run.ts FOLDER`.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { createService } from "../../lib/index.ts";

const [, , folder = "."] = process.argv;
const service = await createService({ clock: "100x" });
const { url } = await service.listen({ port: 0 });
const { stories } = await import(pathToFileURL(resolve(folder, "stories.ts")).href);
for (const [name, story] of Object.entries<(base: string, key: string) => Promise<void>>(stories)) {
  await story(`${url}/v1`, service.apiKey);
  process.stdout.write(`${name} works\n`);
}
await service.close();
