/** Fixed texts for Node's error codes. The endpoint's owner reads them, so in `start` they contain no address. */
const codesOf: Readonly<Record<string, string>> = {
  "connection refused": "ECONNREFUSED",
  "connection reset": "ECONNRESET EPIPE ECONNABORTED",
  "host unreachable": "ETIMEDOUT EHOSTUNREACH ENETUNREACH EHOSTDOWN EADDRNOTAVAIL",
  "name not found": "ENOTFOUND ENODATA",
  "name lookup failed": "EAI_AGAIN EAI_FAIL ESERVFAIL",
  "headers over 16 KiB": "HPE_HEADER_OVERFLOW",
  "a header that HTTP does not allow": "ERR_INVALID_CHAR ERR_INVALID_HTTP_TOKEN",
  "certificate: self-signed": "DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN",
  "certificate: expired": "CERT_HAS_EXPIRED",
  "certificate: not yet valid": "CERT_NOT_YET_VALID",
  "certificate: issued for another name": "ERR_TLS_CERT_ALTNAME_INVALID",
  "certificate: unknown issuer":
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
};
const reasons = new Map(
  Object.entries(codesOf).flatMap(([reason, codes]) => codes.split(" ").map((code) => [code, reason] as const)),
);

/** OpenSSL's other certificate error codes, which are too many to list. */
const certificate =
  /^(ERR_TLS_)?(CERT|CRL|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|HOSTNAME_MISMATCH|ERROR_IN|UNABLE_TO)(_|$)/;
const plain = (code: string) => code.toLowerCase().replaceAll("_", " ");

/** A short reason why a request got no response. `address` is its destination if the reader may see it. */
export function failureReason(error: unknown, address?: string): string {
  const { code, reason } = Object(error) as { code?: unknown; reason?: unknown };
  if (typeof code !== "string") return "could not be sent";
  const known = reasons.get(code);
  if (known) return address !== undefined && code === "ECONNREFUSED" ? `${known} (${code} ${address})` : known;
  if (code.startsWith("HPE_")) return "not an HTTP answer";
  if (certificate.test(code)) return `certificate: ${plain(code.replace(/^ERR_TLS_/, ""))}`;
  if (code.startsWith("ERR_SSL_")) return `TLS: ${plain(code.slice("ERR_SSL_".length))}`;
  // Node reports several handshake failures under this code. `reason` is OpenSSL's constant text.
  if (code === "EPROTO") return typeof reason === "string" ? `TLS: ${reason}` : "TLS: handshake failed";
  return `could not be sent (${code})`;
}
