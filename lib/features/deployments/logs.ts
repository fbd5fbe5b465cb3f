import type { LogLine, Progress } from "../../drivers/deployment/contract.ts";
import type { Clock } from "../../kernel/clock.ts";
import { notFound } from "../../kernel/errors.ts";
import { deploymentLog } from "../../kernel/limits.ts";
import { resumeLog, type StreamEntry } from "../../kernel/node/stream.ts";
import { hideValues } from "../../kernel/secrets/secret-values.ts";
import { isTerminal } from "../../kernel/state-machine.ts";
import { withoutEscapeSequences } from "../../kernel/text/escape-sequences.ts";
import type { Row } from "../../store/tables.ts";
import type { ChangeSubscription } from "../events/wait-for-change.ts";
import type { deploymentsRepository } from "./repository.ts";
import { lifecycle } from "./states.ts";

type Rows = ReturnType<typeof deploymentsRepository>;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed
const controlCharacters = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g;

/** A driver's text without control characters, which must reach neither a terminal nor a webhook. */
export const withoutControlCharacters = (text: string): string =>
  withoutEscapeSequences(text).replace(controlCharacters, "").toWellFormed();

/** Every log shows the values of secret variables as `[redacted]` (schema/records.md#projects-and-environments). */
export function withoutSecrets(answer: Progress, secrets: readonly string[]): Progress {
  if (secrets.length === 0) return answer;
  const hide = hideValues(secrets);
  const logs = answer.logs.map(({ level, message }) => ({ level, message: hide(message) }));
  return "message" in answer ? { ...answer, logs, message: hide(answer.message) } : { ...answer, logs };
}

/** One entry per line, without control characters other than tab, so that a log cannot overwrite a terminal. */
const entriesOf = (lines: readonly LogLine[]): LogLine[] =>
  lines.flatMap(({ level, message }) =>
    message.split(/\r\n|\n|\r/).map((line) => ({ level, message: withoutControlCharacters(line) })),
  );

/** The limits of log lines. They leave room for one more entry, about the end of the deployment. */
const room = { entries: deploymentLog.entries - 1, bytes: deploymentLog.bytes - 512 } as const;

/** Appends lines to a deployment's log within its limits. Stores `last` even if the log is full. */
export async function appendLogs(
  rows: Rows,
  deployment: Pick<Row<"deployments">, "id" | "organization_id" | "log_entries" | "log_bytes">,
  lines: readonly LogLine[],
  clock: Clock,
  last: readonly LogLine[] = [],
): Promise<void> {
  if (lines.length + last.length === 0) return;
  const { id: deployment_id, organization_id } = deployment;
  let { log_entries, log_bytes } = deployment;
  const timestamp = clock.iso();
  const write = async ({ level, message }: LogLine) => {
    await rows.insertLog({ deployment_id, seq: log_entries, organization_id, timestamp, level, message });
    log_entries += 1;
    log_bytes += Buffer.byteLength(message);
  };
  for (const line of entriesOf(lines)) {
    if (log_entries >= room.entries || log_bytes >= room.bytes) break;
    const full = log_entries === room.entries - 1 || log_bytes + Buffer.byteLength(line.message) >= room.bytes;
    await write(full ? { level: "warn", message: "The log is full; later lines are not stored" } : line);
    if (full) log_bytes = room.bytes;
  }
  for (const line of last) await write(line);
  await rows.setLogSize({ id: deployment_id, organization_id, log_entries, log_bytes });
}

/** How many entries are read at a time, and kept in memory for a slow reader. */
const batch = 100;

/** Streams the log from the entry after `after`; returns the final state (schema/streams.md#following-a-log). */
export async function* followLogs(
  rows: Rows,
  { organization_id, id }: { organization_id: string; id: string },
  changesOf: () => ChangeSubscription,
  after: string | undefined,
  clock: Clock,
): AsyncGenerator<StreamEntry, object | undefined> {
  const changes = changesOf();
  try {
    const { log_entries = 0 } = (await rows.find({ organization_id, id })) ?? {};
    let { last, told } = resumeLog(after, log_entries, clock.iso());
    if (told) yield told;
    for (;;) {
      // Reads the state before the log: the log is complete once the deployment has ended.
      const deployment = await rows.find({ organization_id, id });
      if (!deployment) throw notFound("deployment");
      const place = { after: last, page: 1, per_page: batch };
      const entries = await rows.logs.rows({ organization_id, deployment_id: id }, place);
      for (const { seq, ...record } of entries.slice(0, batch)) {
        last = String(seq);
        yield { id: last, record };
      }
      if (entries.length > batch) continue;
      if (isTerminal(lifecycle, deployment.status)) return { status: deployment.status };
      if (!(await changes.next())) return undefined;
    }
  } finally {
    changes.stop();
  }
}
