import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/** The files in `dist/` for users, each with its source file. */
export const entries = {
  "lib/index": "lib/index.ts",
  "lib/client": "lib/client.ts",
  "lib/testing": "lib/testing.ts",
  "bin/svc-server": "bin/svc-server.ts",
  "lib/painting": "lib/drivers/painter/worker.ts",
  "lib/checking": "lib/store/sqlite/invariants-worker.ts",
  "lib/checkpoints": "lib/store/sqlite/checkpoint-worker.ts",
  "lib/static-server": "lib/platform/box/static-server.ts",
};

const { dependencies, peerDependencies } = JSON.parse(readFileSync("package.json", "utf8"));

/**
 * The packages that are not bundled. valibot is bundled, because our code needs a third of it. Of
 * nodemailer, the parser of addresses is bundled, because options are checked without the package too.
 */
export const external = Object.keys({ ...dependencies, ...peerDependencies })
  .filter((name) => name !== "valibot")
  .flatMap((name) =>
    name === "nodemailer" ? ["nodemailer/lib/smtp-connection", "nodemailer/lib/mail-composer"] : [name],
  );

/** h3 and its server use Node's web classes, as our own code does. `lib/kernel/node/web.ts` explains why. */
export const webFromNode = {
  name: "web-from-node",
  setup({ onLoad }) {
    const own = ["AbortController", "TextDecoder", "TextEncoder"];
    const imports = `import { fetchClasses, readableStreamClass, ${own.join(", ")} } from "${resolve("lib/kernel/node/web.ts")}"; const nodeWeb = { ...fetchClasses(), ReadableStream: readableStreamClass(), ${own.join(", ")} };\n`;
    const names = [...own, "Headers", "ReadableStream", "Request", "Response"];
    // srvx declares classes of these names inside functions; it refers to the global ones as `globalThis.Response`.
    const global = new RegExp(`\\bglobalThis\\.(${names.join("|")})\\b(?! = )`, "g");
    onLoad({ filter: /\/node_modules\/(h3|srvx)\/.*\.mjs$/ }, ({ path }) => ({
      contents: imports + readFileSync(path, "utf8").replaceAll(global, "nodeWeb.$1"),
      loader: "js",
    }));
  },
};

/** Modules that load after the service, or that need most of it. */
const besideService = [
  "bin/doctor.ts",
  "bin/keys.ts",
  "bin/mail.ts",
  "bin/seed.ts",
  "lib/composition/platform.ts",
  "lib/drivers/tracing/opentelemetry.ts",
  "lib/http/h3-routes.ts",
  "lib/store/postgres/open.ts",
].map((file) => resolve(file));

/**
 * esbuild makes a chunk of the files that are reached from the same entries and dynamic imports, and each chunk costs
 * a start 0.5 ms. Here, modules that import parts of the service are made to import all of it, so that they do not split
 * it: 34 chunks instead of 54. The import itself is dropped, because the service has no side effects.
 */
export const serviceInOneChunk = {
  name: "service-in-one-chunk",
  setup({ onLoad }) {
    onLoad({ filter: /\/(?:bin|lib)\/.*\.ts$/ }, ({ path }) =>
      besideService.includes(path)
        ? { contents: `${readFileSync(path, "utf8")}\nimport "${resolve("lib/service.ts")}";\n`, loader: "ts" }
        : undefined,
    );
  },
};
