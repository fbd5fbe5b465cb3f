// Node 18 has no export `hash`: importing it would fail before the package can say which version it needs.
import * as crypto from "node:crypto";
import { invalid } from "./errors.ts";
import { yieldToEventLoop } from "./node/event-loop.ts";
import type { JsonText } from "./result-text.ts";

/** The paging parameters of a list request. */
export interface PageQuery {
  readonly per_page?: number | undefined;
  readonly cursor?: string | undefined;
}

/** The position of a page in a list. */
export interface Position {
  /** The key of the last item before the page; undefined for the first page. */
  readonly after: string | undefined;
  readonly page: number;
  /** Infinity for the whole list. */
  readonly per_page: number;
}

/** One page of a list, as services return it and `http/answer` writes it. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly page: number;
  readonly per_page: number;
  readonly next_cursor: string | null;
  /** Counts the items of the list. Only the full envelope includes the count. */
  total(): Promise<number>;
}

/** A page without its items and without the total. */
export type Place = Omit<Page<unknown>, "data" | "total">;

/** Some items of a long list. The last batch has the place of the list. */
export interface Batch<T> {
  readonly items: readonly T[];
  readonly end: Place | undefined;
}

/** Reads the next batch, up to the last one. A list suggests the size of its first batch. */
type ReadBatch<T> = (size?: number) => Promise<Batch<T>>;

/** A list that may be long. */
export class LongList<T> {
  /** Begins to read. (An async generator would cost a short list a tenth of its time.) */
  readonly read: () => ReadBatch<T>;
  readonly total: () => Promise<number>;
  constructor(read: () => ReadBatch<T>, total: () => Promise<number>) {
    this.read = read;
    this.total = total;
  }
}

/** A list in the order of one key. If more items follow the page, `rows` returns one extra row. */
export interface ListSource<F, R> {
  rows(filters: F, place: Position): Promise<R[]>;
  total(filters: F): Promise<number>;
}

/** A list without items, for any filters. */
export const emptyList: ListSource<unknown, never> = { rows: async () => [], total: async () => 0 };

/** Some environments of a project: those with the names from `first` to `last`, in the order of lists. */
export interface EnvironmentRange {
  readonly project_id: string;
  readonly first: string;
  readonly last: string;
}

const defaultSize = 20;

interface LongOptions<R> {
  readonly key?: keyof R & string;
  /** Whether a page without `per_page` has 20 items. Default: all items. */
  readonly isPaged?: boolean;
  readonly first?: number;
  /** Whether the last items are never removed: then a cursor beyond the end is from before a reset or restore. */
  readonly keepsLast?: boolean;
  /** A list that grows while it is read ends after this many items. */
  readonly most?: number;
  /** The share of a batch that an item takes. A batch ends before the item that exceeds 1, but has at least one. */
  readonly weigh?: (row: R) => number;
}

/** Reads one page of a list. Its pages have 20 items by default. */
export const paginate = <F extends object, R extends { id: string } | JsonText>(
  query: PageQuery,
  list: string,
  filters: F,
  source: ListSource<F, R>,
): Promise<Page<R>> => readWhole(paginateLong(query, list, filters, source, { isPaged: true }));

const keyOf = <R>(row: R | undefined, key: string) =>
  String(Object(typeof row === "string" ? JSON.parse(row) : row)[key]);

/** The cursor is bound to the list, the organization and the filters (schema/http.md#paging). */
export function paginateLong<F extends object, R extends object | JsonText>(
  query: PageQuery,
  list: string,
  filters: F,
  source: ListSource<F, R>,
  options: LongOptions<R> = {},
): LongList<R> {
  const { key = "id", isPaged, first = 128, most = Number.POSITIVE_INFINITY, weigh } = options;
  const scope = `${list} ${JSON.stringify(filters)}`;
  const isWhole = !isPaged && query.per_page === undefined && query.cursor === undefined;
  const position = positionOf(query.cursor, scope, query.per_page ?? defaultSize);
  const { page } = position;
  const wanted = isWhole ? most : position.per_page;
  const read = () => {
    let { after } = position;
    let count = 0;
    return async (size = first): Promise<Batch<R>> => {
      const per_page = Math.min(size, wanted - count);
      const rows = await source.rows(filters, { after, page, per_page });
      // Only for the first batch: if a list is deleted while it is read, it ends.
      if (options.keepsLast && rows.length === 0 && count === 0 && after !== undefined) throw unknownCursor();
      const items = rows.slice(0, weigh ? lightest(rows, per_page, weigh) : per_page);
      const hasMore = rows.length > items.length;
      count += items.length;
      after = hasMore ? keyOf(items.at(-1), key) : undefined;
      if (hasMore && count < wanted) return { items, end: undefined };
      const next_cursor = after !== undefined && !isWhole ? cursorOf(after, page + 1, scope) : null;
      return { items, end: { page, per_page: isWhole ? count : position.per_page, next_cursor } };
    };
  };
  return new LongList(read, () => source.total(filters));
}

/** How many of the rows, at most `most`, make a batch. */
function lightest<R>(rows: readonly R[], most: number, weigh: (row: R) => number): number {
  let weight = 0;
  let count = 0;
  for (const row of rows.slice(0, most)) {
    weight += weigh(row);
    if (weight > 1 && count > 0) break;
    count += 1;
  }
  return count;
}

const checksum = (scope: string, body: string) => crypto.hash("sha256", `${scope}\n${body}`, "base64url").slice(0, 12);

function cursorOf(after: string, page: number, scope: string): string {
  const body = Buffer.from(`${page}~${after}`).toString("base64url");
  return `${body}.${checksum(scope, body)}`;
}

const unknownCursor = () => invalid("cursor", "must be a next_cursor from this list, with the same filters");

function positionOf(cursor: string | undefined, scope: string, per_page: number): Position {
  if (cursor === undefined) return { after: undefined, page: 1, per_page };
  const [body = "", sum] = cursor.split(".");
  const [, page, after] = /^(\d{1,9})~(.{1,64})$/s.exec(Buffer.from(body, "base64url").toString()) ?? [];
  if (after === undefined || sum !== checksum(scope, body) || cursor !== `${body}.${sum}`) throw unknownCursor();
  return { after, page: Number(page), per_page };
}

export const mapPage = <A, B>(page: Page<A>, view: (item: A) => B): Page<B> => ({ ...page, data: page.data.map(view) });

/** The same list with each batch mapped. A batch may become shorter, because rows may have been deleted. */
export function mapLong<A, B>(
  { read, total }: LongList<A>,
  view: (items: readonly A[]) => readonly B[] | Promise<readonly B[]>,
): LongList<B> {
  const mapped = () => {
    const next = read();
    return async (size?: number): Promise<Batch<B>> => {
      const { items, end } = await next(size);
      return { items: await view(items), end };
    };
  };
  return new LongList(mapped, total);
}

/** Reads a long list to its end, as one page. */
export async function readWhole<T>({ read, total }: LongList<T>): Promise<Page<T>> {
  const next = read();
  const data: T[] = [];
  for (;;) {
    const { items, end } = await next(data.length > 0 ? 250 : undefined);
    data.push(...items);
    if (end) return { data, ...end, total };
    await yieldToEventLoop();
  }
}
