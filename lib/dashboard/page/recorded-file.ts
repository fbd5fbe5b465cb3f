import { literalOf } from "./call-forms.ts";

/** Who made a call. */
export interface Actor {
  readonly organization: string;
  readonly plan: string;
  readonly user_id: string;
  readonly name: string;
  readonly email: string;
  readonly role: string;
}

/** The text of the file around its lines. */
export function fileOf({
  lines,
  startedAt,
  hasPeople,
  actors,
  clients,
  keyOf,
  people,
}: {
  readonly lines: readonly string[];
  readonly startedAt: number;
  readonly hasPeople: boolean;
  readonly actors: readonly Actor[];
  readonly clients: ReadonlyMap<string, string>;
  readonly keyOf: (i: number) => string;
  readonly people: readonly { readonly [name: string]: unknown }[];
}): string {
  const users = (organization: string) => [
    ...actors.flatMap(({ name, email, role, ...actor }, i) =>
      actor.organization === organization ? [{ name, email, role, keys: [{ key: keyOf(i) }] }] : [],
    ),
    ...people.flatMap(({ name, email, role }) =>
      typeof email === "string" && role !== undefined && !actors.some((one) => one.email === email)
        ? [{ name, email, role }]
        : [],
    ),
  ];
  const organizations = new Map(actors.map(({ organization, plan }) => [organization, plan]));
  const seed = [...organizations].map(([name, plan]) => ({ name, plan, users: users(name) }));
  const options = `{ clock: "manual@${new Date(startedAt).toISOString()}"${hasPeople ? ", seed" : ""} }`;
  const ofClients = hasPeople
    ? actors.map(({ user_id }, i) => `const ${clients.get(user_id)} = service.client({ apiKey: "${keyOf(i)}" });`)
    : ["const client = service.client();"];
  return [
    'import assert from "node:assert/strict";',
    'import { test } from "node:test";',
    'import { createTestService } from "svc-server/testing";',
    "",
    ...(hasPeople ? [`const seed = ${literalOf({ organizations: seed })};`, ""] : []),
    'test("recorded on the dashboard", async (t) => {',
    `  const service = await createTestService(t, ${options});`,
    ...[...ofClients, "", ...lines].map((line) => (line === "" ? "" : `  ${line}`)),
    "});",
    "",
  ].join("\n");
}
