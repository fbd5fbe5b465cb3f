import type { DeploymentsService } from "../features/deployments/service.ts";
import type { MailsService } from "../features/mails/service.ts";
import { type RecentRequests, recentFilter } from "../http/recent-requests.ts";
import { queryOf } from "../http/request-context.ts";
import { type Route, unnamed } from "../http/route.ts";
import { notFound, Problem } from "../kernel/errors.ts";
import type { Caller } from "../kernel/operation.ts";
import { inScope, rolesFor } from "../kernel/roles.ts";
import { check, record, text } from "../kernel/validation.ts";
import type { DashboardAccess } from "./access.ts";
import { writerOf } from "./dashboard-routes.ts";
import { ofMail } from "./page-headers.ts";

interface Ports {
  readonly requests: RecentRequests;
  readonly deployments: Pick<DeploymentsService, "sources">;
  /** The mails of the emulator; undefined in `start`. */
  readonly mails: Pick<MailsService, "all"> | undefined;
  readonly access: DashboardAccess;
  readonly now: () => string;
}

const maxSources = 100;
const sourcesQuery = record({ ids: text() });

function refuseWithoutScope({ role, scopes }: Caller): void {
  const need = "deployments:read";
  if (!rolesFor(need).includes(role) || !inScope(scopes, need))
    throw new Problem("insufficient_scope", `this needs the scope ${need}`);
}

/** Permits only the roles that may read the audit log, because requests name people and keys too. */
function refuseOthers({ role, scopes }: Caller): void {
  if (role !== "owner" && role !== "admin")
    throw new Problem("insufficient_role", `requests need the role owner or admin, and yours is ${role}`);
  if (!inScope(scopes, "users:read")) throw new Problem("insufficient_scope", "requests need the scope users:read");
}

/** Lookups that only the page needs: the last hour's requests with their bodies, the sources of deployments, mails. */
export function lookUpRoutes({ requests, deployments, mails, access, now }: Ports): Route[] {
  const writer = writerOf(now);
  const path = "/dashboard/session/requests";
  const row = (path: string, permit: (caller: Caller) => void, answer: Route["answer"]): Route => ({
    method: "GET",
    path,
    name: unnamed,
    access: access.authenticator.byKey,
    leavesNoTrace: true,
    answer(request, authentication) {
      permit(authentication.caller);
      return answer(request, authentication);
    },
  });
  return [
    row(path, refuseOthers, (request, { caller }) =>
      writer.object(200, requests.list(caller.organization_id, check(recentFilter, queryOf(request))), request.id),
    ),
    row(`${path}/{number}`, refuseOthers, ({ id, params }, { caller }) => {
      const kept = requests.find(caller.organization_id, Number(params["number"]));
      if (!kept) throw notFound("request");
      return writer.object(200, kept, id);
    }),
    row("/dashboard/session/sources", refuseWithoutScope, async (request, { caller }) => {
      const ids = check(sourcesQuery, queryOf(request)).ids.split(",");
      return writer.object(200, { data: await deployments.sources(caller, ids.slice(0, maxSources)) }, request.id);
    }),
    ...(mails ? [row("/dashboard/session/mail/{id}", () => {}, mailOf(mails))] : []),
  ];
}

const mailOf =
  (mails: NonNullable<Ports["mails"]>): Route["answer"] =>
  async ({ id: request_id, params }) => {
    const mail = (await mails.all()).find(({ id }) => id === params["id"]);
    if (!mail?.html) throw notFound("mail");
    const body = mail.html.replace("<head>", '<head><base target="_blank">');
    return { status: 200, headers: ofMail, body, request_id };
  };
