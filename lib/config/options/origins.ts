import * as v from "valibot";
import { parseUrl } from "../../kernel/text/url.ts";

function isOrigin(text: string): boolean {
  const url = parseUrl(text);
  return (
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    !url.hostname.includes("*") &&
    url.pathname === "/" &&
    url.search === "" &&
    url.hash === "" &&
    url.username === ""
  );
}

export const origin = v.pipe(
  v.string("must be a string"),
  v.check(isOrigin, "must be an http or https URL without a path, such as https://svc.example.com"),
  v.transform((text) => new URL(text).origin),
);
const basePathRule = "must be a path such as /svc: a slash before each part, none at the end, no dot and no query";
const ownPaths = /^\/(v1|_svc|dashboard|assets|hooks|git|healthz|readyz|metrics)(\/|$)/;
/** The path of an application below which the service is mounted; empty for none. */
export const basePathOf = v.pipe(
  v.string(basePathRule),
  v.maxLength(256, "must have at most 256 characters"),
  v.check((text) => text === "" || /^(\/[\w~-]+)+$/.test(text), basePathRule),
  v.check((text) => !ownPaths.test(text), "must not begin with a path of the service, such as /v1"),
);
const corsRule = "must be a whole origin such as https://app.example.com or capacitor://localhost, or * alone for all";
/** Mobile and desktop apps have their own schemes, such as `capacitor:` and `tauri:`, which `URL` treats as opaque. */
const isAppOrigin = (text: string) => /^(?!https?:|file:)[a-z][a-z\d+.-]*:\/\/[\w.-]+(:\d+)?$/i.test(text);
const corsOrigin = v.pipe(
  v.string(corsRule),
  v.check((text) => text === "*" || isOrigin(text) || isAppOrigin(text), corsRule),
);
export const corsOrigins = v.pipe(
  v.union([v.array(corsOrigin), v.literal("*")], 'must be a list of origins, or "*"'),
  v.transform((given) =>
    [given].flat().map((one) => (one === "*" ? one : isAppOrigin(one) ? one.toLowerCase() : new URL(one).origin)),
  ),
);
