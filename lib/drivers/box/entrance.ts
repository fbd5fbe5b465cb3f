import { statSync } from "node:fs";
import { quoted, shellCommand } from "../../kernel/shell-words.ts";
import { closedRoutes, openedRoutes, pastaOptions, type Reach, resolverSettings } from "./network.ts";

/** The protections of this machine that a box has. */
export interface Means {
  /** The program that lets a box be set up with folders of its own, as root or in a namespace of users. */
  readonly as: readonly string[];
  /** What it reaches of the network; undefined where it shares the machine's. */
  readonly reach: Reach | undefined;
  /** The file with the filter of system calls; undefined where there is none for this processor. */
  readonly filter: string | undefined;
}

/** What differs from one box to the next. */
export interface Visit {
  /** The files of its control group. */
  readonly entries: readonly string[];
  /** The id of its user; undefined where it has the server's. */
  readonly user: number | undefined;
  /** The port of 127.0.0.1 that leads in. */
  readonly port: number | undefined;
  /** The program that runs another one where the files of a build are. */
  readonly within: readonly string[];
}

/** What the command of a box finds where. */
export interface Places {
  /** The name by which a folder or file of the machine is found, whoever may enter the folders above it. */
  of(path: string): string;
  /** What a script of the box begins with: it waits for the network, which is made beside the rest of the box. */
  readonly waiting: string;
  /** The file descriptors with the texts of `/etc/passwd`, `/etc/group` and `/etc/resolv.conf`, and with the filter. */
  readonly descriptors: {
    readonly passwd: string;
    readonly group: string;
    readonly resolver: string | undefined;
    readonly filter: string | undefined;
  };
}

/**
 * While a box is set up, what it needs lies in this folder. It is covered in the box's own table of mounts alone, and holds
 * nothing that the setup wants, nor a release.
 */
const place = "/sys/bus";
/** The shell has descriptors of one digit alone. The sandbox reads its arguments from 3. */
const descriptor = { ready: 4, go: 5, filter: 6, passwd: 7, group: 8, resolver: 9 } as const;
const closing = "3<&- 6<&- 7<&- 8<&- 9<&-";

/** A text on a descriptor of the shell. */
const text = (to: number, lines: string) => `exec ${to}<<'END'\n${lines}END`;

/** A line of the file from which `mount` mounts everything at once: each program that starts takes milliseconds. */
const bound = (path: string, to: string) =>
  `${path.replace(/[\\\s#]/g, (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, "0")}`)} ${to} none bind 0 0\n`;

/** The lines of a file of the folder, as the shell writes it by itself. */
const file = (name: string, lines: string) => `printf %s ${quoted(lines)} > ${name}`;

/** Node keeps the tunnel's device to root where nothing gave it to all users, as a machine without udev does. */
const lacksTunnel = () => (statSync("/dev/net/tun").mode & 0o006) !== 0o006;
const tunnel = { device: "/dev/net/tun", make: "mknod -m 666 tun c 10 200" } as const;

/**
 * The network of a box is made by the box's own user, who thereby has no rights over the machine's. It belongs to a
 * namespace of users around the sandbox, so what runs inside cannot change it. pasta connects it from without, while the
 * sandbox is made. What must stay closed is closed before, since variables of the app such as LD_PRELOAD run code at once.
 */
function withNetwork(port: number | undefined, reach: Reach, command: readonly string[]): string {
  const connecting = [
    `read -r answer <&${descriptor.ready}`,
    `if [ "$answer" != failed ] && ip -batch opened; then echo made 1<>made; exit; fi`,
    `echo "The network of the box was not made:" >&2; cat said >&2; echo failed 1<>made`,
  ].join("\n");
  const inside = [
    "ip -batch closed",
    `echo go >&${descriptor.go}`,
    `{ ${connecting}; } ${closing} &`,
    `exec ${shellCommand(command)} 0<>made ${descriptor.ready}<&- ${descriptor.go}<&-`,
  ].join("\n");
  const pasta = shellCommand(["pasta", ...pastaOptions(port, reach), "-P", "ready"]);
  return [
    `{ read -r _ <&${descriptor.go}; ${pasta} $$ || echo failed >&${descriptor.ready}; } ${closing} > said 2>&1 &`,
    `exec unshare --user --map-root-user --net -- sh -ec ${quoted(inside)}`,
  ].join("\n");
}

/** The shell script that sets a box up and becomes its command, which `write` answers. */
export function entrance(
  { as, reach, filter }: Means,
  { entries, user, port, within }: Visit,
  write: (at: Places) => string[],
) {
  const known: string[] = [];
  const nameOf = (path: string) => `at${known.indexOf(path)}`;
  const command = write({
    of(path) {
      if (!known.includes(path)) known.push(path);
      return `${place}/${nameOf(path)}`;
    },
    waiting: reach ? 'read -r made; [ "$made" = made ] || exit 126; exec < /dev/null; ' : "",
    descriptors: {
      passwd: String(descriptor.passwd),
      group: String(descriptor.group),
      resolver: reach && String(descriptor.resolver),
      filter: filter && String(descriptor.filter),
    },
  });
  const last = reach ? withNetwork(port, reach, command) : `exec ${shellCommand(command)}`;
  const asUser = ["setpriv", `--reuid=${user}`, `--regid=${user}`, "--clear-groups", "--", "sh", "-ec"];
  const isFolder = (path: string) => statSync(path).isDirectory();
  const folders = known.filter(isFolder).map(nameOf);
  const files = known.filter((path) => !isFolder(path)).map(nameOf);
  const makesTunnel = reach !== undefined && lacksTunnel();
  const mounts = [
    ...known.map((path) => bound(path, `${place}/${nameOf(path)}`)),
    ...(makesTunnel ? [bound(`${place}/tun`, tunnel.device)] : []),
  ];
  const script = [
    // A move to a group waits for all processors, so it goes on beside the rest.
    ...(entries.length > 0
      ? [`{ ${entries.map((one) => `echo $$ > ${quoted(one)}`).join("; ")}; } & entering=$!`]
      : []),
    "umask 0",
    ...(filter === undefined ? [] : [`exec ${descriptor.filter}< ${quoted(filter)}`]),
    text(descriptor.passwd, "app:x:1000:1000:app:/tmp:/bin/sh\n"),
    text(descriptor.group, "app:x:1000:\n"),
    `mount -t tmpfs -o mode=755,size=1m box ${place}`,
    `cd ${place}`,
    ...(folders.length > 0 ? [`mkdir ${folders.join(" ")}`] : []),
    ...files.map((name) => `: > ${name}`),
    ...(makesTunnel ? [tunnel.make] : []),
    file("mounts", mounts.join("")),
    `mount --all --fstab ${place}/mounts`,
    ...(reach
      ? [
          text(descriptor.resolver, resolverSettings()),
          file("closed", closedRoutes(reach)),
          file("opened", openedRoutes(reach)),
          "mkfifo ready go made",
          ": > said",
          `exec ${descriptor.ready}<>ready ${descriptor.go}<>go`,
        ]
      : []),
    ...(entries.length > 0 ? ["wait $entering"] : []),
    "umask 022",
    user === undefined ? last : `exec ${shellCommand(asUser)} ${quoted(last)}`,
  ].join("\n");
  const [program = "", ...args] = [...within, ...as, "sh", "-ec", script];
  return { file: program, args };
}
