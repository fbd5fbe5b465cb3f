import { createHash } from "node:crypto";
import { type Clock, isoOf } from "../kernel/clock.ts";
import { milliseconds } from "../kernel/duration.ts";
import { Problem } from "../kernel/errors.ts";
import type { Tx } from "../kernel/transaction-hooks.ts";
import type { Encryption } from "../store/encryption.ts";
import type { Store } from "../store/store.ts";
import type { Answer } from "./answer.ts";
import { httpRepository } from "./repository.ts";

/** CONTRACT section 1: "For 24 hours the same key of the same API key and path replays the first response." */
const kept_ms = milliseconds("24h");

export interface Idempotent {
  readonly api_key_id: string;
  readonly path: string;
  readonly name: string;
}

/** Stores the answer of work that began; in the very transaction of that work, where there is one. */
export type Remember = (tx: Tx, answer: Answer) => Promise<void>;

export type Idempotency = ReturnType<typeof createIdempotency>;

/** Remembered answers lie encrypted: one of them may show an API key, this once. */
export function createIdempotency({
  store,
  clock,
  encryption,
}: {
  store: Store;
  clock: Clock;
  encryption: Encryption;
}) {
  const rows = store.using(httpRepository);
  const placeOf = ({ api_key_id, path, name }: Idempotent) => JSON.stringify([api_key_id, path, name]);
  const sealedPlace = (key: Idempotent) => `idempotency_keys ${placeOf(key)} sealed`;
  const running = new Map<string, Promise<void>>();

  const replay = async (key: Idempotent, body_hash: string): Promise<Answer | undefined> => {
    const row = await rows().answer(key);
    if (!row || Date.parse(row.created_at) + kept_ms <= clock.now()) return undefined;
    if (row.body_hash !== body_hash) {
      throw new Problem(
        "idempotency_mismatch",
        "this Idempotency-Key was used with another body; send that body again, or take a new key",
      );
    }
    const { request_id, ...headers } = JSON.parse(row.headers) as Record<string, string> & { request_id: string };
    return {
      status: row.status,
      headers: { ...headers, "idempotent-replayed": "true" },
      body: encryption.decrypt(sealedPlace(key), row.sealed),
      request_id,
    };
  };

  return {
    isName: (name: string): boolean => name.length >= 1 && name.length <= 255,

    /** Runs the work once. Of two at the same time one runs, the other waits for it and replays. */
    async once(key: Idempotent, body: Buffer, work: (remember: Remember) => Promise<Answer>): Promise<Answer> {
      const place = placeOf(key);
      for (let other = running.get(place); other; other = running.get(place)) await other;
      let finish = () => {};
      running.set(
        place,
        new Promise((resolve) => {
          finish = resolve;
        }),
      );
      try {
        const body_hash = createHash("sha256").update(body).digest("hex");
        const first = await replay(key, body_hash);
        if (first) return first;
        return await work(async (tx, { status, headers, body: text, request_id }) => {
          await rows(tx).forgetAnswer(key);
          const stored = JSON.stringify({ ...headers, request_id });
          await rows(tx).keepAnswer({
            ...key,
            body_hash,
            status,
            headers: stored,
            sealed: encryption.encrypt(sealedPlace(key), typeof text === "string" ? text : ""),
            created_at: clock.iso(),
          });
        });
      } finally {
        running.delete(place);
        finish();
      }
    },

    async prune() {
      const before = isoOf(clock.now() - kept_ms);
      while ((await store.transaction((tx) => rows(tx).pruneAnswers({ before }))) > 0);
    },
  };
}
