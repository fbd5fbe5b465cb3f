import type { Way } from "../kernel/maker.ts";
import type { JsonText } from "../kernel/result-text.ts";
import type { Role } from "../kernel/roles.ts";

/** `kept`: no mail server is configured. `pending`: not sent yet, or between tries. */
type MailStatus = "kept" | "pending" | "sent" | "failed";
type Level = "info" | "warn" | "error";

/** The columns that hold certain texts only. `npm run generate` gives them these types in `generated/tables.ts`. */
export interface ColumnTypes {
  "organizations.plan": "starter" | "pro" | "enterprise";
  "users.role": Role;
  "users.status": "active" | "suspended";
  "invitations.role": Role;
  "invitations.mail_status": MailStatus;
  "projects.status": "active" | "archived";
  "deployments.status": "queued" | "building" | "deploying" | "active" | "failed" | "cancelled" | "rolled_back";
  "deployments.source": JsonText;
  "deployments.created_by": JsonText;
  "scenarios.next": "deployment" | "generation";
  "deployment_logs.level": Level;
  "jobs.state": "waiting" | "running";
  "audit_log.via": Way;
  "mails.status": MailStatus;
  "endpoints.family": "webhook" | "integration" | "removed";
  "endpoints.type": "webhook" | "code_host" | "chat" | "monitoring" | "custom" | "removed";
  "endpoints.status": "active" | "inactive";
  "deliveries.status": "pending" | "succeeded" | "abandoned" | "skipped";
  "generations.kind": "image" | "video";
  "generations.status": "queued" | "in_progress" | "completed" | "failed";
  "previews.status": "open" | "closed" | "ended";
  "schedule_runs.status": "running" | "succeeded" | "failed";
  "app_domains.status": "active" | "pending";
  "app_logs.level": Level;
}
