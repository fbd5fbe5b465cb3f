import * as v from "valibot";
import { datetime, id, paging, text, textLike, textOf } from "../kernel/validation.ts";
import { lifecycle } from "./states.ts";

/** SPEC "Project". */
export const project = v.object({
  id: id("proj"),
  name: v.string(),
  region: v.string(),
  description: v.nullable(v.string()),
  status: v.picklist(lifecycle.states),
  created_at: datetime(),
  updated_at: datetime(),
});

export const name = textOf(3, 64, { trim: true });
export const region = textLike(
  64,
  /^[A-Za-z0-9._-]{1,64}$/,
  "must be 1 to 64 of A-Z, a-z, 0-9, dot, underscore and hyphen",
);
const description = v.optional(v.nullable(textOf(0, 255)));

export const newProject = v.object({ name, region, description });

/** `region` is fixed at creation: the service accepts an equal one and refuses any other. */
export const projectChanges = v.object({
  name: v.optional(name),
  region: v.optional(text()),
  description,
});

export const projectsQuery = v.object(paging());
