import type { Database } from "better-sqlite3";
import type { Tables } from "../tables.ts";
import { openRaw, queryBuilder } from "./connection.ts";

/** A record that differs between two states of a service. */
export interface RecordChange {
  readonly change: "added" | "changed" | "removed";
  /** The kind of record: `deployment`, `webhook`, `delivery`. */
  readonly type: string;
  readonly id: string;
  /** The fields that differ, without secrets. */
  readonly fields: Readonly<Record<string, { readonly from: Value; readonly to: Value }>>;
}

export interface Differences {
  /** How many records of each kind were added, changed and removed. */
  readonly counts: Readonly<
    Record<string, { readonly added: number; readonly changed: number; readonly removed: number }>
  >;
  /** The first thousand. */
  readonly changes: readonly RecordChange[];
}

type Value = string | number | null;
type Row = Readonly<Record<string, Value>>;

/** Tables of records that users know, with their primary keys. Logs, jobs, sessions and windows are left out. */
const tables: readonly (readonly [table: keyof Tables, type: string, key: readonly string[]])[] = [
  ["organizations", "organization", ["id"]],
  ["users", "user", ["id"]],
  ["invitations", "invitation", ["id"]],
  ["api_keys", "api_key", ["id"]],
  ["projects", "project", ["id"]],
  ["environments", "environment", ["project_id", "name"]],
  ["deployments", "deployment", ["id"]],
  ["generations", "generation", ["id"]],
  ["endpoints", "endpoint", ["id"]],
  ["events", "event", ["id"]],
  ["deliveries", "delivery", ["id"]],
  ["delivery_attempts", "attempt", ["delivery_id", "number"]],
  ["mails", "mail", ["id"]],
  ["scenarios", "scenario", ["id"]],
];

/** Secret columns: a change is reported without the values. */
const secret = new Set(["hash", "token_hash", "sealed", "variables"]);
/** Internal columns, left out of the report. */
const hidden = new Set([
  ...["name_folded", "email_folded", "lined_up", "pin", "epoch", "rung", "release", "runtime", "handle", "repo"],
  ...["log_bytes", "step_at", "ready_at", "family", "organization_id", "last_used_at"],
]);
const concealed = { from: "[secret]", to: "[secret]" };
const maxChanges = 1000;
const maxText = 500;

const shown = (value: Value): Value =>
  typeof value === "string" && value.length > maxText ? `${value.slice(0, maxText)}…` : value;

/** Orders values as SQLite does: numbers by value, text by bytes. */
function order(one: Value, other: Value): number {
  if (one === other) return 0;
  if (typeof one === "number" && typeof other === "number") return one - other;
  return Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)));
}

/** Compares two rows by key. A missing row comes last. */
function orderOf(one: Row | undefined, other: Row | undefined, key: readonly string[]): number {
  if (!one || !other) return one ? -1 : 1;
  for (const name of key) {
    const by = order(one[name] ?? null, other[name] ?? null);
    if (by !== 0) return by;
  }
  return 0;
}

export function differencesOf(before: Buffer, after: Buffer): Differences {
  const [from, to] = [openRaw(before), openRaw(after)];
  const counts: Record<string, { added: number; changed: number; removed: number }> = {};
  const changes: RecordChange[] = [];
  try {
    for (const [table, type, key] of tables)
      for (const [old, young] of pairs(from, to, table, key)) {
        const fields = fieldsOf(old, young);
        const change = old && young ? "changed" : old ? "removed" : "added";
        if (change === "changed" && Object.keys(fields).length === 0) continue;
        const row = young ?? old ?? {};
        const kind = String(row["family"] ?? type);
        counts[kind] ??= { added: 0, changed: 0, removed: 0 };
        counts[kind][change] += 1;
        if (changes.length < maxChanges)
          changes.push({ change, type: kind, id: key.map((name) => row[name]).join("/"), fields });
      }
  } finally {
    from.close();
    to.close();
  }
  return { counts, changes };
}

function fieldsOf(old: Row | undefined, young: Row | undefined): RecordChange["fields"] {
  const fields: Record<string, { from: Value; to: Value }> = {};
  for (const name of Object.keys(young ?? old ?? {})) {
    const [from, to] = [old?.[name] ?? null, young?.[name] ?? null];
    if (from === to || hidden.has(name)) continue;
    fields[name] = secret.has(name) ? concealed : { from: shown(from), to: shown(to) };
  }
  return fields;
}

/** Pairs the rows of both images by key, in key order, and reads each image once. One row of a pair may be missing. */
function* pairs(
  from: Database,
  to: Database,
  table: keyof Tables,
  key: readonly string[],
): Generator<readonly [old: Row | undefined, young: Row | undefined]> {
  const { sql } = key
    .reduce((query, name) => query.orderBy(name as never), queryBuilder.selectFrom(table).selectAll())
    .compile();
  const read = (database: Database) => {
    const rows = database.prepare(sql).iterate();
    return () => rows.next().value as Row | undefined;
  };
  const [nextOld, nextYoung] = [read(from), read(to)];
  let [old, young] = [nextOld(), nextYoung()];
  while (old || young) {
    const by = orderOf(old, young, key);
    if (by < 0) {
      yield [old, undefined];
      old = nextOld();
    } else if (by > 0) {
      yield [undefined, young];
      young = nextYoung();
    } else {
      yield [old, young];
      [old, young] = [nextOld(), nextYoung()];
    }
  }
}
