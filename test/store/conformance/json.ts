import assert from "node:assert/strict";
import { type AliasedRawBuilder, sql } from "kysely";
import { allOn, type Check, plain, put } from "./check.ts";

export const jsonOf: Record<"Engine.jsonOf", Check> = {
  "Engine.jsonOf": [
    "writes a row in the bytes of JSON.stringify, where the engine has it",
    async ({ opened: { engine } }) => {
      if (!engine.jsonOf) return assert.equal(engine.name, "postgres");
      const hostile = [
        "\"\\/<>&'",
        "\b\f\n\r\t\u0001\u001f\u007f\u0080\u2028\u2029\ufeff",
        "ä😀",
        "",
        "null",
        '{"a":1}',
      ];
      for (const value of hostile) {
        await plain(engine, "delete from settings");
        await put(engine, `name ${value}`, value);
        const row = { name: `name ${value}`, value };
        const json = async (optional?: string) => {
          const columns = optional === undefined ? ["name", "value"] : ["name"];
          const text =
            engine.jsonOf?.(columns, optional === undefined ? [] : [optional], []).as("text") ??
            sql<string>`''`.as("text");
          return (await allOn(engine.connection, engine.db.selectFrom("settings").select(text)))[0]?.text;
        };
        assert.equal(await json(), JSON.stringify(row));
        assert.equal(await json("value"), JSON.stringify(row));
      }
      for (const [value, doc, expected] of [
        [sql`null`, sql`null`, '{"name":"a"}'],
        [sql`'b'`, sql`null`, '{"name":"a","value":"b"}'],
        [sql`null`, sql`'{"c":[1,null]}'`, '{"name":"a","doc":{"c":[1,null]}}'],
        [sql`'b'`, sql`'{"c":"d"}'`, '{"name":"a","value":"b","doc":{"c":"d"}}'],
      ] as const) {
        const json: AliasedRawBuilder<string, "text"> = engine.jsonOf(["name"], ["value", "doc"], ["doc"]).as("text");
        const one = sql<object>`(select 'a' as name, ${value} as value, ${doc} as doc)`.as("one");
        assert.deepEqual(await allOn(engine.connection, engine.db.selectFrom(one).select(json)), [{ text: expected }]);
      }
    },
  ],
};
