import {
  type Authentication,
  type Authenticator,
  confirmedBy,
  type Identify,
  unauthenticated,
} from "../http/authenticate.ts";
import { isForeign, isLoopbackName, requireNear } from "../http/hosts.ts";
import type { WatchKey } from "../http/limits/cancellation.ts";
import type { RequestContext } from "../http/request-context.ts";
import type { Access } from "../http/route.ts";
import { Problem } from "../kernel/errors.ts";
import { parseUrl } from "../kernel/text/url.ts";
import { noNetworks } from "../kernel/trusted-networks.ts";

interface Ports {
  readonly mode: "dev" | "start";
  readonly publicUrl: string | undefined;
  readonly behindProxy: boolean;
  readonly basePath: string;
  readonly authenticator: Pick<Authenticator, "bySignIn">;
  /** Finds the caller by the session token in `start`, by the name of a person in `dev`. */
  readonly identify: Identify;
  readonly watch: WatchKey;
  /** The person to act as if none is chosen (`dev`). */
  readonly first: () => Promise<string>;
}

export type DashboardAccess = ReturnType<typeof createDashboardAccess>;

const signInFirst = () => new Problem("unauthorized", "sign in first: the session has ended, or there was none");

const cookiesOf = ({ header }: RequestContext): ReadonlyMap<string, string> =>
  new Map(
    (header("cookie") ?? "").split(";").map((pair): [string, string] => {
      const [name = "", ...value] = pair.trim().split("=");
      return [name, value.join("=")];
    }),
  );

/** Decides who may use the dashboard: in `dev` this machine, as any person; in `start` everyone with a session. */
export function createDashboardAccess(ports: Ports) {
  const { mode, publicUrl, behindProxy, basePath, authenticator, identify } = ports;
  const hostOf = ({ header }: RequestContext) => header("host") ?? "";

  const isHttps = (request: RequestContext) => {
    if (publicUrl !== undefined && new URL(publicUrl).host === hostOf(request)) return publicUrl.startsWith("https:");
    return behindProxy && request.header("x-forwarded-proto") === "https";
  };

  /**
   * The session cookie, for this host and port only. Undefined if the connection is too insecure for a cookie. Browsers
   * drop `__Host-` cookies with the path of an application.
   */
  const cookieName = (request: RequestContext): string | undefined => {
    if (isHttps(request)) return basePath === "" ? "__Host-svc" : "__Secure-svc";
    const { hostname = "", port = "" } = parseUrl(`http://${hostOf(request)}`) ?? {};
    return isLoopbackName(hostname) ? `svc_${port || "80"}` : undefined;
  };

  /**
   * The path of a cookie for this path of the dashboard. `__Host-` needs the root. So does a port beside a base path: it
   * answers with and without that path.
   */
  const cookiePath = (request: RequestContext, path: string): string =>
    isHttps(request) || basePath !== "" ? "/" : path;

  /** Accepts requests from this origin and those without a page. Checks `Origin`, because cookies ignore ports. */
  const refuseForeign = (request: RequestContext): void => {
    if (isForeign(request, `${isHttps(request) ? "https" : "http"}://${hostOf(request)}`))
      throw new Problem("insufficient_role", "pages of other origins must not use the dashboard");
  };

  const requireHere = (request: RequestContext): void => {
    if (mode === "dev") requireNear(request, noNetworks, "the dashboard of dev");
  };

  /** The page itself needs no session: it contains no data, and links in mails lead to it. */
  const open: Access = (request) => {
    requireHere(request);
    if (request.header("origin") !== undefined) refuseForeign(request);
    return unauthenticated;
  };

  /** A visit through a link or redirect from any site. It counts toward the rate limit of the address. */
  const visit: Access = (request) => {
    requireHere(request);
    return authenticator.bySignIn(request);
  };

  const tokenOf = async (request: RequestContext): Promise<string | undefined> => {
    if (mode === "dev") return request.header("x-svc-person") ?? request.query().get("person") ?? (await ports.first());
    return cookiesOf(request).get(cookieName(request) ?? "");
  };

  const byKey = async (request: RequestContext): Promise<Authentication> => {
    requireHere(request);
    refuseForeign(request);
    const token = await tokenOf(request);
    const identity = token === undefined ? undefined : await identify(token);
    if (!identity) throw signInFirst();
    const { caller, isCurrent } = identity;
    return { caller, key_id: caller.key_id, token, window: undefined, isCurrent, refusal: undefined };
  };

  return {
    open,
    visit,
    cookies: cookiesOf,
    cookieName,
    cookiePath,
    isHttps,
    tokenOf,
    /** Authenticates the operations of the dashboard. They count toward no key's rate limit. */
    authenticator: {
      byKey,
      byAddress(request: RequestContext) {
        requireHere(request);
        refuseForeign(request);
        return authenticator.bySignIn(request);
      },
      confirmed: confirmedBy(identify),
      watch: ({ token }: Authentication, lost: () => void) =>
        token === undefined ? () => {} : ports.watch(token, lost),
    },
  };
}
