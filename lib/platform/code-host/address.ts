import { parseUrl } from "../../kernel/text/url.ts";

export interface CodeHostOptions {
  readonly url: string;
  readonly api?: string | undefined;
  readonly token?: string | undefined;
  /** A local folder that replaces the code host. */
  readonly repos?: string | undefined;
}

/** The base URL of the code host's API; undefined if repositories come from a folder. */
export function addressOf({ url, api, repos }: CodeHostOptions): string | undefined {
  if (repos !== undefined) return undefined;
  if (api !== undefined) return api.replace(/\/+$/, "");
  const [before = ""] = url.split("{repo}");
  const { protocol, host, hostname, pathname } = parseUrl(before) ?? {};
  if (!protocol || protocol === "file:") return undefined;
  if (hostname === "github.com") return "https://api.github.com";
  const version = hostname?.includes("gitlab") ? "v4" : hostname?.includes("github") ? "v3" : "v1";
  // With ssh, the port and path differ from those of the API.
  const base = protocol === "ssh:" ? `https://${hostname}` : `${protocol}//${host}${pathname?.replace(/\/+$/, "")}`;
  return `${base}/api/${version}`;
}
