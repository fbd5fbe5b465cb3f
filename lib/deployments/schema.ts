import * as v from "valibot";
import { environmentName } from "../environments/schema.ts";
import { datetime, id, oneOf, paging, text } from "../kernel/validation.ts";
import { newSource } from "./source.ts";
import { lifecycle } from "./states.ts";

const source = v.object({
  type: v.picklist(["git", "image"]),
  repo: v.nullable(v.string()),
  branch: v.nullable(v.string()),
  tag: v.nullable(v.string()),
  image_url: v.nullable(v.string()),
});

const fields = {
  id: id("dep"),
  project_id: id("proj"),
  environment: v.string(),
  status: v.picklist(lifecycle.states),
};
const rest = {
  version: v.nullable(v.string()),
  created_at: datetime(),
  updated_at: datetime(),
  completed_at: v.nullable(datetime()),
  /** Present on records that reached `active`. */
  deployed_at: v.optional(datetime()),
  /** Present while this deployment's release is the live one of its environment. */
  url: v.optional(v.string()),
};

/** SPEC "Deployment". */
export const deployment = v.object({ ...fields, source, ...rest });
/** "Deployment without source." */
export const deploymentItem = v.object({ ...fields, ...rest });

export const newDeployment = v.object({
  project_id: text(),
  environment: environmentName,
  source: newSource,
});

export const deploymentsQuery = v.object({
  project_id: v.optional(text()),
  environment: v.optional(text()),
  status: v.optional(oneOf(lifecycle.states)),
  ...paging(),
});
