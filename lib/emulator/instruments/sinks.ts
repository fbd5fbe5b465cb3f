import { AsyncLocalStorage } from "node:async_hooks";
import type { Sink } from "../../drivers/outbound/function-transport.ts";
import { withCauses } from "../../kernel/causes.ts";

/** An error that a sink threw. */
export interface SinkError {
  /** The NAME of `https://NAME.inbox.test/…`. */
  readonly sink: string;
  readonly error: unknown;
}

export const describeSinkError = ({ sink, error }: SinkError): string =>
  `the sink "${sink}" threw ${withCauses(String(error), error)}`;

/** A tester's functions that respond to deliveries, by the name of their inbox. */
export interface Sinks {
  set(name: string, sink: Sink): void;
  get(name: string): Sink | undefined;
  names(): Iterable<string>;
  /** The name of the sink that this code runs in, across any number of promises. */
  caller(): string | undefined;
  /** The number of functions that have not responded yet. */
  running(): number;
  /** The first hundred errors that sinks of this service threw, oldest first. */
  readonly errors: readonly SinkError[];
  /** For a fork: the same functions with an empty error list. */
  copy(): Sinks;
}

interface Run {
  readonly of: Sinks;
  readonly name: string;
  ended: boolean;
}

const maxErrors = 100;
/** Costs nothing until a sink is first called. */
const runs = new AsyncLocalStorage<Run>();

export function createSinks(functions: ReadonlyMap<string, Sink> = new Map()): Sinks {
  const all = new Map(functions);
  const errors: SinkError[] = [];
  let running = 0;
  const call = async (name: string, sink: Sink, request: Request): Promise<Response> => {
    const run: Run = { of: sinks, name, ended: false };
    running += 1;
    try {
      return await runs.run(run, sink, request);
    } catch (error) {
      // It is no error if a sink gives up because its request was cancelled.
      if (!request.signal.aborted && errors.length < maxErrors) errors.push({ sink: name, error });
      throw new Error(describeSinkError({ sink: name, error }));
    } finally {
      run.ended = true;
      running -= 1;
    }
  };
  const sinks: Sinks = {
    set: (name, sink) => void all.set(name, sink),
    get(name) {
      const sink = all.get(name);
      return sink && ((request) => call(name, sink, request));
    },
    names: () => all.keys(),
    caller() {
      const run = runs.getStore();
      return run?.of === sinks && !run.ended ? run.name : undefined;
    },
    running: () => running,
    errors,
    copy: () => createSinks(all),
  };
  return sinks;
}
