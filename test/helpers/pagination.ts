import assert from "node:assert/strict";
import type { Seed } from "../../lib/index.ts";
import { expect, seed, type Who, type World } from "./test-service.ts";

/** Helpers for paging through lists with cursors. */

/** A seed in which `acme` has this many projects. The list is newest first. */
export const withProjects = (count: number): Seed => ({
  organizations: seed.organizations.map((one) =>
    one.name === "acme"
      ? { ...one, projects: Array.from({ length: count }, (_, i) => ({ name: `project ${i}`, region: "eu" })) }
      : one,
  ),
});

export interface Item {
  readonly id: string;
  readonly [field: string]: unknown;
}
type Between = (page: Item[]) => Promise<void>;

/** The pages of a list, following its cursors. */
export async function walk(here: World, path: string, per_page: number, between?: Between, as: Who = "viewer") {
  const pages: Item[][] = [];
  const join = path.includes("?") ? "&" : "?";
  let cursor: string | null = null;
  do {
    const more: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const { data, meta } = expect(await here.call(as, "GET", `${path}${join}per_page=${per_page}${more}`), 200);
    assert.equal(meta.per_page, per_page);
    assert.ok(data.length <= per_page);
    assert.ok(meta.next_cursor === null || data.length === per_page, "only the last page is short");
    pages.push(data);
    cursor = meta.next_cursor;
    await between?.(data);
  } while (cursor !== null);
  return pages;
}

export const namesOf = (items: readonly Item[]) => items.map(({ name }) => name);
export const newestFirst = (items: readonly Item[]) =>
  assert.deepEqual(
    items,
    [...items].sort((a, b) => (a.id < b.id ? 1 : -1)),
  );
