/* The headers of a request for a file: `Range`, `If-None-Match`, `Accept-Encoding` (RFC 9110). */

/** What a `Range` header selects from a file: some bytes, the whole file, or only bytes beyond its end. */
type Wanted = { readonly start: number; readonly end: number } | "whole" | "beyond";

/**
 * Accepts one range or a suffix. A malformed header, or one with several ranges, is ignored and selects the whole file.
 */
export function rangeOf(header: string | undefined, size: number): Wanted {
  const [, from, to] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header ?? "") ?? [];
  if (!from && !to) return "whole";
  if (from && to && Number(to) < Number(from)) return "whole";
  const start = from ? Number(from) : Math.max(0, size - Number(to));
  const end = from && to ? Math.min(Number(to), size - 1) : size - 1;
  return start > end ? "beyond" : { start, end };
}

/** Whether `If-None-Match` matches this file: a list of tags, weak or strong, or `*`. */
export const matches = (header: string | undefined, etag: string): boolean =>
  header !== undefined &&
  (header.trim() === "*" ||
    header
      .split(",")
      .map((tag) => tag.trim().replace(/^W\//, ""))
      .includes(etag));

/**
 * Chooses the content coding of a file by `Accept-Encoding`: the available coding with the highest q-value, or the
 * first of several. Undefined means no coding, even if the client refuses that too.
 */
export function acceptedEncoding<T extends string>(header: string | undefined, available: readonly T[]): T | undefined {
  const rated = new Map(
    (header ?? "").split(",").map((part): [string, number] => {
      const [name = "", ...parameters] = part.toLowerCase().split(";");
      const [, q] = /^\s*q\s*=(.*)$/.exec(parameters.find((one) => /^\s*q\s*=/.test(one)) ?? "") ?? [];
      return [name.trim().replace(/^x-/, ""), q === undefined ? 1 : Number.parseFloat(q) || 0];
    }),
  );
  const ratingOf = (name: string) => rated.get(name) ?? rated.get("*") ?? 0;
  // If the client does not name `identity`, any coding that it accepts is preferred.
  const plain = rated.get("identity") ?? 0;
  const best = available.reduce<T | undefined>(
    (chosen, one) => (ratingOf(one) > (chosen === undefined ? 0 : ratingOf(chosen)) ? one : chosen),
    undefined,
  );
  return best !== undefined && ratingOf(best) >= plain ? best : undefined;
}
