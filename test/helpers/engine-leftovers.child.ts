// Frees what the engine of a test left, once stdin ends: at the end of the test, or of its process.
import { once } from "node:events";
import { rmSync } from "node:fs";
import { freeFolder, freeNetwork } from "./engine-leftovers.ts";

const [folder = "", subnet = ""] = process.argv.slice(2);
await once(process.stdin.resume(), "end");
freeFolder(folder);
freeNetwork(subnet);
rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
