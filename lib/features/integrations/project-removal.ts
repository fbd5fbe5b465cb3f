import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Endpoints } from "../deliveries/service.ts";

type Project = Pick<Row<"projects">, "organization_id" | "id">;

/** Turns off the code hosts of a deleted project: they would accept pushes and deploy none. */
export const integrationsOfRemovedProject =
  (endpoints: Pick<Endpoints, "codeHostsOf" | "configOf" | "deactivate">) =>
  async (tx: Tx, { organization_id, id }: Project): Promise<void> => {
    for (const row of await endpoints.codeHostsOf({ organization_id }, tx))
      if (row.status === "active" && endpoints.configOf(row).project_id === id) await endpoints.deactivate(tx, row);
  };
