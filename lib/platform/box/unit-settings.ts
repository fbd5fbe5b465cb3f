import { existsSync, readFileSync } from "node:fs";

/** systemd settings that prevent a box. `isThere` detects each by its effect on this process. */
const settings = {
  bubblewrap: "ProtectKernelTunables",
  users: "NoNewPrivileges, RestrictSUIDSGID or RestrictAddressFamilies",
  limits: "ProtectControlGroups",
  network: "PrivateDevices",
} as const;

/** Whether the topmost mount at the folder is read-only. */
const isReadOnly = (folder: string) => {
  const lines = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const options = lines.map((line) => line.split(" ")).findLast(([, , , , at]) => at === folder)?.[5] ?? "";
  return options.split(",").includes("ro");
};

const isThere: Readonly<Record<keyof typeof settings, () => boolean>> = {
  bubblewrap: () => isReadOnly("/proc/sys"),
  users: () => process.getuid?.() !== 0 && /^NoNewPrivs:\s*1$/m.test(readFileSync("/proc/self/status", "latin1")),
  limits: () => isReadOnly("/sys/fs/cgroup"),
  network: () => !existsSync("/dev/net/tun"),
};

/** How to change the systemd unit, if one of its settings prevents this part of the box. */
export const unitAdvice = (part: keyof typeof settings): string | undefined =>
  isThere[part]()
    ? `a setting of its unit is in the way (${settings[part]}): add svc-server-process.conf of fixtures/hosting`
    : undefined;
