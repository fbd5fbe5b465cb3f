import { createHmac } from "node:crypto";

/** SPEC "Signature": HMAC-SHA256, keyed with the secret, over the raw request body, written in hex. */
export const signatureOf = (secret: string, body: string): string =>
  `sha256=${createHmac("sha256", secret).update(body, "utf8").digest("hex")}`;
