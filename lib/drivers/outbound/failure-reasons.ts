/** Fixed texts for Node's error codes. The endpoint's owner reads them, so in `start` they contain no address. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EPIPE: "connection reset",
  ECONNABORTED: "connection reset",
  ETIMEDOUT: "host unreachable",
  EHOSTUNREACH: "host unreachable",
  ENETUNREACH: "host unreachable",
  EHOSTDOWN: "host unreachable",
  EADDRNOTAVAIL: "host unreachable",
  ENOTFOUND: "name not found",
  ENODATA: "name not found",
  EAI_AGAIN: "name lookup failed",
  EAI_FAIL: "name lookup failed",
  ESERVFAIL: "name lookup failed",
  HPE_HEADER_OVERFLOW: "headers over 16 KiB",
  ERR_INVALID_CHAR: "a header that HTTP does not allow",
  ERR_INVALID_HTTP_TOKEN: "a header that HTTP does not allow",
  DEPTH_ZERO_SELF_SIGNED_CERT: "certificate: self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "certificate: self-signed",
  CERT_HAS_EXPIRED: "certificate: expired",
  CERT_NOT_YET_VALID: "certificate: not yet valid",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate: issued for another name",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate: unknown issuer",
  UNABLE_TO_GET_ISSUER_CERT: "certificate: unknown issuer",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate: unknown issuer",
};

/** OpenSSL's other certificate error codes, which are too many to list. */
const certificate =
  /^(ERR_TLS_)?(CERT|CRL|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|HOSTNAME_MISMATCH|ERROR_IN|UNABLE_TO)(_|$)/;
const plain = (code: string) => code.toLowerCase().replaceAll("_", " ");

/** A short reason why a request got no response. `address` is its destination if the reader may see it. */
export function failureReason(error: unknown, address?: string): string {
  const { code, reason } = Object(error) as { code?: unknown; reason?: unknown };
  if (typeof code !== "string") return "could not be sent";
  const known = reasons[code];
  if (known) return address !== undefined && code === "ECONNREFUSED" ? `${known} (${code} ${address})` : known;
  if (code.startsWith("HPE_")) return "not an HTTP answer";
  if (certificate.test(code)) return `certificate: ${plain(code.replace(/^ERR_TLS_/, ""))}`;
  if (code.startsWith("ERR_SSL_")) return `TLS: ${plain(code.slice("ERR_SSL_".length))}`;
  // Node reports several handshake failures under this code. `reason` is OpenSSL's constant text.
  if (code === "EPROTO") return typeof reason === "string" ? `TLS: ${reason}` : "TLS: handshake failed";
  return `could not be sent (${code})`;
}
