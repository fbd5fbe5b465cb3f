import type { Duplex } from "node:stream";
import type { Problem } from "../kernel/errors.ts";
import type { Operation } from "../kernel/operation.ts";
import type { Page, Place } from "../kernel/page.ts";

/** `full` wraps every object in `{data, meta}` and adds `pagination` to every list; `flat` does not. */
export type Envelope = "flat" | "full";

/** A response, without shared headers. An idempotency key replays it byte for byte; streams are never replayed. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | ReadableStream<Uint8Array> | null;
  /** Equal to `meta.request_id` in the body. */
  readonly request_id: string;
  /** Only for an upgrade: takes the connection and answers 101 with these headers, alternating names and values. */
  takeOver?(socket: Duplex, head: Buffer, headers: readonly string[]): void;
}

/** Longer texts count in the budget of their organization. A client that does not read one is disconnected. */
const longText = 64 * 1024;
/** The length of a long text; 0 for any other body. */
export const longLengthOf = ({ body }: Pick<Answer, "body">): number =>
  typeof body === "string" && body.length > longText ? body.length : 0;

/** A problem, or an error with any other code in the same form. */
type Written = Pick<Problem, "status" | "message" | "details" | "headers"> & { readonly code: string };

export type Writer = ReturnType<typeof createWriter>;

export const json = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
} as const;

export function createWriter({ envelope, now, base }: { envelope: Envelope; now: () => string; base: string }) {
  const full = envelope === "full";
  // A request id needs no escaping: it has only letters, digits, dots, dashes and underscores.
  const meta = (request_id: string) => `"meta":{"request_id":"${request_id}","timestamp":"${now()}"`;

  const write = (status: number, body: string, request_id: string, headers: Answer["headers"] = json): Answer => ({
    status,
    headers,
    body,
    request_id,
  });

  const withMeta = (text: string, request_id: string) =>
    `${text.slice(0, -1)}${text === "{}" ? "" : ","}${meta(request_id)}}}`;

  const object = (status: number, text: string, request_id: string, headers?: Answer["headers"]) => {
    const body = full ? `{"data":${text},${meta(request_id)}}}` : withMeta(text, request_id);
    return write(status, body, request_id, headers);
  };

  /** The text after the items of a list. */
  const listEnd = ({ page, per_page, next_cursor }: Place, request_id: string, total?: number) =>
    full
      ? `],${meta(request_id)}},"pagination":${JSON.stringify({ total, page, per_page, next_cursor })}}`
      : `],${meta(request_id)},"per_page":${per_page},"next_cursor":${JSON.stringify(next_cursor)}}}`;

  /** `texts` are the items as JSON. */
  const list = (status: number, texts: readonly string[], place: Place, request_id: string, total?: number) =>
    write(status, `{"data":[${texts.join()}${listEnd(place, request_id, total)}`, request_id);

  return {
    /** The answer of an operation. A promise only if the items of a list have to be counted. */
    answer(operation: Operation, result: unknown, request_id: string): Answer | Promise<Answer> {
      switch (operation.answers) {
        case "empty":
          return { status: 204, headers: {}, body: null, request_id };
        case "document":
          return write(200, JSON.stringify(result), request_id);
        case "list":
        case "stream": {
          const page = result as Page<unknown>;
          const texts = page.data.map(operation.write);
          if (!full) return list(200, texts, page, request_id);
          return page.total().then((total) => list(200, texts, page, request_id, total));
        }
        case "created": {
          const { id } = result as { id: string };
          const location = `${base}${operation.location ?? operation.path}/${id}`;
          return object(201, operation.write(result), request_id, { location, ...json });
        }
        default:
          return object(operation.answers === "accepted" ? 202 : 200, operation.write(result), request_id);
      }
    },
    /** The text after the items of a list that is written in parts. */
    listEnd: async (place: Place, total: () => Promise<number>, request_id: string): Promise<string> =>
      listEnd(place, request_id, full ? await total() : undefined),
    problem({ status, code, message, details, headers }: Written, request_id: string): Answer {
      const error = JSON.stringify({ error: { code, message, ...(details && { details }) } });
      return write(status, withMeta(error, request_id), request_id, headers && { ...json, ...headers });
    },
    /** An object in the form of a record, for routes that are not operations. */
    object: (status: number, record: object, request_id: string): Answer =>
      object(status, JSON.stringify(record), request_id),
    list: (data: readonly unknown[], request_id: string, status = 200): Answer => {
      const texts = data.map((one) => JSON.stringify(one));
      return list(status, texts, { page: 1, per_page: data.length, next_cursor: null }, request_id, data.length);
    },
  };
}
