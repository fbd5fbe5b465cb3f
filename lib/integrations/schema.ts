import * as v from "valibot";
import { endpointLifecycle } from "../deliveries/states.ts";
import { datetime, id, oneOf, paging } from "../kernel/api.ts";

export const types = ["code_host", "chat", "monitoring", "custom"] as const;

const item = {
  id: id("int"),
  type: v.picklist(types),
  name: v.string(),
  status: v.picklist(endpointLifecycle.states),
};

/** SPEC "Integration". `config` with its sensitive values redacted. */
export const integration = v.object({ ...item, config: v.record(v.string(), v.unknown()), created_at: datetime() });
/** "Absent from list items." */
export const integrationItem = v.object({ ...item, created_at: datetime() });

/** `config` is judged by the rules of its type, once the plan is known to include it. */
export const newIntegration = v.object({ type: oneOf(types), config: v.optional(v.unknown()) });
/** The configuration as a whole, where it is given. */
export const integrationChanges = v.object({
  config: v.optional(v.unknown()),
  status: v.optional(oneOf(endpointLifecycle.states)),
});
export const integrationsQuery = v.object(paging());
