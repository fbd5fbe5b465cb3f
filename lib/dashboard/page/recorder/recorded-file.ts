import { literalOf } from "../forms/call-forms.ts";
import { type Form, runners } from "./recorded-names.ts";

/** The person who made a call. */
export interface Actor {
  readonly organization: string;
  readonly plan: string;
  readonly user_id: string;
  readonly name: string;
  readonly email: string;
  readonly role: string;
}

const keyOf = (i: number) => `sk_live_recorded_${i + 1}`;

/** The whole test file with these lines as its body. */
export function fileOf({
  lines,
  startedAt,
  needsSeed,
  actors,
  clients,
  people,
  secrets,
  title,
  isStrict,
  form,
}: {
  readonly lines: readonly string[];
  readonly startedAt: number;
  readonly needsSeed: boolean;
  readonly actors: readonly Actor[];
  readonly clients: ReadonlyMap<string, string>;
  readonly people: readonly { readonly [name: string]: unknown }[];
  /** The placeholders for secrets, by name. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly title: string;
  /** Whether the test fails for what never happened. */
  readonly isStrict: boolean;
  readonly form: Form;
}): string {
  const users = (organization: string) => [
    ...actors.flatMap(({ name, email, role, ...actor }, i) =>
      actor.organization === organization ? [{ name, email, role, keys: [{ key: keyOf(i) }] }] : [],
    ),
    ...people.flatMap(({ name, email, role, status }) =>
      typeof email === "string" &&
      name !== undefined &&
      role !== undefined &&
      !actors.some((one) => one.email === email)
        ? [{ name, email, role, ...(status === "suspended" && { status }) }]
        : [],
    ),
  ];
  const organizations = new Map(actors.map(({ organization, plan }) => [organization, plan]));
  const seed = [...organizations].map(([name, plan]) => ({ name, plan, users: users(name) }));
  const { module, context, fakes } = runners[form.runner];
  const timers = form.hasTimers ? fakes : undefined;
  // node:test makes the timers of a test real by itself.
  const global = timers && context !== timers.name.split(".", 1)[0] ? timers.name : undefined;
  const options = [
    `clock: "manual@${new Date(startedAt).toISOString()}"`,
    ...(needsSeed ? ["seed"] : []),
    ...(isStrict ? ["strict: true"] : []),
    ...(timers ? [`timers: ${timers.name}`] : []),
  ];
  const ofClients = needsSeed
    ? actors.map(({ user_id }, i) => `const ${clients.get(user_id)} = service.client({ apiKey: "${keyOf(i)}" });`)
    : ["const client = service.client();"];
  return [
    'import assert from "node:assert/strict";',
    `import { ${[...(global ? ["afterEach", global] : []), "test"].sort().join(", ")} } from "${module}";`,
    'import { createTestService } from "svc-server/testing";',
    "",
    ...(secrets.size > 0
      ? [
          "// Secrets are not recorded. These stand in their place.",
          `const secrets = ${literalOf(Object.fromEntries(secrets))};`,
          "",
        ]
      : []),
    ...(needsSeed ? [`const seed = ${literalOf({ organizations: seed })};`, ""] : []),
    ...(global ? [`afterEach(() => ${global}.useRealTimers());`, ""] : []),
    `test(${literalOf(title)}, async (${context ?? ""}) => {`,
    ...(timers ? [`  ${timers.call}`] : []),
    `  const service = await createTestService(${context}, { ${options.join(", ")} });`,
    ...[...ofClients, "", ...lines].map((line) => (line === "" ? "" : `  ${line}`)),
    "});",
    "",
  ].join("\n");
}
