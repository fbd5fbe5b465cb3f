import type { Row } from "./copy-tables.ts";
import type { Tables } from "./tables.ts";

/**
 * The context that each encrypted value is bound to, so that a value moved to another row does not decrypt. Features
 * encrypt with these contexts only, so a new key has to encrypt exactly the columns below again; a test compares the
 * two.
 */
export const contextOf = {
  endpoint: ({ id }: Pick<Tables["endpoints"], "id">) => `endpoints ${id} sealed`,
  mail: ({ organization_id, id }: Pick<Tables["mails"], "organization_id" | "id">) => `mails ${organization_id} ${id}`,
  answer: ({ api_key_id, path, name }: Pick<Tables["idempotency_keys"], "api_key_id" | "path" | "name">) =>
    `idempotency_keys ${JSON.stringify([api_key_id, path, name])} sealed`,
  variable: ({ project_id, name }: Pick<Tables["environments"], "project_id" | "name">, key: string) =>
    `environments ${project_id} ${name} ${key}`,
};

/** Encrypts a value again with another key, in its old context. */
export type Reseal = (context: string, sealed: string) => string;

interface SealedColumn {
  readonly table: keyof Tables;
  readonly column: string;
  /** The new value of the column of a row. */
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
