import { auditOperations } from "./audit/operations.ts";
import { deliveryOperations } from "./deliveries/operations.ts";
import { deploymentsOperations } from "./deployments/operations.ts";
import { environmentsOperations } from "./environments/operations.ts";
import { eventsOperations } from "./events/operations.ts";
import { generationsOperations } from "./generations/operations.ts";
import { integrationsOperations } from "./integrations/operations.ts";
import { invitationsOperations } from "./invitations/operations.ts";
import type { Operation } from "./kernel/operation.ts";
import { keysOperations } from "./keys/operations.ts";
import { openapiOperations } from "./openapi/operations.ts";
import { organizationsOperations } from "./organizations/operations.ts";
import { projectsOperations } from "./projects/operations.ts";
import { repositoriesOperations } from "./repositories/operations.ts";
import { usersOperations } from "./users/operations.ts";
import { webhooksOperations } from "./webhooks/operations.ts";

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

/** The typed client is inferred from this type. */
export type EveryOperation = (typeof all)[number];

type Intersection<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void ? I : never;
/** The services that the operations need, all together. */
export type Services = Intersection<Parameters<EveryOperation["run"]>[1]>;

/** Every operation of the API. */
export const operations: readonly Operation<Services>[] = all;
