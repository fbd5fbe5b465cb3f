import {
  type ReceivedBody,
  type ReceivedHeader,
  receivedBody,
  receivedHeader,
} from "../kernel/secrets/received-webhook.ts";

/**
 * Verifies `X-Service-Signature` for receivers without Node, such as edge functions. It returns a promise: await it,
 * because an unawaited promise is always truthy. In Node, `verifySignature` of `svc-server` is synchronous. Pass the
 * raw bytes of the body, or their exact text, before any parsing, and the header or all headers of the request. WebCrypto
 * compares in constant time. A missing header or an empty secret never verifies. Rejects with a TypeError without a
 * secret, or for a parsed body.
 */
export async function verifySignatureAsync(
  secret: string,
  body: ReceivedBody,
  header: ReceivedHeader,
): Promise<boolean> {
  const raw = receivedBody(secret, body);
  const [, hex] = /^sha256=([0-9a-f]{64})$/.exec(receivedHeader(header, "x-service-signature") ?? "") ?? [];
  if (hex === undefined || secret.length === 0) return false;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), algorithm, false, ["verify"]);
  const signature = Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
  return crypto.subtle.verify("HMAC", key, signature, typeof raw === "string" ? new TextEncoder().encode(raw) : raw);
}
