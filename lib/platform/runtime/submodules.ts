import { posix } from "node:path";
import { readWithin } from "./app-settings.ts";

export interface Submodule {
  readonly path: string;
  readonly url: string;
  readonly commit: string;
}

export function submoduleUrls(app: string): Map<string, string> {
  const urls = new Map<string, string>();
  for (const section of (readWithin(app, ".gitmodules") ?? "").split(/^[ \t]{0,99}\[submodule\b/m).slice(1)) {
    const setting = (name: string) =>
      new RegExp(`^[ \\t]{0,99}${name}[ \\t]{0,99}=(.*)$`, "m").exec(section)?.[1]?.trim().replaceAll('"', "");
    const [path, url] = [setting("path"), setting("url")];
    if (path !== undefined && url !== undefined) urls.set(path, url);
  }
  return urls;
}

const isName = (name: string) => /^[\w-][\w.-]*\/[\w-][\w.-]*$/.test(name);
const hostAndPath = (url: string) =>
  /^(?:[a-z+]+:\/\/)?(?:[^@/]*@)?([\w.-]+)(?::\d+)?[:/](.+)$/i.exec(url)?.slice(1, 3) ?? [];

/** An address for logs, without possible passwords and tokens. */
export const shownAddress = (url: string): string =>
  (url.split(/[?#]/, 1)[0] ?? "").replace(/^([a-z+]+:\/\/)?.*@/i, "$1");

/**
 * The source `owner/repo` that a submodule's address means, and whether the code host has it. A relative address starts
 * at the repository. An absolute one may include the path of the code host's template.
 */
export function sourceAt(url: string, { parent, host }: { readonly parent: string; readonly host: string }) {
  const isRelative = /^\.\.?\//.test(url);
  const [at, path = ""] = isRelative ? [undefined, posix.join(parent, url)] : hostAndPath(url);
  const [home, template = ""] = hostAndPath(host);
  const isOfHost = isRelative || (at !== undefined && at.toLowerCase() === home?.toLowerCase());
  const [before = ""] = template.split("{repo}", 1);
  const below = isOfHost && path.startsWith(before) ? path.slice(before.length) : path;
  const name = below.replace(/\/+$/, "").replace(/\.git$/, "");
  const repo = isRelative || /^git\/[^/]+\/[^/]+$/.test(name) ? name.replace(/^git\/(?=.*\/)/, "") : name;
  return isName(repo) ? { repo, isOfHost } : undefined;
}
