/**
 * The URL in a text; undefined where there is none. `URL.canParse` of Node 20 and 22 calls URLs with letters of Latin-1
 * invalid once V8 has optimized it, after some thousand calls; Node 24 has it right (nodejs/node#58023).
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
