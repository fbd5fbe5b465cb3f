import { createReadStream, type Stats } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join, sep } from "node:path";
import { matches, rangeOf } from "../../kernel/text/file-request.ts";
import { compressedOf } from "./compressed-files.ts";
import { mediaTypeOf } from "./media-types.ts";

interface Found {
  readonly path: string;
  readonly size: number;
  readonly etag: string;
}

const versionOf = ({ size, mtimeMs }: Stats) => ({
  size,
  etag: `"${size.toString(36)}-${Math.floor(mtimeMs).toString(36)}"`,
});

/** The path of a URL, decoded; undefined if no file can have it. */
function pathIn(url: string): string | undefined {
  try {
    const path = decodeURIComponent(url.split(/[?#]/, 1)[0] ?? "");
    return path.includes("\0") ? undefined : path;
  } catch {
    return undefined;
  }
}

/** Finds the file of a path. Hidden files, and links that lead out of the folder, count as missing. */
async function find(root: string, path: string): Promise<Found | "folder" | undefined> {
  if (path.split(/[/\\]/).some((part) => part.startsWith(".") && part !== ".well-known")) return undefined;
  try {
    const real = await realpath(join(root, path));
    if (real !== root && !real.startsWith(root + sep)) return undefined;
    const info = await stat(real);
    if (info.isDirectory()) return "folder";
    if (!info.isFile()) return undefined;
    return { path: real, ...versionOf(info) };
  } catch {
    return undefined;
  }
}

/** Serves `index.html` for a folder, and `about.html` for `/about` and `/about/`. */
async function findPage(root: string, path: string): Promise<Found | string | undefined> {
  const found = await find(root, path);
  if (found === "folder" && !path.endsWith("/")) return `${path}/`;
  if (found !== "folder" && found !== undefined) return found;
  const places = [...(found === "folder" ? [`${path}index.html`] : []), `${path.replace(/\/$/, "")}.html`];
  for (const place of places) {
    const page = await find(root, place);
    if (page !== "folder" && page !== undefined) return page;
  }
  return undefined;
}

async function send(request: IncomingMessage, response: ServerResponse, original: Found, status = 200): Promise<void> {
  const compressed = await compressedOf(original.path, String(request.headers["accept-encoding"] ?? ""));
  // Ranges refer to the uncompressed file.
  const chosen = request.headers.range === undefined ? compressed.accepted : undefined;
  const { path, size, etag } = chosen ? { path: chosen.path, ...versionOf(chosen.info) } : original;
  const headers = {
    "content-type": mediaTypeOf(original.path),
    "x-content-type-options": "nosniff",
    etag,
    "cache-control": "no-cache",
    ...(compressed.isAny && { vary: "Accept-Encoding" }),
    ...(chosen && { "content-encoding": chosen.encoding }),
  };
  if (status === 200 && matches(request.headers["if-none-match"], etag)) {
    response.writeHead(304, headers).end();
    return;
  }
  // With If-Range, a client asks for a part of the file that it knows (RFC 9110, section 13.1.5).
  const clientEtag = request.headers["if-range"] ?? etag;
  const wanted = status === 200 && clientEtag === etag ? rangeOf(request.headers.range, size) : "whole";
  if (wanted === "beyond") {
    response.writeHead(416, { "content-range": `bytes */${size}` }).end();
    return;
  }
  const part = wanted === "whole" ? undefined : wanted;
  const { start, end } = part ?? { start: 0, end: size - 1 };
  response.writeHead(part ? 206 : status, {
    ...headers,
    "content-length": end - start + 1,
    "accept-ranges": "bytes",
    ...(part && { "content-range": `bytes ${start}-${end}/${size}` }),
  });
  if (request.method === "HEAD" || size === 0) {
    response.end();
    return;
  }
  const file = createReadStream(path, { start, end });
  file.on("error", () => response.destroy());
  response.on("close", () => file.destroy());
  file.pipe(response);
}

/** The part of a release that is served. */
interface Site {
  readonly folder: string;
  /** The file in the folder that answers unknown paths. */
  readonly fallback: string | undefined;
}

async function answer(
  root: string,
  fallback: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  request.resume();
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.writeHead(405, { allow: "GET, HEAD" }).end();
    return;
  }
  const path = pathIn(request.url ?? "/");
  if (path === undefined) {
    response.writeHead(400).end();
    return;
  }
  const found = await findPage(root, path);
  if (typeof found === "string") {
    const [, query = ""] = /(\?.*)$/s.exec(request.url ?? "") ?? [];
    // Two leading slashes would redirect to another host.
    response
      .writeHead(308, {
        location:
          encodeURI(found.replace(/^[/\\]+/, "/"))
            .replaceAll("?", "%3F")
            .replaceAll("#", "%23") + query,
      })
      .end();
    return;
  }
  if (found) return send(request, response, found);
  const fallbackPage = fallback === undefined ? undefined : await find(root, fallback);
  if (fallbackPage && fallbackPage !== "folder") return send(request, response, fallbackPage);
  const page = await find(root, "/404.html");
  if (page && page !== "folder") return send(request, response, page, 404);
  response.writeHead(404, { "content-type": "text/plain; charset=utf-8" }).end("Not found\n");
}

/**
 * Serves a folder of a release until the process ends. Rejects if the folder is outside the release or the port is
 * taken.
 */
export async function serveFolder(
  release: string,
  { folder, fallback }: Site,
  { port, host }: { readonly port: number; readonly host: string },
): Promise<void> {
  const [top, root] = await Promise.all([realpath(release), realpath(join(release, folder))]);
  if (root !== top && !root.startsWith(top + sep))
    throw new Error(`the static folder ${folder} leads out of the release`);
  const server = createServer((request, response) => {
    answer(root, fallback, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
}
