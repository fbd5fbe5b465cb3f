import { readFileSync } from "node:fs";
import { monotonicNow } from "../../kernel/system.ts";
import type { LogLine } from "../deployment/contract.ts";
import { descendantsOf, idsOf } from "./process-table.ts";

/** The sockets in a process's network, from the kernel's tables. */
function socketsOf(pid: number, names: readonly ("tcp" | "tcp6")[]) {
  return names.flatMap((name) => {
    try {
      const [, ...rows] = readFileSync(`/proc/${pid}/net/${name}`, "latin1").trim().split("\n");
      return rows.map((row) => {
        const [, local = "", remote = "", state] = row.trim().split(/\s+/);
        return { local, remote, state };
      });
    } catch {
      return []; // The process has ended.
    }
  });
}

const portOf = (place: string) => Number.parseInt(place.split(":")[1] ?? "", 16);

const listenersOf = (pid: number): number[] =>
  socketsOf(pid, ["tcp", "tcp6"]).flatMap(({ local, state }) => (state === "0A" ? [portOf(local)] : []));

/** The IPv4 addresses to which programs in a process's network are connected or connecting. */
export const connectedTo = (pid: number): string[] =>
  socketsOf(pid, ["tcp"]).flatMap(({ remote, state = "" }) => {
    const bytes = remote.slice(0, 8).match(/../g) ?? [];
    const address = bytes.map((byte) => Number.parseInt(byte, 16)).reverse();
    return ["01", "02"].includes(state) && address[0] !== 127 ? [`${address.join(".")}:${portOf(remote)}`] : [];
  });

/**
 * The ports on which programs of a box listen, without the forwarded ports that lead out. The box must have its own
 * network.
 */
export function listeningPorts(pid: number, leadsOut: readonly number[]): number[] {
  const inside = descendantsOf(pid).find((one) => (idsOf(one.pid)[1] ?? 1) !== 1);
  const ports = inside ? listenersOf(inside.pid) : [];
  return [...new Set(ports)].filter((port) => !leadsOut.includes(port)).sort((a, b) => a - b);
}

const look_ms = 250;
/** The time between two looks, as a multiple of the time that one takes: a program may have 60,000 sockets. */
const pause = 50;
/** The fraction of the health timeout after which the app's own port is accepted. */
const patience = 1 / 12;

/**
 * Watches an app that listens on a port other than PORT. Logs that port at once. Returns it after the app has listened
 * on it alone for a while, because a program may open other ports first.
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
    const ports = listening();
    const looked = monotonicNow();
    next = looked + Math.max(look_ms, Math.min(pause * (looked - now), timeout_ms * patience));
    const text = ports.includes(told) ? "" : ports.join(" and ");
    if (text !== seen) {
      [seen, since] = [text, now];
      if (text === "") return undefined;
      const help = ports.length > 1 ? "; choose one with port in svc.json" : "";
      const message = `The app listens on port ${text} instead of ${told}, which the variable PORT names${help}`;
      log({ level: "warn", message });
    }
    return ports.length === 1 && text !== "" && now - since >= timeout_ms * patience ? ports[0] : undefined;
  };
}
