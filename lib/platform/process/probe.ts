import { mkdirSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import type { Protection } from "../../drivers/deployment/protections.ts";
import type { Child } from "../../kernel/node/child-process.ts";
import type { UserRange } from "../../kernel/text/user-range.ts";
import { type BuildDisks, createBuildDisks } from "../box/build-disks.ts";
import { createGroups, type Groups } from "../box/cgroups.ts";
import type { Layers } from "../box/layers.ts";
import { limitedNamespace } from "../box/namespace-limits.ts";
import type { Reach } from "../box/network.ts";
import { collision, createOrganizationUsers } from "../box/organization-users.ts";
import { createPreparedDisks, lackOf, type PreparedDisks } from "../box/prepared-disks.ts";
import { systemCallFilter } from "../box/system-call-filter.ts";
import { createTenantFiles, plainFiles, type TenantFiles } from "../box/tenant-files.ts";
import { unitAdvice } from "../box/unit-settings.ts";
import type { RuntimeSettings } from "../runtime/driver.ts";
import { gitMemory_bytes } from "../runtime/limited-git.ts";
import { runProgram } from "../runtime/run-program.ts";
import { type Box, bubblewrap, noSandbox, outputOf, type Sandbox } from "./sandbox.ts";

export interface Machine {
  readonly sandbox: Sandbox;
  readonly files: TenantFiles;
  /** The user id of an organization; undefined if all use the server's user. */
  userOf(organization_id: string): Promise<number | undefined>;
  /** Undefined if the bytes of build files are counted instead. */
  readonly disks: BuildDisks | undefined;
  /** How apps write below their folders; undefined without isolation, where they change their releases. */
  readonly layers: Layers["kind"] | undefined;
  readonly protections: readonly Protection[];
  /** The files by which git joins its control group; none without groups. */
  readonly gitEntries: readonly string[];
  close(): Promise<void>;
}

export interface IsolationSettings extends Pick<RuntimeSettings, "scratch_bytes"> {
  readonly isolation: Sandbox["name"];
  readonly users: UserRange;
  readonly reach: Reach;
  readonly disks?: PreparedDisks | undefined;
}

const maxGitProcesses = 1024;

async function tryOut(start: (take: (chunk: Buffer) => number) => Child): Promise<{ ok: boolean; output: string }> {
  const { code, text } = await outputOf(start);
  return { ok: code === 0, output: text.trim().split("\n", 2).join(" ") || "it ended without a message" };
}

const works = (...words: string[]): Promise<boolean> =>
  runProgram(words).then(
    () => true,
    () => false,
  );

async function requireTools(): Promise<void> {
  if (process.platform !== "linux") throw new Error(`the runtime process needs Linux, and this is ${process.platform}`);
  if (!(await works("git", "--version")))
    throw new Error("the runtime process needs git; install it: apt-get install git");
  if (!(await works("setpriv", "--no-new-privs", "prlimit", "--core=0", "true")))
    throw new Error("the runtime process needs setpriv and prlimit; install them: apt-get install util-linux");
}

/** How this process starts boxes as other users: directly as root, otherwise with its subordinate ids. */
function waysToUsers(range: UserRange): { as: readonly string[]; filesAs: readonly string[]; range: UserRange } {
  if (process.getuid?.() === 0) return { as: ["unshare", "--mount", "--"], filesAs: [], range };
  const mapped = ["unshare", "--user", "--map-root-user", "--map-auto"];
  const as = limitedNamespace([...mapped, "--mount"]);
  return { as, filesAs: [...mapped, "--"], range: { first: 1, count: 65_000 } };
}

const withoutUsers = ["unshare", "--user", "--map-root-user", "--mount", "--"];

const limitsCommand =
  "add svc-server-process.conf of fixtures/hosting to its unit, or: systemd-run --user --scope --property=Delegate=yes svc-server start";
const usersCommand = () => {
  const advice = unitAdvice("users");
  if (advice !== undefined) return advice;
  const { username } = userInfo();
  return `apt-get install uidmap && usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ${username}`;
};

function limitsOf(groups: Groups | string): Protection {
  const missing = typeof groups === "string" ? groups : groups.lacks;
  return { name: "limits", ...(missing !== undefined && { missing, command: unitAdvice("limits") ?? limitsCommand }) };
}

const networkCommand = () => unitAdvice("network") ?? "apt-get install passt iproute2";

const disksCommand = () =>
  process.getuid?.() === 0
    ? "apt-get install e2fsprogs mount && modprobe loop"
    : "run build-disks.sh of fixtures/hosting as root, and set deployments.buildDisks to its folder";

/** Tests whether builds can have a disk. Returns the reason if they cannot. */
async function tryDisks(folder: string, user: number | undefined): Promise<string | undefined> {
  const [packages = "", app = "", temporary = ""] = ["packages", "app", "tmp"].map((name) =>
    join(folder, "disk", name),
  );
  for (const path of [packages, app, temporary]) mkdirSync(path, { recursive: true });
  const disks = createBuildDisks();
  try {
    const disk = await disks.open({ name: "probe", packages, app, temporary, user, bytes: 0 });
    const bytes = await disk.written();
    disk.close();
    return bytes > 1024 ** 2 ? "it counts what was there before" : undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await disks.close();
  }
}

/** Tests the writes that may fail in a layer: over a file, into a folder, and in place of a folder. */
const writing = "echo 1 >> old/file && : > old/new && rm -r old && mkdir old && [ ! -e old/file ]";

const probeIn = (folder: string) => join(folder, "probe");

/** Runs tests, and removes their files, which may belong to the user of an organization, before and after them. */
async function withoutTraces<T>(folder: string, users: UserRange, test: () => Promise<T>): Promise<T> {
  const path = probeIn(folder);
  const remove = () =>
    createTenantFiles(waysToUsers(users).filesAs)
      .remove(path)
      .catch(() => plainFiles.remove(path));
  await remove();
  try {
    return await test();
  } finally {
    await remove();
  }
}

/** Tests each part of the box together with the previous parts, and keeps those that work. */
async function tryBox(
  folder: string,
  { users: range, reach, disks: prepared, scratch_bytes: bytes }: IsolationSettings,
  groups: Groups | undefined,
) {
  const app = probeIn(folder);
  mkdirSync(join(app, "old"), { recursive: true });
  writeFileSync(join(app, "old", "file"), "");
  const program = systemCallFilter();
  const filter = program && join(folder, "system-calls.bpf");
  if (program && filter) writeFileSync(filter, program);
  const tryBoxAs = (as: readonly string[], user: number | undefined, reach?: Reach, layers?: Layers) => {
    const box: Box = { app, env: {}, memory_bytes: 1024 ** 3, user, hasLayer: layers !== undefined };
    const sandbox = bubblewrap({ as, reach, filter, layers }, groups);
    return tryOut((take) => sandbox.start(layers ? writing : "node --version", box, take));
  };
  const way = waysToUsers(range);
  const taken = way.filesAs.length === 0 ? collision(range) : undefined;
  if (taken !== undefined)
    throw new Error(
      `deployments.users must be ids that nobody has, and ${taken} has some of ${range.first}:${range.count}`,
    );
  const separate = await tryBoxAs(way.as, way.range.first);
  const together = separate.ok ? separate : await tryBoxAs(withoutUsers, undefined);
  if (!together.ok)
    throw new Error(
      `bubblewrap does not work here (${together.output}); ${unitAdvice("bubblewrap") ?? "install it (apt-get install bubblewrap) and allow user namespaces"}, or choose the option deployments.isolation "none", with which deployed code can read what this user can read`,
    );
  const as = separate.ok ? way.as : withoutUsers;
  const user = separate.ok ? way.range.first : undefined;
  if (user !== undefined) await createTenantFiles(way.filesAs).own(app, user);
  const [connected, layered] = await Promise.all([
    tryBoxAs(as, user, reach),
    tryBoxAs(as, user, undefined, { kind: "overlay", bytes }),
  ]);
  const layers: Layers = { kind: layered.ok ? "overlay" : "copy", bytes };
  const lack = prepared && lackOf(prepared);
  const usesPrepared = prepared !== undefined && lack === undefined;
  const noOwn = usesPrepared ? undefined : await tryDisks(folder, user);
  const noDisks = noOwn && (lack ?? noOwn);
  const protections: Protection[] = [
    { name: "users", ...(!separate.ok && { missing: separate.output, command: usersCommand() }) },
    { name: "network", ...(!connected.ok && { missing: connected.output, command: networkCommand() }) },
    { name: "disk", ...(noDisks !== undefined && { missing: noDisks, command: disksCommand() }) },
    {
      name: "system calls",
      ...(filter === undefined && {
        missing: `there is a filter for the processors x64 and arm64, and this is ${process.arch}`,
      }),
    },
  ];
  const sandbox = bubblewrap({ as, reach: connected.ok ? reach : undefined, filter, layers }, groups);
  const files = separate.ok ? createTenantFiles(way.filesAs) : plainFiles;
  const makeDisks = () => (usesPrepared ? createPreparedDisks(prepared, files) : createBuildDisks());
  const disks = noDisks === undefined ? makeDisks() : undefined;
  const users = separate.ok ? createOrganizationUsers(folder, way.range) : undefined;
  const userOf = async (organization_id: string) => users?.of(organization_id);
  return { sandbox, protections, files, disks, layers: layers.kind, userOf };
}

/**
 * Tests this machine's protections for builds and apps. If isolation is impossible, rejects with the missing part and
 * how to add it: only the operator can choose to run programs without isolation.
 */
export async function probeMachine(folder: string, settings: IsolationSettings): Promise<Machine> {
  await requireTools();
  const made = createGroups();
  const groups = typeof made === "string" ? undefined : made;
  const close = async () => groups?.close();
  const limits = limitsOf(made);
  const ofGit = { memory_bytes: gitMemory_bytes, processes: maxGitProcesses, endsTogether: false };
  const gitEntries = groups?.make(ofGit).entries ?? [];
  if (settings.isolation === "none") {
    const missing = "deployments.isolation is none";
    const others = (["users", "network", "disk", "system calls"] as const).map((name) => ({ name, missing }));
    const protections = [limits, ...others];
    const shared = { sandbox: noSandbox(groups), files: plainFiles, userOf: async () => undefined };
    return { ...shared, disks: undefined, layers: undefined, protections, gitEntries, close };
  }
  try {
    const box = await withoutTraces(folder, settings.users, () => tryBox(folder, settings, groups));
    const closeBox = async () => {
      await box.disks?.close();
      await close();
    };
    return { ...box, protections: [limits, ...box.protections], gitEntries, close: closeBox };
  } catch (error) {
    await close();
    throw error;
  }
}
