import { parseUrl } from "../../kernel/url.ts";

/** The options of the code host that its interface follows from. */
export interface CodeHostOptions {
  /** Where repositories are fetched from, with `{repo}`. */
  readonly url: string;
  readonly api?: string | undefined;
  readonly token?: string | undefined;
  /** A folder takes the place of the code host. */
  readonly repos?: string | undefined;
}

/**
 * The base address of the code host's interface: the given one, else the one that follows from where repositories are fetched.
 * Undefined where there is no code host but a folder.
 */
export function addressOf({ url, api, repos }: CodeHostOptions): string | undefined {
  if (repos !== undefined) return undefined;
  if (api !== undefined) return api.replace(/\/+$/, "");
  const [before = ""] = url.split("{repo}");
  const { protocol, host, hostname, pathname } = parseUrl(before) ?? {};
  if (!protocol || protocol === "file:") return undefined;
  if (hostname === "github.com") return "https://api.github.com";
  const version = hostname?.includes("gitlab") ? "v4" : hostname?.includes("github") ? "v3" : "v1";
  // Over ssh, neither the port nor the path are those of the interface.
  const base = protocol === "ssh:" ? `https://${hostname}` : `${protocol}//${host}${pathname?.replace(/\/+$/, "")}`;
  return `${base}/api/${version}`;
}
