import * as v from "valibot";
import { field, optionalField } from "../../kernel/field.ts";
import type { Maker } from "../../kernel/maker.ts";
import { isImageName } from "../../kernel/text/image-reference.ts";
import { isObject } from "../../kernel/text/json.ts";
import { documentedAs, text } from "../../kernel/validation.ts";
import type { Row } from "../../store/tables.ts";

/** Every field is present; fields that do not apply are null. */
export interface Source {
  readonly type: "git" | "image";
  readonly repo: string | null;
  readonly branch: string | null;
  readonly tag: string | null;
  readonly image_url: string | null;
}

type Deployment = Row<"deployments">;

export type DeploymentOrder = Pick<Deployment, "organization_id" | "project_id" | "environment"> & {
  readonly source: Source;
  readonly by: Maker;
} & Partial<Pick<Deployment, "id" | "version" | "restores" | "revision" | "pin" | "release" | "root">>;

/** What to deploy for a push: a commit of a branch, or a tag. */
export interface PushOrder {
  readonly project_id: string | undefined;
  readonly repo: string;
  readonly branch: string | null;
  readonly tag: string | null;
  readonly commit: string | null;
  readonly environment: string;
  /** The folder to build, set by the integration; by default the folder of the environment. */
  readonly root?: string | undefined;
  /** The changed files; undefined if they are unknown. */
  readonly paths?: readonly string[] | undefined;
}

/** Whether a push changes nothing in the folder to build; false if its changes are unknown. */
export const changesNothingBelow = (root: string | null, paths: readonly string[] | undefined): boolean =>
  root !== null && paths !== undefined && !paths.some((path) => path.startsWith(`${root}/`));

const part = "[A-Za-z0-9_][A-Za-z0-9._-]*";
const ownerAndRepo = new RegExp(`^${part}/${part}$`);

/** Returns the rule that the value breaks, or undefined. */
type Rule = (value: string) => string | undefined;

export function repoRule(repo: string): string | undefined {
  if (/^[a-z+]+:\/\/|^git@/i.test(repo)) return 'must be in the form "owner/repo", not a URL';
  if (repo.length > 140 || !ownerAndRepo.test(repo)) {
    return 'must be in the form "owner/repo", each part of A-Z, a-z, 0-9, dot, underscore and hyphen, not starting with a dot or hyphen, 140 characters at most';
  }
  return undefined;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: git refuses them in a ref
const refused = /[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|\/\.|^\.|^\/|\/$|\.$|\.lock(\/|$)/;

/** The rule of `branch` and `tag`: `git check-ref-format`, and no leading hyphen, which git reads as an option. */
export function refRule(ref: string): string | undefined {
  if (ref.length === 0 || Buffer.byteLength(ref) > 1000) return "must have 1 to 1000 bytes";
  if (ref.startsWith("-")) return "must not start with a hyphen";
  if (ref === "@" || refused.test(ref))
    return "must be a name that git allows for a branch or tag: no space, no control character, none of ~^:?*[\\, no .., //, @{ or .lock at an end";
  return undefined;
}

/** The rule of `image_url`: the name of a container image, with a tag or a digest. */
export function imageRule(url: string): string | undefined {
  const message = "must be an image with a tag or a digest, such as registry.example.com/team/app:1.4.2";
  if (/^[a-z]+:\/\//i.test(url)) return `${message}, without a scheme`;
  if (!isImageName(url)) return message;
  return /@sha256:|:[^/:]+$/.test(url) ? undefined : message;
}

export const textWith = (rule: Rule) =>
  v.pipe(
    text(),
    v.rawCheck(({ dataset, addIssue }) => {
      const message = dataset.typed ? rule(dataset.value) : undefined;
      if (message !== undefined) addIssue({ message });
    }),
  );

export type NewSource =
  | { readonly type: "git"; readonly repo: string; readonly branch?: string | null; readonly tag?: string | null }
  | { readonly type: "image"; readonly image_url: string };
const documented = v.variant("type", [
  v.object({
    type: field(v.literal("git"), "A Git repository."),
    repo: field(v.string(), "The repository, as `owner/repo`, of 140 characters at most."),
    branch: optionalField(
      v.nullable(text()),
      "The branch, as git names it. Without it and without a tag, the default branch.",
    ),
    tag: optionalField(v.nullable(text()), "The tag, which wins over a branch. Without it, the branch counts."),
  }),
  v.object({
    type: field(v.literal("image"), "A container image."),
    image_url: field(v.string(), "The image with its tag or digest, without a scheme."),
  }),
]);

const fields = v.object({
  type: v.picklist(["git", "image"], "must be git or image"),
  repo: v.optional(v.nullable(v.unknown())),
  branch: v.optional(v.nullable(v.unknown())),
  tag: v.optional(v.nullable(v.unknown())),
  image_url: v.optional(v.nullable(v.unknown())),
});

const texts = {
  repo: v.nullable(textWith(repoRule)),
  branch: v.nullable(textWith(refRule)),
  tag: v.nullable(textWith(refRule)),
  image_url: v.nullable(textWith(imageRule)),
};

const rules = v.pipe(
  v.custom<object>(isObject, "must be an object"),
  documentedAs(documented),
  fields,
  v.rawTransform(({ dataset, addIssue, NEVER }): Source => {
    const input = dataset.value;
    let broken = false;
    const refuse = (key: keyof typeof input, message: string) => {
      broken = true;
      addIssue({
        message,
        path: [{ type: "object", origin: "value", input, key, value: input[key] }],
      });
    };
    const read = (key: keyof typeof texts, isRequired = false) => {
      const { success, output, issues } = v.safeParse(texts[key], input[key] ?? null);
      if (!success) refuse(key, issues[0].message);
      else if (output === null && isRequired) refuse(key, `is required when type is ${input.type}`);
      return success ? output : null;
    };
    const git = input.type === "git";
    const source: Source = {
      type: input.type,
      repo: git ? read("repo", true) : null,
      branch: git ? read("branch") : null,
      tag: git ? read("tag") : null,
      image_url: git ? null : read("image_url", true),
    };
    return broken ? NEVER : source;
  }),
);
/** The type decides which fields apply. Other fields are ignored, whatever their value, and become null. */
// The rules take any object and check it field by field; an object that passes them is a NewSource.
export const newSource = rules as v.GenericSchema<NewSource, Source>;
