import { createHash } from "node:crypto";

/** PostgreSQL indexes no entry of more than 2.7 kB. */
const most = 1_000;

/** A caller's text of any length as the value of an indexed column: its hash where it is long. */
export const indexText = (text: string): string =>
  text.length <= most ? text : `sha256 ${createHash("sha256").update(text).digest("base64url")}`;
