import assert from "node:assert/strict";
import { test } from "node:test";
import { type LongList, mapLong, type Position, paginateLong } from "../../lib/kernel/page.ts";
import fc from "../helpers/fast-check.ts";

interface Item {
  readonly id: string;
}

/** A list of numbered items. It may grow while it is read. */
const numbered = (length: () => number) => ({
  rows: async (_: object, { after, per_page }: Position) => {
    const from = after === undefined ? 0 : Number(after) + 1;
    return Array.from({ length: Math.min(per_page + 1, Math.max(0, length() - from)) }, (_, i) => ({
      id: `${from + i}`,
    }));
  },
  total: async () => length(),
});

async function read(list: LongList<Item>, size: () => number) {
  const ids: number[] = [];
  const next = list.read();
  for (let batch = await next(); ; batch = await next(size())) {
    const { items, end } = batch;
    for (const { id } of items) ids.push(Number(id));
    if (end) return { ids, end };
  }
}

test("a long list has each item once, whatever the sizes of batches and pages", async () => {
  const some = fc.integer({ min: 1, max: 40 });
  await fc.assert(
    fc.asyncProperty(
      fc.nat(60),
      some,
      fc.option(some),
      fc.array(some, { minLength: 1 }),
      async (length, first, per_page, sizes) => {
        const source = numbered(() => length);
        let drawn = 0;
        const size = () => sizes[drawn++ % sizes.length] ?? 1;
        const ids: number[] = [];
        let cursor: string | null | undefined;
        for (let page = 1; cursor !== null; page++) {
          const query = { per_page: per_page ?? undefined, cursor };
          const { ids: its, end } = await read(paginateLong(query, "numbers", {}, source, { first }), size);
          assert.equal(end.page, page);
          assert.equal(end.per_page, per_page ?? length);
          assert.ok(its.length <= end.per_page);
          ids.push(...its);
          cursor = end.next_cursor;
        }
        assert.deepEqual(
          ids,
          Array.from({ length }, (_, i) => i),
        );
      },
    ),
  );
});

test("a list that grows while it is read ends", async () => {
  let length = 100;
  const source = numbered(() => length);
  const list = paginateLong({}, "numbers", {}, source, { first: 16, most: 1_000 });
  const { ids, end } = await read(list, () => {
    length += 100;
    return 16;
  });
  assert.equal(ids.length, 1_000);
  assert.deepEqual(end, { page: 1, per_page: 1_000, next_cursor: null });
});

test("a list that is deleted while it is read ends, and a cursor into it is refused", async () => {
  let length = 100;
  const source = numbered(() => length);
  const options = { first: 16, keepsLast: true };
  const page = await read(paginateLong({ per_page: 20 }, "numbers", {}, source, options), () => 16);
  const { ids } = await read(paginateLong({}, "numbers", {}, source, options), () => {
    length = 0;
    return 16;
  });
  assert.equal(ids.length, 16);
  const cursor = page.end.next_cursor ?? "";
  await assert.rejects(
    read(paginateLong({ cursor }, "numbers", {}, source, options), () => 16),
    { code: "validation_failed" },
  );
});

test("a batch ends before the item that is too much for it, and may lose all its items", async () => {
  interface Row extends Item {
    readonly weight: number;
  }
  const weights = fc.constantFrom(0, 0.3, 1, 2);
  const some = fc.integer({ min: 1, max: 8 });
  await fc.assert(
    fc.asyncProperty(fc.array(weights, { maxLength: 20 }), some, some, async (rows, first, per_page) => {
      const stored = rows.map((weight, i): Row => ({ id: `${i}`, weight }));
      const source = {
        rows: async (_: object, { after, per_page: size }: Position) => {
          const from = after === undefined ? 0 : Number(after) + 1;
          return stored.slice(from, from + size + 1);
        },
        total: async () => rows.length,
      };
      const weigh = ({ weight }: Row) => weight;
      const seen: Row[] = [];
      let cursor: string | null | undefined;
      while (cursor !== null) {
        const list = paginateLong({ per_page, cursor }, "rows", {}, source, { first, weigh });
        const next = mapLong(list, (batch) => {
          assert.ok(batch.length === 1 || batch.reduce((sum, { weight }) => sum + weight, 0) <= 1 + 1e-9);
          return batch.filter(({ weight }) => weight !== 2);
        }).read();
        for (cursor = undefined; cursor === undefined; ) {
          const { items, end } = await next();
          seen.push(...items);
          if (end) cursor = end.next_cursor;
        }
      }
      assert.deepEqual(
        seen,
        stored.filter(({ weight }) => weight !== 2),
      );
    }),
  );
});
