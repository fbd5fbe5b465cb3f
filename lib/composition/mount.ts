import type { Settings } from "../config/parse-options.ts";
import { fetchClasses } from "../kernel/node/web.ts";

/** A service below a path of an application, on the application's own origin (option `basePath`). */
export interface Mount {
  /** The public URL, or in `dev` the origin of the application's last request; undefined if neither is known. */
  origin(): string | undefined;
  /** A path, with its query, as the service knows it. */
  inner(path: string): string;
  /** Answers a request of the application: `answer` gets the path as the service knows it. */
  around(request: Request, answer: (request: Request) => Promise<Response>): Promise<Response>;
}

export function createMount({ basePath, mode, publicUrl }: Pick<Settings, "basePath" | "mode" | "publicUrl">): Mount {
  let origin: string | undefined = publicUrl;
  const isBelow = (path: string) => new RegExp(`^${basePath}(?=[/?]|$)`).test(path);
  const inner = (path: string) => {
    if (basePath === "" || !isBelow(path)) return path;
    const rest = path.slice(basePath.length);
    return rest.startsWith("/") ? rest : `/${rest}`;
  };

  const requestOf = (request: Request, url: URL) => {
    const passed = new (fetchClasses().Request)(url.origin + inner(url.pathname) + url.search, request);
    // The application compresses. A compressed answer could not be changed here.
    passed.headers.delete("accept-encoding");
    return passed;
  };

  /** Adds the base path to the paths in an answer. */
  const below = async (path: string, response: Response): Promise<Response> => {
    const { status, statusText } = response;
    const headers = new (fetchClasses().Headers)(response.headers);
    const location = headers.get("location");
    if (location?.startsWith("/")) headers.set("location", basePath + location);
    const cookie = headers.get("set-cookie");
    if (cookie !== null) headers.set("set-cookie", cookie.replace("Path=/", `Path=${basePath}/`));
    const names = /^text\/(html|css)/.test(headers.get("content-type") ?? "")
      ? /(["'(])(?=\/dashboard[/"])/g
      : path === "/v1/openapi.json" && /("servers":\[\{"url":")(?=\/v1)/g;
    const body = names ? (await response.text()).replace(names, `$1${basePath}`) : response.body;
    if (names) headers.delete("content-length");
    return new (fetchClasses().Response)(body, { status, statusText, headers });
  };

  return {
    origin: () => origin,
    inner,
    async around(request, answer) {
      const url = new URL(request.url);
      if (basePath === "" || !isBelow(url.pathname)) return answer(request);
      if (mode === "dev" && publicUrl === undefined) origin = url.origin;
      return below(inner(url.pathname), await answer(requestOf(request, url)));
    },
  };
}
