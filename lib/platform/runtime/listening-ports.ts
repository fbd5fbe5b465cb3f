import { readFileSync } from "node:fs";
import type { LogLine } from "../../drivers/deployment/contract.ts";
import { descendantsOf, idsOf } from "../../kernel/node/process-table.ts";
import { monotonicNow } from "../../kernel/node/system.ts";

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

/** A port on which programs of a box listen. */
export interface Listener {
  readonly port: number;
  /** Whether they listen at ::1 alone, to which no request is forwarded. */
  readonly isOnlyIpv6: boolean;
}

const ipv6Loopback = "00000000000000000000000001000000";

const listenersOf = (pid: number): Listener[] => {
  const all = socketsOf(pid, ["tcp", "tcp6"]).filter(({ state }) => state === "0A");
  const reached = new Set(all.filter(({ local }) => !local.startsWith(ipv6Loopback)).map(({ local }) => portOf(local)));
  const ports = [...new Set(all.map(({ local }) => portOf(local)))].sort((a, b) => a - b);
  return ports.map((port) => ({ port, isOnlyIpv6: !reached.has(port) }));
};

/** The IPv4 addresses to which programs in a process's network are connected or connecting. */
export const connectedTo = (pid: number): string[] =>
  socketsOf(pid, ["tcp"]).flatMap(({ remote, state = "" }) => {
    const bytes = remote.slice(0, 8).match(/../g) ?? [];
    const address = bytes.map((byte) => Number.parseInt(byte, 16)).reverse();
    return ["01", "02"].includes(state) && address[0] !== 127 ? [`${address.join(".")}:${portOf(remote)}`] : [];
  });

/** The ports on which programs of a box with its own network listen, without the forwarded ones. */
export function listeningPorts(pid: number, leadsOut: readonly number[]): Listener[] {
  const inside = descendantsOf(pid).find((one) => (idsOf(one.pid)[1] ?? 1) !== 1);
  return inside ? listenersOf(inside.pid).filter(({ port }) => !leadsOut.includes(port)) : [];
}

const look_ms = 250;
/** The pause between looks, as a multiple of a look's duration: a program may have 60,000 sockets. */
const pause = 50;
/** The fraction of the health timeout after which the app's own port is accepted. */
const patience = 1 / 12;

interface Watched {
  readonly listening: () => readonly Listener[];
  /** Whether svc.json names the port. */
  readonly isFixed: boolean;
  readonly timeout_ms: number;
}

/**
 * Watches an app that listens on another port than PORT, or on ::1 alone. Returns its port after it has listened there
 * alone for a while, because a program may open other ports first.
 */
export function watchPorts(
  told: number,
  { listening, isFixed, timeout_ms }: Watched,
  log: (line: LogLine) => void,
): () => Listener | undefined {
  let next = monotonicNow() + look_ms;
  let wasOnlyIpv6 = false;
  let seen = "";
  let since = 0;
  return () => {
    const now = monotonicNow();
    if (now < next) return undefined;
    const listeners = listening();
    const looked = monotonicNow();
    next = looked + Math.max(look_ms, Math.min(pause * (looked - now), timeout_ms * patience));
    const wanted = listeners.find(({ port }) => port === told);
    // A program may open ::1 first and 127.0.0.1 right after it.
    const isOnlyIpv6 = wanted?.isOnlyIpv6 ?? false;
    if (isOnlyIpv6 && wasOnlyIpv6) return wanted;
    wasOnlyIpv6 = isOnlyIpv6;
    const text = wanted || isFixed ? "" : listeners.map(({ port }) => port).join(" and ");
    if (text !== seen) {
      [seen, since] = [text, now];
      if (text === "") return undefined;
      const help = listeners.length > 1 ? "; choose one with port in svc.json" : "";
      const message = `The app listens on port ${text} instead of ${told}, which the variable PORT names${help}`;
      log({ level: "warn", message });
    }
    return listeners.length === 1 && text !== "" && now - since >= timeout_ms * patience ? listeners[0] : undefined;
  };
}
