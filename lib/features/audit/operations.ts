import { operationsOf } from "../../kernel/operation.ts";
import { auditEntry, auditQuery } from "./schema.ts";
import type { AuditService } from "./service.ts";

const operation = operationsOf<{ audit: AuditService }>();

export const auditOperations = [
  operation({
    id: "audit-log.list",
    summary: "List the audit log, newest first",
    description:
      "Lists each change that succeeded, each branch that a push changed, and each refused sign-in of the organization, one page at a time. `action` selects one operation such as `projects.delete`, or `sign-in.refused`; `user_id` selects one person. It leaves out the creation of deployments and generations, because these are records themselves. Entries are deleted after 365 days, or the option `audit.retention`.",
    route: "GET /audit-log",
    needs: "users:read",
    roles: ["owner", "admin"],
    answers: "list",
    query: auditQuery,
    result: auditEntry,
    run: ({ query }, { audit }, caller) => audit.list(caller, query),
  }),
];
