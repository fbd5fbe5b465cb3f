import type { LogLine } from "../../drivers/deployment/contract.ts";
import { withoutControlCharacters } from "../../features/deployments/logs.ts";
import { type AppKey, type FollowedKey, keyOf, nameOf } from "../../features/environments/live-apps.ts";
import type { ChangeSubscription } from "../../features/events/wait-for-change.ts";
import { maxAppLines } from "../../kernel/limits.ts";
import { reasonOf } from "../../kernel/log.ts";
import { resumeLog, type StreamEntry } from "../../kernel/node/stream.ts";
import { pause } from "../runtime/pause.ts";
import type { AppPorts } from "./ports.ts";
import { appsRepository } from "./repository.ts";

const batch = 100;
/** The most lines that an organization's logs store per pause, so that endless output does not occupy the server. */
const perTurn = 1_000;
const turn_ms = 100;
/** A transaction costs about as much as this many lines. */
const ofTransaction = 10;

type Lane = Map<string, { readonly key: AppKey; readonly lines: LogLine[] }>;

export type AppLogs = ReturnType<typeof createAppLogs>;

export function createAppLogs({ store, clock, log, feed }: Pick<AppPorts, "store" | "clock" | "log" | "feed">) {
  const rows = store.using(appsRepository);

  const write = (key: AppKey, lines: readonly LogLine[]) =>
    store.transaction(key, async (tx) => {
      const app = await rows(tx).find(key);
      if (!app) return;
      const { organization_id, project_id, environment } = app;
      const timestamp = clock.iso();
      let seq = Number(app.log_entries);
      for (const { level, message } of lines) {
        const entry = {
          project_id,
          environment,
          seq,
          organization_id,
          timestamp,
          level,
          message: withoutControlCharacters(message),
        };
        await rows(tx).insertLog(entry);
        seq += 1;
      }
      await rows(tx).setLogEntries({ project_id, environment, log_entries: seq });
      await rows(tx).pruneLog({ project_id, environment, before: seq - maxAppLines });
      feed.publish(tx, { kind: "log", organization_id, id: nameOf(app) });
    });

  /** The lines to write, by organization and environment. */
  const waiting = new Map<string, Lane>();

  const tryWrite = (key: AppKey, lines: readonly LogLine[]) =>
    write(key, lines).catch((error) => log.warn("an app's log could not be stored", { reason: reasonOf(error) }));

  /** Writes waiting lines in turns. An environment whose lines do not fit into its turn queues behind the others. */
  const writeAll = async (organization_id: string, lane: Lane): Promise<void> => {
    while (lane.size > 0) {
      let room = perTurn;
      for (const name of [...lane.keys()]) {
        const its = lane.get(name);
        if (room <= 0 || !its) break;
        lane.delete(name);
        const { key, lines } = its;
        const now = lines.splice(0, room);
        if (lines.length > 0) lane.set(name, { key, lines });
        room -= now.length + ofTransaction;
        await tryWrite(key, now);
      }
      await pause(turn_ms);
    }
    waiting.delete(organization_id);
  };

  return {
    /** Adds lines. If the store refuses them, they are missing from the log, and nothing else fails. */
    append(key: AppKey, lines: readonly LogLine[]): void {
      if (store.retired) return;
      const { organization_id } = key;
      const name = nameOf(key);
      const lane: Lane = waiting.get(organization_id) ?? new Map();
      const its = lane.get(name) ?? { key, lines: [] };
      lane.set(name, its);
      for (const line of lines) its.lines.push(line);
      // Dropped in bulk, because removing one line from the front moves all others.
      if (its.lines.length > 2 * maxAppLines) its.lines.splice(0, its.lines.length - maxAppLines);
      if (waiting.has(organization_id)) return;
      waiting.set(organization_id, lane);
      void writeAll(organization_id, lane);
    },

    async end(): Promise<void> {
      const left = [...waiting.values()].flatMap((lane) => [...lane.values()]);
      for (const lane of waiting.values()) lane.clear();
      if (store.retired) return;
      await Promise.all(left.map(({ key, lines }) => tryWrite(key, lines.slice(-perTurn))));
    },

    /** Follows the log after the entry `after`. Ends when the environment is deleted. */
    async *follow(
      key: FollowedKey,
      changesOf: () => ChangeSubscription,
      after: string | undefined,
    ): AsyncGenerator<StreamEntry, object | undefined> {
      const changes = changesOf();
      try {
        const { log_entries = 0 } = (await rows().find(key)) ?? {};
        let { last, told } = resumeLog(after, Number(log_entries), clock.iso());
        if (told) yield told;
        for (;;) {
          const place = { after: last, page: 1, per_page: batch };
          const entries = await rows().logs.rows(keyOf(key), place);
          for (const { seq, timestamp, level, message } of entries.slice(0, batch)) {
            last = String(seq);
            yield { id: last, record: { timestamp, level, message } };
          }
          if (entries.length > batch) continue;
          if (!(await key.exists())) return { status: "deleted" };
          // Simulated deployments have no output.
          if (!(await rows().find(key))) return { status: "simulated" };
          if (!(await changes.next())) return undefined;
        }
      } finally {
        changes.stop();
      }
    },
  };
}
