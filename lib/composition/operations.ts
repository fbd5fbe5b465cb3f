import { auditOperations } from "../features/audit/operations.ts";
import { deliveryOperations } from "../features/deliveries/operations.ts";
import { deploymentsOperations } from "../features/deployments/operations.ts";
import { environmentsOperations } from "../features/environments/operations.ts";
import { eventsOperations } from "../features/events/operations.ts";
import { generationsOperations } from "../features/generations/operations.ts";
import { integrationsOperations } from "../features/integrations/operations.ts";
import { invitationsOperations } from "../features/invitations/operations.ts";
import { keysOperations } from "../features/keys/operations.ts";
import { organizationsOperations } from "../features/organizations/operations.ts";
import { projectsOperations } from "../features/projects/operations.ts";
import { repositoriesOperations } from "../features/repositories/operations.ts";
import { usersOperations } from "../features/users/operations.ts";
import { webhooksOperations } from "../features/webhooks/operations.ts";
import type { Operation } from "../kernel/operation.ts";
import { openapiOperations } from "./openapi/operations.ts";

/** The order in lists, documents and the client. */
const all = [
  ...projectsOperations,
  ...environmentsOperations,
  ...deploymentsOperations,
  ...repositoriesOperations,
  ...usersOperations,
  ...invitationsOperations,
  ...integrationsOperations,
  ...deliveryOperations("integration"),
  ...webhooksOperations,
  ...deliveryOperations("webhook"),
  ...generationsOperations,
  ...eventsOperations,
  ...keysOperations,
  ...organizationsOperations,
  ...auditOperations,
  ...openapiOperations,
];

type Intersection<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void ? I : never;
/** The services that the operations need, all together. */
export type Services = Intersection<Parameters<(typeof all)[number]["run"]>[1]>;

export const operations: readonly Operation<Services>[] = all;
