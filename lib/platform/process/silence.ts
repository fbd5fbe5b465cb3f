import { readFileSync, readlinkSync } from "node:fs";
import type { LogLine } from "../../drivers/deployment/contract.ts";
import { systemTimer } from "../../kernel/clock.ts";
import { descendantsOf } from "../../kernel/node/process-table.ts";
import { monotonicNow } from "../../kernel/node/system.ts";
import { connectedTo } from "../runtime/listening-ports.ts";

const silence_ms = 120_000;
const maxShown = 120;
/** Of many processes, only the last two are named; a few more are read, because some may have ended. */
const maxRead = 8;

/** A command line may have 2 MB. More is read than shown, because only a whole secret can be hidden. */
const maxSearched = 64 * 1024;

const commandOf = (pid: number) => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").slice(0, maxSearched).replaceAll("\0", " ").trim();
  } catch {
    return ""; // The process has ended.
  }
};

const networkOf = (pid: number | "self") => {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return undefined;
  }
};

/** Names the innermost processes of a step and their connections, without the program that connects their box. */
function waitsFor(pid: number, hide: (text: string) => string): string {
  const below = descendantsOf(pid);
  const leaves = below.filter((one) => !below.some(({ parent }) => parent === one.pid));
  const boxed = leaves.filter(({ pid }) => ![undefined, networkOf("self")].includes(networkOf(pid)));
  const isOwn = boxed.length > 0;
  const innermost = isOwn ? boxed : leaves;
  const commands = innermost
    .slice(-maxRead)
    .map((one) => commandOf(one.pid))
    .filter((text) => text !== "");
  // The machine's network also contains connections of other programs.
  const places = [...new Set(boxed.slice(-1).flatMap((one) => connectedTo(one.pid)))].slice(0, 3);
  const runs = commands.slice(-2).map((text) => `"${hide(text).slice(0, maxShown)}"`);
  const network = places.length > 0 ? `, connected to ${places.join(" and ")}` : ", connected to nothing";
  return `it waits for ${runs.join(" and ") || "a process that has ended"}${isOwn ? network : ""}`;
}

interface Watched {
  readonly pid: number | undefined;
  readonly heard_at: () => number;
  readonly hide: (text: string) => string;
  readonly log: (line: LogLine) => void;
  readonly after_ms?: number;
}

/** If a step prints nothing for two minutes, logs what it waits for. Repeats after four minutes, eight, and so on. */
export function watchSilence(name: string, { pid, heard_at, hide, log, after_ms = silence_ms }: Watched): () => void {
  let silent_ms = after_ms;
  let heard = heard_at();
  let cancel = () => {};
  const look = () => {
    if (heard_at() !== heard) {
      heard = heard_at();
      silent_ms = after_ms;
    }
    const left_ms = silent_ms - (monotonicNow() - heard);
    if (left_ms <= 0 && pid !== undefined) {
      const time = `${Math.round(silent_ms / 1000)} s`;
      const help =
        "if it lacks a registry, a proxy or a certificate authority (NODE_EXTRA_CA_CERTS), the operator sets that in the option deployments.buildVariables; a cancel ends the build";
      log({ level: "warn", message: `${name} has printed nothing for ${time}: ${waitsFor(pid, hide)}; ${help}` });
      silent_ms *= 2;
    }
    cancel = systemTimer(Math.max(1, silent_ms - (monotonicNow() - heard)), look);
  };
  cancel = systemTimer(after_ms, look);
  return () => cancel();
}
