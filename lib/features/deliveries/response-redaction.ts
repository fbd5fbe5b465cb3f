import { maxExcerpt } from "../../drivers/outbound/http-response.ts";
import { redaction } from "../../kernel/secrets/secret-values.ts";
import { parseUrl } from "../../kernel/text/url.ts";

/** Shorter secrets are not redacted, because any text may contain them. */
const shortest = 4;

/** Removes a partial secret at the end of a response that was cut for storage. */
function withoutCut(secret: string, text: string): string {
  for (let length = Math.min(secret.length - 1, text.length); length >= shortest; length--)
    if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + redaction;
  return text;
}

/** Removes an endpoint's secrets from responses: a receiver may echo the request, and some paths are secret. */
export function redactor(secrets: Readonly<Record<string, string>>): (response: string | null) => string | null {
  const words = Object.values(secrets).flatMap((secret) => {
    const url = secret.startsWith("https://") ? parseUrl(secret) : undefined;
    return url ? [secret, url.pathname] : [secret];
  });
  // Longest first. Otherwise, if one secret contains another, the rest of the longer one would stay.
  const hidden = words.filter((word) => word.length >= shortest).sort((a, b) => b.length - a.length);
  return (response) => {
    if (response === null) return null;
    // A character that crosses the limit is left out, so a cut text may be up to three bytes shorter.
    const isCut = Buffer.byteLength(response) >= maxExcerpt - 3;
    const whole = hidden.reduce((text, word) => text.replaceAll(word, redaction), response);
    return isCut ? hidden.reduce((text, word) => withoutCut(word, text), whole) : whole;
  };
}
