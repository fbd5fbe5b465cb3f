import * as streams from "node:stream/web";
import * as util from "node:util";
import { runInThisContext } from "node:vm";

/*
 * Node's own classes of the web. jsdom and happy-dom, as environments of Vitest and Jest, replace the globals: Node refuses
 * their AbortSignal, and jsdom in Jest has no Response and no TextDecoder at all. Jest gives every test file globals of its
 * own, which `runInThisContext` does not see. In Vitest under happy-dom the globals are lost, so there Request, Response
 * and Headers are those of happy-dom, which serve as well.
 */
const { Headers, Request, Response } = runInThisContext("globalThis") as typeof globalThis;

// The only way to Node's class without a global.
const AbortController = util.transferableAbortController().constructor as typeof globalThis.AbortController;

const { ReadableStream } = streams;
const { TextDecoder, TextEncoder } = util;

export { AbortController, Headers, ReadableStream, Request, Response, TextDecoder, TextEncoder };

const nativeSignal = new AbortController().signal.constructor;

/** A Node signal that aborts with `signal`, which may be of another class. */
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

/**
 * A Node request, from a path, a URL, or a Request of any class; synchronous, unless the body of a foreign request has to
 * be read first.
 */
export function ownRequest(input: string | URL | Request, init?: RequestInit): Request | Promise<Request> {
  const signal = init?.signal && ownSignal(init.signal);
  const options = signal ? { ...init, signal } : init;
  if (input instanceof Request) return init === undefined ? input : new Request(input, options);
  if (!isRequest(input)) return new Request(new URL(String(input), "http://localhost"), options);
  const { method, url, headers } = input;
  const own = { method, headers: [...headers], signal: ownSignal(input.signal), ...options };
  if (method === "GET" || method === "HEAD") return new Request(url, own);
  return input.arrayBuffer().then((body) => new Request(url, { body, ...own }));
}
