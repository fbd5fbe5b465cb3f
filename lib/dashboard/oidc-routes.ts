import * as v from "valibot";
import type { Issuer, Person, SignInChecks } from "../drivers/oidc/issuer.ts";
import { IssuerError } from "../drivers/oidc/issuer-error.ts";
import type { Sessions } from "../features/keys/sessions.ts";
import type { Answer } from "../http/answer.ts";
import type { RequestContext } from "../http/request-context.ts";
import { type Route, unnamed, withOtherMethods } from "../http/route.ts";
import { type Clock, isoOf } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import type { Random } from "../kernel/random.ts";
import { isSameSecret } from "../kernel/secrets/constant-time.ts";
import { milliseconds } from "../kernel/text/duration.ts";
import { parseUrl } from "../kernel/text/url.ts";
import type { Encryption } from "../store/encryption.ts";
import type { DashboardAccess } from "./access.ts";
import { noticePage } from "./notice-page.ts";
import { type Client, SignInRefused } from "./oidc-people.ts";
import { always } from "./page-headers.ts";
import { sessionCookie } from "./session-cookie.ts";

interface Ports {
  readonly mode: "dev" | "start";
  readonly access: DashboardAccess;
  readonly publicUrl: string | undefined;
  readonly basePath: string;
  /** A path without the base path. */
  readonly inner: (path: string) => string;
  readonly issuer: Issuer;
  readonly encryption: Encryption;
  readonly random: Random;
  readonly clock: Clock;
  readonly log: Log;
  readonly sessions: Pick<Sessions, "use">;
  /** Starts a session for a person. Rejects with {SignInRefused}. */
  readonly begin: (person: Person, client: Client) => Promise<string>;
  readonly clientOf: (request: RequestContext) => Client;
  readonly onRefused: OnRefused;
}

export type OnRefused = (refused: Pick<SignInRefused, "organization_id" | "user_id">, client: Client) => Promise<void>;

const home = "/dashboard";
const path = `${home}/oidc`;

const lasts_ms = milliseconds("10m");

/** An unfinished sign-in, encrypted in the browser's cookie: any server can finish it, and none has to store it. */
const underWay = v.object({
  state: v.string(),
  nonce: v.string(),
  code_verifier: v.string(),
  redirect_uri: v.string(),
  to: v.string(),
  until: v.number(),
});
type UnderWay = v.InferOutput<typeof underWay>;

const again = [home, "Sign in again"] as const;
const notUnderWay = (reason: string, why: string) => new SignInRefused(400, reason, why);

/** The path of a page of this dashboard; for anything else, that of its first page. */
export function ownPage(text: string): string {
  const here = "http://dashboard.invalid";
  const url = parseUrl(text, here);
  const isOwn = url?.origin === here && (url.pathname === home || url.pathname.startsWith(`${home}/`));
  if (!url || !isOwn || url.pathname.startsWith(path) || url.href.length > 1000) return home;
  return url.pathname + url.search + url.hash;
}

/** The routes of sign-in with OpenID Connect. The issuer's answer comes by a redirect from another site. */
export function oidcRoutes(ports: Ports): Route[] {
  const { mode, access, log, clientOf, onRefused } = ports;
  const answering =
    (work: (request: RequestContext) => Promise<Answer>): Route["answer"] =>
    async (request) => {
      try {
        if (mode === "dev")
          throw new SignInRefused(409, "mode dev", "In dev nobody signs in: the dashboard acts as any person.");
        return await work(request);
      } catch (error) {
        const refused = refusalOf(error);
        const { reason, message: text, status } = refused;
        const { id: request_id } = request;
        const level = status >= 500 ? "warn" : "info";
        const detail = error instanceof IssuerError ? error.detail : undefined;
        log[level]("a sign-in with OpenID Connect was refused", { request_id, reason, detail });
        await onRefused(refused, clientOf(request));
        const headers = { "set-cookie": `${cookieOf(access, request)}=; ${parts(access, request, 0)}` };
        return noticePage({ status, title: "You are not signed in", text, link: again, headers, request_id });
      }
    };
  const row = (at: string, work: (request: RequestContext) => Promise<Answer>): Route => ({
    method: "GET",
    path: at,
    name: unnamed,
    access: access.visit,
    answer: answering(work),
  });
  return withOtherMethods([row(path, begin(ports)), row(`${path}/callback`, end(ports))]);
}

