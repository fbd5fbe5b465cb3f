import * as v from "valibot";
import { field, optionalField } from "../../kernel/field.ts";
import { datetime, documentedAs, id, oneOf } from "../../kernel/validation.ts";
import { endpointLifecycle } from "../deliveries/states.ts";
import { integrationTypes, type Type } from "./integration-types.ts";

const types = Object.keys(integrationTypes) as Type[];

const item = {
  id: field(id("int"), "The identifier of the integration."),
  type: field(v.picklist(types), "The tool that it connects."),
  name: field(v.string(), "A name for people, made from its configuration.", "acme/web"),
  status: field(v.picklist(endpointLifecycle.states), "An inactive integration sends and deploys nothing."),
  reason: optionalField(
    v.string(),
    "Why the service turned it off, if its project was deleted.",
    "the project proj_01KEA0YZG00000000000000000 was deleted; set config.project_id to another one, or to null",
  ),
};

const created_at = field(datetime(), "When the integration was created.");
export const integration = field(
  v.object({
    ...item,
    config: field(v.record(v.string(), v.unknown()), "The settings of its type; secrets are redacted."),
    created_at,
  }),
  "A connection to an external tool.",
);
export const integrationItem = field(
  v.object({ ...item, created_at }),
  "An integration in a list, without its configuration.",
);

/** Documents the rules of `config`. The service checks them by the type of the integration, after the plan. */
const documented = (schema: v.GenericSchema, meaning: string) =>
  v.optional(v.pipe(v.unknown(), documentedAs(schema), v.description(meaning)));
const titleOf = (type: string) => v.title<Record<string | number, unknown>, string>(type);
const configs = types.map((type) => v.pipe(integrationTypes[type].schema, titleOf(type)));
const changes = types.map((type) => v.pipe(v.partial(integrationTypes[type].schema), titleOf(type)));
export const newIntegration = v.object({
  type: field(oneOf(types), "The tool to connect."),
  config: documented(v.union(configs), "The settings of the type. Integrations without settings are refused."),
});
/** Fields that `config` leaves out stay unchanged. */
export const integrationChanges = v.object({
  config: documented(v.union(changes), "The settings to change; those left out stay as they are."),
  status: optionalField(
    oneOf(endpointLifecycle.states),
    "`inactive` stops it, `active` starts it. Left out, it stays.",
  ),
});
