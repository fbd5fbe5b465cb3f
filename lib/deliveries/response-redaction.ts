import { maxExcerpt } from "../drivers/outbound/http-response.ts";
import { parseUrl } from "../kernel/url.ts";

export const redacted = "[redacted]";
/** Three characters or fewer occur everywhere. */
const shortest = 4;

/** Removes the beginning of a secret at the end of the text, where the stored response was cut. */
function withoutCut(secret: string, text: string): string {
  for (let length = Math.min(secret.length - 1, text.length); length >= shortest; length--)
    if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + redacted;
  return text;
}

/** Removes an endpoint's secrets from its responses: a receiver may echo the request, and some paths are secrets. */
export function redactor(secrets: Readonly<Record<string, string>>): (response: string | null) => string | null {
  const words = Object.values(secrets).flatMap((secret) => {
    const url = secret.startsWith("https://") ? parseUrl(secret) : undefined;
    return url ? [secret, url.pathname] : [secret];
  });
  // The longest first. Otherwise the rest of a secret that contains another one would stay.
  const hidden = words.filter((word) => word.length >= shortest).sort((a, b) => b.length - a.length);
  return (response) => {
    if (response === null) return null;
    // A character that the limit cuts is left out, so up to three bytes may be missing.
    const isCut = Buffer.byteLength(response) >= maxExcerpt - 3;
    const whole = hidden.reduce((text, word) => text.replaceAll(word, redacted), response);
    return isCut ? hidden.reduce((text, word) => withoutCut(word, text), whole) : whole;
  };
}
