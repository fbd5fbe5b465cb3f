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
/** Receivers also get a `ping`, when somebody tests an endpoint. */
export type DeliveredEvent = EventName | "ping";
export const deliveredEvents = [...Object.keys(catalog), "ping"] as readonly DeliveredEvent[];

/**
 * The body that a webhook or a custom integration receives: `WebhookPayload<"deployment.failed">`. Without a name it is the
 * union of all, and a comparison of `event` narrows it.
 */
export type WebhookPayload<E extends DeliveredEvent = DeliveredEvent> = {
  readonly [Name in E]: { readonly event: Name; readonly timestamp: string; readonly data: DeliveredData<Name> };
}[E];
type DeliveredData<E> = E extends EventName
  ? EventData<E>
  : { readonly webhook_id: string } | { readonly integration_id: string };

export type EventData<E extends EventName> = v.InferOutput<(typeof catalog)[E]>;
