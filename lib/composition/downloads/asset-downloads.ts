import { type AssetLinks, assetsPath, isInline } from "../../features/generations/asset-links.ts";
import type { GenerationsService } from "../../features/generations/service.ts";
import type { Answer } from "../../http/answer.ts";
import { unauthenticated } from "../../http/authenticate.ts";
import type { RequestContext } from "../../http/request-context.ts";
import { notHere, type Route, unnamed, withOtherMethods } from "../../http/route.ts";
import { whileRead } from "../../http/streams/in-pieces.ts";
import { notFound, Problem } from "../../kernel/errors.ts";
import { isStream } from "../../kernel/node/web.ts";
import { matches, rangeOf } from "../../kernel/text/file-request.ts";

/** Files are untrusted content: browsers must not run them or guess another type. */
const guarded = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; sandbox",
} as const;

/**
 * The routes of signed links, outside `/v1`: files of generations, without a key (schema/generations.md#files). The
 * dashboard serves them under its own prefix, so that a picture shown in a browser leaves no entry in the journal.
 */
export function assetRoutes(
  { generations, links }: { generations: GenerationsService; links: AssetLinks },
  prefix = assetsPath,
): Route[] {
  const access = ({ path }: RequestContext) => {
    // The router also matches the prefix without its slash.
    if (!path.startsWith(prefix)) throw notHere();
    return unauthenticated;
  };
  const answer = async ({ path, query, method, header, id: request_id, outgoing }: RequestContext): Promise<Answer> => {
    const link = links.verify(assetsPath + path.slice(prefix.length), query());
    if (!link)
      throw new Problem("link_expired", "this link is invalid or has expired; get the generation again for a new link");
    const asset = await generations.asset(link.id);
    if (!asset) throw notFound("file");

    const { type, size, etag } = asset;
    const headers = {
      ...guarded,
      etag,
      "accept-ranges": "bytes",
      "cache-control": `private, max-age=${link.remaining_s}`,
    };
    if (matches(header("if-none-match"), etag)) return { status: 304, headers, body: null, request_id };
    const condition = header("if-range");
    // HEAD sends no bytes, so only GET supports ranges.
    const range = method === "GET" ? header("range") : undefined;
    const wanted = condition === undefined || condition === etag ? rangeOf(range, size) : "whole";
    if (wanted === "beyond") {
      throw new Problem("range_not_satisfiable", `the range lies beyond the file's ${size} bytes`, {
        headers: { "content-range": `bytes */${size}` },
      });
    }
    const { start, end } = wanted === "whole" ? { start: 0, end: size - 1 } : wanted;
    const file = {
      ...headers,
      "content-type": type,
      "content-length": String(end - start + 1),
      ...(wanted !== "whole" && { "content-range": `bytes ${start}-${end}/${size}` }),
      ...(!isInline(type) && { "content-disposition": "attachment" }),
    };
    const status = wanted === "whole" ? 200 : 206;
    if (method === "HEAD") return { status, headers: file, body: null, request_id };
    const bytes = await asset.read(start, end);
    return {
      status,
      headers: file,
      body: isStream(bytes) ? whileRead(bytes, outgoing) : bytes,
      request_id,
    };
  };
  return withOtherMethods([{ method: "GET", path: `${prefix}**`, name: unnamed, access, answer }]);
}
