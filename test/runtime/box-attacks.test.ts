import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { join } from "node:path";
import { test } from "node:test";
import { needs, obeyingApp, runIn } from "../helpers/obeying-app.ts";
import { temporaryFolder } from "../helpers/program.ts";
import { runtimeWorld } from "../helpers/running-apps.ts";

/*
 * Attacks of an app of the runtime `process` on the machine, its server and its neighbours: one per row, with the
 * kernel's answer. The app prints the result of each attempt.
 */

/** System call numbers. */
const calls =
  process.arch === "arm64"
    ? {
        socket: 198,
        clone: 220,
        io_setup: 0,
        clock_settime: 112,
        sched_setscheduler: 119,
        setpriority: 140,
        ioprio_set: 30,
        memfd_create: 279,
        fcntl: 25,
      }
    : {
        socket: 41,
        clone: 56,
        io_setup: 206,
        clock_settime: 227,
        sched_setscheduler: 144,
        setpriority: 141,
        ioprio_set: 251,
        memfd_create: 319,
        fcntl: 72,
      };
const perl = (code: string) => `perl -e '${code} print $! + 0'`;
/** A system call with plain arguments; prints errno, or 0. */
const call = (name: keyof typeof calls, ...args: (number | string)[]) =>
  perl(`$! = 0; syscall(${[calls[name], ...args].join(", ")}) == -1 or $! = 0;`);
/** A system call whose last argument points to a structure of one or two fields. */
const packed = (name: keyof typeof calls, form: string, first: number, field: number) =>
  perl(
    `my $it = pack("${form}", ${field}, 0); $! = 0; syscall(${calls[name]}, 0, ${form === "l" ? `${first}, ` : ""}$it) == -1 or $! = 0;`,
  );
const [EPERM, EACCES, EAFNOSUPPORT] = [1, 13, 97] as const;
const socketOf = (family: number, type = 1) =>
  [call("socket", family, type, 0), new RegExp(`^${EAFNOSUPPORT}$`)] as const;
const denied = /Permission denied|Operation not permitted|Read-only file system|No such file|not found|nonexistent/;

