import type * as v from "valibot";
import type { Tx } from "../kernel/unit.ts";
import type { Store } from "../store/store.ts";
import type { Vault } from "../store/vault.ts";
import { environmentsRepository } from "./repository.ts";
import type { variables } from "./schema.ts";

export type Variables = v.InferOutput<typeof variables>;

/** A variable as it is stored: a secret one encrypted, bound to its place. */
type Stored = Record<string, { value: string } | { sealed: string }>;

export type EnvironmentsService = ReturnType<typeof environmentsService>;

/** Environments: named targets of a project, each with variables. CONTRACT section 3. */
export function environmentsService({ store, vault }: { store: Store; vault: Vault }) {
  const environments = store.using(environmentsRepository);
  return {
    ensure: (tx: Tx, project_id: string, name: string) => environments(tx).ensure({ project_id, name }),

    async insert(tx: Tx, project_id: string, name: string, given: Variables = {}) {
      const stored: Stored = {};
      for (const [key, variable] of Object.entries(given)) {
        const { value, secret } = typeof variable === "string" ? { value: variable, secret: false } : variable;
        stored[key] = secret
          ? {
              sealed: vault.seal(`environments ${project_id} ${name} ${key}`, value),
            }
          : { value };
      }
      await environments(tx).insert({
        project_id,
        name,
        variables: JSON.stringify(stored),
      });
    },
  };
}
