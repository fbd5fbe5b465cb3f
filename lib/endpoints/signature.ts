import { createHmac, timingSafeEqual } from "node:crypto";
import { createClock } from "../kernel/clock.ts";
import { milliseconds } from "../kernel/duration.ts";

/** SPEC "Signature": HMAC-SHA256, keyed with the secret, over the raw request body, written in hex. */
export const signatureOf = (secret: string, body: string | Uint8Array): string =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

/**
 * For receivers: whether `X-Service-Signature` is the one of this body. The body must be the raw bytes, or their exact
 * text, before any parsing. Compared in constant time; a missing header or an empty secret is never right.
 */
export function verifySignature(secret: string, body: string | Uint8Array, header: string | null | undefined): boolean {
  if (!header || secret.length === 0) return false;
  const right = Buffer.from(signatureOf(secret, body));
  const given = Buffer.from(header);
  return given.length === right.length && timingSafeEqual(given, right);
}

/**
 * For receivers of the headers of Standard Webhooks: whether one of the signatures is right, and the time in it lies within
 * `tolerance` (5 minutes) of `now`, in milliseconds: by the machine's clock, unless a test hands in that of its service.
 */
export function verifyStandardWebhook(
  secret: string,
  body: string,
  headers: { get(name: string): string | null },
  { now = createClock("real").now(), tolerance = "5m" }: { now?: number | Date; tolerance?: string } = {},
): boolean {
  const [id, seconds, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    headers.get(name),
  );
  if (!id || !signatures || !/^\d{1,12}$/.test(seconds ?? "") || secret.length === 0) return false;
  const at = Number(seconds) * 1000;
  if (Math.abs(Number(now) - at) > milliseconds(tolerance)) return false;
  const right = Buffer.from(standardHeaders(secret, id, new Date(at).toISOString(), body)["webhook-signature"] ?? "");
  return signatures.split(" ").some((one) => {
    const given = Buffer.from(one);
    return given.length === right.length && timingSafeEqual(given, right);
  });
}

/**
 * The headers of Standard Webhooks, beside our own: they sign id and time too, so a receiver can refuse a replay. The
 * secret is used as it is, in UTF-8.
 */
export function standardHeaders(secret: string, id: string, at: string, body: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.parse(at) / 1000));
  const digest = createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${digest}` };
}
