import { hash } from "node:crypto";
import { invalid } from "./errors.ts";
import { yieldToEventLoop } from "./event-loop.ts";
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

/** A whole list that is too long to hold: each batch is read when the client has taken the last one. */
export class LongList<T> {
  readonly organization_id: string;
  readonly batches: AsyncGenerator<readonly T[], void>;
  readonly total: () => Promise<number>;
  constructor(organization_id: string, batches: AsyncGenerator<readonly T[], void>, total: () => Promise<number>) {
    this.organization_id = organization_id;
    this.batches = batches;
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

const defaultSize = 20;
/** A whole list is read in batches of this size, yielding to the event loop in between. */
const batchSize = 250;
/** A log may have 10,000 entries of some KiB. */
export const longBatchSize = 100;

/**
 * Reads one page of a list. The cursor is opaque and bound to the list, the organization and the filters: a cursor of
 * another list, or a modified one, is a 422.
 *
 * `options.everything`: without `per_page` and `cursor` the whole list is one page, for /users, /integrations and
 * /webhooks.
 */
export async function paginate<F extends object, R extends object | JsonText>(
  query: PageQuery,
  list: string,
  filters: F,
  source: ListSource<F, R>,
  options: { everything?: boolean; key?: keyof R & string } = {},
): Promise<Page<R>> {
  const scope = `${list} ${JSON.stringify(filters)}`;
  const whole = options.everything && isWhole(query);
  const key = (options.key ?? "id") as keyof R;
  const keyOf = (row: R) => {
    const record: R = typeof row === "string" ? JSON.parse(row) : row;
    return String(record[key]);
  };
  const position = positionOf(query.cursor, scope, query.per_page ?? defaultSize);
  const rows = await (whole ? everything(filters, source, keyOf) : source.rows(filters, position));
  const data = whole ? rows : rows.slice(0, position.per_page);
  const last = rows.length > data.length ? data.at(-1) : undefined;
  const next_cursor = last ? cursorOf(keyOf(last), position.page + 1, scope) : null;
  return {
    data,
    page: position.page,
    per_page: whole ? data.length : position.per_page,
    next_cursor,
    total: () => source.total(filters),
  };
}

const isWhole = ({ per_page, cursor }: PageQuery) => per_page === undefined && cursor === undefined;

async function everything<F, R>(filters: F, source: ListSource<F, R>, keyOf: (row: R) => string): Promise<R[]> {
  const all: R[] = [];
  for (;;) {
    const last = all.at(-1);
    const after = last && keyOf(last);
    const rows = await source.rows(filters, { after, page: 1, per_page: batchSize });
    all.push(...rows.slice(0, batchSize));
    if (rows.length <= batchSize) return all;
    await yieldToEventLoop();
  }
}

/** Reads a log: one page of it, or the whole if the query asks for no page. */
export async function paginateLog<F extends { organization_id: string }, R extends { seq: unknown }>(
  query: PageQuery,
  list: string,
  filters: F,
  source: ListSource<F, R>,
): Promise<Page<R> | LongList<R>> {
  if (!isWhole(query)) return paginate(query, list, filters, source, { key: "seq" });
  const read = (after?: string) => source.rows(filters, { after, page: 1, per_page: longBatchSize });
  const total = () => source.total(filters);
  const first = await read();
  if (first.length <= longBatchSize) return { data: first, page: 1, per_page: first.length, next_cursor: null, total };
  const batches = async function* () {
    for (let rows = first; rows.length > 0; ) {
      const batch = rows.slice(0, longBatchSize);
      yield batch;
      rows = rows.length > batch.length ? await read(String(batch.at(-1)?.seq)) : [];
    }
  };
  return new LongList(filters.organization_id, batches(), total);
}

const checksum = (scope: string, body: string) => hash("sha256", `${scope}\n${body}`, "base64url").slice(0, 12);

function cursorOf(after: string, page: number, scope: string): string {
  const body = Buffer.from(`${page}~${after}`).toString("base64url");
  return `${body}.${checksum(scope, body)}`;
}

function positionOf(cursor: string | undefined, scope: string, per_page: number): Position {
  if (cursor === undefined) return { after: undefined, page: 1, per_page };
  const [body = "", sum] = cursor.split(".");
  const [, page, after] = /^(\d{1,9})~(.{1,64})$/s.exec(Buffer.from(body, "base64url").toString()) ?? [];
  if (after === undefined || sum !== checksum(scope, body) || cursor !== `${body}.${sum}`) {
    throw invalid("cursor", "must be a next_cursor from this list, with the same filters");
  }
  return { after, page: Number(page), per_page };
}

/** The same page with each item mapped. */
export const mapPage = <A, B>(page: Page<A>, view: (item: A) => B): Page<B> => ({ ...page, data: page.data.map(view) });
