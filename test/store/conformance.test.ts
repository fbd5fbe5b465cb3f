import { test } from "node:test";
import { engines } from "../helpers/engines.ts";
import type { Check } from "./conformance/check.ts";
import { cluster } from "./conformance/cluster.ts";
import { connection, statement } from "./conformance/connection.ts";
import { engine } from "./conformance/engine.ts";
import { images, openDatabase } from "./conformance/open-database.ts";

/** The store's expectations of every engine. A missing check for a member of the interface is a type error. */
const members: Record<string, Check> = {
  ...openDatabase,
  ...engine,
  ...connection,
  ...statement,
  ...cluster,
  ...images,
};

for (const { kind, open } of engines) {
  for (const [member, [says, check]] of Object.entries(members))
    test(`${kind}: ${member} ${says}`, async (t) => check({ kind, ...(await open(t)) }, t));
}
