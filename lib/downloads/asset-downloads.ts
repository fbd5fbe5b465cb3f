import { type AssetLinks, assetsPath, isInline } from "../generations/asset-links.ts";
import type { GenerationsService } from "../generations/service.ts";
import type { Answer } from "../http/answer.ts";
import type { RequestContext } from "../http/request-context.ts";
import { notFound, Problem } from "../kernel/errors.ts";
import { matches, rangeOf } from "./byte-range.ts";

/** A file is somebody else's content: no browser may run any of it, or take it for something that it is not. */
const guarded = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; sandbox",
} as const;

/** Where signed links lead, beside `/v1`: files of generations, without a key. CONTRACT section 5. */
export function createAssets({ generations, links }: { generations: GenerationsService; links: AssetLinks }) {
  return async (exchange: RequestContext): Promise<Answer | undefined> => {
    const { path, query, method, header, id: request_id } = exchange;
    if (!path.startsWith(assetsPath)) return undefined;
    if (method !== "GET" && method !== "HEAD")
      throw new Problem("method_not_allowed", "this path takes GET, HEAD", { headers: { allow: "GET, HEAD" } });
    const link = links.verify(path, query());
    if (!link)
      throw new Problem("link_expired", "this link was changed or is too old; get the generation again for a new one");
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
    // A range is of what is sent, so only GET has one.
    const range = method === "GET" ? header("range") : undefined;
    const asked = condition === undefined || condition === etag ? rangeOf(range, size) : "whole";
    if (asked === "beyond") {
      throw new Problem("range_not_satisfiable", `the range lies beyond the file's ${size} bytes`, {
        headers: { "content-range": `bytes */${size}` },
      });
    }
    const { start, end } = asked === "whole" ? { start: 0, end: size - 1 } : asked;
    const file = {
      ...headers,
      "content-type": type,
      "content-length": String(end - start + 1),
      ...(asked !== "whole" && { "content-range": `bytes ${start}-${end}/${size}` }),
      ...(!isInline(type) && { "content-disposition": "attachment" }),
    };
    const status = asked === "whole" ? 200 : 206;
    if (method === "HEAD") return { status, headers: file, body: null, request_id };
    return { status, headers: file, body: await asset.read(start, end), request_id };
  };
}
