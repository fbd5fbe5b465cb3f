import { sql } from "kysely";
import { createReadableStream } from "../kernel/node/web.ts";
import type { Assets } from "./asset-files.ts";
import type { Queries } from "./query.ts";
import type { Store } from "./store.ts";

/** Bytes per part. The last part of a file may be shorter. */
export const part_bytes = 1024 * 1024;

function assetsRepository(query: Queries) {
  return {
    /** Waits for the result: a part is long, so parts are not sent together. */
    insert: query.insertUnique("asset_parts"),
    size: query.first((db, p: { name: string }) =>
      db.selectFrom("asset_parts").select(sql<number | null>`sum(bytes)`.as("bytes")).where("name", "=", p.name),
    ),
    part: query.first((db, p: { name: string; part: number }) =>
      db.selectFrom("asset_parts").select("content").where("name", "=", p.name).where("part", "=", p.part),
    ),
    remove: query.change((db, p: { name: string }) => db.deleteFrom("asset_parts").where("name", "=", p.name)),
    names: query.all((db, _: object) => db.selectFrom("asset_parts").select("name").where("part", "=", sql.lit(0))),
  };
}

/** Files in database rows, shared by all processes of a service. */
export function assetsInDatabase(store: Store): Assets {
  const rows = store.using(assetsRepository);
  const partOf = async (name: string, part: number) => {
    const found = await rows().part({ name, part });
    if (!found) throw new Error("there is no such file");
    return Buffer.from(found.content, "base64");
  };
  const size = async (name: string) => (await rows().size({ name }))?.bytes ?? undefined;
  /** The bytes of one part between `start` and `end`, which are offsets in the file and both inclusive. */
  const slice = async (name: string, part: number, start: number, end: number) =>
    (await partOf(name, part)).subarray(Math.max(0, start - part * part_bytes), end + 1 - part * part_bytes);
  const read = async (name: string, start: number, end: number) => {
    const [first, last] = [start, end].map((at) => Math.floor(at / part_bytes)) as [number, number];
    const parts: Buffer[] = [];
    for (let part = first; part <= last; part++) parts.push(await slice(name, part, start, end));
    return Buffer.concat(parts);
  };
  return {
    // Safe, because only one job at a time writes a given file.
    store: (name, bytes) =>
      store.transaction("rows", async (tx) => {
        await rows(tx).remove({ name });
        // An empty file has one part too.
        for (let part = 0; part === 0 || part * part_bytes < bytes.length; part++) {
          const content = Buffer.from(bytes.subarray(part * part_bytes, (part + 1) * part_bytes));
          await rows(tx).insert({ name, part, bytes: content.length, content: content.toString("base64") });
        }
      }),
    async find(name) {
      const bytes = await size(name);
      return bytes === undefined ? undefined : read(name, 0, bytes - 1);
    },
    size,
    async read(name, start, end) {
      if (end - start < part_bytes) return read(name, start, end);
      let part = Math.floor(start / part_bytes);
      return createReadableStream({
        async pull(controller) {
          controller.enqueue(await slice(name, part, start, end));
          part += 1;
          if (part * part_bytes > end) controller.close();
        },
      });
    },
    remove: async (name) => void (await store.transaction("rows", (tx) => rows(tx).remove({ name }))),
    names: async () => (await rows().names({})).map(({ name }) => name),
    // The snapshot of the database includes these rows.
    snapshotable: { save: () => undefined, load: () => {} },
  };
}
