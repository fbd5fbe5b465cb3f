import { Problem } from "../kernel/errors.ts";
import { shareCopyLock } from "./copy-lock.ts";
import { DatabaseError } from "./database-error.ts";
import { withoutPassword } from "./database-url.ts";
import type { OpenDatabase } from "./engine.ts";
import { loadDriver } from "./postgres.ts";
import { createPostgresEngine } from "./postgres-engine.ts";
import { isLost } from "./postgres-errors.ts";
import { createLink, type Link } from "./postgres-link.ts";
import { checkServer, migratePostgres } from "./postgres-migrate.ts";
import { violationsIn } from "./postgres-rows.ts";

/** The reason and its remedy, in one sentence. */
export function describePostgres(error: unknown): string {
  const code = String((error as { code?: unknown }).code ?? "");
  const { message } = error as Error;
  if (error instanceof Problem && error.cause) return describePostgres(error.cause);
  if (code === "28P01" || /^SASL/.test(message) || (code === "28000" && message.endsWith(" does not exist")))
    return "its server refuses the user or the password; correct the URL, or set PGPASSWORD";
  if (/^28/.test(code)) return `its server lets nobody in like this (${message}); change its pg_hba.conf, or the URL`;
  if (code === "3D000") return "its server has no database of this name; make it first";
  if (code === "42501") return `the user may not make or use the tables there (${message}); give that right`;
  if (code === "53300")
    return `its server takes no more connections, and a process of the service needs up to 17 (${message}); raise the limit, or stop other programs`;
  if (code === "08P01")
    return `a connection pooler in between refuses the connection (${message}); connect to the server of PostgreSQL itself`;
  if (code === "25006") return message;
  if (code === "57P03") return "its server is starting or stopping; try again in a few seconds";
  if (code === "ENOTFOUND") return "no host of this name is known here; correct the URL";
  if ((error as { syscall?: unknown }).syscall === "open")
    return `a file that its URL names cannot be read (${message})`;
  if (/SSL/.test(message)) return `${message}; set sslmode in the URL`;
  if (isLost(error)) return "no server answers there; start PostgreSQL, or correct the URL";
  return message;
}

/**
 * A database of PostgreSQL; `mayMigrate` says whether its tables may be made or changed. Throws a DatabaseError, which
 * does not show the password, for one that cannot be used.
 */
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
      violations: (signal) => violationsIn(driver, url, signal),
      release: () => {},
    };
  } catch (error) {
    await link?.end();
    throw new DatabaseError(withoutPassword(url), describePostgres(error), error);
  }
}
