import * as v from "valibot";
import { roles } from "../kernel/roles.ts";

const text = v.string();
const deployment = {
  deployment_id: text,
  project_id: text,
  environment: text,
  version: v.nullable(text),
};
const project = v.object({ project_id: text, name: text, region: text });

/** Every event and its data. SPEC "Event names"; CONTRACT section 6, the table of data. */
export const catalog = {
  "deployment.queued": v.object(deployment),
  "deployment.started": v.object(deployment),
  "deployment.succeeded": v.object(deployment),
  "deployment.failed": v.object({ ...deployment, reason: text }),
  "deployment.rolled_back": v.object({
    ...deployment,
    new_deployment_id: v.nullable(text),
    reason: v.picklist(["manual", "health_check"]),
  }),
  "project.created": project,
  "project.deleted": project,
  "user.invited": v.object({
    invitation_id: text,
    email: text,
    role: v.picklist(roles),
    expires_at: text,
  }),
  "user.removed": v.object({
    user_id: text,
    email: text,
    role: v.picklist(roles),
  }),
} as const;

export type EventName = keyof typeof catalog;
export type EventData<E extends EventName> = v.InferOutput<(typeof catalog)[E]>;
