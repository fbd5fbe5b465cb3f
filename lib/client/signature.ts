/**
 * Verifies `X-Service-Signature` for receivers without Node, such as edge functions. It returns a promise: await it,
 * because an unawaited promise is always truthy. In Node, `verifySignature` of `svc-server` is synchronous. Pass the
 * raw bytes of the body, or their exact text, before any parsing. WebCrypto compares in constant time. A missing header
 * or an empty secret never verifies.
 */
export async function verifySignatureAsync(
  secret: string,
  body: string | Uint8Array,
  header: string | readonly string[] | null | undefined,
): Promise<boolean> {
  const [, hex] = /^sha256=([0-9a-f]{64})$/.exec(typeof header === "string" ? header : "") ?? [];
  if (hex === undefined || secret.length === 0) return false;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), algorithm, false, ["verify"]);
  const given = Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
  return crypto.subtle.verify(
    "HMAC",
    key,
    given,
    typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body),
  );
}
