import type { Way } from "../kernel/maker.ts";
import type { Caller, Operation } from "../kernel/operation.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import { wholeAddress } from "./client-address.ts";
import type { RequestContext } from "./request-context.ts";

export interface EntryPorts {
  readonly behindProxy: boolean;
  /** Adds an entry to the audit log. A port, because `http` imports no feature. */
  readonly record: (
    tx: Tx,
    change: {
      readonly organization_id: string;
      readonly action: string;
      readonly target: string | null;
      readonly user_id: string;
      readonly key_id: string;
      readonly via: Way;
      readonly address: string | undefined;
      readonly request_id: string;
    },
  ) => unknown;
  readonly via: Way;
}

/** Adds entries of one request to the audit log. */
export type Entries = (tx: Tx, organization_id: string, action: string, target: string | null) => unknown;

/** Makes the entries of an interface: who sent a request, from where, and through which interface. */
export const createEntries =
  ({ behindProxy, record, via }: EntryPorts) =>
  (request: RequestContext, { user_id, key_id }: Caller): Entries =>
  (tx, organization_id, action, target) =>
    record(tx, {
      organization_id,
      action,
      target,
      user_id,
      key_id,
      via,
      address: request.incoming && wholeAddress(request.incoming, behindProxy),
      request_id: request.auditId(),
    });

export type Audit = ReturnType<typeof createAudit>;

/** The id of the changed record: of a new record, or of the record in the path. */
function targetOf({ answers }: Operation, { params }: RequestContext, result: unknown): string | null {
  const { owner, name } = params;
  const named = params["dlv"] ?? params["id"] ?? (owner === undefined ? undefined : `${owner}/${name}`);
  if (named !== undefined && answers !== "created") return named;
  // On PostgreSQL, the row may be JSON text.
  const made: unknown = typeof result === "string" ? JSON.parse(result) : result;
  const id = typeof made === "object" && made !== null && "id" in made ? made.id : undefined;
  return typeof id === "string" ? id : (named ?? null);
}

/**
 * Names the interface of a change (`via`), and writes the audit log for all operations of that interface. Operations
 * need no code for it: the entry is part of the caller's transaction, and is rolled back with it.
 */
export function createAudit({ store, ...ports }: EntryPorts & { readonly store: Store }) {
  const { via } = ports;
  const entriesOf = createEntries(ports);
  /** The caller with the interface: their first committed transaction stores the entry, or else `complete` does. */
  return (operation: Operation, request: RequestContext, by: Caller) => {
    if (!operation.audited) return { caller: { via, ...by }, complete: async (_: unknown): Promise<void> => {} };
    let isRecorded = false;
    const recordChange = (tx: Tx, organization_id: string, result: unknown) => {
      if (isRecorded) return undefined;
      // Set only after the commit, because a transaction may run again.
      tx.afterCommit(() => {
        isRecorded = true;
      });
      return entriesOf(request, by)(tx, organization_id, operation.id, targetOf(operation, request, result));
    };
    const { prefetch, before } = by.hooks ?? {};
    const caller: Caller = { ...by, via, hooks: { prefetch, before, after: recordChange } };
    return {
      caller,
      async complete(result: unknown): Promise<void> {
        if (!isRecorded && by.organization_id !== "") await store.transaction(caller, async () => result);
      },
    };
  };
}
