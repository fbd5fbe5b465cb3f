import { createHash } from "node:crypto";

/** Keeps index entries below PostgreSQL's limit of 2.7 kB. */
const maxLength = 1_000;

/** Makes a caller's text of any length indexable: long text is replaced by its hash. */
export const indexText = (text: string): string =>
  text.length <= maxLength ? text : `sha256 ${createHash("sha256").update(text).digest("base64url")}`;
