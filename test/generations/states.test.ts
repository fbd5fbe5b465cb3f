import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { generationsRepository } from "../../lib/features/generations/repository.ts";
import { lifecycle, type MoveName } from "../../lib/features/generations/states.ts";
import { organizationsRepository } from "../../lib/features/organizations/repository.ts";
import { createStore } from "../../lib/store/store.ts";
import type { Row } from "../../lib/store/tables.ts";
import { newDatabase } from "../helpers/engines.ts";
import { start } from "../helpers/test-service.ts";

type Generation = Row<"generations">;

const organization_id = "org_1";
const at = "2026-01-01T00:01:00.000Z";
const moves = Object.keys(lifecycle.moves) as MoveName[];
const made = { cost_micros: 7, content_type: "image/png", bytes: 9, etag: '"e"' };
const reason = { error_code: "c", error_message: "m" };
const nothing = {
  cost_micros: 0,
  content_type: null,
  bytes: null,
  etag: null,
  error_code: null,
  error_message: null,
  script: null,
  progress: null,
};

async function stage(t: TestContext) {
  const store = createStore((await newDatabase(t)).engine);
  const generations = store.using(generationsRepository);
  const acme = { id: organization_id, name: "acme", name_folded: "acme", plan: "pro", created_at: start } as const;
  await store.transaction("all", (tx) => store.using(organizationsRepository)(tx).insert(acme));
  let count = 0;
  const put = async (status: Generation["status"]): Promise<Generation> => {
    const row: Generation = {
      ...{ id: `gen_${count++}`, organization_id, model: "any", kind: "image", status, input: "{}", ...nothing },
      ...{ ready_at: start, step_at: start, created_at: start, completed_at: null, handle: null },
    };
    await store.transaction("all", (tx) => generations(tx).insert(row));
    return row;
  };
  const move = (row: Generation, name: MoveName, of = organization_id) =>
    store.transaction("all", (tx) =>
      generations(tx).moves[name]({ ...row, ...made, ...reason, organization_id: of, at }),
    );
  const read = ({ id }: Generation) => generations().find({ organization_id, id });
  return { put, move, read };
}

test("every move of a generation from every state: only the table's cells change anything", async (t) => {
  const { put, move, read } = await stage(t);
  for (const state of lifecycle.states) {
    for (const name of moves) {
      const { from, to } = lifecycle.moves[name];
      const allowed = (from as readonly string[]).includes(state);
      await t.test(`${state}: ${name} ${allowed ? `leads to ${to}` : "changes nothing"}`, async () => {
        const before = await put(state);
        const foreign = await move(before, name, "org_2");
        assert.equal(foreign, undefined, "not for another organization");
        const answered = await move(before, name);
        const after = await read(before);
        if (!allowed) {
          assert.equal(answered, undefined);
          return assert.deepEqual(after, before);
        }
        const ended = to === "completed" || to === "failed";
        const result = to === "completed" ? made : to === "failed" ? reason : {};
        assert.deepEqual(answered, after);
        assert.deepEqual(after, {
          ...before,
          ...result,
          ...{ status: to, step_at: at, completed_at: ended ? at : null },
        });
      });
    }
  }
});

test("of two moves that race from one state, exactly one wins", async (t) => {
  const { put, move, read } = await stage(t);
  for (let round = 0; round < 60; round++) {
    const pair: MoveName[] = (
      [
        ["complete", "cancel"],
        ["cancel", "fail"],
        ["fail", "complete"],
      ] as MoveName[][]
    )[round % 3] ?? ["cancel", "fail"];
    const row = await put("in_progress");
    const answers = await Promise.all((round % 2 ? pair : [...pair].reverse()).map((name) => move(row, name)));
    const [won, ...others] = answers.filter(Boolean);
    assert.equal(others.length, 0);
    assert.deepEqual(await read(row), won);
  }
});