/** Each attack: a shell command and its expected output. */
const attacks: Readonly<Record<string, readonly [command: string, answer: RegExp]>> = {
  "files through the roots of processes": ["of=root; ls -d /proc/[0-9]*/$of/var/lib 2> /dev/null; echo none", /^none$/],
  "the memory of the first process": ["head -c 1 /proc/1/mem 2>&1", /Input\/output error|Permission denied/],
  "the disk of the machine": [
    "ls /dev/vda /dev/sda /dev/mem /dev/kmsg /dev/loop0 /dev/net/tun 2>&1 | grep -v 'No such file'; echo none",
    /^none$/,
  ],
  "a new device": ["mknod /tmp/disk b 254 0 2>&1", denied],
  "a hard link to a file of the system": [
    "ln /etc/passwd /tmp/passwd 2>&1",
    /Invalid cross-device link|Operation not permitted/,
  ],
  "a program that runs as its owner": [
    "grep -E 'NoNewPrivs|CapEff|CapBnd' /proc/self/status | tr -s '\\t\\n' ' '",
    /^CapEff: 0+ CapBnd: [0-9a-f]+ NoNewPrivs: 1$/,
  ],
  "programs of the system that run as root": [
    "su -c id 2>&1; mount -t tmpfs none /tmp 2>&1; echo over",
    /^(?!.*uid=0).*over$/s,
  ],
  "more than its folder holds": ["fallocate -l 600M /app/big 2>&1", /No space left/],
  "the system": ["touch /usr/x /etc/passwd /x 2>&1 | grep -vc -E 'Read-only|denied'", /^0$/],
  "secrets of the system": ["cat /etc/shadow /etc/ssl/private/* 2>&1", denied],
  "sockets of the machine": [
    "ls /run/docker.sock /var/run/docker.sock /run/dbus /run/systemd 2>&1 | grep -v 'No such file'; echo none",
    /^none$/,
  ],
  "the folder /sys": ["ls /sys/ 2>&1", /No such file/],
  "another control group": [
    "ls /sys/fs/cgroup 2>&1; cut -d: -f3 /proc/self/cgroup | grep -c svc-server",
    /No such file.*0$/s,
  ],
  "a mount": ["mount -t cgroup -o memory none /tmp 2>&1; mount -o remount,rw / 2>&1; umount /tmp 2>&1; echo", denied],
  "settings of the kernel": [
    "echo x > /proc/sys/kernel/core_pattern; echo b > /proc/sysrq-trigger; echo 1 > /proc/sys/vm/overcommit_memory",
    denied,
  ],
  "the machine's pressure, disks and start": [
    "ls -A /proc/pressure /proc/driver 2>&1; head -qc 99 /proc/diskstats /proc/cmdline /proc/kallsyms 2>&1; echo > /proc/pressure/cpu",
    /^\S*\/proc\/driver:\s+\/proc\/pressure:\s+.*(nonexistent|Read-only|No such)[^\n]*$/s,
  ],
  "everything else of the machine in /proc": [
    `cd /proc; for one in *; do case $one in [1-9]*|self|thread-self|mounts|net|sys) ;; *) [ -z "$(ls -A $one/ 2> /dev/null; head -c 1 $one 2> /dev/null)" ] || printf '%s ' $one;; esac; done`,
    /^cpuinfo filesystems loadavg meminfo stat uptime version vmstat$/,
  ],
  "what runtimes read of the machine": [
    `node -p "[os.cpus()[0].model, os.freemem(), os.uptime(), os.loadavg()[0] >= 0].every(Boolean)"; ls /proc/self/fd > /dev/null; head -1 /proc/mounts | wc -l`,
    /^true\n1$/,
  ],
  "a core dump": ["ulimit -c; ulimit -H -c", /^0\n0$/],
  "a new namespace of users": [call("clone", 0x10000000 + 17, 0, 0, 0, 0), /^(1|28)$/],
  "a new namespace of the network": [call("clone", 0x40000000 + 17, 0, 0, 0, 0), /^1$/],
  "the asynchronous requests of the machine": [call("io_setup", 128, "my $own = pack('Q', 0)"), /^38$/],
  "the machine's clock": [packed("clock_settime", "qq", 0, 0), /^1$/],
  "a schedule of real time": [packed("sched_setscheduler", "l", 1, 50), new RegExp(`^${EPERM}$`)],
  "a higher priority": [call("setpriority", 0, 0, -20), new RegExp(`^(${EPERM}|${EACCES})$`)],
  "a higher priority at the disk": [call("ioprio_set", 1, 0, 1 << 13), new RegExp(`^${EPERM}$`)],
  "a raw socket": [call("socket", 2, 3, 255), new RegExp(`^${EPERM}$`)],
  "packets of the link": socketOf(17, 3),
  "a socket to the hypervisor": socketOf(40),
  "the kernel's ciphers": socketOf(38, 5),
  "keys of IPsec": socketOf(15, 3),
  "other families of sockets": socketOf(30),
  "routes of its network": [
    "ip route del blackhole 10.0.0.0/8 2>&1; ip addr add 10.0.0.5/8 dev lo 2>&1",
    /not permitted|not found/,
  ],
  "keystrokes of a terminal": [perl(`my $c = "x"; $! = 0; ioctl(STDOUT, 0x5412, $c) and $! = 0;`), /^25$/],
  "the terminal of the server": ["(exec 3<> /dev/tty) 2>&1", /No such device|cannot open|cannot create/],
  "a file of ten terabytes": ["truncate -s 10T /tmp/sparse 2>&1", /File too large|size limit/],
  "more than the temporary folder holds": ["head -c 400M /dev/zero > /tmp/big; rm -f /tmp/big", /No space left/],
  "more than shared memory holds": ["head -c 400M /dev/zero > /dev/shm/big; rm -f /dev/shm/big", /No space left/],
  "descriptors without end": [
    `perl -e 'my @f; for (1..9000) { open(my $f, "<", "/dev/null") or last; push @f, $f } print $! + 0, " ", scalar(@f) < 1024'; ulimit -H -n`,
    /^24 1\s*1024$/,
  ],
  "the pseudo terminals of the machine": [
    `perl -e 'my @f; for (1..200) { open(my $f, "+<", "/dev/ptmx") or last; push @f, $f } print $! + 0, " ", scalar(@f)'`,
    /^28 32$/,
  ],
  "a larger limit": ["ulimit -n 100000 2>&1", denied],
};

test(
  "An app gets nowhere with what it tries against the machine",
  needs("users", "network", "system calls"),
  async (t) => {
    const here = await runtimeWorld(t);
    const { id } = await here.project("web");
    here.repos.commit("acme/web", obeyingApp);
    assert.equal((await here.release(id)).status, "active");
    const failed: string[] = [];
    for (const [name, [command, answer]] of Object.entries(attacks)) {
      const code = `(({ stdout, stderr }) => (stdout + stderr).trim())(spawnSync("sh", ["-c", ${JSON.stringify(command)}], { encoding: "utf8" }))`;
      const got = await runIn(here, code);
      if (!answer.test(got)) failed.push(`${name}: ${got}`);
    }
    assert.deepEqual(failed, []);
  },
);

