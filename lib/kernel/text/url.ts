/**
 * Parses a URL; undefined if the text is not one. In Node 20 and 22, `URL.canParse` rejects URLs with Latin-1 letters
 * once V8 has optimized it, after a few thousand calls; Node 24 is correct (nodejs/node#58023).
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
