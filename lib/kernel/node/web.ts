import type { UnderlyingSource } from "node:stream/web";
import * as util from "node:util";
import { runInThisContext } from "node:vm";
import { webStreams } from "../lazy-node-modules.ts";
import { unfitVersion } from "./node-version.ts";

// Checked here, because older Nodes and Bun fail at the lines below, the first ones of the package that run.
const unfit = unfitVersion(process.versions);
if (unfit !== undefined) throw new Error(unfit);

/*
 * Node's own web classes. The environments jsdom and happy-dom of Vitest and Jest replace the globals: Node refuses
 * their AbortSignal, and jsdom in Jest has no Response or TextDecoder. Jest gives every test file its own globals,
 * which `runInThisContext` does not see. Vitest with happy-dom loses Node's globals, so Request, Response and Headers
 * are happy-dom's there, which work as well.
 */
const nodeGlobals = runInThisContext("globalThis") as typeof globalThis;

// The only way to get Node's class without a global.
const AbortController = util.transferableAbortController().constructor as typeof globalThis.AbortController;

const { TextDecoder, TextEncoder } = util;

export { AbortController, TextDecoder, TextEncoder };

export const readableStreamClass = () => webStreams().ReadableStream;

export const createReadableStream = <T>(
  source: UnderlyingSource<T>,
  strategy?: QueuingStrategy<T>,
): ReadableStream<T> => new (readableStreamClass())(source, strategy) as ReadableStream<T>;

export const isStream = <T>(body: T): body is Extract<T, ReadableStream> =>
  typeof body === "object" && body !== null && "getReader" in body;

type FetchClasses = Pick<typeof globalThis, "Headers" | "Request" | "Response">;
let loaded: FetchClasses | undefined;

/** Loaded at the first call and kept, so that a test which replaces the globals later changes nothing. */
export function fetchClasses(): FetchClasses {
  if (loaded) return loaded;
  const { Headers, Request, Response } = nodeGlobals;
  loaded = { Headers, Request, Response };
  return loaded;
}

const nativeSignal = new AbortController().signal.constructor;

/** A Node signal that aborts with `signal`, which may be of a foreign class. */
function ownSignal(signal: AbortSignal): AbortSignal {
  if (signal instanceof nativeSignal) return signal;
  const control = new AbortController();
  const abort = () => control.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return control.signal;
}

const isRequest = (input: string | URL | Request): input is Request =>
  Object(input) === input && "method" in (input as object);

/** Synchronous, unless the body of a request of a foreign class has to be read first. */
export function ownRequest(input: string | URL | Request, init?: RequestInit): Request | Promise<Request> {
  const signal = init?.signal && ownSignal(init.signal);
  const options = signal ? { ...init, signal } : init;
  const { Request } = fetchClasses();
  if (input instanceof Request) return init === undefined ? input : new Request(input, options);
  if (!isRequest(input)) return new Request(new URL(String(input), "http://localhost"), options);
  const { method, url, headers } = input;
  const own = { method, headers: [...headers], signal: ownSignal(input.signal), ...options };
  if (method === "GET" || method === "HEAD") return new Request(url, own);
  return input.arrayBuffer().then((body) => new Request(url, { body, ...own }));
}
