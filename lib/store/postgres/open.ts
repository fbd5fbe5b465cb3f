import { DatabaseError } from "../database-error.ts";
import { withoutPassword } from "../database-url.ts";
import type { OpenDatabase } from "../engine.ts";
import { violationsIn } from "./check-invariants.ts";
import { shareCopyLock } from "./copy-lock.ts";
import { loadDriver } from "./driver.ts";
import { createPostgresEngine } from "./engine.ts";
import { describePostgres } from "./errors.ts";
import { checkServer, migratePostgres } from "./migrate.ts";
import { createLink, type Link } from "./write-connections.ts";

/** Opens a database; `mayMigrate` allows changes of its tables. Throws a DatabaseError, which names no password. */
export async function openPostgres(
  url: string,
  { isServer, mayMigrate = isServer }: { readonly isServer: boolean; readonly mayMigrate?: boolean },
): Promise<OpenDatabase> {
  let link: Link | undefined;
  try {
    const driver = await loadDriver();
    let created = false;
    link = createLink({
      driver,
      url,
      async check(client, isOnly) {
        await checkServer(client);
        await shareCopyLock(client);
        if (isOnly) created = await migratePostgres(client, { mayChange: mayMigrate });
      },
    });
    link.give(await link.take());
    return {
      ...(await createPostgresEngine(driver, url, link)),
      created,
      violations: (signal) => violationsIn(url, signal),
      release: () => {},
    };
  } catch (error) {
    await link?.end();
    throw new DatabaseError(withoutPassword(url), describePostgres(error), error);
  }
}
