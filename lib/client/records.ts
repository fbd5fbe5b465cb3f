import type { Result } from "./typed-client.ts";

/** The records of the interface, in the flat form and without `meta`. */
export type Project = Result<"projects.get">;
export type Environment = Result<"environments.put">;
export type Deployment = Result<"deployments.get">;
/** A deployment in a list, which leaves out the source. */
export type DeploymentItem = Result<"deployments.list">;
/** An entry of a deployment's log. */
export type LogEntry = Result<"deployments.logs">;
export type User = Result<"users.get">;
export type Invitation = Result<"invitations.get">;
/** The new user of an accepted invitation, with a first API key. */
export type Member = Result<"invitations.accept">;
export type Integration = Result<"integrations.get">;
/** An integration in a list, which leaves out the configuration. */
export type IntegrationItem = Result<"integrations.list">;
export type Webhook = Result<"webhooks.get">;
/** A delivery to a webhook or an integration, with its attempts. */
export type Delivery = Result<"webhooks.deliveries">;
/** One delivery with what it sends. */
export type DeliveryDetail = Result<"webhooks.delivery">;
/** How many deliveries a recovery sends. */
export type Recovered = Result<"webhooks.recover">;
export type Generation = Result<"generations.get">;
/** The generations of one model on one day, with their cost. */
export type Usage = Result<"generations.usage">;
/** An event that happened. `WebhookPayload` is the body in which receivers get it. */
export type EventRecord = Result<"events.list">;
export type ApiKey = Result<"keys.get">;
/** A new API key, with the key itself, which is shown once. */
export type NewApiKey = Result<"keys.create">;
export type Organization = Result<"organization.get">;
/** The organization, the user and the key of a caller. */
export type Me = Result<"me.get">;
