import { createHmac, timingSafeEqual } from "node:crypto";
import { createClock } from "../../kernel/clock.ts";
import {
  type ReceivedBody,
  type ReceivedHeader,
  type ReceivedHeaders,
  receivedBody,
  receivedHeader,
} from "../../kernel/secrets/received-webhook.ts";
import { milliseconds } from "../../kernel/text/duration.ts";

/** The hex HMAC-SHA256 of the raw request body, keyed with the secret. */
export const signatureOf = (secret: string, body: string | Uint8Array): string =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

/**
 * For receivers: whether the header `X-Service-Signature` signs this body. Pass the raw bytes or their exact text,
 * before any parsing, and the header or all headers of the request. Compares in constant time. False for a missing or
 * repeated header, or an empty secret. Throws a TypeError without a secret, or for a parsed body.
 */
export function verifySignature(secret: string, body: ReceivedBody, header: ReceivedHeader): boolean {
  const raw = receivedBody(secret, body);
  const signature = receivedHeader(header, "x-service-signature");
  if (signature === undefined || secret.length === 0) return false;
  return isEqual(signature, signatureOf(secret, raw));
}

/**
 * For receivers that use the Standard Webhooks headers: whether one of the signatures matches and the timestamp lies
 * within `tolerance` (default `5m`) of `now`, a Date or milliseconds. `now` defaults to the machine's clock; tests pass
 * their service's. Body and headers as for `verifySignature`.
 */
export function verifyStandardWebhook(
  secret: string,
  body: ReceivedBody,
  headers: ReceivedHeaders,
  { now = createClock("real").now(), tolerance = "5m" }: { now?: number | Date; tolerance?: string } = {},
): boolean {
  const raw = receivedBody(secret, body);
  if (typeof headers !== "object" || headers === null)
    throw new TypeError("the headers must be all headers of the request, such as request.headers");
  const [id, seconds, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    receivedHeader(headers, name),
  );
  if (!id || !signatures || !/^\d{1,12}$/.test(seconds ?? "") || secret.length === 0) return false;
  const at = Number(seconds) * 1000;
  if (Math.abs(Number(now) - at) > milliseconds(tolerance)) return false;
  const expected = standardHeaders(secret, id, new Date(at).toISOString(), raw)["webhook-signature"];
  return signatures.split(" ").some((signature) => isEqual(signature, expected));
}

function isEqual(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** A secret of the form `whsec_` and base64, with or without padding, is decoded; any other is itself the key. */
function standardKey(secret: string): Buffer {
  const [, base64 = ""] = /^whsec_([A-Za-z0-9+/]+)={0,2}$/.exec(secret) ?? [];
  return base64 === "" || base64.length % 4 === 1 ? Buffer.from(secret) : Buffer.from(base64, "base64");
}

/**
 * The Standard Webhooks headers, in addition to ours. They also sign the id and the timestamp, so a receiver can refuse
 * a replay. While two secrets overlap, each has a signature.
 */
export function standardHeaders(secret: string, id: string, at: string, body: string | Uint8Array, previous?: string) {
  const timestamp = String(Math.floor(Date.parse(at) / 1000));
  const signed = (key: string) =>
    `v1,${createHmac("sha256", standardKey(key)).update(`${id}.${timestamp}.`).update(body).digest("base64")}`;
  const signatures = previous === undefined ? signed(secret) : `${signed(secret)} ${signed(previous)}`;
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures };
}
