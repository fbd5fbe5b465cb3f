import { existsSync } from "node:fs";
import Database from "better-sqlite3";
import { createEncryption, keyFileOf, readKey } from "../../lib/store/encryption.ts";
import { isNew } from "../../lib/store/migrate.ts";
import { checkKey, damagedAssets } from "../../lib/store/transfer/integrity-check.ts";
import { violations } from "../helpers/invariants.ts";

export type Table = "projects" | "deployments" | "api_keys" | "generations" | "invitations" | "endpoints";
type Column = "description" | "status" | "TOKEN";

/**
 * A note of the load: `try` before it requests a change, `ack` after the acknowledgement. `made` and `gone` are about a
 * row; the value of `made` is the project with which the row is deleted. Any other `what` is a column, with its value.
 */
export type Fact = readonly [
  when: "try" | "ack",
  what: "made" | "gone" | (string & {}),
  table: Table | "",
  id: string,
  value: string,
];

interface Row {
  readonly table: Table;
  readonly within: string;
}

/** The acknowledged changes, and the unacknowledged ones that may have happened. */
export interface Facts {
  add(fact: Fact): void;
  readonly acknowledged: number;
  /** All acknowledged changes that a database and its files lack, and all rules that they break. */
  losses(path: string): string[];
}

/** Parses an `acks` file. A kill may leave half a line, which acknowledges nothing. */
export const parseFacts = (text: string): Fact[] =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Fact);

export function createFacts(): Facts {
  const made = new Map<string, Row>();
  /** `ack` if certainly deleted, `try` if perhaps. */
  const gone = new Map<string, Fact[0]>();
  /** The values that a column may hold: the acknowledged value and all values requested since. */
  const values = new Map<string, { readonly sure: boolean; readonly any: readonly string[] }>();
  let acknowledged = 0;

  const lostRows = (database: Database.Database) => {
    const statements = new Map<string, Database.Statement>();
    const has = (table: Table, id: string) => {
      const find = statements.get(table) ?? database.prepare(`select 1 from ${table} where id = ?`);
      statements.set(table, find);
      return find.get(id) !== undefined;
    };
    return [...made].flatMap(([id, { table, within }]) => {
      if (gone.get(id) === "ack") return has(table, id) ? [`the removal of ${id} is lost`] : [];
      return has(table, id) || gone.has(id) || gone.has(within) ? [] : [`${id} is lost`];
    });
  };

  const lostValues = (database: Database.Database, key: string) => {
    const column = (sql: string) => database.prepare(sql).pluck();
    const description = column("select description from projects where id = ?");
    const status = column("select status from deployments where id = ?");
    const token = column(
      "select json_extract(variables, '$.TOKEN.sealed') from environments where project_id = ? and name = 'production'",
    );
    const { decrypt } = createEncryption(readKey(key), () => Buffer.alloc(0));
    const read: Record<Column, (id: string) => unknown> = {
      description: (id) => description.get(id),
      status: (id) => status.get(id),
      TOKEN(id) {
        const sealed = token.get(id) as string | undefined;
        return sealed && decrypt(`environments ${id} production TOKEN`, sealed);
      },
    };
    return [...values].flatMap(([place, { sure, any }]) => {
      const [column = "", id = ""] = place.split(" ");
      const within = made.get(id)?.within ?? "";
      if (!sure || gone.has(id) || gone.has(within)) return [];
      const value = read[column as Column](id);
      return any.includes(String(value)) ? [] : [`${place} is ${value}, which is none of ${any.join(", ")}`];
    });
  };

  return {
    get acknowledged() {
      return acknowledged;
    },
    add([when, what, table, id, value]) {
      if (when === "ack") acknowledged += 1;
      if (what === "made") {
        if (when === "ack" && table) made.set(id, { table, within: value });
      } else if (what === "gone") {
        gone.set(id, when);
      } else {
        const place = `${what} ${id}`;
        const before = values.get(place) ?? { sure: false, any: [] };
        values.set(
          place,
          when === "ack" ? { sure: true, any: [value] } : { sure: before.sure, any: [...before.any, value] },
        );
      }
    },
    losses(path) {
      if (!existsSync(path)) return acknowledged > 0 ? ["the database is lost"] : [];
      // Read-only, to leave the files as they are: the last writer to close them would write the WAL back. Only a
      // writer can roll a journal back.
      const database = new Database(path, { readonly: !existsSync(`${path}-journal`) });
      try {
        if (isNew(database)) return acknowledged > 0 ? ["all tables are lost"] : [];
        // The start was interrupted before it made the key; the next start makes it.
        const isBegun = database.prepare("select 1 from settings where name = 'vault'").get() === undefined;
        if (isBegun && acknowledged === 0) return violations(database);
        const wrong = [...violations(database), ...lostRows(database)];
        checkKey(path);
        wrong.push(
          ...lostValues(database, keyFileOf(path)),
          ...damagedAssets(path).map((id) => `the file of ${id} is lost`),
        );
        return [...wrong, ...lostPairs(database)];
      } finally {
        database.close();
      }
    },
  };
}

/** Finds events without a delivery to each of the two permanent webhooks, which take every event. */
function lostPairs(database: Database.Database): string[] {
  const rows = database
    .prepare(
      `select e.id, e.event, count(d.id) as deliveries from events e left join deliveries d
         on d.event_id = e.id and d.endpoint_id in (select id from endpoints where events = '["*"]')
       where (select count(*) from endpoints where events = '["*"]') = 2
       group by e.id having count(d.id) <> 2`,
    )
    .all();
  return rows.map((row) => `an event has not its two deliveries: ${JSON.stringify(row)}`);
}
