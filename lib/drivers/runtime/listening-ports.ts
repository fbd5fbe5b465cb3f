import { readFileSync } from "node:fs";
import { monotonicNow } from "../../kernel/system.ts";
import type { LogLine } from "../deployment/contract.ts";
import { descendantsOf, idsOf } from "./process-table.ts";

function listenersOf(pid: number): number[] {
  return ["tcp", "tcp6"].flatMap((name) => {
    try {
      const [, ...rows] = readFileSync(`/proc/${pid}/net/${name}`, "latin1").trim().split("\n");
      return rows.flatMap((row) => {
        const [, local = "", , state] = row.trim().split(/\s+/);
        return state === "0A" ? [Number.parseInt(local.split(":")[1] ?? "", 16)] : [];
      });
    } catch {
      return []; // It ended meanwhile.
    }
  });
}

/** The ports that the programs of a box with its own network listen on, without those that lead out of it. */
export function listeningPorts(pid: number, leadsOut: readonly number[]): number[] {
  const inside = descendantsOf(pid).find((one) => (idsOf(one.pid)[1] ?? 1) !== 1);
  const ports = inside ? listenersOf(inside.pid) : [];
  return [...new Set(ports)].filter((port) => !leadsOut.includes(port)).sort((a, b) => a - b);
}

const look_ms = 250;
/** The part of the health check's time after which a port of the app's own is used. */
const patience = 1 / 12;

/**
 * Looks again and again for the port of an app that listens on another one than it was told. Names it at once, and answers it
 * once the app has listened on it alone for a while: a program may open its other ports first.
 */
export function watchPorts(
  told: number,
  { listening, timeout_ms }: { readonly listening: () => readonly number[]; readonly timeout_ms: number },
  log: (line: LogLine) => void,
): () => number | undefined {
  let next = monotonicNow() + look_ms;
  let seen = "";
  let since = 0;
  return () => {
    const now = monotonicNow();
    if (now < next) return undefined;
    next = now + look_ms;
    const ports = listening();
    const text = ports.includes(told) ? "" : ports.join(" and ");
    if (text !== seen) {
      [seen, since] = [text, now];
      if (text === "") return undefined;
      const help = ports.length > 1 ? "; port of svc.json may choose one" : "";
      const message = `The app listens on port ${text}, and not on ${told}, which the variable PORT names${help}`;
      log({ level: "warn", message });
    }
    return ports.length === 1 && text !== "" && now - since >= timeout_ms * patience ? ports[0] : undefined;
  };
}
