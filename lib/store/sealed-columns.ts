import type { Tables } from "./tables.ts";
import type { Row } from "./transfer/copy-tables.ts";

/**
 * The context that an encrypted value is bound to. A value moved to another row does not decrypt. Features encrypt with
 * these contexts only, so a key rotation has to re-encrypt exactly the columns below; a test compares the two.
 */
export const contextOf = {
  endpoint: ({ id }: Pick<Tables["endpoints"], "id">) => `endpoints ${id} sealed`,
  mail: ({ organization_id, id }: Pick<Tables["mails"], "organization_id" | "id">) => `mails ${organization_id} ${id}`,
  answer: ({ api_key_id, path, name }: Pick<Tables["idempotency_keys"], "api_key_id" | "path" | "name">) =>
    `idempotency_keys ${JSON.stringify([api_key_id, path, name])} sealed`,
  variable: ({ project_id, name }: Pick<Tables["environments"], "project_id" | "name">, key: string) =>
    `environments ${project_id} ${name} ${key}`,
};

/** Re-encrypts a value with another key in the same context. */
export type Reseal = (context: string, sealed: string) => string;

interface SealedColumn {
  readonly table: keyof Tables;
  readonly column: string;
  again(row: Row, reseal: Reseal): string;
}

const whole = <T extends keyof Tables>(table: T, context: (row: Tables[T]) => string): SealedColumn => ({
  table,
  column: "sealed",
  again: (row, reseal) => reseal(context(row as unknown as Tables[T]), String(row["sealed"])),
});

/** Every column that holds encrypted values. */
export const sealedColumns: readonly SealedColumn[] = [
  whole("endpoints", contextOf.endpoint),
  whole("mails", contextOf.mail),
  whole("idempotency_keys", contextOf.answer),
  {
    table: "environments",
    column: "variables",
    again(row, reseal) {
      const of = row as unknown as Tables["environments"];
      const variables = JSON.parse(of.variables) as Record<string, { sealed?: string }>;
      return JSON.stringify(
        Object.fromEntries(
          Object.entries(variables).map(([key, stored]) => [
            key,
            stored.sealed === undefined ? stored : { sealed: reseal(contextOf.variable(of, key), stored.sealed) },
          ]),
        ),
      );
    },
  },
];
