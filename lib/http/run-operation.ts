import { invalid, type Problem } from "../kernel/errors.ts";
import type { Log } from "../kernel/log.ts";
import { Stream } from "../kernel/node/stream.ts";
import { type Caller, execute, type Operation } from "../kernel/operation.ts";
import { LongList, readWhole } from "../kernel/page.ts";
import type { Rules } from "../kernel/validation.ts";
import { type Answer, longLengthOf, type Writer } from "./answer.ts";
import type { Audit } from "./audit-entries.ts";
import type { Authentication, Authenticator } from "./authenticate.ts";
import { largeBody, parseBody, readBody } from "./body.ts";
import type { Idempotency } from "./idempotency.ts";
import { type Cancellation, cancellationOf } from "./limits/cancellation.ts";
import type { FairShares } from "./limits/fair-shares.ts";
import { queryOf, type RequestContext } from "./request-context.ts";
import type { Meter } from "./request-metrics.ts";
import type { LongLists } from "./streams/long-list.ts";
import { eventHeaders, eventStream } from "./streams/server-sent-events.ts";

interface Ports<Services> {
  readonly services: Services;
  readonly authenticator: Pick<Authenticator, "confirmed" | "watch">;
  readonly idempotency: Idempotency;
  readonly audit: Audit;
  readonly writer: Writer;
  /** In bytes. */
  readonly bodyLimit: number;
  readonly rules: Rules;
  readonly meter: Meter;
  readonly log: Log;
  readonly fairShares: FairShares;
  readonly longLists: LongLists;
  readonly closing: AbortSignal;
  /** Gets the body of each request. */
  readonly received: ((request: RequestContext, body: Uint8Array) => void) | undefined;
}

/** Runs an operation for an authorized caller, and writes its answer. Rejects with a Problem. */
export type RunOperation<Services> = (
  operation: Operation<Services>,
  request: RequestContext,
  authentication: Authentication,
) => Promise<Answer>;

const noBytes = Buffer.alloc(0);

/** Checks in this order: 415, 413, 400, 422, then the operation's own (schema/http.md#the-order-of-checks). */
export function createRunOperation<Services>(ports: Ports<Services>): RunOperation<Services> {
  const { services, authenticator, idempotency, audit, writer, bodyLimit, rules, meter, log, fairShares, closing } =
    ports;
  const { charge, waitForTurn, work } = fairShares;

  /** Refuses an `Idempotency-Key` outside its limits, as late as another broken rule. */
  const refuseName = async (operation: Operation<Services>, body: object | undefined, caller: Caller) => {
    await operation.permit?.(body, services, caller);
    throw invalid("Idempotency-Key", "must have 1 to 255 characters");
  };

  return async (operation, request, authentication) => {
    const takesBody = operation.method !== "GET" && operation.method !== "DELETE";
    const isRead = operation.method === "GET" || operation.needs === "nothing";
    const plain = isRead ? authentication.caller : authenticator.confirmed(authentication);
    const audited = operation.method === "GET" ? undefined : audit(operation, request, plain);
    const caller = audited?.caller ?? plain;
    const bytes = takesBody ? await readBody(request, bodyLimit) : noBytes;
    if (takesBody) ports.received?.(request, bytes);
    const { organization_id, user_id } = caller;
    const watch = (lost: () => void) => authenticator.watch(authentication, lost);
    /** Created on demand, because most requests are too short to be cancelled. */
    let cancellation: Cancellation | undefined;
    const cancel = () => (cancellation ??= cancellationOf(request, closing, watch));
    const end = () => cancellation?.end();
    // Calls in process need no budget. Callers without a key get none: any of them could use it up.
    const budget = request.incoming && organization_id ? `${organization_id} long answers` : undefined;
    const isLarge = request.incoming !== undefined && bytes.length > largeBody;
    const line = budget ?? `${request.address()} bodies`;
    const read = (by: Caller) => {
      const body = takesBody ? parseBody(bytes, operation.body !== undefined) : undefined;
      const { params } = request;
      // A client that has received no event yet may send this header empty.
      const resume = request.header("last-event-id") || undefined;
      const input = { params, query: queryOf(request), body, resume, signal: () => cancel().count(organization_id) };
      const caller = operation.method === "DELETE" ? { ...by, deletes: true } : by;
      return execute(operation, services, input, caller, rules);
    };
    const run = (by: Caller) => (isLarge ? work(line, () => read(by)) : read(by));
    const name = operation.method === "POST" ? request.header("idempotency-key") : undefined;
    const turn = isLarge || budget !== undefined ? waitForTurn(line, cancel) : undefined;
    if (turn !== undefined) await turn;
    if (name !== undefined && !idempotency.isName(name)) {
      end();
      const parse = () => parseBody(bytes, operation.body !== undefined);
      return refuseName(operation, isLarge ? work(line, parse) : parse(), caller);
    }
    if (name !== undefined && operation.needs !== "nothing") {
      const key = { api_key_id: caller.key_id, path: request.path, name };
      const write = (result: unknown) => writer.answer(operation, result, request.id);
      const refuse = (problem: Problem) => writer.problem(problem, request.id);
      return await idempotency.once({ key, bytes, caller, plain, run, write, refuse }).finally(end);
    }

    const by = { request_id: request.id, organization_id, user_id };
    let result: unknown;
    try {
      const found = await run(caller);
      if (found instanceof Stream) cancel().count(organization_id);
      if (operation.method === "GET") cancellation?.check();
      result = found;
      await audited?.complete(result);
      if (result instanceof LongList) {
        // A caller in process may leave an answer unread, and must not keep other lists waiting.
        if (!request.incoming) return await writer.answer(operation, await readWhole(result), request.id);
        const cut = () => cancellationOf(request, undefined, watch);
        return await ports.longLists.answer(result, operation, { writer, log, cancel, cut, ...by });
      }
      if (!(result instanceof Stream)) {
        const answer = await writer.answer(operation, result, request.id);
        const length = longLengthOf(answer);
        if (budget !== undefined && length > 0) charge(budget, 0, length);
        return answer;
      }
    } finally {
      if (!(result instanceof Stream)) end();
    }
    const open = metered(cancel(), meter.opened("sse"));
    const body = eventStream(result, operation.write, open, log, fairShares, by);
    return { status: 200, headers: eventHeaders, body, request_id: request.id };
  };
}

/** The cancellation of a stream that the metrics count as open. */
const metered = ({ signal, end }: Pick<Cancellation, "signal" | "end">, closed: () => void) => ({
  signal,
  end() {
    closed();
    end();
  },
});
