import { readFileSync } from "node:fs";

/** The files of `dist/` that users reach, and the sources that each is bundled from. */
export const entries = {
  "lib/index": "lib/index.ts",
  "lib/client": "lib/client.ts",
  "lib/testing": "lib/testing.ts",
  "bin/svc-server": "bin/svc-server.ts",
  "lib/painting": "lib/drivers/painter/worker.ts",
};

const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));

/** The packages that stay outside. Of valibot users need the types alone; what we need of its code is a third of it. */
export const external = Object.keys(dependencies).filter((name) => name !== "valibot");
