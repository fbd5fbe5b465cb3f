import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { descendantsOf, signalProcess } from "../../lib/kernel/node/process-table.ts";
import { compiled } from "./bundle.ts";

// Networks of different engines on one machine must not overlap.
export const subnet = `10.${200 + (process.pid % 50)}.${Math.floor(process.pid / 50) % 250}.0/24`;

/**
 * Starts a process that frees what an engine leaves, once this process ends: also if it is killed. Returns the function
 * that frees it now.
 */
export function freedAtEnd(folder: string): () => Promise<void> {
  const program = compiled("test/helpers/engine-leftovers.child.js");
  // A bench runs from the sources.
  const words = existsSync(program) ? [program] : ["--import", "tsx", "test/helpers/engine-leftovers.child.ts"];
  // In a process group of its own, since whoever kills this process kills its group.
  const child = spawn(process.execPath, [...words, folder, subnet], {
    detached: true,
    stdio: ["pipe", "ignore", "inherit"],
  });
  const ended = once(child, "exit");
  return async () => {
    child.stdin.end();
    assert.deepEqual(await ended, [0, null], "what the engine left is freed");
  };
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // The process has ended.
  }
}

/**
 * Ends what an engine leaves in its folder: the mounts of a killed one, and with Podman containers. A service that is still
 * open starts its containers again after they were removed.
 */
export function freeFolder(folder: string): void {
  for (const pid of readdirSync("/proc").map(Number)) {
    if (!(pid > 0 && pid !== process.pid && commandOf(pid).includes(folder))) continue;
    for (const one of [...descendantsOf(pid).map((below) => below.pid), pid]) signalProcess(one, "SIGKILL");
  }
  const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
  for (const path of mounts.map((line) => line.split(" ")[1] ?? "").toReversed())
    if (path.startsWith(`${folder}/`)) spawnSync("umount", ["--lazy", path]);
}

/**
 * Removes the bridges, and the rules for ports, of containers that their engine did not remove. Such a rule leads the
 * clients of any later program with the same port to a container that is gone, and they wait without an answer.
 */
export function freeNetwork(subnet: string): void {
  const linesOf = (program: string, ...args: string[]) =>
    (spawnSync(program, args, { encoding: "utf8" }).stdout ?? "").split("\n");
  const addresses = ` ${subnet.replace(/0\/24$/, "")}`;
  for (const line of linesOf("ip", "-o", "-4", "addr"))
    if (line.includes(addresses)) spawnSync("ip", ["link", "delete", line.split(/\s+/)[1] ?? ""]);
  for (const rule of linesOf("iptables", "-t", "nat", "-S")) {
    const [, chain = "", ...words] = rule.startsWith("-A") && rule.includes(addresses) ? rule.split(" ") : [];
    if (chain.startsWith("NETAVARK-")) spawnSync("iptables", ["-t", "nat", "-F", chain]);
    else if (chain !== "") spawnSync("iptables", ["-t", "nat", "-D", chain, ...words]);
  }
}