test("An app finds neither its server nor a neighbour", needs("users", "network"), async (t) => {
  const folder = temporaryFolder(t);
  const here = await runtimeWorld(t, { database: join(folder, "svc.db") });
  const { id } = await here.project("web");
  here.repos.commit("acme/web", {
    ...obeyingApp,
    "svc.json": { build: "echo mine > /cache/mine", start: "node server.js" },
  });
  const { id: own } = await here.release(id);
  await here.release(id, {}, "preview");
  const box = "preview-web.localhost";
  const run = (code: string) => runIn(here, code, box);
  // The app cannot signal a process outside its box (signal 0 included), nor see its name.
  for (const signal of [0, `"SIGTERM"`]) assert.equal(await run(`process.kill(${process.pid}, ${signal})`), "ESRCH");
  assert.equal(await run(`process.kill(-${process.pid}, "SIGKILL")`), "ESRCH");
  const names = await run(
    `fs.readdirSync("/proc").filter((one) => /^[0-9]+$/.test(one)).map((one) => { try { return fs.readFileSync("/proc/" + one + "/environ", "latin1") } catch { return "" } }).join("")`,
  );
  assert.ok(names.includes("SVC_ENVIRONMENT=preview"));
  assert.equal(names.includes("SVC_ENVIRONMENT=production"), false);
  // The descriptors of the server, of the setup and of the limits are closed.
  const descriptors = await run(`spawnSync("sh", ["-c", "ls -l /proc/[0-9]*/fd"], { encoding: "utf8" }).stdout`);
  assert.match(descriptors, /-> /);
  // The first process keeps the pipe on which it waited for its network.
  const places = descriptors.replace(" 0 -> /sys/bus/made", "");
  assert.doesNotMatch(places, /svc|cgroup|\/sys|\.bpf|ready|-> \/(tmp|root|home)/);
  for (const path of [folder, `${folder}/svc.db-apps/releases/${own}/app/server.js`, `${folder}/svc.db.key`, "/cache"])
    assert.equal(await run(`fs.statSync(${JSON.stringify(path)}).size`), "ENOENT", path);
  // Datagrams, and other spellings of an address, fail as connections do.
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  t.after(() => socket.close());
  await new Promise((resolve) => socket.once("listening", resolve));
  const heard: string[] = [];
  socket.on("message", (text) => heard.push(String(text)));
  const datagram = `new Promise((done) => { const one = require("node:dgram").createSocket("udp4"); one.on("error", ({ code }) => done(code)); one.connect(${socket.address().port}, "127.0.0.1", () => { one.send("x", () => one.send("x", (error) => done(error?.code ?? "sent"))); setTimeout(() => done("sent"), 30000); }); })`;
  assert.equal(await run(datagram), "ECONNREFUSED");
  assert.deepEqual(heard, []);
  for (const address of [
    "::ffff:169.254.169.254",
    "fe80::1%eth0",
    "fd00:ec2::254",
    "::1",
    "::ffff:127.0.0.1",
    "0.0.0.0",
  ]) {
    const connect = `new Promise((done) => { const one = net.connect(${socket.address().port}, ${JSON.stringify(address)}); one.setTimeout(30000, () => done("no answer")); one.on("connect", () => done("open")); one.on("error", ({ code }) => done(code)); })`;
    assert.match(
      await run(connect),
      /^(ECONNREFUSED|EINVAL|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES|ENOTFOUND)$/,
      address,
    );
  }
});

const outOfMemory = /used more memory than deployments\.buildMemory \(128 MiB\)/;
/** Memory that belongs to no process, and how the build ends. */
const hoards: Readonly<Record<string, readonly [build: string, end: RegExp]>> = {
  "files in memory": [
    `perl -e 'my @f; for (1..40) { my $n = "x"; my $fd = syscall(${calls.memfd_create}, $n, 0); open(my $f, ">&=", $fd) or die $!; push @f, $f; syswrite($f, "x" x 16e6) } sleep 600'`,
    outOfMemory,
  ],
  // The kernel grants 64 MiB to all pipes of a user together, and one page to each further pipe.
  pipes: [
    `perl -e 'my @p; for (1..1000) { pipe(my $r, my $w) or last; fcntl($w, 1031, 1 << 20); syscall(${calls.fcntl}, fileno($w), 4, 2048); 1 while syswrite($w, "x" x 65536); push @p, $r, $w } print scalar(@p); exit 3' | head -c 5; exit 3`,
    /used more memory|^2000$/m,
  ],
  "a temporary folder of memory": ["head -c 250M /dev/zero > /dev/shm/x; sleep 600", outOfMemory],
};

test("Memory that belongs to no process counts for the build that takes it", needs("limits"), async (t) => {
  const here = await runtimeWorld(t, { deployments: { buildMemory: "128MiB" } });
  const { id } = await here.project("web");
  for (const [name, [build, end]] of Object.entries(hoards)) {
    here.repos.commit("acme/web", { "svc.json": { build } });
    const { id: failed, status } = await here.release(id);
    const lines = (await here.messages(failed)).join("\n");
    assert.equal(status, "failed", name);
    assert.match(lines, end, name);
  }
});
