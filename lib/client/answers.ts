/** The fields that the service adds to each response. */
export interface Meta {
  /**
   * The identifier of the request, for support. The header `X-Request-Id` has it too.
   * @example "req_01KAJK2M00REQXXXX000000000"
   */
  request_id: string;
  /**
   * The time of the response on the service's clock. ISO 8601, in UTC.
   * @example "2026-11-21T09:00:00.000Z"
   */
  timestamp: string;
}

/** `meta` of a list. */
export interface ListMeta extends Meta {
  /**
   * The maximum number of items on a page.
   * @example 20
   */
  per_page: number;
  /**
   * The `cursor` of the next page; null on the last page.
   * @example null
   */
  next_cursor: string | null;
}

/** A response has `meta` next to the fields of its record. */
export interface WithMeta {
  /** The id of the request and the time of the response. */
  meta: Meta;
}

/** One page of a list, in the flat form. */
export interface Page<T> {
  /** The items of the page, in the order of the list. */
  data: T[];
  /** The id of the request, the time of the response and the next page. */
  meta: ListMeta;
}
