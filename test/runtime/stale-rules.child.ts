import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../../lib/platform/runtime/health.ts";
import { compiled } from "../helpers/bundle.ts";

/* Runs in its own namespaces (`stale-rules.test.ts`). */

const command = (line: string) => {
  const [program = "", ...words] = line.split(" ");
  return execFileSync(program, words, { encoding: "utf8" });
};

/** The rules that Podman adds for a container with a published port. */
const publish = (port: number, address: string) => {
  const chain = `NETAVARK-DN-${port}`;
  command(`iptables -t nat -N ${chain}`);
  const to = `-d 127.0.0.1/32 -p tcp -m tcp --dport ${port}`;
  command(`iptables -t nat -A ${chain} ${to} -j DNAT --to-destination ${address}:8000`);
  command(`iptables -t nat -A OUTPUT ${to} -j ${chain}`);
};

command("ip link set lo up");

test("an app gets a port that it can be reached at, and can take at once", async (t) => {
  // The kernel gives two of these to servers.
  writeFileSync("/proc/sys/net/ipv4/ip_local_port_range", "40000 40003");
  const led = await freePort();
  publish(led, "127.0.0.1");
  t.after(() => command("iptables -t nat -F"));
  for (let i = 0; i < 20; i++) {
    const port = await freePort();
    assert.notEqual(port, led);
    const hex = port.toString(16).toUpperCase();
    assert.doesNotMatch(readFileSync("/proc/self/net/tcp", "utf8"), new RegExp(`^ *\\d+: \\w+:${hex} `, "m"));
  }
});

test("a test that is killed leaves no engine, bridge, rule or folder", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "svc-server-engine-"));
  const holder = spawn(process.execPath, [compiled("test/runtime/engine-holder.child.js"), folder], {
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const kill = () => process.kill(-(holder.pid ?? assert.fail()), "SIGKILL");
  t.after(() => holder.signalCode ?? kill());
  const [range] = await once(holder.stdout, "data");
  const net = String(range).replace(/0\/24$/, "");
  const engine = spawn("sh", ["-c", "read -r _", folder], { stdio: ["pipe", "ignore", "ignore"] });
  t.after(() => void engine.kill("SIGKILL"));
  const ended = once(engine, "exit");
  command("ip link add podman1 type bridge");
  command(`ip addr add ${net}1/24 dev podman1`);
  publish(40_002, `${net}2`);
  kill();
  // What frees the rest shares its output, which closes with the last of both.
  await once(holder, "close");
  engine.kill("SIGTERM");
  assert.deepEqual(await ended, [null, "SIGKILL"]);
  assert.doesNotMatch(command("iptables -t nat -S"), /DNAT/);
  assert.doesNotMatch(command("ip -o link"), /podman1/);
  assert.equal(existsSync(folder), false);
});
