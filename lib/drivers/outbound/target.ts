import { literal, type Target, targetOf } from "./addresses.ts";
import { memoize } from "./memoize.ts";

/** What a URL says of the requests that go there. */
export interface Destination extends Target {
  readonly secure: boolean;
  /** The address that the host is already, so that there is nothing to look up. */
  readonly address: string | undefined;
  /** With the query. */
  readonly path: string;
  /** What the header Host says. */
  readonly authority: string;
}

export function destinationOf(url: URL): Destination {
  const target = targetOf(url);
  return {
    ...target,
    secure: url.protocol === "https:",
    address: literal(target.host),
    path: `${url.pathname}${url.search}`,
    authority: url.host,
  };
}

const longestUrl = 2048;

/** CONTRACT section 6: "`https://`, at most 2,048 characters, no credentials in them". */
export function checkUrl(text: string): { href: string } | { problem: string } {
  // SPEC: "Webhook url not starting with `https://`"; the URL parser would take `https:\\host` and a tab inside as well.
  if (!/^https:\/\//i.test(text)) return { problem: "must begin with https://" };
  const long = { problem: `must have at most ${longestUrl.toLocaleString("en")} characters` };
  if (text.length > longestUrl) return long;
  if (!URL.canParse(text)) return { problem: "must be a URL such as https://example.com/hook" };
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return { problem: "must not have credentials in it" };
  return url.href.length > longestUrl ? long : { href: url.href };
}

/** Where such a URL leads, or why it must not be used. */
export const checkedDestination = memoize((text): Destination | { readonly problem: string } => {
  const checked = checkUrl(text);
  return "problem" in checked ? checked : destinationOf(new URL(checked.href));
});
