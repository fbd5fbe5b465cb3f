import type { AuditService } from "../features/audit/service.ts";
import type { KeysService } from "../features/keys/service.ts";
import type { Sessions } from "../features/keys/sessions.ts";
import type { OrganizationsService } from "../features/organizations/service.ts";
import type { UsersService } from "../features/users/service.ts";
import { type Answer, createWriter } from "../http/answer.ts";
import type { Authentication } from "../http/authenticate.ts";
import { parseBody, readBody } from "../http/body.ts";
import { wholeAddress } from "../http/client-address.ts";
import { operationRoutes } from "../http/operation-routes.ts";
import type { RequestContext } from "../http/request-context.ts";
import { type Access, type Route, unnamed, withOtherMethods } from "../http/route.ts";
import type { RunOperation } from "../http/run-operation.ts";
import { notFound, Problem } from "../kernel/errors.ts";
import type { Operation } from "../kernel/operation.ts";
import type { Role } from "../kernel/roles.ts";
import { acceptedEncoding } from "../kernel/text/file-request.ts";
import { check, record, text } from "../kernel/validation.ts";
import type { DashboardAccess } from "./access.ts";
import { pageFiles } from "./page-files.ts";
import { always } from "./page-headers.ts";
import type { createPeople } from "./people.ts";
import type { History } from "./process-history.ts";
import { sessionCookie } from "./session-cookie.ts";

/** How people can sign in: with an API key, or with OpenID Connect at an issuer, which the page shows by its name. */
export interface SignInMethods {
  readonly key: boolean;
  readonly oidc: { readonly name: string; readonly url: string } | null;
}

interface Ports<Services> {
  readonly mode: "dev" | "start";
  readonly access: DashboardAccess;
  readonly sessions: Sessions;
  readonly signInMethods: SignInMethods;
  readonly people: ReturnType<typeof createPeople>;
  readonly organizations: Pick<OrganizationsService, "get" | "chosen">;
  readonly users: Pick<UsersService, "get">;
  readonly keys: Pick<KeysService, "owner">;
  readonly audit: Pick<AuditService, "recordRefusedSignIn">;
  readonly behindProxy: boolean;
  readonly history: History;
  readonly started: () => { readonly at: string; readonly warning: string | undefined };
  /** Whether this server accepts git pushes. */
  readonly hostsRepositories: boolean;
  readonly operations: readonly Operation<Services>[];
  readonly run: RunOperation<Services>;
  readonly now: () => string;
}

export const dashboardPath = "/dashboard";
export const dashboardApi = `${dashboardPath}/api`;

/** The same roles as for `/metrics`. The numbers here are those of the whole service. */
const metricsRoles: readonly Role[] = ["owner", "admin"];

/** The page reads records without an envelope. */
export const writerOf = (now: () => string) => createWriter({ envelope: "flat", now, base: "" });

const newSession = record({ key: text() });
const maxBytes = 4096;

/** A file of the page, compressed if the browser accepts that. */
async function fileAnswer({ header, id }: RequestContext, name: string, caching: string): Promise<Answer> {
  const file = (await pageFiles()).get(name);
  if (!file) throw notFound("file");
  const encodings = (["br", "gzip"] as const).filter((name) => file[name]);
  const encoding = acceptedEncoding(header("accept-encoding"), encodings);
  return {
    status: 200,
    headers: {
      ...always,
      "content-type": file.type,
      "cache-control": caching,
      vary: "Accept-Encoding",
      ...(encoding && { "content-encoding": encoding }),
    },
    body: (encoding && file[encoding]) ?? file.plain,
    request_id: id,
  };
}

const session = `${dashboardPath}/session`;
const row = (method: Route["method"], path: string, access: Access, answer: Route["answer"]): Route => ({
  ...{ method, path, access, answer },
  name: unnamed,
});

/** The routes that need no session: the sign-in methods, and the files of the page. */
function openRows<Services>({ access: { open }, signInMethods, now }: Ports<Services>): Route[] {
  const shell = (path: string) => ({
    ...row("GET", path, open, (request) => fileAnswer(request, "index.html", "no-cache")),
    takesSlash: true,
  });
  return [
    row("GET", `${session}/ways`, open, ({ id }) => writerOf(now).object(200, signInMethods, id)),
    row("GET", `${dashboardPath}/assets/{name}`, open, (request) =>
      fileAnswer(request, request.params["name"] ?? "", "public, max-age=31536000, immutable"),
    ),
    shell(dashboardPath),
    shell(`${dashboardPath}/**`),
  ];
}