/** Rethrows all other errors: they are faults of the service. */
function refusalOf(error: unknown): SignInRefused {
  if (error instanceof SignInRefused) return error;
  if (error instanceof IssuerError) return new SignInRefused(error.status, "issuer", error.message, { cause: error });
  throw error;
}

/** A separate cookie, because the browser must send it with the issuer's redirect from another site. */
const cookieOf = (access: DashboardAccess, request: RequestContext) =>
  `${access.cookieName(request) ?? "svc"}${access.isHttps(request) ? "-oidc" : "_oidc"}`;

const parts = (access: DashboardAccess, request: RequestContext, seconds: number) => {
  const place = `Path=${access.cookiePath(request, path)}; Max-Age=${seconds}`;
  return `${place}; HttpOnly; SameSite=Lax${access.isHttps(request) ? "; Secure" : ""}`;
};

const redirect = (location: string, cookie: string, { id }: RequestContext): Answer => ({
  status: 303,
  headers: { ...always, "referrer-policy": "no-referrer", "cache-control": "no-store", location, "set-cookie": cookie },
  body: null,
  request_id: id,
});

/** Binds the encrypted cookie to this purpose. Values encrypted for another purpose are refused. */
const seal = "dashboard.oidc";

const begin =
  ({ access, publicUrl, basePath, inner, issuer, encryption, random, clock }: Ports) =>
  async (request: RequestContext): Promise<Answer> => {
    if (access.cookieName(request) === undefined)
      throw new SignInRefused(403, "plain connection", "Sign in over https, or on this machine.");
    const origin = publicUrl ?? `${access.isHttps(request) ? "https" : "http"}://${request.header("host")}`;
    const checks: SignInChecks = {
      state: random.alphanumeric(43),
      nonce: random.alphanumeric(43),
      code_verifier: random.alphanumeric(64),
      redirect_uri: `${origin}${basePath}${path}/callback`,
    };
    const location = (await issuer.signInUrl(checks)).href;
    const to = ownPage(inner(request.query().get("to") ?? ""));
    const kept: UnderWay = { ...checks, to, until: clock.now() + lasts_ms };
    const sealed = encryption.encrypt(seal, JSON.stringify(kept));
    const cookie = `${cookieOf(access, request)}=${sealed}; ${parts(access, request, lasts_ms / 1000)}`;
    return redirect(location, cookie, request);
  };

const end =
  ({ access, issuer, encryption, clock, sessions, begin, clientOf }: Ports) =>
  async (request: RequestContext): Promise<Answer> => {
    const kept = opened(encryption, access.cookies(request).get(cookieOf(access, request)));
    if (!kept)
      throw notUnderWay("no cookie", "No sign-in is under way in this browser, or it began at another address.");
    if (kept.until <= clock.now()) throw notUnderWay("too late", "This sign-in took longer than ten minutes.");
    const query = request.query();
    const [state = "", ...more] = query.getAll("state");
    if (more.length > 0 || !isSameSecret(state, kept.state))
      throw notUnderWay("wrong state", "This answer belongs to another sign-in, not to the sign-in of this browser.");
    if (!(await sessions.use(state, isoOf(kept.until)))) throw notUnderWay("used", "This sign-in was used already.");
    const answer = new URL(kept.redirect_uri);
    answer.search = query.toString();
    const token = await begin(await issuer.personOf(answer, kept), clientOf(request));
    return redirect(kept.to, sessionCookie(access, request, token), request);
  };

/** The content of the cookie; undefined if this service did not encrypt it. */
function opened(encryption: Encryption, sealed: string | undefined): UnderWay | undefined {
  if (sealed === undefined) return undefined;
  try {
    return v.parse(underWay, JSON.parse(encryption.decrypt(seal, sealed)));
  } catch {
    return undefined;
  }
}
