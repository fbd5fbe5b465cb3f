import type { Client } from "pg";
import { etagOf } from "../asset-files.ts";
import { withoutPassword } from "../database-url.ts";
import { fingerprintOf } from "../encryption.ts";
import { migrations, newerSchema } from "../migrate.ts";
import { lostFiles } from "../transfer/copy.ts";
import { copySetting, unfinished } from "../transfer/copy-mark.ts";
import { filesOf } from "../transfer/copy-postgres.ts";
import { settingOf } from "../transfer/copy-sides.ts";
import type { Ask, Row } from "../transfer/copy-tables.ts";
import { askOf, schemaOf } from "./command-connection.ts";
import { checkServer, migratePostgres } from "./migrate.ts";

/** The input of the checks of `svc-server doctor`. */
export interface Inspected {
  readonly client: Client;
  readonly url: string;
  /** The encryption key from the options, if given. */
  readonly key: () => Buffer | undefined;
  /** The folder of generation files; undefined if they are in the database. */
  readonly folder: string | undefined;
  /** Whether a server may migrate the schema when it starts. */
  readonly mayMigrate: boolean;
  readonly now: () => number;
}

async function one(ask: Ask, text: string) {
  const [row = {}] = await ask(text);
  return row;
}

const olderTables = "not checked, because the tables are of an older version; the next start updates them";
const megabyte = 1_048_576;
/** The largest accepted clock difference. Links and keys expire by the clock. */
const maxAhead_ms = 5_000;

/** Each check returns what it found, or throws an error that says how to fix it. */
export const postgresChecks: Readonly<Record<string, (at: Inspected) => Promise<string>>> = {
  async server({ client }) {
    await checkServer(client);
    const { version } = await one(askOf(client), "select current_setting('server_version') as version");
    return `PostgreSQL ${version}`;
  },
  async database({ client, url }) {
    const { bytes } = await one(askOf(client), "select pg_database_size(current_database()) as bytes");
    return `${withoutPassword(url)} answers, ${Math.ceil(Number(bytes) / megabyte)} MB`;
  },
  async durability({ client }) {
    const text = "select current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes";
    const off = Object.entries(await one(askOf(client), text)).flatMap(([name, value]) =>
      value === "on" ? [] : [name],
    );
    if (off.length === 0) return "a commit is on the server's disk before it is answered";
    throw new Error(`a power cut of the server may lose or damage what was answered; set ${off.join(" and ")} to on`);
  },
  async schema({ client, mayMigrate }) {
    const ask = askOf(client);
    const [found, known] = [await schemaOf(ask), migrations().length];
    if (found > known) throw new Error(newerSchema(found, known));
    if (found === known) {
      await migratePostgres(client, { mayChange: false });
      if ((await settingOf(ask, copySetting)) !== undefined) throw new Error(unfinished);
      return `schema ${found}, that of this version`;
    }
    if (!mayMigrate) throw new Error(`its schema is ${found}, and this version has ${known}; run svc-server migrate`);
    return found === 0
      ? "no tables yet; svc-server start makes them"
      : `schema ${found}; a start updates it to ${known}`;
  },
  async collation({ client }) {
    const other = await askOf(client)(`select relname as table, attname as column, collname as collation
      from pg_attribute join pg_class on pg_class.oid = attrelid join pg_collation on pg_collation.oid = attcollation
      where relnamespace = current_schema()::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped
        and collname <> 'C' and relname <> 'migrations' order by 1, 2 limit 1`);
    const [first] = other;
    if (!first) return 'text is compared by its bytes (COLLATE "C"), whatever the database\'s own collation is';
    throw new Error(
      `the column ${first["table"]}.${first["column"]} compares text as ${first["collation"]}, so pages and queues would miss rows; move the service into a new database, with svc-server copy by way of a file`,
    );
  },
  async "encryption key"({ client, key: given }) {
    const key = given();
    const vault = (await schemaOf(askOf(client))) === 0 ? undefined : await settingOf(askOf(client), "vault");
    if (key === undefined) return "not given here; a start needs it, in SVC_ENCRYPTION_KEY or --key-file";
    if (vault === undefined) return "given; the first start begins to use it";
    if (vault === fingerprintOf(key)) return "given, and it decrypts the secrets";
    throw new Error("the secrets were encrypted with another key; give the key that belongs to this database");
  },
  async files({ client, folder }) {
    if ((await schemaOf(askOf(client))) < migrations().length) return olderTables;
    const files = filesOf(askOf(client), folder);
    const lost = await lostFiles(askOf(client), async (id) => {
      const bytes = await files.find(id);
      return bytes && etagOf(bytes);
    });
    const [first] = lost;
    if (first === undefined) return "all files of generations are present and unchanged";
    const where = folder ?? "the table asset_parts";
    throw new Error(
      `${lost.length} of the files of generations are missing or changed, such as that of ${first}; restore ${where} from a backup`,
    );
  },
  async runtimes({ client }) {
    if ((await schemaOf(askOf(client))) < migrations().length) return olderTables;
    const found = await askOf(client)("select host, names, lease_until from runtimes order by host, id");
    if (found.length === 0) return "no server has a runtime, so deployments are simulated";
    const { now } = await one(askOf(client), "select extract(epoch from clock_timestamp()) * 1000 as now");
    const isUp = (row: Row) => Date.parse(String(row["lease_until"])) > Number(now);
    const says = found.map((row) => {
      const at = `${row["names"]} on ${row["host"]}`;
      return isUp(row) ? `${at} is up` : `${at} is down since ${row["lease_until"]}`;
    });
    const waits = "; deployments wait for it, and are simulated after a start with --runtime simulated";
    return says.join(", ") + (found.some(isUp) ? "" : waits);
  },
  async "database clock"({ client, now }) {
    const before = now();
    const answer = await one(askOf(client), "select extract(epoch from clock_timestamp()) * 1000 as now");
    const trip_ms = now() - before;
    const ahead_ms = Math.round(Number(answer["now"]) - before - trip_ms / 2);
    const says = `${Math.abs(ahead_ms)} ms ${ahead_ms < 0 ? "behind" : "ahead of"} this machine's; a round trip takes ${trip_ms} ms`;
    if (Math.abs(ahead_ms) <= maxAhead_ms + trip_ms / 2) return says;
    throw new Error(`${says}; synchronize both machines with a time server (timedatectl set-ntp true)`);
  },
};
