import * as v from "valibot";
import { field } from "../../kernel/field.ts";
import { roles } from "../../kernel/roles.ts";
import type { EventTypes } from "./generated/event-data.ts";

const text = v.string();
const deployment = {
  deployment_id: field(text, "The deployment."),
  project_id: field(text, "The project that it belongs to."),
  environment: field(text, "The environment that it deploys to."),
  version: field(v.nullable(text), "The commit, tag or digest; null until it is known."),
};
const generation = {
  generation_id: field(text, "The generation."),
  model: field(text, "The model that ran."),
  status: field(
    text,
    "How it ended: `failed`, or `completed` (`succeeded` with the option `generations.finishedStatus`).",
  ),
  cost_usd: field(v.number(), "Its cost, in US dollars."),
};
const problem = v.object({
  code: field(text, "The error code, for programs."),
  message: field(text, "The message, for people.", "The generation was cancelled"),
});
const project = v.object({
  project_id: field(text, "The project."),
  name: field(text, "Its name."),
  region: field(text, "Its region."),
});
const role = (meaning: string) => field(v.picklist(roles), meaning);

/** Every event and its data. `schema/webhooks.md` lists them in a table. */
export const catalog = {
  "deployment.queued": v.object(deployment),
  "deployment.started": v.object(deployment),
  "deployment.succeeded": v.object(deployment),
  "deployment.failed": v.object({ ...deployment, reason: field(text, "Why it failed, as its log says.") }),
  "deployment.rolled_back": v.object({
    ...deployment,
    deployment_id: field(text, "The deployment that is rolled back, or whose health check failed."),
    version: field(
      v.nullable(text),
      "The version that is live after it, not that of `deployment_id`: of the release that stays, or that comes back.",
    ),
    new_deployment_id: field(v.nullable(text), "The deployment that rolls back; null after a failed health check."),
    reason: field(v.picklist(["manual", "health_check"]), "A caller asked for it, or the health check failed."),
  }),
  "generation.completed": v.object(generation),
  "generation.failed": v.object({ ...generation, error: field(problem, "Why it failed.") }),
  "app.crashed": v.object({
    project_id: field(text, "The project of the app."),
    environment: field(text, "The environment of the app."),
    process: field(text, "`web`, or the name of the worker in the `Procfile`."),
    exit_code: field(v.nullable(v.number()), "The exit code of the process; null if a signal or a limit ended it."),
    restarts: field(v.number(), "How often processes of the live release have ended by themselves."),
  }),
  "schedule.failed": v.object({
    run_id: field(text, "The identifier of the run."),
    project_id: field(text, "The identifier of the project."),
    environment: field(text, "The name of the environment."),
    schedule: field(text, "The name of the schedule in `svc.json`."),
    exit_code: field(
      v.nullable(v.number()),
      "The exit code of the command; null if a signal or the time limit ended it.",
    ),
    reason: field(text, "Why it failed."),
  }),
  "project.created": project,
  "project.deleted": project,
  "user.invited": v.object({
    invitation_id: field(text, "The invitation."),
    email: field(text, "The address that is invited."),
    role: role("The role that the new member gets."),
    expires_at: field(text, "When the invitation expires, in ISO 8601."),
  }),
  "user.removed": v.object({
    user_id: field(text, "The member who was removed."),
    email: field(text, "Their address."),
    role: role("The role that they had."),
  }),
} as const satisfies { readonly [Name in keyof EventTypes]: v.GenericSchema<EventTypes[Name]> };

export type EventName = keyof EventTypes;
/** Receivers also get a `ping` when a user tests an endpoint. */
export type DeliveredEvent = EventName | "ping";
export const deliveredEvents = [...Object.keys(catalog), "ping"] as readonly DeliveredEvent[];

/**
 * The body that a webhook or custom integration receives: `WebhookPayload<"deployment.failed">`. Without a name it is
 * the union of all bodies; comparing `event` narrows it.
 */
export type WebhookPayload<E extends DeliveredEvent = DeliveredEvent> = {
  readonly [Name in E]: { readonly event: Name; readonly timestamp: string; readonly data: DeliveredData<Name> };
}[E];
type DeliveredData<E> = E extends EventName
  ? EventData<E>
  : { readonly webhook_id: string } | { readonly integration_id: string };

export type EventData<E extends EventName> = EventTypes[E];
