import { createHash } from "node:crypto";
import { type Clock, isoOf } from "../kernel/clock.ts";
import { Problem } from "../kernel/errors.ts";
import { createLines } from "../kernel/node/event-loop.ts";
import type { Caller } from "../kernel/operation.ts";
import { milliseconds } from "../kernel/text/duration.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Encryption } from "../store/encryption.ts";
import { indexText } from "../store/index-text.ts";
import { contextOf } from "../store/sealed-columns.ts";
import type { Store } from "../store/store.ts";
import type { Answer } from "./answer.ts";
import { httpRepository } from "./repository.ts";

/** How long the same key, for the same API key and path, replays the first answer (schema/http.md#idempotency). */
const retention_ms = milliseconds("24h");

/** An `Idempotency-Key` header, which is valid for one API key and path. */
interface IdempotencyKey {
  readonly api_key_id: string;
  readonly path: string;
  readonly name: string;
}

/** One request with an idempotency key. */
interface Once {
  readonly key: IdempotencyKey;
  readonly bytes: Buffer;
  readonly caller: Caller;
  /** The caller without an audit entry, for storing the answer of a refused change. */
  readonly plain: Caller;
  run(by: Caller): Promise<unknown>;
  write(result: unknown): Answer | Promise<Answer>;
  refuse(problem: Problem): Answer;
}

/** Another process stored an answer to the same request first, so this transaction is rolled back. */
class AnsweredElsewhere extends Error {}

export type Idempotency = ReturnType<typeof createIdempotency>;

/** Stored answers are encrypted, because some contain an API key. */
export function createIdempotency(ports: { store: Store; clock: Clock; encryption: Encryption }) {
  const { store, clock, encryption } = ports;
  const rows = store.using(httpRepository);
  const placeOf = ({ api_key_id, path, name }: IdempotencyKey) => JSON.stringify([api_key_id, path, name]);
  const inLine = createLines();

  const replay = async (key: IdempotencyKey, body_hash: string): Promise<Answer | undefined> => {
    const row = await rows().answer(key);
    if (!row || Date.parse(row.created_at) + retention_ms <= clock.now()) return undefined;
    if (row.body_hash !== body_hash) {
      throw new Problem(
        "idempotency_mismatch",
        "this Idempotency-Key was used with another body; send the same body, or use a new key",
      );
    }
    const { request_id, ...headers } = JSON.parse(row.headers) as Record<string, string> & { request_id: string };
    return {
      status: row.status,
      headers: { "idempotent-replayed": "true", ...headers },
      body: encryption.decrypt(contextOf.answer(key), row.sealed),
      request_id,
    };
  };

  const save = async (tx: Tx, key: IdempotencyKey, body_hash: string, answer: Answer) => {
    const { status, headers, body, request_id } = answer;
    await rows(tx).removeAnswer({ before: isoOf(clock.now() - retention_ms), ...key });
    const row = {
      body_hash,
      status,
      headers: JSON.stringify({ request_id, ...headers }),
      sealed: encryption.encrypt(contextOf.answer(key), typeof body === "string" ? body : ""),
      created_at: clock.iso(),
      ...key,
    };
    await rows(tx)
      .insertAnswer(row)
      .catch((error) => {
        throw store.engine.isDuplicate(error) ? new AnsweredElsewhere() : error;
      });
  };

  /**
   * Runs an operation and stores its answer. If the work has a transaction, that stores the answer, so that no crash in
   * between repeats the work. A rollback with `wait` answers after its transaction, with a later state; repetitions get
   * the stored answer. 404 and 409 are stored too.
   */
  const runAndStore = async ({ key, caller, plain, run, write, refuse }: Once, body_hash: string): Promise<Answer> => {
    const storeAlone = async (answer: Answer, scope: Caller) => {
      await store.transaction(scope, (tx) => save(tx, key, body_hash, answer));
      return answer;
    };
    let stored: { readonly made: unknown; readonly answer: Answer } | undefined;
    try {
      const after = async (tx: Tx, organization_id: string, made: unknown) => {
        await caller.hooks?.after?.(tx, organization_id, made);
        const answer = await write(made);
        await save(tx, key, body_hash, answer);
        stored = { made, answer };
      };
      const { prefetch, before } = caller.hooks ?? {};
      const result = await run({ ...caller, hooks: { prefetch, before, after } });
      if (stored) return stored.made === result ? stored.answer : await write(result);
      return await storeAlone(await write(result), caller);
    } catch (error) {
      if (stored) throw error;
      if (!(error instanceof Problem) || (error.status !== 404 && error.status !== 409)) throw error;
      return storeAlone(refuse(error), plain);
    }
  };

  return {
    isName: (name: string): boolean => name.length >= 1 && name.length <= 255,

    /** Runs the work once. A concurrent request with the same key waits for the first one and replays its answer. */
    once(request: Once): Promise<Answer> {
      const key = { ...request.key, path: indexText(request.key.path) };
      return inLine(placeOf(key), async () => {
        const body_hash = createHash("sha256").update(request.bytes).digest("hex");
        const first = await replay(key, body_hash);
        if (first) return first;
        return await runAndStore({ ...request, key }, body_hash).catch(async (error) => {
          const answer = error instanceof AnsweredElsewhere ? await replay(key, body_hash) : undefined;
          if (answer) return answer;
          throw error;
        });
      });
    },

    async prune() {
      const before = isoOf(clock.now() - retention_ms);
      while ((await store.transaction("rows", (tx) => rows(tx).pruneAnswers({ before }))) > 0);
    },
  };
}
