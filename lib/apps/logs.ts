import type { LogLine } from "../drivers/deployment/contract.ts";
import type { ChangeFeed } from "../events/change-feed.ts";
import type { ChangeSubscription } from "../events/wait-for-change.ts";
import type { Clock } from "../kernel/clock.ts";
import { withoutEscapeSequences } from "../kernel/escape-sequences.ts";
import { type Log, reasonOf } from "../kernel/log.ts";
import type { StreamEntry } from "../kernel/stream.ts";
import type { Store } from "../store/store.ts";
import { appsRepository } from "./repository.ts";

/** The log of an environment keeps its last 10,000 lines (fixtures/hosting/apps.md#hosts). */
const kept = 10_000;
const batch = 100;

interface AppKey {
  readonly organization_id: string;
  readonly project_id: string;
  readonly environment: string;
}

/** The name under which changes of an environment's log are published. */
export const logNameOf = ({ project_id, environment }: Omit<AppKey, "organization_id">) =>
  `${project_id} ${environment}`;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed
const controlCharacters = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g;
const clean = (text: string) => withoutEscapeSequences(text).replace(controlCharacters, "").toWellFormed();

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly feed: ChangeFeed;
}

export type AppLogs = ReturnType<typeof createAppLogs>;

/** The output of live releases. */
export function createAppLogs({ store, clock, log, feed }: Ports) {
  const rows = store.using(appsRepository);

  const write = (key: AppKey, lines: readonly LogLine[]) =>
    store.transaction(key, async (tx) => {
      const app = await rows(tx).find(key);
      // The environment was deleted in the meantime.
      if (!app) return;
      const { organization_id, project_id, environment } = app;
      const timestamp = clock.iso();
      let seq = Number(app.log_entries);
      for (const { level, message } of lines) {
        const entry = { project_id, environment, seq, organization_id, timestamp, level, message: clean(message) };
        await rows(tx).insertLog(entry);
        seq += 1;
      }
      await rows(tx).setLogEntries({ project_id, environment, log_entries: seq });
      await rows(tx).pruneLog({ project_id, environment, before: seq - kept });
      feed.publish(tx, { kind: "log", organization_id, id: logNameOf(app) });
    });

  return {
    /** Adds lines. If the store refuses them, they are missing from the log, and nothing else fails. */
    append(key: AppKey, lines: readonly LogLine[]): void {
      if (store.retired) return;
      write(key, lines).catch((error) => log.warn("an app's log could not be stored", { reason: reasonOf(error) }));
    },

    /** Follows the log after the entry `after`. Ends when the environment is deleted. */
    async *follow(
      key: AppKey,
      changesOf: () => ChangeSubscription,
      after: string | undefined,
    ): AsyncGenerator<StreamEntry, object | undefined> {
      const changes = changesOf();
      let last = after;
      try {
        for (;;) {
          const place = { after: last, page: 1, per_page: batch };
          const { organization_id, project_id, environment } = key;
          const found = await rows().logs.rows({ organization_id, project_id, environment }, place);
          for (const { seq, timestamp, level, message } of found.slice(0, batch)) {
            last = String(seq);
            yield { id: last, record: { timestamp, level, message } };
          }
          if (found.length > batch) continue;
          if (!(await rows().find(key))) return { status: "deleted" };
          if (!(await changes.next())) return undefined;
        }
      } finally {
        changes.stop();
      }
    },
  };
}
