import type { Caller, Operation } from "../kernel/operation.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Store } from "../store/store.ts";
import { wholeAddress } from "./client-address.ts";
import type { RequestContext } from "./request-context.ts";

type Via = "api" | "dashboard";

interface Ports {
  readonly store: Store;
  readonly behindProxy: boolean;
  /** Adds an entry to the audit log. A port, because this folder knows no feature. */
  readonly record: (
    tx: Tx,
    change: {
      readonly organization_id: string;
      readonly action: string;
      readonly target: string | null;
      readonly user_id: string;
      readonly key_id: string;
      readonly via: Via;
      readonly address: string | undefined;
      readonly request_id: string;
    },
  ) => unknown;
  readonly via: Via;
}

/** One change of the audit log. */
interface Audited {
  /** The caller, whose first transaction that commits holds the entry. */
  readonly caller: Caller;
  /** Adds the entry where the operation had no transaction of its caller. */
  complete(result: unknown): Promise<void>;
}

export type Audit = (operation: Operation, request: RequestContext, by: Caller) => Audited;

/** The record of a change: the new one, or that which the path names. */
function targetOf({ answers }: Operation, { params }: RequestContext, result: unknown): string | null {
  const named = params["dlv"] ?? params["id"];
  if (named !== undefined && answers !== "created") return named;
  // PostgreSQL may answer the row as JSON.
  const made: unknown = typeof result === "string" ? JSON.parse(result) : result;
  const id = typeof made === "object" && made !== null && "id" in made ? made.id : undefined;
  return typeof id === "string" ? id : (named ?? null);
}

/**
 * The audit log of the operations of one way in. An operation needs nothing for it: the entry goes into the transaction
 * of its caller, and is undone with it.
 */
export const createAudit =
  ({ store, behindProxy, record, via }: Ports): Audit =>
  (operation, request, by) => {
    let isRecorded = false;
    const recordChange = (tx: Tx, organization_id: string, result: unknown) => {
      if (isRecorded) return undefined;
      // Only now: a transaction may run again.
      tx.afterCommit(() => {
        isRecorded = true;
      });
      return record(tx, {
        organization_id,
        action: operation.id,
        target: targetOf(operation, request, result),
        user_id: by.user_id,
        key_id: by.key_id,
        via,
        address: request.incoming && wholeAddress(request.incoming, behindProxy),
        request_id: request.id,
      });
    };
    const caller = { recordChange, ...by };
    return {
      caller,
      async complete(result) {
        if (!isRecorded && by.organization_id !== "") await store.transaction(caller, async () => result);
      },
    };
  };
