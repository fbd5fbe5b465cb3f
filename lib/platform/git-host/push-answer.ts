import { within } from "../../kernel/node/promises.ts";
import { shownLine, stillHere } from "../repositories/push-request.ts";

/** Shorter than the half minute after which some proxies drop an idle connection. */
const heartbeat = "15s";
const end = "0000";
/** Reports are short. Beyond this size, a branch that another push has moved since is not recorded. */
const maxReport_bytes = 1024 * 1024;

/** The refs that git reports as changed: one per line, perhaps after the length of a packet. */
const refsIn = (report: readonly Buffer[]): ReadonlySet<string> =>
  new Set(
    String(Buffer.concat(report))
      .split("\n")
      .slice(0, -1)
      .flatMap((line) => (line.includes("ok refs/") ? line.slice(line.indexOf("ok refs/") + "ok ".length) : [])),
  );

/**
 * Git's answer to a push, with `lines` inserted before its end as they arrive. They create the deployments, so they run
 * to their end even if the client shows no text or has left. They get the refs that git has reported as changed.
 */
export async function* pushAnswer(
  answer: AsyncGenerator<Buffer, void>,
  showsText: () => boolean,
  lines: (stored: () => ReadonlySet<string>) => AsyncGenerator<string, void>,
): AsyncGenerator<Buffer, void> {
  let held = Buffer.alloc(0);
  const report: Buffer[] = [];
  let length = 0;
  let all: AsyncGenerator<string, void> | undefined = lines(() => refsIn(report));
  try {
    for await (const chunk of answer) {
      length += chunk.length;
      if (length <= maxReport_bytes) report.push(chunk);
      const bytes = Buffer.concat([held, chunk]);
      const cut = Math.max(0, bytes.length - end.length);
      if (cut > 0) yield bytes.subarray(0, cut);
      held = bytes.subarray(cut);
    }
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
    void runToEnd(all);
  }
}

const isSlow = (next: Promise<unknown>): Promise<boolean> =>
  within(
    heartbeat,
    next.then(() => false),
    true,
  );

async function runToEnd(lines: AsyncGenerator<string, void> | undefined): Promise<void> {
  for await (const _ of lines ?? []);
}
