import { shownLine, stillHere } from "../drivers/repositories/push-request.ts";
import { systemTimer } from "../kernel/clock.ts";

/** Proxies give up a silent connection after half a minute or more. */
const heartbeat = "15s";
const end = "0000";

/**
 * The answer to a push as git gives it, with lines before its end that the pusher's git shows as they come. `lines` makes the
 * deployments: it runs to its end where the client shows no text, or has gone.
 */
export async function* pushAnswer(
  answer: AsyncGenerator<Buffer, void>,
  showsText: () => boolean,
  lines: () => AsyncGenerator<string, void>,
): AsyncGenerator<Buffer, void> {
  let held = Buffer.alloc(0);
  let all: AsyncGenerator<string, void> | undefined;
  try {
    for await (const chunk of answer) {
      const bytes = Buffer.concat([held, chunk]);
      const cut = Math.max(0, bytes.length - end.length);
      if (cut > 0) yield bytes.subarray(0, cut);
      held = bytes.subarray(cut);
    }
    all = lines();
    if (showsText() && held.toString("latin1") === end) {
      for (let next = all.next(); ; next = all.next()) {
        while (await isSlow(next)) yield stillHere;
        const { value, done } = await next;
        if (done) break;
        yield shownLine(value);
      }
      all = undefined;
    }
    yield held;
  } finally {
    void runToEnd(all ?? (held.length > 0 ? undefined : lines()));
  }
}

async function isSlow(next: Promise<unknown>): Promise<boolean> {
  let cancel = () => {};
  const beat = new Promise<true>((resolve) => {
    cancel = systemTimer(heartbeat, () => resolve(true));
  });
  return Promise.race([next.then(() => false), beat]).finally(() => cancel());
}

async function runToEnd(lines: AsyncGenerator<string, void> | undefined): Promise<void> {
  for await (const _ of lines ?? []);
}
