import * as v from "valibot";
import { endpointLifecycle } from "../endpoints/states.ts";
import { datetime, documentedAs, id, oneOf, paging } from "../kernel/validation.ts";
import { integrationTypes, type Type } from "./integration-types.ts";

const types = Object.keys(integrationTypes) as Type[];

const item = {
  id: id("int"),
  type: v.picklist(types),
  name: v.string(),
  status: v.picklist(endpointLifecycle.states),
};

/** SPEC "Integration". Secrets in `config` are redacted. */
export const integration = v.object({ ...item, config: v.record(v.string(), v.unknown()), created_at: datetime() });
/** "Absent from list items." */
export const integrationItem = v.object({ ...item, created_at: datetime() });

/** The service checks it by the rules of its type, after the plan. The schema only documents those rules. */
const documented = (schema: v.GenericSchema) => v.optional(v.pipe(v.unknown(), documentedAs(schema)));
const titleOf = (type: string) => v.title<Record<string | number, unknown>, string>(type);
const configs = types.map((type) => v.pipe(integrationTypes[type].schema, titleOf(type)));
const changes = types.map((type) => v.pipe(v.partial(integrationTypes[type].schema), titleOf(type)));
export const newIntegration = v.object({ type: oneOf(types), config: documented(v.union(configs)) });
/** Fields that `config` leaves out stay as they are. */
export const integrationChanges = v.object({
  config: documented(v.union(changes)),
  status: v.optional(oneOf(endpointLifecycle.states)),
});
export const integrationsQuery = v.object(paging());
