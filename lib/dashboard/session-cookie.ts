import { sessionLength } from "../features/keys/sessions.ts";
import type { RequestContext } from "../http/request-context.ts";
import { milliseconds } from "../kernel/text/duration.ts";
import type { DashboardAccess } from "./access.ts";

/** The header that sets the session cookie, or removes it if there is no token. */
export function sessionCookie(access: DashboardAccess, request: RequestContext, token = ""): string {
  const isHttps = access.isHttps(request);
  const seconds = token === "" ? 0 : milliseconds(sessionLength) / 1000;
  const place = `Path=${access.cookiePath(request, "/dashboard")}; Max-Age=${seconds}`;
  return `${access.cookieName(request) ?? "svc"}=${token}; ${place}; HttpOnly; SameSite=Strict${isHttps ? "; Secure" : ""}`;
}
