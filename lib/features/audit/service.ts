import { lowestId } from "../../kernel/ids.ts";
import type { Caller } from "../../kernel/operation.ts";
import { type PageQuery, paginate } from "../../kernel/page.ts";
import type { Tx } from "../../kernel/transaction-hooks.ts";
import type { Row } from "../../store/tables.ts";
import type { Core } from "../core.ts";
import { auditRepository } from "./repository.ts";
import { refusedSignIn } from "./schema.ts";

type Entry = Row<"audit_log">;
/** A change to record. An empty text counts as unknown, such as the `key_id` of a caller without a key. */
export type Change = Pick<Entry, "organization_id" | "action" | "target" | "via"> & {
  readonly user_id?: string | null | undefined;
  readonly key_id?: string | null | undefined;
  readonly address?: string | undefined;
  readonly request_id?: string | undefined;
};

export interface RefusedSignIn extends Pick<Change, "user_id" | "key_id"> {
  /** If undefined, the entry goes to the only organization; if there are several, nothing is recorded. */
  readonly organization_id: string | undefined;
  /** The network address of the client; undefined for calls in process. */
  readonly address: string | undefined;
  readonly request_id: string;
}

interface Ports extends Pick<Core, "store" | "clock" | "ids"> {
  readonly retention_ms: number;
  /** The only organization of the service; undefined if there are several. */
  readonly onlyOrganization: () => Promise<string | undefined>;
}

export type AuditService = ReturnType<typeof auditService>;

/** The audit log: who changed what, and which sign-ins were refused (fixtures/hosting/README.md#who-did-what). */
export function auditService({ store, clock, ids, retention_ms, onlyOrganization }: Ports) {
  const entries = store.using(auditRepository);

  const record = (tx: Tx, change: Change): Promise<unknown> =>
    entries(tx).insert({
      id: ids.next("aud"),
      organization_id: change.organization_id,
      at: clock.iso(),
      action: change.action,
      target: change.target,
      user_id: change.user_id || null,
      key_id: change.key_id || null,
      via: change.via,
      address: change.address ?? null,
      request_id: change.request_id ?? null,
    });

  return {
    record,

    async recordRefusedSignIn({ organization_id: known, ...client }: RefusedSignIn): Promise<void> {
      const organization_id = known ?? (await onlyOrganization());
      if (organization_id === undefined) return;
      const change: Change = { ...client, organization_id, action: refusedSignIn, target: null, via: "dashboard" };
      await store.transaction({ organization_id }, async (tx) => void (await record(tx, change)));
    },

    /** Newest first. */
    list: (
      { organization_id }: Caller,
      { action, user_id, ...page }: PageQuery & { action?: string | undefined; user_id?: string | undefined },
    ) => paginate(page, "audit-log", { organization_id, action, user_id }, entries().list),

    async prune() {
      const below = lowestId("aud", clock.now() - retention_ms);
      for (const { id: organization_id } of await entries().organizations({})) {
        while ((await store.transaction("rows", (tx) => entries(tx).prune({ organization_id, below }))) > 0);
      }
    },
  };
}
