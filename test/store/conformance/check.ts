import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Compilable } from "kysely";
import { Problem } from "../../../lib/kernel/errors.ts";
import type { Connection, Engine } from "../../../lib/store/engine.ts";
import { useOf } from "../../../lib/store/query.ts";
import type { Kind, TestDatabase } from "../../helpers/engines.ts";

export type Room = TestDatabase & { readonly kind: Kind };
/** A statement about the member, and its check. */
export type Check = readonly [says: string, check: (room: Room, t: TestContext) => Promise<void> | void];
export type Members<Name extends string, T> = `${Name}.${keyof T & string}`;
export const runOn = (connection: Connection, query: Compilable) => {
  const compiled = query.compile();
  return connection.statement(compiled.sql, useOf(compiled)).run(compiled.parameters);
};
export const allOn = async <T>(connection: Connection, query: Compilable<T>): Promise<T[]> => {
  const { sql: text, parameters } = query.compile();
  return (await connection.statement(text).all(parameters)) as T[];
};

/** Writes a row of `settings`, the smallest table. */
export const write =
  ({ db }: Engine, name: string, value = "") =>
  (connection: Connection) =>
    runOn(connection, db.insertInto("settings").values({ name, value }));
export const put = (engine: Engine, name: string, value?: string) =>
  engine.transaction("all", write(engine, name, value));
export const plain = (engine: Engine, text: string) => engine.transaction("all", (c) => c.statement(text).run([]));

export const organization = "insert into organizations values ('org_1', 'A', 'a', 'pro', '')";
export const event = (id: string, name = "project.created", data = "{}") =>
  `insert into events values ('${id}', 'org_1', '${name}', '2026-01-01T00:00:00.000Z', '${data}')`;

export const isUnavailable = (error: unknown) => {
  assert.ok(error instanceof Problem, String(error));
  assert.deepEqual([error.code, error.status], ["unavailable", 503]);
  assert.match(error.headers["retry-after"] ?? "", /^[1-9]\d*$/);
  return true;
};
