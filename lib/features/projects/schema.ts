import * as v from "valibot";
import { field, optionalField } from "../../kernel/field.ts";
import { datetime, id, text, textLike, textOf } from "../../kernel/validation.ts";
import { lifecycle } from "./states.ts";

export const project = field(
  v.object({
    id: field(id("proj"), "The identifier of the project."),
    name: field(v.string(), "The name, unique in the organization without regard to case."),
    region: field(v.string(), "The region, fixed when the project was created."),
    description: field(v.nullable(v.string()), "A text for people; null for none."),
    status: field(v.picklist(lifecycle.states), "An archived project accepts no deployments."),
    created_at: field(datetime(), "When the project was created."),
    updated_at: field(datetime(), "When the project last changed."),
  }),
  "A project: it contains deployments and environments.",
);

export const name = textOf(3, 64, { trim: true });
export const region = textLike(
  64,
  /^[A-Za-z0-9._-]{1,64}$/,
  "must be 1 to 64 of A-Z, a-z, 0-9, dot, underscore and hyphen",
);
const described = (meaning: string) => optionalField(v.nullable(textOf(0, 255)), meaning);
const nameMeaning = "The name, unique in the organization without regard to case. White space around it is removed.";

export const newProject = v.object({
  name: field(name, nameMeaning),
  region: field(region, "The region, which cannot change later."),
  description: described("A text for people; none by default."),
});

/** `region` is fixed at creation: a change may repeat it, but any other value is refused. */
export const projectChanges = v.object({
  name: optionalField(name, `${nameMeaning} Left out, it stays.`),
  region: optionalField(text(), "The project's own region; another one is refused. It may be left out."),
  description: described("A text for people. Empty or null removes it; left out, it stays."),
});
