/** What a `Range` header selects from a file: some bytes, the whole file, or only bytes beyond its end (RFC 9110). */
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
