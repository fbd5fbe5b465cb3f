import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";
import { plainFiles } from "../box/tenant-files.ts";

const stored = v.object({
  commit: v.string(),
  /** The folder in the repository where it was built and runs; empty for the top. */
  root: v.optional(v.string(), ""),
  start: v.nullable(v.string()),
  folder: v.nullable(v.string()),
  // Releases of earlier versions lack the fields that have a default.
  fallback: v.optional(v.nullable(v.string()), null),
  port: v.optional(v.nullable(v.number()), null),
  /** Whether some file lists the required packages. */
  hasInstalled: v.optional(v.boolean(), true),
  /** Whether its development dependencies were removed. */
  isPruned: v.optional(v.boolean(), false),
  /** Sentences about parts of its source that were not fetched, which explain a failed start. */
  missing: v.optional(v.array(v.string()), []),
  /** A sentence about a language that is not built here. It explains a start that failed for lack of a program. */
  otherLanguage: v.optional(v.string()),
  /** The variables that a file such as `.env.example` names. */
  example: v.optional(v.object({ file: v.string(), names: v.array(v.string()) })),
  variables: v.optional(v.record(v.string(), v.string()), {}),
  health: v.nullable(v.string()),
  bytes: v.number(),
  workers: v.optional(v.array(v.object({ name: v.string(), command: v.string() })), []),
  schedules: v.optional(
    v.array(v.object({ name: v.string(), cron: v.string(), command: v.string(), timeout_s: v.number() })),
    [],
  ),
});

/** A stored release. It has either a start command or a folder of static files. */
export type StoredRelease = v.InferOutput<typeof stored>;

const nameOf = /^dep_[0-9A-Z]{26}$/;

/** Releases on disk, each in a folder named after the deployment that built it. `release.json` is written last. */
export function createReleases(folder: string, files = () => plainFiles) {
  const placeOf = (id: string) => {
    if (!nameOf.test(id)) throw new Error(`${id} is not the name of a release`);
    return join(folder, id);
  };
  const remove = (id: string) => files().remove(placeOf(id));
  return {
    appOf: (id: string) => join(placeOf(id), "app"),
    temporaryOf: (id: string) => join(placeOf(id), "tmp"),

    /** Creates an empty folder. Removes the files of an interrupted build. */
    async create(id: string): Promise<void> {
      await remove(id);
      await mkdir(join(placeOf(id), "tmp"), { recursive: true });
      await mkdir(join(placeOf(id), "app"));
    },

    async replaceApp(id: string, write: (to: string) => Promise<void>): Promise<void> {
      const [app, built] = [join(placeOf(id), "app"), join(placeOf(id), "built")];
      await write(built);
      await files().remove(app);
      await rename(built, app);
    },

    async complete(id: string, release: StoredRelease): Promise<void> {
      await files().remove(join(placeOf(id), "tmp"));
      await writeFile(join(placeOf(id), "release.json.new"), JSON.stringify(release));
      await rename(join(placeOf(id), "release.json.new"), join(placeOf(id), "release.json"));
    },

    async find(id: string): Promise<StoredRelease | undefined> {
      const file = join(placeOf(id), "release.json");
      if (!existsSync(file)) return undefined;
      const result = v.safeParse(stored, JSON.parse(await readFile(file, "utf8")));
      return result.success ? result.output : undefined;
    },

    remove,

    names: async () => (existsSync(folder) ? (await readdir(folder)).filter((name) => nameOf.test(name)) : []),
  };
}
export type Releases = ReturnType<typeof createReleases>;
