import { endianness } from "node:os";

/**
 * A system call filter, as the BPF program that `bwrap --seccomp` loads. It refuses calls that apps do not need, and
 * calls with a history of kernel bugs.
 */

interface Architecture {
  /** AUDIT_ARCH of <linux/audit.h>. */
  readonly audit: number;
  readonly socket: number;
  /** The refused calls: `ptrace:101 syslog:103`. */
  readonly calls: string;
}

/** Calls from 425 on have the same number on all architectures. */
const common = `
  io_uring_setup:425 io_uring_enter:426 io_uring_register:427 open_tree:428 move_mount:429 fsopen:430
  fsconfig:431 fsmount:432 fspick:433 pidfd_getfd:438 mount_setattr:442 quotactl_fd:443`;

const architectures: Readonly<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    socket: 41,
    calls: `
  ptrace:101 syslog:103 uselib:134 ustat:136 sysfs:139 pivot_root:155 _sysctl:156 adjtimex:159 chroot:161
  acct:163 settimeofday:164 mount:165 umount2:166 swapon:167 swapoff:168 reboot:169 sethostname:170
  setdomainname:171 iopl:172 ioperm:173 init_module:175 delete_module:176 quotactl:179 io_setup:206
  lookup_dcookie:212 clock_settime:227 kexec_load:246 add_key:248 request_key:249 keyctl:250 migrate_pages:256
  unshare:272 move_pages:279 vmsplice:278 perf_event_open:298 fanotify_init:300 name_to_handle_at:303
  open_by_handle_at:304 clock_adjtime:305 setns:308 process_vm_readv:310 process_vm_writev:311 kcmp:312
  finit_module:313 kexec_file_load:320 bpf:321 userfaultfd:323
`,
  },
  arm64: {
    audit: 0xc00000b7,
    socket: 198,
    calls: `
  io_setup:0 lookup_dcookie:18 umount2:39 mount:40 pivot_root:41 chroot:51 quotactl:60 vmsplice:75 acct:89
  unshare:97 kexec_load:104 init_module:105 delete_module:106 clock_settime:112 syslog:116 ptrace:117 reboot:142
  sethostname:161 setdomainname:162 settimeofday:170 adjtimex:171 add_key:217 request_key:218 keyctl:219
  swapon:224 swapoff:225 migrate_pages:238 move_pages:239 perf_event_open:241 fanotify_init:262
  name_to_handle_at:264 open_by_handle_at:265 clock_adjtime:266 setns:268 process_vm_readv:270
  process_vm_writev:271 kcmp:272 finit_module:273 bpf:280 userfaultfd:282 kexec_file_load:294
`,
  },
};

const callsIn = (list: string) =>
  list
    .trim()
    .split(/\s+/)
    .map((call) => call.split(":"))
    .map(([name = "", number]) => ({ name, number: Number(number) }));

/**
 * Calls that answer ENOSYS, because programs try them and manage without them. With `io_setup`, one box could take all
 * asynchronous requests of the machine.
 */
const absent = /^io_uring_|^io_setup$|^quotactl_fd$/;
const load = 0x20;
const jumpIfEqual = 0x15;
const jumpIfAtLeast = 0x35;
const answer = 0x06;
const allow = 0x7fff0000;
const errno = (number: number) => 0x00050000 | number;
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. A network namespace does not isolate others, such as AF_VSOCK. */
const families = [1, 2, 10, 16];
/** Offsets in the kernel's `seccomp_data`. */
const numberAt = 0;
const architectureAt = 4;
const firstArgumentAt = 16;
/** The first call of the x32 ABI. These calls would bypass the filter under other numbers. */
const x32 = 0x40000000;

/** The BPF program for an architecture, named as in Node; undefined for an unknown one. */
export function systemCallFilter(arch: string = process.arch): Buffer | undefined {
  const its = architectures[arch];
  if (!its || endianness() !== "LE") return undefined;
  const rows: (readonly [code: number, whenTrue: number, whenFalse: number, value: number])[] = [
    [load, 0, 0, architectureAt],
    [jumpIfEqual, 1, 0, its.audit],
    [answer, 0, 0, errno(ENOSYS)],
    [load, 0, 0, numberAt],
    ...(arch === "x64"
      ? ([
          [jumpIfAtLeast, 0, 1, x32],
          [answer, 0, 0, errno(ENOSYS)],
        ] as const)
      : []),
    ...callsIn(common + its.calls).flatMap(({ name, number }) => [
      [jumpIfEqual, 0, 1, number] as const,
      [answer, 0, 0, errno(absent.test(name) ? ENOSYS : EPERM)] as const,
    ]),
    [jumpIfEqual, 0, families.length + 2, its.socket],
    [load, 0, 0, firstArgumentAt],
    ...families.map((family, i) => [jumpIfEqual, families.length - i, 0, family] as const),
    [answer, 0, 0, errno(EAFNOSUPPORT)],
    [answer, 0, 0, allow],
  ];
  const program = Buffer.alloc(8 * rows.length);
  for (const [at, [code, whenTrue, whenFalse, value]] of rows.entries()) {
    program.writeUInt16LE(code, 8 * at);
    program.writeUInt8(whenTrue, 8 * at + 2);
    program.writeUInt8(whenFalse, 8 * at + 3);
    program.writeUInt32LE(value, 8 * at + 4);
  }
  return program;
}
