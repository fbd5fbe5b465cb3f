import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { needs } from "../helpers/obeying-app.ts";
import { program, temporaryFolder } from "../helpers/program.ts";

/** Merges the settings of the unit files; a later file overrides an earlier one. */
function settingsOf(...names: string[]): Map<string, string> {
  const lines = names.flatMap((name) => readFileSync(`fixtures/hosting/${name}`, "utf8").split("\n"));
  return new Map(
    lines.flatMap((line) => (/^[A-Z]\w+=/.test(line) ? [line.split(/=(.*)/s, 2) as [string, string]] : [])),
  );
}

const readOnly = (folder: string) => `mount --bind ${folder} ${folder}; mount -o remount,bind,ro ${folder}`;
/** The shell equivalent of each setting for namespaces, mounts and rights. */
const meaning: Readonly<Record<string, string>> = {
  ProtectKernelTunables: readOnly("/proc/sys"),
  ProtectControlGroups: readOnly("/sys/fs/cgroup"),
  PrivateDevices: "mkdir -p /dev/net; mount -t tmpfs none /dev/net",
  NoNewPrivileges: "rights=--no-new-privs",
  RestrictSUIDSGID: "rights=--no-new-privs",
};

/** The output of `doctor` under the settings. */
function doctorUnder(settings: ReadonlyMap<string, string>, cwd: string): string {
  const isOn = (name: string) => settings.get(name) === "true";
  const script = [
    "rights=--reset-env",
    ...Object.keys(meaning)
      .filter(isOn)
      .map((name) => meaning[name] ?? ""),
  ];
  const started = `exec setpriv $rights -- "$@"`;
  const words = ["--mount", "--", "sh", "-ec", [...script, started].join("\n"), "sh", process.execPath, program];
  const { stdout } = spawnSync("unshare", [...words, "doctor", "--port", "0", "--json"], { encoding: "utf8", cwd });
  const checks = JSON.parse(stdout) as { check: string; says: string }[];
  return checks.map(({ check, says }) => `${check}: ${says}`).join("\n");
}

const asRoot = process.getuid?.() === 0 ? needs() : { skip: "it needs root, who sets up what systemd would" };

test("A box starts under the settings of the unit for runtimes, and doctor names those in the way", asRoot, (t) => {
  const folder = temporaryFolder(t);
  const plain = doctorUnder(settingsOf("svc-server.service"), folder);
  assert.match(plain, /bubblewrap does not work here .*in the way \(ProtectKernelTunables\).*svc-server-process\.conf/);
  const runtime = doctorUnder(settingsOf("svc-server.service", "svc-server-process.conf"), folder);
  assert.doesNotMatch(runtime, /bubblewrap does not work|in the way/);
  assert.match(runtime, /box: users: each organization/);
});

test("The unit for runtimes has no setting that means NoNewPrivileges for an ordinary user", () => {
  const settings = settingsOf("svc-server.service", "svc-server-process.conf");
  const implied =
    /^(NoNewPrivileges|SystemCall\w+|RestrictAddressFamilies|RestrictNamespaces|RestrictRealtime|RestrictSUIDSGID|PrivateDevices|ProtectKernel\w+|ProtectClock|ProtectHostname|MemoryDenyWriteExecute|LockPersonality|DynamicUser)$/;
  const on = [...settings].filter(([name, value]) => implied.test(name) && value !== "false" && value !== "");
  assert.deepEqual(on, []);
});
