import type * as v from "valibot";
import type { RequestContext } from "../../http/request-context.ts";
import type { Schema } from "../../kernel/validation.ts";

type Output<S> = S extends Schema ? v.InferOutput<S> : undefined;

/** The checked input of a call: path parameters, query and body; and its request. */
interface Input<Q, B> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Q;
  readonly body: B;
  readonly request: RequestContext;
}

/**
 * A call of the control interface. Unlike an operation of `/v1`, it has no caller and refuses unknown fields. Its route
 * comes from this declaration; with a name, so do its tool and its command.
 */
export interface ControlCall<Ports> {
  /** Names its tool in `svc-server mcp` and, for an instrument, its command, such as `scenarios.add`. */
  readonly id: string | undefined;
  /** Its effect in one sentence, without a full stop. */
  readonly summary: string;
  /** More about it for its help, in whole sentences. */
  readonly description: string;
  /** A valid body, shown in the help of the command. */
  readonly example: Readonly<Record<string, unknown>>;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** The path after `/_svc/`, with `{name}` for a parameter. */
  readonly path: string;
  readonly query: Schema | undefined;
  readonly body: Schema | undefined;
  /** 201 if it creates something. */
  readonly status: 200 | 201;
  run(input: Input<unknown, unknown>, ports: Ports): Answer;
}

export type Answer = Promise<object | readonly object[]> | object | readonly object[];

/** A declared call. All but method, path and `run` may be left out. */
type Declared<Ports, Q, B> = Pick<ControlCall<Ports>, "method" | "path"> &
  Partial<Omit<ControlCall<Ports>, "query" | "body" | "run">> & {
    query?: Q;
    body?: B;
    run(input: Input<Output<Q>, Output<B>>, ports: Ports): Answer;
  };

/** Declares calls that work on these ports. Without a schema for it, a call takes no body or query. */
export const callsWith =
  <Ports>() =>
  <Q extends Schema | undefined = undefined, B extends Schema | undefined = undefined>(
    declared: Declared<Ports, Q, B>,
  ): ControlCall<Ports> => ({
    ...{ id: undefined, summary: "", description: "", example: {}, query: undefined, body: undefined, status: 200 },
    ...declared,
    run: declared.run as ControlCall<Ports>["run"],
  });
