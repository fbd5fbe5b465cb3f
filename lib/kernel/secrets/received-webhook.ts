/** The headers and bodies that receivers of webhooks have, in the forms of all servers and test runners. */

/** The headers of a request: `Headers`, those of Node and Express, or those of the inbox. */
export type ReceivedHeaders =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The raw body: the bytes, or their exact text. */
export type ReceivedBody = string | Uint8Array | ArrayBuffer;

/** One header as a server gives it, or all headers of the request. */
export type ReceivedHeader = string | readonly string[] | ReceivedHeaders | null | undefined;

const isBuffer = (value: unknown): value is ArrayBuffer =>
  Object.prototype.toString.call(value) === "[object ArrayBuffer]";

/** The body to check. Throws a TypeError for a caller's mistake, which would otherwise look like a wrong signature. */
export function receivedBody(secret: unknown, body: unknown): string | Uint8Array<ArrayBuffer> {
  if (typeof secret !== "string")
    throw new TypeError(
      `the secret must be a string, not ${kindOf(secret)}: pass the webhook's secret as the first argument`,
    );
  if (typeof body === "string") return body;
  // `instanceof` fails for the bytes of another realm, such as those of Jest.
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer as ArrayBuffer, body.byteOffset, body.byteLength);
  if (isBuffer(body)) return new Uint8Array(body);
  throw new TypeError(
    `the body must be the raw body of the request, as a string or as bytes, not ${kindOf(body)}: read it before any parsing; in Express, express.raw({ type: "application/json" }) keeps it`,
  );
}

const kindOf = (value: unknown): string =>
  value === null || value === undefined ? String(value) : typeof value === "object" ? "an object" : `a ${typeof value}`;

/** The value of a header; undefined if it is missing or repeated. */
export function receivedHeader(given: ReceivedHeader, name: string): string | undefined {
  if (given === null || given === undefined || typeof given === "string") return given ?? undefined;
  if (isList(given)) return given.length === 1 ? given[0] : undefined;
  if (typeof given.get === "function") return given.get(name) ?? undefined;
  const matches = Object.entries(given).filter(([key]) => key.toLowerCase() === name);
  return matches.length === 1 ? receivedHeader(matches[0]?.[1], name) : undefined;
}

const isList = (given: object): given is readonly string[] => Array.isArray(given);
