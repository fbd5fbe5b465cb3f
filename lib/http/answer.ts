import type { Problem } from "../kernel/errors.ts";
import type { Operation } from "../kernel/operation.ts";
import type { Page } from "../kernel/page.ts";

/** CONTRACT section 1: the flat form, or `{data, meta}` for every object and `pagination` for every list. */
export type Envelope = "flat" | "full";

/** An answer as it is sent. What an idempotency key replays, byte for byte, is never a stream. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | ReadableStream<Uint8Array> | null;
  /** Equal to `meta.request_id` in the body. */
  readonly request_id: string;
}

/** What an error is written from. */
type Told = Pick<Problem, "status" | "message" | "details" | "headers"> & { readonly code: string };

export interface Writer {
  answer(operation: Operation, result: unknown, request_id: string): Promise<Answer>;
  problem(problem: Told, request_id: string): Answer;
  /** Any object in the form of a record, for what is not an operation. */
  object(status: number, record: object, request_id: string): Answer;
  list(data: readonly unknown[], request_id: string, status?: number): Answer;
}

const json = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
} as const;

export function createWriter({ envelope, now, base }: { envelope: Envelope; now: () => string; base: string }): Writer {
  const full = envelope === "full";
  const meta = (request_id: string) => ({ request_id, timestamp: now() });

  const write = (status: number, body: object, request_id: string, headers: Record<string, string> = {}): Answer => ({
    status,
    headers: { ...json, ...headers },
    body: JSON.stringify(body),
    request_id,
  });

  const object = (status: number, record: object, request_id: string, headers?: Record<string, string>) =>
    write(
      status,
      full ? { data: record, meta: meta(request_id) } : { ...record, meta: meta(request_id) },
      request_id,
      headers,
    );

  const page = async (
    { data, page, per_page, next_cursor, total }: Page<unknown>,
    shape: (item: unknown) => unknown,
    request_id: string,
  ) => {
    const shaped = data.map(shape);
    return full
      ? write(
          200,
          {
            data: shaped,
            meta: meta(request_id),
            pagination: { total: await total(), page, per_page, next_cursor },
          },
          request_id,
        )
      : write(
          200,
          {
            data: shaped,
            meta: { ...meta(request_id), per_page, next_cursor },
          },
          request_id,
        );
  };

  return {
    async answer(operation, result, request_id) {
      switch (operation.answers) {
        case "empty":
          return { status: 204, headers: {}, body: null, request_id };
        case "document":
          return { status: 200, headers: json, body: JSON.stringify(result), request_id };
        case "list":
        case "stream":
          return page(result as Page<unknown>, operation.shape, request_id);
        case "created": {
          const { id } = result as { id: string };
          return object(201, operation.shape(result) as object, request_id, {
            location: `${base}${operation.location ?? operation.path}/${id}`,
          });
        }
        default:
          return object(operation.answers === "accepted" ? 202 : 200, operation.shape(result) as object, request_id);
      }
    },
    problem: ({ status, code, message, details, headers }, request_id) =>
      write(
        status,
        {
          error: { code, message, ...(details && { details }) },
          meta: meta(request_id),
        },
        request_id,
        headers,
      ),
    object,
    list: (data, request_id, status = 200) =>
      full
        ? write(
            status,
            {
              data,
              meta: meta(request_id),
              pagination: {
                total: data.length,
                page: 1,
                per_page: data.length,
                next_cursor: null,
              },
            },
            request_id,
          )
        : write(
            status,
            {
              data,
              meta: {
                ...meta(request_id),
                per_page: data.length,
                next_cursor: null,
              },
            },
            request_id,
          ),
  };
}
