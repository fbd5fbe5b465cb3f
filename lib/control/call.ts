import type * as v from "valibot";
import type { Schema } from "../kernel/validation.ts";

type Output<S> = S extends Schema ? v.InferOutput<S> : undefined;

/** What a call is given: the parts of its path, its query and its body, judged. */
interface Given<Q, B> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Q;
  readonly body: B;
}

/** One call of the control interface, declared once: where it is, what it takes, and what it does. */
export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** After `/_svc/`, with `{name}` for a part that varies. */
  readonly path: string;
  readonly query: Schema | undefined;
  readonly body: Schema | undefined;
  /** Of a call that makes something. */
  readonly status: 200 | 201;
  /** Answers a record or a list. */
  run(given: Given<unknown, unknown>): Promise<object | readonly object[]> | object | readonly object[];
}

/** Declares a call; without a schema it takes no body, or no query. */
export function call<Q extends Schema | undefined = undefined, B extends Schema | undefined = undefined>(declared: {
  method: Call["method"];
  path: string;
  query?: Q;
  body?: B;
  status?: Call["status"];
  run(given: Given<Output<Q>, Output<B>>): ReturnType<Call["run"]>;
}): Call {
  return {
    method: declared.method,
    path: declared.path,
    query: declared.query,
    body: declared.body,
    status: declared.status ?? 200,
    run: declared.run as Call["run"],
  };
}
