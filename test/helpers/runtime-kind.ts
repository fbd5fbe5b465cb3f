import { createDataFolders } from "../../lib/platform/runtime/data-folders.ts";
import type { Release, RuntimeKind } from "../../lib/platform/runtime/driver.ts";
import { Failure } from "../../lib/platform/runtime/failure.ts";
import { createProjectCaches } from "../../lib/platform/runtime/project-caches.ts";

const unused = () => Promise.reject(new Error("nothing is started here"));

const release: Release = { name: "", pin: "1", workers: [], schedules: [], start: unused, command: unused };

/** A runtime that accepts every source, and builds none. */
export const runtimeKind = {
  release,
  name: "stub",
  refuses: () => undefined,
  begin: async () => {},
  detail: () => "",
  find: async () => undefined,
  build: () => Promise.reject(new Failure("it builds nothing")),
  releases: () => ({ names: async () => [], remove: async () => {} }),
  caches: createProjectCaches("no-folder"),
  data: createDataFolders("no-folder"),
  close: async () => {},
} satisfies RuntimeKind & { readonly release: Release };
