import * as v from "valibot";
import { createWriter } from "../http/answer.ts";
import type { RecentRequests } from "../http/recent-requests.ts";
import { queryOf } from "../http/request-context.ts";
import { type Route, unnamed } from "../http/route.ts";
import { notFound, Problem } from "../kernel/errors.ts";
import type { Caller } from "../kernel/operation.ts";
import { check, oneOf, record, text } from "../kernel/validation.ts";
import type { DashboardAccess } from "./access.ts";

interface Ports {
  readonly requests: RecentRequests;
  readonly access: DashboardAccess;
  readonly now: () => string;
}

const filter = record({
  search: v.optional(text()),
  method: v.optional(text()),
  status: v.optional(oneOf(["2", "3", "4", "5", "error"])),
  key_id: v.optional(text()),
  before: v.optional(v.pipe(text(), v.regex(/^\d{1,15}$/, "must be a number"), v.transform(Number))),
});

/** The roles that read the audit log: requests name people and keys too. */
function refuseOthers({ role }: Caller): void {
  if (role !== "owner" && role !== "admin")
    throw new Problem("insufficient_role", `requests need the role owner or admin, and yours is ${role}`);
}

/** The requests of the last hour, for the page: a list, and each of them with its bodies. */
export function requestRoutes({ requests, access, now }: Ports): Route[] {
  const writer = createWriter({ envelope: "flat", now, base: "" });
  const path = "/dashboard/session/requests";
  const row = (path: string, answer: Route["answer"]): Route => ({
    method: "GET",
    path,
    name: unnamed,
    access: access.authenticator.byKey,
    leavesNoTrace: true,
    answer(request, authentication) {
      refuseOthers(authentication.caller);
      return answer(request, authentication);
    },
  });
  return [
    row(path, (request, { caller }) =>
      writer.object(200, requests.list(caller.organization_id, check(filter, queryOf(request))), request.id),
    ),
    row(`${path}/{number}`, ({ id, params }, { caller }) => {
      const found = requests.find(caller.organization_id, Number(params["number"]));
      if (!found) throw notFound("request");
      return writer.object(200, found, id);
    }),
  ];
}
