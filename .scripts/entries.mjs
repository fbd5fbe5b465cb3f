import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/** The files of `dist/` that users reach, and the sources that each is bundled from. */
export const entries = {
  "lib/index": "lib/index.ts",
  "lib/client": "lib/client.ts",
  "lib/testing": "lib/testing.ts",
  "bin/svc-server": "bin/svc-server.ts",
  "lib/painting": "lib/drivers/painter/worker.ts",
  "lib/checking": "lib/store/invariants-worker.ts",
  "lib/checkpoints": "lib/store/checkpoint-worker.ts",
  "lib/static-server": "lib/drivers/box/static-server.ts",
};

const { dependencies, peerDependencies } = JSON.parse(readFileSync("package.json", "utf8"));

/** The packages that are not bundled. Users need only the types of valibot; our code needs a third of it. */
export const external = Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => name !== "valibot");

/** h3 and its server take the classes of the web from Node, as our own code does: `lib/kernel/web.ts` says why. */
export const webFromNode = {
  name: "web-from-node",
  setup({ onLoad }) {
    const names = ["AbortController", "Headers", "ReadableStream", "Request", "Response", "TextDecoder", "TextEncoder"];
    const imports = `import { ${names.join(", ")} } from "${resolve("lib/kernel/web.ts")}"; const nodeWeb = { ${names.join(", ")} };\n`;
    // srvx has classes of these names in functions, where it reads the global ones as `globalThis.Response`.
    const global = new RegExp(`\\bglobalThis\\.(${names.join("|")})\\b(?! = )`, "g");
    onLoad({ filter: /\/node_modules\/(h3|srvx)\/.*\.mjs$/ }, ({ path }) => ({
      contents: imports + readFileSync(path, "utf8").replaceAll(global, "nodeWeb.$1"),
      loader: "js",
    }));
  },
};
