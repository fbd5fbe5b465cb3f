import type * as v from "valibot";
import type { Schema } from "../kernel/validation.ts";

type Output<S> = S extends Schema ? v.InferOutput<S> : undefined;

/** The checked input of a call: the parameters of its path, its query and its body. */
interface Input<Q, B> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Q;
  readonly body: B;
}

/**
 * One call of the control interface. It is less than an operation of `/v1`: it has no caller, and refuses every field
 * that its schemas do not name.
 */
export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** After `/_svc/`, with `{name}` for a parameter. */
  readonly path: string;
  readonly query: Schema | undefined;
  readonly body: Schema | undefined;
  /** 201 where it creates something. */
  readonly status: 200 | 201;
  /** Answers a record or a list. */
  run(input: Input<unknown, unknown>): Promise<object | readonly object[]> | object | readonly object[];
}

/** Declares a call; without a schema for them, it takes no body or no query. */
export function call<Q extends Schema | undefined = undefined, B extends Schema | undefined = undefined>(declared: {
  method: Call["method"];
  path: string;
  query?: Q;
  body?: B;
  status?: Call["status"];
  run(input: Input<Output<Q>, Output<B>>): ReturnType<Call["run"]>;
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
