import { existsSync, readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";
import type { UserRange } from "../../kernel/text/user-range.ts";
import { createOneAtATime } from "../runtime/one-at-a-time.ts";

const stored = v.record(v.string(), v.pipe(v.number(), v.integer(), v.minValue(0)));

/** The user of /etc/passwd or the range of /etc/subuid that overlaps the range. */
export function collision({ first, count }: UserRange, files = { passwd: "/etc/passwd", subuid: "/etc/subuid" }) {
  const lines = (file: string) =>
    (existsSync(file) ? readFileSync(file, "utf8").split("\n") : []).map((one) => one.split(":"));
  const isIn = (id: number) => id >= first && id < first + count;
  for (const [name, , id] of lines(files.passwd))
    if (id && isIn(Number(id))) return `the user ${name} of ${files.passwd}`;
  for (const [name, start, length] of lines(files.subuid)) {
    if (!start || !length) continue;
    const [from, to] = [Number(start), Number(start) + Number(length)];
    if (from < first + count && to > first) return `the ids of ${name} in ${files.subuid}`;
  }
  return undefined;
}

/** Gives each organization a user id, to which its files belong: a file in `folder` records the ids. */
export function createOrganizationUsers(folder: string, { first, count }: UserRange) {
  const file = join(folder, "users.json");
  const places = new Map(
    existsSync(file) ? Object.entries(v.parse(stored, JSON.parse(readFileSync(file, "utf8")))) : [],
  );
  const unwritten = new Map<string, Promise<void>>();
  const oneAtATime = createOneAtATime();
  const write = async () => {
    await writeFile(`${file}.new`, JSON.stringify(Object.fromEntries(places)), { mode: 0o600 });
    await rename(`${file}.new`, file);
  };
  return {
    /** The id of an organization. The first call waits until the id is in the file. */
    async of(organization_id: string): Promise<number> {
      let place = places.get(organization_id);
      if (place === undefined) {
        place = Math.max(-1, ...places.values()) + 1;
        if (place >= count) throw new Error(`deployments.users has room for ${count} organizations only`);
        places.set(organization_id, place);
        const mine = oneAtATime(file, write);
        unwritten.set(organization_id, mine);
        // If the write failed, the id is free for the next organization.
        mine.catch(() => places.delete(organization_id)).finally(() => unwritten.delete(organization_id));
      }
      await unwritten.get(organization_id);
      return first + place;
    },
  };
}
