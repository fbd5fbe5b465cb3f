import * as v from "valibot";
import { field, optionalField } from "../../kernel/field.ts";
import { ways } from "../../kernel/maker.ts";
import { datetime, id, oneOf, paging, text } from "../../kernel/validation.ts";
import { environmentName } from "../environments/schema.ts";
import { newSource } from "./source.ts";
import { lifecycle } from "./states.ts";

const source = v.object({
  type: field(v.picklist(["git", "image"]), "A Git repository or a container image."),
  repo: field(v.nullable(v.string()), "The repository, as `owner/repo`; null for an image."),
  branch: field(v.nullable(v.string()), "The branch as it was given; null without one. A tag wins over it."),
  tag: field(v.nullable(v.string()), "The tag as it was given; null without one."),
  image_url: field(v.nullable(v.string()), "The image with its tag or digest; null for a repository."),
});

const fields = {
  id: field(id("dep"), "The identifier of the deployment."),
  project_id: field(id("proj"), "The project that it belongs to."),
  environment: field(v.string(), "The environment that it deploys to."),
  status: field(v.picklist(lifecycle.states), "The status. An `active` deployment has succeeded."),
};
const maker = v.object({
  user_id: field(v.nullable(id("usr")), "The person who made it; null if nobody is known."),
  key_id: field(v.nullable(id("key")), "The API key of the call; null if there was none."),
  via: field(
    v.picklist(ways),
    "How it came in: the interface, the dashboard, a push to a repository of this service, a hook of a code host, or a command.",
  ),
});
const rest = {
  version: field(
    v.nullable(v.string()),
    "The commit, tag or digest that is deployed; null until it is known. A rollback has it while it is queued.",
  ),
  created_at: field(datetime(), "When the deployment was created."),
  updated_at: field(datetime(), "When its status last changed."),
  completed_at: field(v.nullable(datetime()), "When it ended; null until then."),
  deployed_at: optionalField(datetime(), "When it became `active`; absent if it did not."),
  created_by: optionalField(maker, "Who made it; absent for a deployment of an earlier version."),
  url: optionalField(v.string(), "The URL of its app; present only while its release is live."),
};

export const deployment = field(
  v.object({ ...fields, source: field(source, "What is deployed."), ...rest }),
  "A deployment of an application into an environment.",
);
export const deploymentItem = field(v.object({ ...fields, ...rest }), "A deployment in a list, without its source.");

export const newDeployment = v.object({
  project_id: field(text(), "The project to deploy into."),
  environment: field(environmentName, "The environment to deploy to. A new name makes a new environment."),
  source: field(newSource, "What to deploy: a Git repository or a container image."),
});

export const deploymentsQuery = v.object({
  project_id: optionalField(text(), "Only the deployments of this project."),
  environment: optionalField(text(), "Only deployments to environments of this name."),
  status: optionalField(oneOf(lifecycle.states), "Only deployments with this status."),
  ...paging(),
});