/** The routes of `/dashboard` (schema/commands.md#running-the-service). */
export function dashboardRoutes<Services>(ports: Ports<Services>): Route[] {
  const { access, operations, people, now } = ports;
  const { byKey, byAddress } = access.authenticator;

  const rows = withOtherMethods([
    row("GET", session, byKey, whoAmI(ports)),
    row("POST", session, byAddress, signIn(ports)),
    row("DELETE", session, byKey, signOut(ports)),
  ]);
  const persons = row("GET", `${session}/people`, byKey, async ({ id }) => writerOf(now).list(await people.all(), id));
  const metrics = row("GET", `${session}/metrics`, byKey, lastHour(ports));
  const calls = operationRoutes({
    operations,
    authenticator: access.authenticator,
    run: ports.run,
    prefix: dashboardApi,
  });
  // An idempotency key belongs to an API key, which a dashboard session may lack.
  const unrepeated = calls.map((route) => ({
    ...route,
    answer: ({ header, ...request }: RequestContext, authentication: Authentication) =>
      route.answer(
        { ...request, header: (name) => (name === "idempotency-key" ? undefined : header(name)) },
        authentication,
      ),
  }));
  return [...rows, ...(ports.mode === "dev" ? [persons] : []), metrics, ...unrepeated, ...openRows(ports)].map(
    (route) => ({ ...route, leavesNoTrace: true }),
  );
}

/** The person of the session, with the role and scopes that tell the page what to offer. */
const whoAmI =
  <Services>({ mode, organizations, users, hostsRepositories, started, now }: Ports<Services>): Route["answer"] =>
  async ({ id }, { caller }) => {
    const { name: organization, plan } = await organizations.get(caller);
    const { id: user_id, name, email, role } = await users.get(caller, caller.user_id);
    const person = { user_id, name, email, role, scopes: caller.scopes };
    const { at: started_at, warning } = started();
    const clock_warning = (mode === "dev" && warning) || null;
    const service = { hosts_repositories: hostsRepositories, started_at, clock_warning };
    return writerOf(now).object(200, { mode, organization, plan, ...person, ...service }, id);
  };

const lastHour =
  <Services>({ mode, organizations, history, now }: Ports<Services>): Route["answer"] =>
  async ({ id }, { caller: { role } }) => {
    const refused = `metrics need the role owner or admin, and yours is ${role}`;
    if (!metricsRoles.includes(role)) throw new Problem("insufficient_role", refused);
    if (mode === "start" && !(await organizations.chosen()))
      throw new Problem(
        "insufficient_role",
        "these numbers include other organizations; yours are at /metrics with your key",
      );
    return writerOf(now).object(200, { data: await history.read() }, id);
  };

const signIn =
  <Services>({
    mode,
    access,
    sessions,
    signInMethods,
    keys,
    audit,
    behindProxy,
    now,
  }: Ports<Services>): Route["answer"] =>
  async (request) => {
    const { key } = check(newSession, parseBody(await readBody(request, maxBytes), true));
    if (mode === "dev") throw new Problem("limit_reached", "in dev nobody signs in: the dashboard acts as any person");
    const refused = async (...why: ConstructorParameters<typeof Problem>) => {
      const { incoming } = request;
      const request_id = request.auditId();
      const address = incoming && wholeAddress(incoming, behindProxy);
      await audit.recordRefusedSignIn({ organization_id: undefined, ...(await keys.owner(key)), address, request_id });
      return new Problem(...why);
    };
    if (!signInMethods.key)
      throw await refused(
        "insufficient_role",
        `API keys do not sign in here; sign in with ${signInMethods.oidc?.name}`,
      );
    if (access.cookieName(request) === undefined)
      throw await refused(
        "insufficient_role",
        "sign in over https, or on this machine: a plain connection shows the key",
      );
    const token = await sessions.begin(key);
    if (token === undefined)
      throw await refused("unauthorized", "this API key is not valid; paste a whole key, which begins with sk_live_");
    const answer = writerOf(now).object(201, {}, request.id);
    return { ...answer, headers: { ...answer.headers, "set-cookie": sessionCookie(access, request, token) } };
  };

const signOut =
  <Services>({ mode, access, sessions }: Ports<Services>): Route["answer"] =>
  async (request) => {
    const token = await access.tokenOf(request);
    if (mode === "start" && token !== undefined) await sessions.end(token);
    const headers = { "set-cookie": sessionCookie(access, request) };
    return { status: 204, headers, body: null, request_id: request.id };
  };
