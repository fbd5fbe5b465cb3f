import { posix } from "node:path";
import { readWithin } from "./app-settings.ts";

/** A submodule of a commit: its folder, the address in `.gitmodules`, and its commit. */
export interface Submodule {
  readonly path: string;
  readonly url: string;
  readonly commit: string;
}

/** The addresses of submodules in `.gitmodules`, by path. */
export function submoduleUrls(app: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const section of (readWithin(app, ".gitmodules") ?? "").split(/^\s*\[submodule\b/m).slice(1)) {
    const setting = (name: string) =>
      new RegExp(`^\\s*${name}\\s*=[ \\t]*"?([^"\\r\\n]*?)"?[ \\t]*\\r?$`, "m").exec(section)?.[1];
    const [path, url] = [setting("path"), setting("url")];
    if (path !== undefined && url !== undefined) found.set(path, url);
  }
  return found;
}

const isName = (name: string) => /^[\w-][\w.-]*\/[\w-][\w.-]*$/.test(name);
const hostAndPath = (url: string) =>
  /^(?:[a-z+]+:\/\/)?(?:[^@/]*@)?([\w.-]+)(?::\d+)?[:/](.+)$/.exec(url)?.slice(1, 3) ?? [];

/**
 * The source `owner/repo` that the address of a submodule means, and whether the code host has it. A relative address
 * starts at the repository. `git@host:owner/repo.git` and URLs mean a repository of this service, or of the code host.
 */
export function sourceAt(url: string, { parent, host }: { readonly parent: string; readonly host: string }) {
  const isRelative = /^\.\.?\//.test(url);
  const [at, path = ""] = isRelative ? [undefined, posix.join(parent, url)] : hostAndPath(url);
  const name = path.replace(/\/+$/, "").replace(/\.git$/, "");
  const repo = isRelative || /^git\/[^/]+\/[^/]+$/.test(name) ? name.replace(/^git\/(?=.*\/)/, "") : name;
  return isName(repo) ? { repo, isOfHost: isRelative || at === hostAndPath(host)[0] } : undefined;
}
