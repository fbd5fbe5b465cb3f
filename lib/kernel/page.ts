import { hash } from "node:crypto";
import { invalid } from "./errors.ts";
import { yieldToEventLoop } from "./event-loop.ts";

/** What a list was asked for. */
export interface PageQuery {
  readonly per_page?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Where a page begins: after the key of the last item before it; undefined for the first page. */
export interface Position {
  readonly after: string | undefined;
  readonly page: number;
  /** Infinity where a list gives everything. */
  readonly per_page: number;
}

/** One page of a list, as services return it and `http/answer` writes it. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly page: number;
  readonly per_page: number;
  readonly next_cursor: string | null;
  /** Counts every item of the list; for the full envelope alone, the flat form never counts. */
  total(): Promise<number>;
}

/** A list as the store has it, in the order of one key: one row more than the page holds, where there are more. */
export interface ListSource<F, R> {
  rows(filters: F, place: Position): Promise<R[]>;
  total(filters: F): Promise<number>;
}

/** A list of nothing, whatever is asked for. */
export const emptyList: ListSource<unknown, never> = { rows: async () => [], total: async () => 0 };

const defaultSize = 20;
/** A whole list is read in portions of so many, between which others have their turn. */
const portion = 250;

/**
 * Cuts one page out of a list. The cursor is opaque and bound to the list, the organization and the filters: one of
 * another list, or one that was changed, is a 422.
 *
 * `options.everything`: without `per_page` and `cursor` the whole list is one page, as CONTRACT section 1 wants it of
 * /users, /integrations, /webhooks and the logs.
 */
export async function paginate<F extends object, R extends object>(
  query: PageQuery,
  list: string,
  filters: F,
  listing: ListSource<F, R>,
  options: { everything?: boolean; key?: keyof R & string } = {},
): Promise<Page<R>> {
  const scope = `${list} ${JSON.stringify(filters)}`;
  const whole = options.everything && query.per_page === undefined && query.cursor === undefined;
  const key = (options.key ?? "id") as keyof R;
  const place = placeOf(query.cursor, scope, query.per_page ?? defaultSize);
  const rows = await (whole ? everything(filters, listing, key) : listing.rows(filters, place));
  const data = whole ? rows : rows.slice(0, place.per_page);
  const last = rows.length > data.length ? data.at(-1) : undefined;
  const next_cursor = last ? cursorOf(String(last[key]), place.page + 1, scope) : null;
  return {
    data,
    page: place.page,
    per_page: whole ? data.length : place.per_page,
    next_cursor,
    total: () => listing.total(filters),
  };
}

async function everything<F, R>(filters: F, listing: ListSource<F, R>, key: keyof R): Promise<R[]> {
  const all: R[] = [];
  for (;;) {
    const last = all.at(-1);
    const after = last && String(last[key]);
    const rows = await listing.rows(filters, { after, page: 1, per_page: portion });
    all.push(...rows.slice(0, portion));
    if (rows.length <= portion) return all;
    await yieldToEventLoop();
  }
}

const seal = (scope: string, body: string) => hash("sha256", `${scope}\n${body}`, "base64url").slice(0, 12);

function cursorOf(after: string, page: number, scope: string): string {
  const body = Buffer.from(`${page}~${after}`).toString("base64url");
  return `${body}.${seal(scope, body)}`;
}

function placeOf(cursor: string | undefined, scope: string, per_page: number): Position {
  if (cursor === undefined) return { after: undefined, page: 1, per_page };
  const [body = "", sum] = cursor.split(".");
  const [, page, after] = /^(\d{1,9})~(.{1,64})$/s.exec(Buffer.from(body, "base64url").toString()) ?? [];
  if (after === undefined || sum !== seal(scope, body) || cursor !== `${body}.${sum}`) {
    throw invalid("cursor", "must be a next_cursor that this list gave, with the same filters");
  }
  return { after, page: Number(page), per_page };
}

/** The same page with its items seen differently. */
export const mapPage = <A, B>(page: Page<A>, view: (item: A) => B): Page<B> => ({ ...page, data: page.data.map(view) });
