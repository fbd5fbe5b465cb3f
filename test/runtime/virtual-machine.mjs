// `node test/runtime/virtual-machine.mjs [filter …]` attacks the box in a virtual machine of Debian, with control
// groups of version 2 and the shipped unit under systemd: as root, and as the unit's user with subordinate ids.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { compile } from "../compile.mjs";

const folder = process.env.SVC_TEST_MACHINE ?? "/var/tmp/svc-server-machine";
const root = join(folder, "root");
const image = join(folder, "disk");
const filters = process.argv.slice(2);
const wanted = filters.length > 0 ? filters : ["box", "build-disk", "organization-users"];

const packages = [
  ...["systemd", "systemd-sysv", "dbus", "udev", "kmod", "procps", "iproute2", "util-linux", "linux-image-cloud-amd64"],
  ...["bubblewrap", "passt", "uidmap", "git", "e2fsprogs", "ca-certificates", "libstdc++6"],
];
const run = (file, ...args) => execFileSync(file, args, { stdio: ["ignore", "ignore", "inherit"] });

/** Installs Debian with the packages that the runtime needs; the next run reuses it. */
function install() {
  if (existsSync(join(root, "installed"))) return;
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  const mirror = process.env.SVC_TEST_MIRROR ?? "http://deb.debian.org/debian";
  run("debootstrap", "--variant=minbase", `--include=${packages.join(",")}`, "bookworm", root, mirror);
  run("chroot", root, "useradd", "--system", "--user-group", "--home-dir", "/var/lib/svc-server", "svc-server");
  run("chroot", root, "usermod", "--add-subuids", "100000-165535", "--add-subgids", "100000-165535", "svc-server");
  writeFileSync(join(root, "installed"), "");
}

const write = (path, lines) => {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), `${lines.join("\n")}\n`);
};
const units = "etc/systemd/system";

/** Copies Node, the repository, its tests and the units that run them into the machine. */
async function fill() {
  const compiled = await compile();
  const repository = join(root, "repository");
  rmSync(repository, { recursive: true, force: true });
  const files = execFileSync("git", ["ls-files", "-z"], { encoding: "utf8" }).split("\0").filter(Boolean);
  for (const file of files) cpSync(file, join(repository, file), { recursive: true });
  cpSync("node_modules", join(repository, "node_modules"), { recursive: true, verbatimSymlinks: true });
  cpSync(compiled, join(repository, "compiled"), { recursive: true, filter: (path) => !path.endsWith("node_modules") });
  run("ln", "-sfn", "../node_modules", join(repository, "compiled/node_modules"));
  cpSync(process.execPath, join(root, "usr/bin/node"));
  write("usr/local/bin/svc-server", ["#!/bin/sh", 'exec node /repository/compiled/dist/bin/svc-server.js "$@"']);
  run("chmod", "755", join(root, "usr/local/bin/svc-server"));
  const tests = readdirSync("test/runtime")
    .filter((name) => name.endsWith(".test.ts") && wanted.some((one) => name.includes(one)))
    .map((name) => `compiled/dist/test/runtime/${name.replace(/ts$/, "js")}`);
  const command = `env -u SVC_DEPLOYMENTS_BUILD_DISKS node --enable-source-maps --test --test-concurrency=1 --test-timeout=1500000 --test-reporter=./test/reporter.mjs ${tests.join(" ")}`;
  write("repository/tests.sh", [
    "cd /repository",
    "umask 022",
    'echo "== $1"',
    "svc-server doctor | grep box",
    command,
    'echo "== $1: exit code $?"',
  ]);
  const console = ["StandardInput=null", "StandardOutput=tty", "StandardError=tty", "TTYPath=/dev/ttyS0"];
  // The shipped unit and its drop-in, with another command.
  cpSync("fixtures/hosting/svc-server.service", join(root, units, "svc-server.service"));
  cpSync("fixtures/hosting/svc-server-process.conf", join(root, units, "svc-server.service.d/process.conf"));
  cpSync("fixtures/hosting/svc-server.service", join(root, units, "attacked.service"));
  cpSync("fixtures/hosting/svc-server-process.conf", join(root, units, "attacked.service.d/process.conf"));
  write(join(units, "attacked.service.d/tests.conf"), [
    ...["[Unit]", "AssertPathExists=", "[Service]", "Restart=no", "ExecStart="],
    ...["ExecStart=/bin/sh /repository/tests.sh unit", "TimeoutStopSec=10", ...console],
  ]);
  write(join(units, "machine.service"), [
    ...["[Unit]", "After=network.target", "[Service]", ...console, "ExecStart=/bin/sh /repository/machine.sh"],
    ...["[Install]", "WantedBy=multi-user.target"],
  ]);
  write("repository/machine.sh", [
    "stat -f -c '== control groups: %T' /sys/fs/cgroup",
    "modprobe -a loop tun",
    "ip link set lo up; ip link set eth0 up || ip link set enp0s3 up",
    "device=$(ls /sys/class/net | grep -v lo | head -n 1)",
    "ip addr add 10.0.2.15/24 dev $device; ip route add default via 10.0.2.2",
    "ip -6 addr add fec0::15/64 dev $device nodad; ip -6 route add default via fec0::2",
    "if grep -q interactive /proc/cmdline; then exec sh -c 'while :; do /bin/bash -i < /dev/ttyS0 > /dev/ttyS0 2>&1; done'; fi",
    "sh /repository/fixtures/hosting/build-disks.sh",
    "systemctl start --wait attacked.service",
    "/bin/sh /repository/tests.sh root",
    "systemctl poweroff",
  ]);
  write("etc/fstab", ["/dev/vda / ext4 rw 0 1"]);
  write("etc/resolv.conf", ["nameserver 10.0.2.3"]);
  for (const [unit, at] of [
    ["machine.service", "multi-user.target.wants/machine.service"],
    ["/dev/null", "serial-getty@ttyS0.service"],
  ]) {
    mkdirSync(join(root, units, at, ".."), { recursive: true });
    run("ln", "-sfn", unit.startsWith("/") ? unit : `/${units}/${unit}`, join(root, units, at));
  }
  rmSync(image, { force: true });
  run("mke2fs", "-q", "-t", "ext4", "-d", root, image, "6G");
}

/** Starts the machine; returns how many test runs passed. */
async function boot() {
  const named = (name) => join(root, "boot", readdirSync(join(root, "boot")).find((one) => one.startsWith(name)) ?? "");
  const words = [
    ...["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "4096", "-nographic", "-no-reboot"],
    ...["-kernel", named("vmlinuz"), "-initrd", named("initrd")],
    ...["-append", "root=/dev/vda rw console=ttyS0 quiet systemd.show_status=false net.ifnames=0"],
    ...["-drive", `file=${resolve(image)},if=virtio,format=raw,cache=unsafe`],
    ...["-nic", "user,model=virtio-net-pci"],
  ];
  const machine = spawn("qemu-system-x86_64", words, { stdio: ["ignore", "pipe", "inherit"] });
  let well = 0;
  for await (const line of createInterface({ input: machine.stdout })) {
    process.stdout.write(`${line}\n`);
    if (/^== (root|unit): exit code 0/.test(line)) well++;
  }
  return well;
}

install();
await fill();
process.exitCode = (await boot()) === 2 ? 0 : 1;
