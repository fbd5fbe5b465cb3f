import * as v from "valibot";
import { expect, expectFields, type Item, type Made, shown } from "./check.ts";

const prefixed = (prefix: string) => v.pipe(v.string(), v.startsWith(prefix, `begins with ${prefix}`));
const oneOf = <const T extends string>(...words: readonly T[]) => v.picklist(words, `is one of ${words.join(", ")}`);
/** ISO 8601, with a date, a time and a zone. */
export const isDatetime = (value: unknown): boolean =>
  typeof value === "string" &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/.test(value) &&
  !Number.isNaN(Date.parse(value));
const datetime = v.pipe(
  v.string(),
  v.check((text) => isDatetime(text), "is an ISO 8601 datetime"),
);
const characters = (min: number, max: number) =>
  v.pipe(
    v.string(),
    v.check((text) => [...text].length >= min && [...text].length <= max, `has ${min} to ${max} characters`),
  );

export const states = ["queued", "building", "deploying", "active", "failed", "cancelled", "rolled_back"] as const;
export const terminal = ["active", "failed", "cancelled", "rolled_back"] as const;
export const roles = ["owner", "admin", "developer", "viewer"] as const;

export const project = v.looseObject({
  id: prefixed("proj_"),
  name: characters(3, 64),
  region: v.string(),
  description: v.nullable(characters(1, 255)),
  status: oneOf("active", "archived"),
  created_at: datetime,
  updated_at: datetime,
});

export const deploymentItem = v.looseObject({
  id: prefixed("dep_"),
  project_id: prefixed("proj_"),
  environment: v.string(),
  status: oneOf(...states),
  version: v.nullable(v.string()),
  created_at: datetime,
  updated_at: datetime,
  completed_at: v.nullable(datetime),
});

const text = v.nullable(v.string());
export const source = v.pipe(
  v.looseObject({ type: oneOf("git", "image"), repo: text, branch: text, tag: text, image_url: text }),
  v.check(
    ({ type, repo, image_url }) =>
      type === "git" ? /^[^/]+\/[^/]+$/.test(repo ?? "") && image_url === null : image_url !== null,
    "has the fields of its type, and null for the others",
  ),
);

export const deployment = v.looseObject({ ...deploymentItem.entries, source });

export const logEntry = v.looseObject({
  timestamp: datetime,
  level: oneOf("info", "warn", "error"),
  message: v.string(),
});

export const user = v.looseObject({
  id: prefixed("usr_"),
  name: v.string(),
  email: v.pipe(v.string(), v.includes("@", "is an e-mail address")),
  role: oneOf(...roles),
  status: oneOf("active", "suspended"),
  joined_at: datetime,
});

export const invitation = v.looseObject({
  id: prefixed("inv_"),
  email: v.string(),
  role: oneOf(...roles),
  invited_at: datetime,
  expires_at: datetime,
});

export const integrationItem = v.looseObject({
  id: prefixed("int_"),
  type: oneOf("code_host", "chat", "monitoring", "custom"),
  name: v.string(),
  status: oneOf("active", "inactive"),
  created_at: datetime,
});

export const integration = v.looseObject({ ...integrationItem.entries, config: v.looseObject({}) });

export const webhook = v.looseObject({
  id: prefixed("wh_"),
  url: v.pipe(v.string(), v.startsWith("https://", "begins with https://")),
  events: v.array(v.string()),
  status: oneOf("active", "inactive"),
  created_at: datetime,
});

export const generation = v.looseObject({
  id: v.string(),
  object: v.literal("generation", 'is "generation"'),
  status: v.string(),
  model: v.string(),
  created_at: v.pipe(v.number(), v.integer("is a whole Unix timestamp")),
  output: v.optional(v.looseObject({ type: oneOf("image", "video"), url: v.string() })),
  usage: v.optional(v.looseObject({ cost_usd: v.number() })),
  error: v.optional(v.looseObject({ message: v.string() })),
});

/** Expects that a record's fields match the documentation, and have the values of `wanted`. */
export function expectShape<T>(schema: v.GenericSchema<unknown, T>, made: Made, wanted: Item = {}): T {
  const { answer, record } = made;
  const { success, output, issues } = v.safeParse(schema, record, { abortEarly: true });
  if (success) {
    expectFields(made, wanted);
    return output;
  }
  const [issue] = issues;
  const path = v.getDotPath(issue) ?? "the record";
  const rule = /^(is|has|begins) /.test(issue.message) ? issue.message : `is ${issue.expected}`;
  const { id } = record;
  expect(
    false,
    answer,
    `${path}${typeof id === "string" ? ` of ${id.slice(0, 64)}` : ""} is ${shown(issue.input)}, but ${path} ${rule}`,
  );
}
